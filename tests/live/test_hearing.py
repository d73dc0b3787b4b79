"""Live ports against the simulator's kernels: the same frames arrive, and the same becomes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from bypass.events.event import Event
from bypass.live.adhoc.port import MOST_COPIES, MOST_EVENTS, MOST_NEIGHBOURS, Copies, LivePort
from bypass.models.radio.kernels import arrivals
from bypass.models.radio.kernels.arrivals import (
    arrive,
    count_neighbours,
    forget_station,
    make_ports,
    meet,
    take,
)
from bypass.models.radio.kernels.queue import join_queue
from bypass.models.radio.kernels.state import F, FrameUse, L, PortVerdict, S
from bypass.models.radio.medium import Medium
from bypass.models.radio.radio import WIFI
from bypass.ports.local_access import DIRECT_PORT, GATEWAY_PORT, PORTS, Tuning, Unless
from bypass.protocol.messages import Frame, Publish
from bypass.protocol.wire import decode, encode
from bypass.support.units import MICROSECONDS

pytestmark = pytest.mark.slow

STATIONS = 6  # the first one hears what the others send
EVENTS = 5
NEWS = Event(kind="news")

Told = tuple[str, int, object, float]


@dataclass(frozen=True)
class Arrival:
    """A frame arrives `after_us` later; if its sender follows another decision, `follows` says what then."""

    after_us: int
    sender: int
    port: int
    flag: int
    counter: int
    scope: int
    events: tuple[int, ...]
    ids: tuple[int, ...] | None
    follows: bool
    answers: bool


@dataclass(frozen=True)
class Departure:
    """The device sends an event itself, `unless` so many copies were heard already."""

    port: int
    event: int
    unless: Unless


@dataclass(frozen=True)
class Retuned:
    """Another mechanism listens."""

    port: int
    tuning: Tuning


@dataclass(frozen=True)
class Off:
    """The radio is turned off, and on again."""


small = st.integers(0, 2)
ports = st.sampled_from((DIRECT_PORT, GATEWAY_PORT))
times = st.sampled_from((0, 1, 499_999, 500_000, 500_001, 1_000_000))
events = st.lists(st.integers(0, EVENTS - 1), max_size=4).map(tuple)
tunings = st.builds(
    Tuning,
    flag=small,
    counter=small,
    scope=st.integers(0, 1),
    near_m=st.sampled_from((0.0, 5.0, 5.0004, 13.0)),
    new_after_s=st.sampled_from((0.0, 0.5, 1.0)),
)
steps = st.one_of(
    st.builds(
        Arrival,
        times,
        st.integers(1, STATIONS - 1),
        ports,
        st.integers(1, 2),
        small,
        st.integers(0, 1),
        events,
        st.none() | st.just((7, 8)),
        st.booleans(),
        st.booleans(),
    ),
    st.builds(Departure, ports, st.integers(0, EVENTS - 1), st.builds(Unless, st.integers(0, 4), small)),
    st.builds(Retuned, ports, tunings),
    st.just(Off()),
)
places = st.sampled_from(((0.0, 0.0), (5.0, 0.0), (3.0, 4.0), (5.0, 12.0), (0.0, 40.0)))


class Kernels:
    """The first station's ports as the simulator has them."""

    def __init__(self, where: Sequence[tuple[float, float]]) -> None:
        self.ports = make_ports(STATIONS, PORTS, PORTS * EVENTS)
        x, y = (np.array(column) for column in zip(*where, strict=True))
        medium = Medium(WIFI, lambda _: (x, y), STATIONS, 0, self.ports, np.zeros(PORTS * EVENTS, np.int64))
        self.air = medium.air
        self.air.x[:], self.air.y[:] = x, y
        self.air.stations[0, S.ON] = 0  # what is not called off is dropped, and so can be told from it
        self.told: list[Told] = []

    def tune(self, port: int, tuning: Tuning) -> None:
        own = self.ports.listening[0, port]
        own[L.FLAG], own[L.COUNTER], own[L.SCOPE] = tuning.flag, tuning.counter, tuning.scope
        own[L.NEAR_MM] = round(1000.0 * tuning.near_m)
        own[L.NEW_AFTER] = round(MICROSECONDS * tuning.new_after_s)

    def arrived(self, step: Arrival, now_us: int) -> None:
        row = self._fill(step.sender, step.port, step.events)
        kind = FrameUse.EVENTS if step.events else FrameUse.HELLO if step.ids is None else FrameUse.DIGEST
        row[F.KIND], row[F.FLAG], row[F.COUNTER], row[F.SCOPE] = kind, step.flag, step.counter, step.scope
        count = arrive(self.air, self.ports, 0, np.array([0]), now_us)
        if count == 1 and self.air.found[0, 1] == PortVerdict.FOREIGN:
            self.told.append(("strange", step.port, (step.flag, step.counter), 0.0))
            if step.follows:
                own = self.ports.listening[0, step.port]
                own[L.FLAG], own[L.COUNTER] = step.flag, step.counter
            if not step.answers:
                return
            air = self.air
            count = take(now_us, 0, 0, row, air.keys, air.x, air.y, self.ports, air.found, 0)
        for _, what, millimetres in self.air.found[:count].tolist():
            if what >= 0:
                self.told.append(("heard", step.port, (step.events[what], step.sender), millimetres / 1000.0))
            elif what == PortVerdict.NEW_NEIGHBOUR:
                self.told.append(("neighbour", step.port, step.sender, 0.0))
            else:
                assert what == PortVerdict.DIGEST
                self.told.append(("digest", step.port, (step.ids, step.sender), 0.0))

    def departs(self, step: Departure) -> bool:
        row = self._fill(0, step.port, (step.event,))
        air = self.air
        place = step.port * EVENTS + step.event
        air.references[place] += 1
        self.ports.copies[place, 0] = max(self.ports.copies[place, 0], 1)  # who sends an event has a copy
        row[F.MOST_COPIES], row[F.MOST_NEAR] = step.unless
        before = int(air.stations[0, S.CALLED_OFF])
        join_queue(air, self.ports, 0, 0)
        return int(air.stations[0, S.CALLED_OFF]) == before

    def _fill(self, sender: int, port: int, numbers: Sequence[int]) -> NDArray[np.int64]:
        row: NDArray[np.int64] = self.air.frames[0]
        row[F.SENDER], row[F.PORT], row[F.KEYS] = sender, port, len(numbers)
        self.air.keys[0, : len(numbers)] = [port * EVENTS + number for number in numbers]
        return row


