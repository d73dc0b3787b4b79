"""PLAN-B: the farther ones first, near ones silent, and several events in one frame."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.events.event import Event
from bypass.models.radio.kernels.state import S
from tests.conftest import Point
from tests.vicinity import Choice, Vicinity


def planb(**values: float) -> dict[str, Choice]:
    return {"direct": ("plan-b", {"p_min": 1.0, **values})}


def line(*distances: float) -> list[Point]:
    return [(100.0 + d, 100.0) for d in distances]


def news(number: int) -> Event:
    return Event(kind="news", number=number)


@settings(max_examples=10, deadline=None)
@given(st.integers(5, 60), st.integers(14, 25), st.integers(0, 50))
def test_the_farther_one_passes_it_on_first(near: int, farther: int, seed: int) -> None:
    """In different directions, so that they are apart by more than what jitter can make up for."""
    world = Vicinity(
        [(300.0, 300.0), (300.0 + near, 300.0), (300.0 - near - farther, 300.0)], planb(), seed=seed
    )
    world.subscribe_all(None)
    world.run()
    world.clients[0].publish(news(1))
    order = []
    for _ in range(400):
        world.run(0.0001)
        order += [n for n in (1, 2) if world.frames()[n] and n not in order]
    assert order[0] == 2


def test_those_near_the_sender_keep_silent() -> None:
    """Within half the reach: the first one that speaks is the second copy from nearby for all others."""
    world = Vicinity(line(0, 10, 16, 22, 28, 34), planb())
    world.subscribe_all(None)
    world.run()
    world.clients[0].publish(news(1))
    world.run()
    assert world.frames()[0] == 1
    assert sum(world.frames()[1:]) == 1
    assert world.receivers(1) == [1, 2, 3, 4, 5]


def test_distant_copies_silence_nobody() -> None:
    world = Vicinity(line(0, 50, 130, 180), planb(copies=1))
    world.subscribe_all(None)
    world.run()
    world.clients[0].publish(news(1))
    world.run()
    assert world.frames() == [1, 1, 1, 1]


def test_one_near_copy_may_be_enough() -> None:
    world = Vicinity(line(0, 20, 80), planb(copies=1))
    world.subscribe_all(None)
    world.run()
    world.clients[0].publish(news(1))
    world.run()
    assert world.frames() == [1, 0, 1]


def test_what_is_near_follows_the_reach() -> None:
    world = Vicinity(line(0, 20, 80), planb(copies=1, reach=30.0))
    world.subscribe_all(None)
    world.run()
    world.clients[0].publish(news(1))
    world.run()
    assert world.frames() == [1, 1, 1]
    for client in range(3):  # the same mechanism with another parameter
        world.clients[client].engine.set("direct", reach=88.0)
    world.clients[0].publish(news(2))
    world.run()
    assert world.frames() == [2, 1, 2]


def test_the_nearer_the_less_likely() -> None:
    """Next to the sender an event is passed on with `p_min` at least, at the end of the reach always."""
    world = Vicinity(line(0, 1, 87.9), planb(p_min=0.0, copies=255))
    world.subscribe_all(None)
    world.run()
    for n in range(40):
        world.clients[0].publish(news(n))
        world.run(0.05)
    assert world.frames()[1] <= 3
    assert world.frames()[2] >= 39


@pytest.mark.parametrize(
    ("values", "frames"), [({}, 1), ({"together": 2}, 2), ({"together": 1}, 4), ({"window": 0.0}, 4)]
)
def test_several_events_go_into_one_frame(values: dict[str, float], frames: int) -> None:
    """All four are there before the first one is due; they are apart by more than a microsecond."""
    world = Vicinity(line(0, 60, 140), planb(**{"jitter": 0.0, "hesitation": 0.1, **values}))
    world.subscribe_all(None)
    world.run()
    numbers = [world.clients[0].publish(news(n)) for n in range(4)]
    world.run()
    assert world.frames()[:2] == [4, frames]
    assert sorted(event for _, client, _, event in world.deliveries if client == 2) == [0, 1, 2, 3]
    assert all(world.copies(number)[2] for number in numbers)


def test_frames_say_where_their_sender_is() -> None:
    """A place makes a frame larger; no other mechanism pays for it."""
    sizes = []
    for mechanism in ("flooding", "plan-b"):
        world = Vicinity(line(0), {"direct": mechanism})
        world.run()
        world.clients[0].publish(news(1))
        world.run()
        sizes.append(int(world.system.local.counter(S.BYTES_UP)[0]))
    assert sizes[1] > sizes[0]
