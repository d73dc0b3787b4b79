"""The steps of a switch, in order, and what is left when one of them fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Protocol

import pytest

from bypass.transitions import (
    Engine,
    InvalidParameter,
    Mechanism,
    MechanismState,
    MechanismStopped,
    NestedTransition,
    NetworkDuringTransition,
    Nothing,
    ProxyExists,
    TransferState,
    TransitionFailed,
    UnknownMechanism,
    UnknownProxy,
)


class World:
    """Virtual time, a wire that remembers, and a diary of everything that happens."""

    def __init__(self) -> None:
        self.now = 0.0
        self.diary: list[str] = []
        self.wire: list[str] = []
        self.timers: list[tuple[float, Desk, Callable[[], None]]] = []
        self.leases = 0
        self.refuse_opening = False

    def lease(self, proxy: str) -> Desk:
        self.leases += 1
        return Desk(self, f"{proxy}#{self.leases}")

    def advance(self, seconds: float) -> None:
        self.now += seconds
        due, self.timers = (
            [t for t in self.timers if t[0] <= self.now],
            [t for t in self.timers if t[0] > self.now],
        )
        for _, desk, callback in due:
            if desk.state == "open":
                callback()


class Desk:
    """What one mechanism is given: a sending and a timer service that obey the lease."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self.state = "new"

    def open(self) -> None:
        if self.world.refuse_opening:
            raise OSError("port is taken")
        self.state = "open"
        self.world.diary.append(f"open {self.name}")

    def close(self) -> None:
        self.state = "closed"
        self.world.diary.append(f"close {self.name}")

    def send(self, text: str) -> None:
        if self.state == "new":
            raise NetworkDuringTransition(f"{self.name} may not send {text!r} yet")
        if self.state == "closed":
            raise MechanismStopped(f"{self.name} may not send {text!r} any more")
        self.world.wire.append(text)

    def after(self, seconds: float, callback: Callable[[], None]) -> None:
        self.world.timers.append((self.world.now + seconds, self, callback))


class Compressor(Protocol):
    def compress(self, data: bytes) -> bytes: ...


class Base(Mechanism):
    host: Desk
    words: Annotated[dict[str, int], TransferState(optional=True)]

    def compress(self, data: bytes) -> bytes:
        return self.name.encode() + data

    def set_words(self, words: dict[str, int]) -> None:
        self.words = words
        self.host.world.diary.append(f"transfer to {self.name}")

    def start(self) -> None:
        self.host.world.diary.append(f"start {self.name}")
        self.host.after(1.0, self.report)

    def stop(self) -> None:
        self.host.world.diary.append(f"stop {self.name}")

    def report(self) -> None:
        self.host.send(f"{self.name} alive")
        self.host.after(1.0, self.report)


class Zip(Base):
    pass


class Brotli(Base):
    quality: Annotated[int, MechanismState("quality")] = 5

    def __init__(self, host: Any = None, **values: Any) -> None:
        super().__init__(host, **values)
        self.host.world.diary.append("build brotli")


class FailsToBuild(Base):
    def __init__(self, host: Any = None, **values: Any) -> None:
        raise MemoryError("no room")


class FailsToTransfer(Base):
    def set_words(self, words: dict[str, int]) -> None:
        raise ValueError("cannot read words")


class FailsToStart(Base):
    def start(self) -> None:
        raise OSError("no such device")


class Talkative(Base):
    def start(self) -> None:
        self.host.send("hello")


class FailsToStop(Base):
    def stop(self) -> None:
        raise RuntimeError("stuck")


class SendsOnStop(Base):
    def stop(self) -> None:
        self.host.send("bye")


class Meddler(Base):
    engine: Engine

    def start(self) -> None:
        self.engine.set("compressor", quality=1)


class Setup:
    def __init__(self, default: type[Mechanism] = Zip, **words: int) -> None:
        self.world = World()
        self.engine = Engine("h1", lease=self.world.lease, clock=lambda: self.world.now)
        self.proxy = self.engine.create_proxy(
            "compressor", Compressor, default, mechanisms=[Zip, Brotli], state={"words": words}
        )
        self.world.diary.clear()


def test_the_order_of_steps() -> None:
    setup = Setup(a=1)
    record = setup.engine.transition("compressor", Brotli, why="smaller", who="tester")
    assert setup.world.diary == [
        "build brotli",
        "transfer to brotli",
        "start brotli",
        "open compressor#2",
        "stop zip",
        "close compressor#1",
    ]
    assert [name for name, _ in record.phases] == ["build", "transfer", "start", "switch", "stop"]
    assert (record.outcome, record.kind, record.source, record.target) == ("done", "total", "zip", "brotli")
    assert (record.why, record.who, record.host, record.proxy) == ("smaller", "tester", "h1", "compressor")