class Live:
    """The same ports as a live client has them."""

    def __init__(self, where: Sequence[tuple[float, float]]) -> None:
        self.now_us = 0
        self.told: list[Told] = []
        self.ports = [LivePort(port, 0, lambda: self.now_us) for port in range(PORTS)]
        self._where = where
        self._step: Arrival
        for number, port in enumerate(self.ports):
            port.bind(Ear(number, self.told), Mute(), self._strange, lambda: where[0])
        self._tunings = [Tuning()] * PORTS

    def tune(self, port: int, tuning: Tuning) -> None:
        self._tunings[port] = tuning
        self.ports[port].tune(tuning)

    def arrived(self, step: Arrival) -> None:
        self._step = step
        frame = Frame(
            step.port,
            step.scope,
            self._where[step.sender],
            tuple(Publish(event, NEWS) for event in step.events),
            None if step.events else step.ids,
            client=step.sender,
            scheme=step.flag,
            epoch=step.counter,
        )
        arrived = decode(encode(frame))
        assert isinstance(arrived, Frame)
        self.ports[step.port].arrived(arrived)

    def departs(self, step: Departure) -> bool:
        (copies,) = self.ports[step.port].sending([Publish(step.event, NEWS)])
        return not copies.calls_off(step.unless)

    def _strange(self, frame: Frame) -> bool:
        step, own = self._step, self._tunings[frame.port]
        self.told.append(("strange", frame.port, (frame.scheme, frame.epoch), 0.0))
        if step.follows:
            self.tune(
                frame.port,
                Tuning(frame.scheme, frame.epoch, own.scope, own.places, own.near_m, own.new_after_s),
            )
        return step.answers


