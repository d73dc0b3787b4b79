"""HYPERG: hellos and neighbours, a probability by density, calling off, and partitions that meet."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.events.event import Event
from bypass.mechanisms.dissemination import HyperGossip
from bypass.models.radio.kernels.state import S
from tests.conftest import Point
from tests.vicinity import REACH, Choice, Vicinity

metres = st.integers(0, 250).map(float)


def hyperg(**values: float) -> dict[str, Choice]:
    return {"direct": ("hyperg", values)}


def clique(clients: int) -> list[Point]:
    """All in reach of all."""
    return [(100.0 + 3.0 * n, 100.0) for n in range(clients)]


def neighbours(world: Vicinity, client: int, max_age: float = 0.2) -> int:
    active = world.clients[client].engine.active("direct")
    assert isinstance(active, HyperGossip)
    return int(active.host.link.neighbours(max_age))


def news(number: int) -> Event:
    return Event(kind="news", number=number)


# -- neighbours -------------------------------------------------------------------------------------------


@settings(max_examples=8, deadline=None)
@given(st.lists(st.tuples(metres, metres), min_size=1, max_size=9))
def test_everybody_says_hello_and_knows_who_is_near(where: list[Point]) -> None:
    world = Vicinity(where, hyperg(hello=0.25, keep=1000.0))
    world.run(5.0)
    digests = [1 if any(math.dist(a, b) <= REACH for b in where if b is not a) else 0 for a in where]
    assert all(19 <= frames <= 20 + 2 * len(where) for frames in world.frames())
    alone = [frames for frames, digest in zip(world.frames(), digests, strict=True) if not digest]
    assert set(alone) <= {20}
    for number, place in enumerate(where):
        near = [other for other in where if other is not place and math.dist(place, other) <= REACH]
        assert neighbours(world, number, 1.0) == len(near)  # one of several hellos gets through


def test_who_is_gone_is_no_neighbour_any_more() -> None:
    world = Vicinity(clique(4), hyperg())
    world.run()
    assert neighbours(world, 0) == 3
    world.put(3, (700.0, 700.0))
    world.run(0.5)
    assert neighbours(world, 0) == 2
    assert neighbours(world, 3) == 0
    world.change(2, "transport", "nothing")
    world.run(0.5)
    assert neighbours(world, 0) == 1
    assert neighbours(world, 2) == 0


# -- passing on -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clients", "probability"), [(8, 1.0), (9, 0.8), (11, 0.7), (13, 0.6), (16, 0.5), (24, 0.3)]
)
def test_the_denser_the_less_likely_it_is_passed_on(clients: int, probability: float) -> None:
    world = Vicinity(clique(clients), hyperg(hesitation=1.0, copies=255))
    world.subscribe_all(None)
    world.run()
    events = [world.clients[0].publish(news(n)) for n in range(8)]
    world.run(2.0)
    # Within 1 s hardly anything collides: the publisher hears nearly all that is passed on.
    passed_on = sum(world.copies(event)[0] - 1 for event in events)
    tries = 8 * (clients - 1)
    assert passed_on / tries == pytest.approx(probability, abs=3 * math.sqrt(0.25 / tries) + 0.03)


def test_enough_copies_call_it_off() -> None:
    """Everybody has one copy; after two more, which come at different times, nobody adds another."""
    world = Vicinity(clique(7), hyperg(hesitation=1.0, hello=1000.0))
    world.subscribe_all(None)
    world.run()
    event = world.clients[0].publish(news(1))
    world.run(2.0)
    assert sum(world.frames()) == 3
    assert world.copies(event)[1:].count(3) == 4  # all but those two who sent, and thus heard one less
    assert world.system.local.counter(S.CALLED_OFF).sum() == 4
    assert world.receivers(1) == [1, 2, 3, 4, 5, 6]


# -- partitions -------------------------------------------------------------------------------------------

LEFT, RIGHT = [(100.0, 100.0), (110.0, 100.0)], [(600.0, 100.0), (610.0, 100.0)]


def partitioned(**values: float) -> Vicinity:
    """Clients 0 and 1 are far from clients 2 and 3."""
    world = Vicinity([*LEFT, *RIGHT], hyperg(**values))
    world.subscribe_all(None)
    world.run(0.5)
    return world


@pytest.mark.parametrize("publisher", [0, 1, 2, 3])
def test_partitions_that_meet_tell_each_other(publisher: int) -> None:
    """Wherever it was published, and though clients 3 and 0 are not in reach of each other then, either."""
    world = partitioned()
    event = world.publish(publisher)
    world.run(0.5)
    assert world.receivers(event) == [publisher ^ 1]
    world.put(2, (160.0, 100.0))
    world.put(3, (230.0, 100.0))
    world.run(1.0)
    assert world.receivers(event) == [n for n in range(4) if n != publisher]


def test_old_events_are_not_told_again() -> None:
    world = partitioned(keep=0.5)
    event = world.publish(0)
    world.run(0.8)
    world.put(2, (160.0, 100.0))
    world.run(1.0)
    assert world.receivers(event) == [1]


def test_who_knows_enough_is_not_told_again() -> None:
    """All know the same: they meet anew, exchange ids, and send no event again."""
    world = partitioned()
    for client, place in ((2, (160.0, 100.0)), (3, (165.0, 100.0))):
        world.put(client, place)
    world.run(0.5)
    numbers = [world.clients[0].publish(news(n)) for n in range(3)]
    world.run(0.5)
    before = [world.copies(number) for number in numbers]
    for client, place in ((2, (600.0, 100.0)), (3, (605.0, 100.0))):
        world.put(client, place)
    world.run(0.3)
    world.change(2, "direct", "nothing")  # it forgets whom it met
    world.change(2, "direct", "hyperg")
    world.put(2, (160.0, 100.0))
    world.put(3, (165.0, 100.0))
    world.run(1.0)
    after = [world.copies(number) for number in numbers]
    assert all(a[1] == b[1] for a, b in zip(after, before, strict=True))


def test_an_event_that_nobody_is_near_for_waits_for_somebody() -> None:
    """One that is alone keeps what it publishes for those whom it meets soon."""
    world = Vicinity([(100.0, 100.0), (600.0, 100.0)], hyperg())
    world.subscribe_all(None)
    world.run(0.5)
    event = world.publish(0)
    world.run(0.5)
    assert world.receivers(event) == []
    world.put(1, (150.0, 100.0))
    world.run(1.0)
    assert world.receivers(event) == [1]