def test_callers_reach_the_new_mechanism_through_the_same_proxy() -> None:
    setup = Setup()
    before = setup.proxy.compress(b"!")
    setup.engine.transition("compressor", "brotli")
    assert (before, setup.proxy.compress(b"!")) == (b"zip!", b"brotli!")
    assert setup.engine.get_proxy("compressor", Compressor) is setup.proxy


def test_the_first_mechanism_is_built_started_and_opened() -> None:
    world = World()
    engine = Engine(lease=world.lease)
    engine.create_proxy("compressor", Compressor, Brotli, set={"quality": "7"})
    assert world.diary == ["build brotli", "start brotli", "open compressor#1"]
    assert engine.active("compressor").settings() == {"quality": 7}


def test_phases_are_measured_with_the_clock_of_the_engine() -> None:
    ticks = iter(range(100))
    engine = Engine(clock=lambda: float(next(ticks)))

    class Plain(Mechanism):
        def compress(self, data: bytes) -> bytes:
            return data

    engine.create_proxy("compressor", Compressor, Nothing)
    record = engine.transition("compressor", Plain)
    assert [seconds for _, seconds in record.phases] == [1.0] * 5


@pytest.mark.parametrize(
    ("target", "phase", "cause"),
    [
        (FailsToBuild, "build", MemoryError),
        (FailsToTransfer, "transfer", ValueError),
        (FailsToStart, "start", OSError),
        (Talkative, "start", NetworkDuringTransition),
    ],
)
def test_a_failure_before_the_switch_leaves_the_old_mechanism_untouched(
    target: type[Mechanism], phase: str, cause: type[Exception]
) -> None:
    setup = Setup(a=1)
    old = setup.engine.active("compressor")
    before = dict(vars(old))
    with pytest.raises(TransitionFailed) as caught:
        setup.engine.transition("compressor", target)
    failure = caught.value
    assert (failure.phase, failure.mechanism, type(failure.cause)) == (phase, target.name, cause)
    assert failure.record is setup.engine.records[-1]
    assert (failure.record.outcome, failure.record.failed_phase) == ("failed", phase)
    assert failure.record.phases[-1][0] == phase
    assert setup.engine.active("compressor") is old
    assert vars(old) == before
    assert "stop zip" not in setup.world.diary
    assert setup.world.diary[-1] == "close compressor#2"
    assert setup.world.wire == []
    setup.world.advance(1.0)
    assert setup.world.wire == ["zip alive"]
    assert setup.engine.transition("compressor", Brotli).outcome == "done"


def test_a_failure_in_the_switch_itself_is_undone() -> None:
    setup = Setup()
    setup.world.refuse_opening = True
    with pytest.raises(TransitionFailed, match="port is taken") as caught:
        setup.engine.transition("compressor", Brotli)
    assert caught.value.phase == "switch"
    assert setup.proxy.compress(b"") == b"zip"
    assert setup.engine.active("compressor").name == "zip"
    assert setup.world.diary[-2:] == ["stop brotli", "close compressor#2"]


@pytest.mark.parametrize(
    ("source", "error"),
    [(FailsToStop, "RuntimeError: stuck"), (SendsOnStop, "")],
)
def test_trouble_after_the_switch_is_noted_and_tolerated(source: type[Mechanism], error: str) -> None:
    setup = Setup(source)
    record = setup.engine.transition("compressor", Brotli)
    assert record.outcome == "done"
    assert record.error == (f"stop: {error}" if error else "")
    assert record.failed_phase == ("stop" if error else "")
    assert setup.engine.active("compressor").name == "brotli"
    assert setup.world.diary[-1] == "close compressor#1"


def test_timers_of_a_stopped_mechanism_never_fire() -> None:
    setup = Setup()
    setup.world.advance(1.0)
    setup.engine.transition("compressor", Brotli)
    setup.world.advance(1.0)
    setup.engine.transition("compressor", Nothing)
    setup.world.advance(1.0)
    assert setup.world.wire == ["zip alive", "brotli alive"]


def test_timers_of_a_discarded_mechanism_never_fire() -> None:
    setup = Setup()
    setup.world.refuse_opening = True
    with pytest.raises(TransitionFailed):
        setup.engine.transition("compressor", Brotli)
    setup.world.advance(1.0)
    assert setup.world.wire == ["zip alive"]