class Ear:
    """Notes what a port tells its mechanism."""

    def __init__(self, port: int, told: list[Told]) -> None:
        self._port = port
        self._told = told

    def heard(self, publication: Publish, sender: int, distance: float) -> None:
        self._told.append(("heard", self._port, (publication.id, sender), distance))

    def neighbour_appeared(self, neighbour: int) -> None:
        self._told.append(("neighbour", self._port, neighbour, 0.0))

    def digest_arrived(self, ids: Sequence[int], sender: int) -> None:
        self._told.append(("digest", self._port, (tuple(ids), sender), 0.0))


class Mute:
    """Sends nothing."""

    def send(self, frame: Frame, target: int | None, delay: float, unless: Unless) -> None:
        raise AssertionError("nobody asked for that")


@settings(max_examples=300, deadline=None)
@given(
    st.lists(places, min_size=STATIONS, max_size=STATIONS),
    st.tuples(tunings, tunings),
    st.lists(steps, min_size=1, max_size=40),
)
def test_ports_do_what_kernels_do(
    where: list[tuple[float, float]],
    first: tuple[Tuning, Tuning],
    sequence: list[Arrival | Departure | Retuned | Off],
) -> None:
    """The mechanism is told the same, in the same order; copies and neighbours are counted alike."""
    kernels, live = Kernels(where), Live(where)
    for port, tuning in enumerate(first):
        kernels.tune(port, tuning)
        live.tune(port, tuning)

    for step in sequence:
        if isinstance(step, Arrival):
            live.now_us += step.after_us
            kernels.arrived(step, live.now_us)
            live.arrived(step)
        elif isinstance(step, Departure):
            assert live.departs(step) == kernels.departs(step)
        elif isinstance(step, Retuned):
            kernels.tune(step.port, step.tuning)
            live.tune(step.port, step.tuning)
        else:
            forget_station(0, kernels.ports)
            for live_port in live.ports:
                live_port.forget_neighbours()
        assert live.told == kernels.told
        strange = int(kernels.air.stations[0, S.STRANGE])
        assert sum(live_port.strange for live_port in live.ports) == strange
        for port in range(PORTS):
            for event in range(EVENTS):
                publication, place = Publish(event, NEWS), port * EVENTS + event
                assert live.ports[port].copies(publication) == kernels.ports.copies[place, 0]
                assert live.ports[port].near_copies(publication) == kernels.ports.near[place, 0]
            for age in (0.0, 0.5, 1.0, 60.0):
                since = live.now_us - round(age * MICROSECONDS)
                assert live.ports[port].neighbours(age) == count_neighbours(
                    kernels.ports.heard_at, kernels.ports.counts, 0, port, since
                )


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, MOST_NEIGHBOURS + 40), min_size=100, max_size=400))
def test_as_many_neighbours_are_remembered(senders: list[int]) -> None:
    """Also when there are more than that: who has not said hello for longest is forgotten."""
    kernels = make_ports(1, 1, 1)
    now_us = 0
    port = LivePort(0, 0, lambda: now_us)
    told: list[Told] = []
    port.bind(Ear(0, told), Mute(), lambda frame: False, lambda: None)
    port.tune(Tuning(flag=1, new_after_s=0.0001))
    for sender in [*range(1, MOST_NEIGHBOURS + 10), *senders]:
        now_us += 3
        told.clear()
        port.arrived(Frame(0, client=sender, scheme=1))
        assert bool(told) == meet(*kernels[3:], now_us, 0, 0, sender, 100)
    assert (
        port.neighbours(60.0)
        == MOST_NEIGHBOURS
        == count_neighbours(kernels.heard_at, kernels.counts, 0, 0, 0)
    )


