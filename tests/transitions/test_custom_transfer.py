"""Which custom transition applies: the closest in the type hierarchy of source and target."""

from __future__ import annotations

from typing import Annotated, Any, Protocol

import pytest

from bypass.transitions import (
    AtomicTransition,
    Engine,
    Mechanism,
    MissingState,
    Nothing,
    TransferState,
    TransitionFailed,
    auto_transfer,
)


class Api(Protocol):
    def work(self) -> None: ...


class Part(Mechanism):
    def work(self) -> None:
        return None


class A(Part):
    s1: Annotated[str, TransferState(optional=True)] = "-"


class B(Part):
    s1: Annotated[str, TransferState(optional=True)] = "-"
    s2: Annotated[str, TransferState(optional=True)] = "-"


class C(Part):
    s2: Annotated[str, TransferState(optional=True)] = "-"


class SubA(A):
    pass


class SubC(C):
    pass


class Needy(Part):
    s2: Annotated[str, TransferState()]


class T1(AtomicTransition[A, C]):
    def transfer_state(self, a: A, b: C) -> None:
        b.s2 = f"T1({a.s1})"


class T2(AtomicTransition[Nothing, C]):
    def transfer_state(self, a: Mechanism, b: C) -> None:
        b.s2 = f"T2({a.name})"


@pytest.mark.parametrize(
    ("start", "state", "target", "custom", "moved", "result"),
    [
        (A, {"s1": "1"}, C, "T1", (), {"s2": "T1(1)"}),
        (B, {"s1": "1", "s2": "2"}, C, "T2", (), {"s2": "T2(b)"}),
        (A, {"s1": "1"}, B, "", ("s1",), {"s1": "1", "s2": "-"}),
        (B, {"s1": "1", "s2": "2"}, A, "", ("s1",), {"s1": "1"}),
        (C, {"s2": "2"}, B, "", ("s2",), {"s1": "-", "s2": "2"}),
        (C, {"s2": "2"}, A, "", (), {"s1": "-"}),
        (SubA, {"s1": "1"}, C, "T1", (), {"s2": "T1(1)"}),
        (Nothing, {}, C, "T2", (), {"s2": "T2(nothing)"}),
        (A, {"s1": "1"}, SubC, "T1", (), {"s2": "T1(1)"}),
        (SubA, {"s1": "1"}, SubC, "T1", (), {"s2": "T1(1)"}),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else None,
)
def test_the_closest_transition_is_used_and_replaces_automatic_transfer(
    start: type[Mechanism],
    state: dict[str, str],
    target: type[Mechanism],
    custom: str,
    moved: tuple[str, ...],
    result: dict[str, str],
) -> None:
    engine = Engine()
    engine.create_proxy("part", Api, start, state=state)
    engine.register_transition("part", T1())
    engine.register_transition("part", T2())
    record = engine.transition("part", target)
    active = engine.active("part")
    assert type(active) is target
    assert (record.custom, record.moved) == (custom, moved)
    assert {name: getattr(active, name) for name in result} == result


def test_shutting_down_stops_the_source_and_installs_a_stub() -> None:
    engine = Engine()
    proxy = engine.create_proxy("part", Api, A, state={"s1": "1"})
    engine.register_transition("part", T1())
    engine.register_transition("part", T2())
    record = engine.transition("part", Nothing)
    assert isinstance(engine.active("part"), Nothing)
    assert (record.source, record.target, record.custom, record.moved) == ("a", "nothing", "", ("s1",))
    proxy.work()


class AnyToSubC(AtomicTransition[Nothing, SubC]):
    def transfer_state(self, a: Mechanism, b: SubC) -> None:
        b.s2 = "any to SubC"


class PartToC(AtomicTransition[Part, C]):
    def transfer_state(self, a: Part, b: C) -> None:
        b.s2 = "part to C"


class AToNothing(AtomicTransition[A, Nothing]):
    def transfer_state(self, a: A, b: Nothing) -> None:
        pass


class Completes(AtomicTransition[A, Needy]):
    def transfer_state(self, a: A, b: Needy) -> None:
        auto_transfer(a, b)
        b.s2 = f"made of {a.s1}"


class Forgets(AtomicTransition[A, Needy]):
    def transfer_state(self, a: A, b: Needy) -> None:
        pass


class Adds(AtomicTransition[B, B]):
    pass


def run(start: type[Mechanism], target: type[Mechanism], *transitions: AtomicTransition[Any, Any]) -> Engine:
    engine = Engine()
    engine.create_proxy("part", Api, start, mechanisms=[target])
    for transition in transitions:
        engine.register_transition("part", transition)
    engine.transition("part", target)
    return engine


def test_the_distance_of_the_source_counts_first() -> None:
    assert run(A, SubC, AnyToSubC(), PartToC()).records[-1].custom == "PartToC"
    assert run(A, SubC, AnyToSubC(), T1(), PartToC()).records[-1].custom == "T1"


def test_the_latest_of_equally_close_transitions_wins() -> None:
    class Again(AtomicTransition[A, C]):
        def transfer_state(self, a: A, b: C) -> None:
            b.s2 = "again"

    assert run(A, C, T1(), Again()).records[-1].custom == "Again"
    assert run(A, C, Again(), T1()).records[-1].custom == "T1"


def test_nothing_as_target_is_no_wildcard() -> None:
    assert run(A, C, AToNothing()).records[-1].custom == ""
    assert run(A, Nothing, AToNothing()).records[-1].custom == "AToNothing"


def test_a_transition_from_a_base_class_is_not_used_when_nothing_runs() -> None:
    assert run(Nothing, C, PartToC()).records[-1].custom == ""


def test_a_custom_transition_may_complete_the_automatic_one() -> None:
    active = run(A, Needy, Completes()).active("part")
    assert isinstance(active, Needy)
    assert active.s2 == "made of -"


def test_a_custom_transition_that_forgets_required_state_fails() -> None:
    with pytest.raises(TransitionFailed, match="'needy' requires state 's2'") as caught:
        run(A, Needy, Forgets())
    assert caught.value.phase == "transfer"
    assert isinstance(caught.value.cause, MissingState)


def test_source_and_target_come_from_the_type_arguments() -> None:
    assert (T2.source, T2.target) == (Nothing, C)
    with pytest.raises(TypeError, match="abstract"):
        Adds()  # type: ignore[abstract]