def test_a_stopped_mechanism_cannot_communicate() -> None:
    setup = Setup()
    old = setup.engine.active("compressor")
    setup.engine.transition("compressor", Brotli)
    with pytest.raises(MechanismStopped):
        old.host.send("late")


def test_invalid_values_fail_before_anything_is_built() -> None:
    setup = Setup()
    with pytest.raises(TransitionFailed, match="'quality' of 'brotli' cannot be 'high'") as caught:
        setup.engine.transition("compressor", Brotli, set={"quality": "high"})
    assert caught.value.phase == "build"
    assert isinstance(caught.value.cause, InvalidParameter)
    assert setup.world.diary == []


def test_a_transition_must_not_request_another_one() -> None:
    setup = Setup()
    Meddler.engine = setup.engine
    with pytest.raises(TransitionFailed) as caught:
        setup.engine.transition("compressor", Meddler)
    assert caught.value.phase == "start"
    assert isinstance(caught.value.cause, NestedTransition)
    assert setup.engine.active("compressor").name == "zip"
    assert len(setup.engine.records) == 1


def test_what_is_active_already_is_not_exchanged() -> None:
    setup = Setup()
    old = setup.engine.active("compressor")
    record = setup.engine.transition("compressor", Zip)
    assert (record.outcome, record.error) == ("skipped", "'zip' is active")
    assert setup.engine.active("compressor") is old
    assert setup.world.diary == []


def test_unknown_names_are_refused_with_what_there_is() -> None:
    setup = Setup()
    with pytest.raises(UnknownProxy, match="there is no proxy 'packer'; there are: compressor"):
        setup.engine.transition("packer", Zip)
    with pytest.raises(UnknownProxy, match="'compressor' is Compressor, not World"):
        setup.engine.get_proxy("compressor", World)
    with pytest.raises(UnknownMechanism, match="no mechanism 'rar'; it has: brotli, nothing, zip"):
        setup.engine.transition("compressor", "rar")
    with pytest.raises(InvalidParameter, match="'brotli' has no parameter 'qualty'"):
        setup.engine.transition("compressor", Brotli, set={"qualty": 1})
    assert setup.engine.records == []


def test_names_must_be_free_and_mechanisms_complete() -> None:
    class Useless(Mechanism):
        pass

    class Other(Base):
        name = "zip"

    setup = Setup()
    with pytest.raises(ProxyExists, match="'compressor'"):
        setup.engine.create_proxy("compressor", Compressor, Zip)
    with pytest.raises(TypeError, match="Useless cannot be behind 'other': it lacks 'compress'"):
        setup.engine.create_proxy("other", Compressor, Useless)
    with pytest.raises(TypeError, match="Zip and Other are both named 'zip'"):
        setup.engine.transition("compressor", Other)
    assert setup.world.diary == []


def test_a_first_mechanism_that_fails_leaves_no_proxy() -> None:
    world = World()
    engine = Engine(lease=world.lease)
    with pytest.raises(TransitionFailed, match="no such device"):
        engine.create_proxy("compressor", Compressor, FailsToStart)
    assert world.diary == ["close compressor#1"]
    with pytest.raises(UnknownProxy, match="there are: none"):
        engine.active("compressor")


def test_dropping_a_proxy_stops_the_mechanism_and_silences_callers() -> None:
    setup = Setup()
    setup.engine.drop_proxy("compressor")
    assert setup.world.diary == ["stop zip", "close compressor#1"]
    assert setup.proxy.compress(b"late") == b""
    with pytest.raises(UnknownProxy):
        setup.engine.drop_proxy("compressor")


def test_dropping_closes_the_lease_even_if_stopping_fails() -> None:
    setup = Setup(FailsToStop)
    with pytest.raises(RuntimeError, match="stuck"):
        setup.engine.drop_proxy("compressor")
    assert setup.world.diary == ["close compressor#1"]


def test_no_lease_is_made_for_nothing() -> None:
    setup = Setup()
    setup.engine.transition("compressor", Nothing)
    assert setup.world.leases == 1


def test_default_values_apply_unless_a_plan_says_otherwise() -> None:
    setup = Setup()
    setup.engine.set_defaults("compressor", {"quality": 9, "unknown": 1})
    with pytest.raises(InvalidParameter, match="'quality' of 'brotli' cannot be 'x'"):
        setup.engine.set_defaults("compressor", {"quality": "x"})
    record = setup.engine.transition("compressor", Brotli)
    assert setup.engine.active("compressor").settings() == {"quality": 9}
    assert record.set == {}
    setup.engine.transition("compressor", Zip)
    setup.engine.transition("compressor", Brotli, set={"quality": 2})
    assert setup.engine.active("compressor").settings() == {"quality": 2}