@given(st.lists(st.integers(98, 102), max_size=10))
def test_neighbours_are_new_again_at_the_same_moment(gaps: list[int]) -> None:
    kernels = make_ports(1, 1, 1)
    now_us = 0
    port = LivePort(0, 0, lambda: now_us)
    told: list[Told] = []
    port.bind(Ear(0, told), Mute(), lambda frame: False, lambda: None)
    port.tune(Tuning(flag=1, new_after_s=0.0001))
    for gap in [0, *gaps]:
        now_us += gap
        told.clear()
        port.arrived(Frame(0, client=7, scheme=1))
        assert bool(told) == meet(*kernels[3:], now_us, 0, 0, 7, 100)


def test_limits_are_the_same() -> None:
    assert (MOST_COPIES, MOST_NEIGHBOURS) == (arrivals.MOST_COPIES, arrivals.MOST_NEIGHBOURS)


# -- what has no counterpart there ------------------------------------------------------------------------


def listening(place: tuple[float, float] | None = (0.0, 0.0)) -> tuple[LivePort, list[Told]]:
    told: list[Told] = []
    port = LivePort(0, 0, lambda: 0)
    port.bind(Ear(0, told), Mute(), lambda frame: False, lambda: place)
    port.tune(Tuning(flag=1, near_m=5.0))
    return port, told


def copy(event: int, place: tuple[float, float] | None = None, sender: int = 9) -> Frame:
    return Frame(0, place=place, publications=(Publish(event, NEWS),), client=sender, scheme=1)


def test_counting_ends_somewhere() -> None:
    port, told = listening()
    for _ in range(MOST_COPIES + 10):
        port.arrived(copy(1))
    assert port.copies(Publish(1, NEWS)) == port.near_copies(Publish(1, NEWS)) == MOST_COPIES
    assert len(told) == 1


def test_who_does_not_say_where_it_is_counts_as_here() -> None:
    port, told = listening()
    port.arrived(copy(1))
    port.arrived(copy(2, (30.0, 40.0)))
    lost, told_lost = listening(None)
    lost.arrived(copy(2, (30.0, 40.0)))
    assert [distance for *_, distance in told + told_lost] == [0.0, 50.0, 0.0]
    assert [port.near_copies(Publish(event, NEWS)) for event in (1, 2)] == [1, 0]
    assert lost.near_copies(Publish(2, NEWS)) == 1


def test_events_that_are_remembered_are_limited_to_the_latest() -> None:
    port, told = listening()
    for event in range(MOST_EVENTS + 10):
        port.arrived(copy(event))
    known = [event for event in range(MOST_EVENTS + 10) if port.copies(Publish(event, NEWS))]
    assert known == list(range(10, MOST_EVENTS + 10))
    port.arrived(copy(5))
    port.arrived(copy(11))
    assert len(told) == MOST_EVENTS + 11


def test_events_that_wait_to_be_sent_are_not_forgotten() -> None:
    port, _ = listening()
    waiting: list[Copies] = port.sending([Publish(1, NEWS), Publish(2, NEWS)])
    for copies in waiting:
        copies.waiting += 1
    for event in range(3, MOST_EVENTS + 100):
        port.arrived(copy(event))
    port.arrived(copy(1))
    assert [copies.count for copies in waiting] == [2, 1]
    waiting[0].waiting = waiting[1].waiting = 0
    for event in range(MOST_EVENTS + 100, 2 * MOST_EVENTS + 100):
        port.arrived(copy(event))
    assert port.copies(Publish(1, NEWS)) == port.copies(Publish(2, NEWS)) == 0


def test_all_events_of_a_frame_are_counted_before_the_first_is_told() -> None:
    port, _ = listening()
    seen: list[int] = []

    class Asking(Ear):
        def heard(self, publication: Publish, sender: int, distance: float) -> None:
            seen.extend(port.copies(Publish(event, NEWS)) for event in (1, 2))

    port.bind(Asking(0, []), Mute(), lambda frame: False, lambda: None)
    both = (Publish(1, NEWS), Publish(2, NEWS), Publish(1, NEWS))
    port.arrived(Frame(0, publications=both, client=9, scheme=1))
    assert seen == [2, 1, 2, 1]
