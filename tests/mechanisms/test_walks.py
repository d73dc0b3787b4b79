"""A client that walks with areas of several sizes is told for each what the scheme promises."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.protocol.messages import AssignmentRequest
from bypass.sim.cellular import CellularModel
from tests.conftest import Point, cell, in_envelope

if TYPE_CHECKING:
    from tests.conftest import World

pytestmark = pytest.mark.slow

AT_ONCE = CellularModel(latency=0.0, jitter=0.0, bandwidth=1e15)
WALKERS = (0, 1)
PUBLISHER = 2
PACE_S = 1.0  # between two fixes
THRESHOLD = 10.0

coordinates = st.integers(-60, 1060).map(float)
places = st.tuples(coordinates, coordinates)
walkers = st.sampled_from(WALKERS)
radii = st.sampled_from([None, 20, 70, 110, 150, 250, 400]) | st.integers(1, 450)


@dataclass(frozen=True)
class Walk:
    """Straight on to a place, which takes `seconds`."""

    client: int
    to: Point
    seconds: int


@dataclass(frozen=True)
class Subscribe:
    client: int
    radius: int | None


@dataclass(frozen=True)
class Unsubscribe:
    """One of the walker's subscriptions, if it has any."""

    client: int
    which: int


steps = st.one_of(
    st.builds(Walk, walkers, places, st.integers(1, 5)),
    st.builds(Subscribe, walkers, radii),
    st.builds(Unsubscribe, walkers, st.integers(0, 9)),
)


@pytest.mark.parametrize(
    ("scheme", "values"),
    [
        ("radial", {}),
        ("radial", {"updates": "distance", "threshold": THRESHOLD}),
        ("ste", {}),
        ("ste", {"updates": "distance", "threshold": THRESHOLD}),
        ("grid", {"grid": 5}),
        ("egrid", {"grid": 5}),
        ("egrid", {"grid": 12}),
        ("attract", {}),
        ("multi", {}),
        ("multi", {"updates": "distance", "threshold": THRESHOLD}),
    ],
)
def test_each_area_gets_what_the_scheme_promises(
    new_world: type[World], scheme: str, values: dict[str, Any]
) -> None:
    @settings(max_examples=40, deadline=None, derandomize=True, print_blob=True)
    @given(
        start=st.lists(places, min_size=len(WALKERS), max_size=len(WALKERS)),
        own=st.lists(st.lists(radii, min_size=2, max_size=3), min_size=len(WALKERS), max_size=len(WALKERS)),
        script=st.lists(steps, min_size=1, max_size=5),
    )
    def walk(start: list[Point], own: list[list[int | None]], script: Sequence[Any]) -> None:
        world = new_world([*start, (500.0, 500.0)], scheme=scheme, set=values, network=AT_ONCE)
        for client in WALKERS:
            for radius in own[client]:
                world.subscribe(client, radius, interval=PACE_S)
        world.run(PACE_S)
        observe(world)
        for step in script:
            take(world, step)
            world.run(PACE_S)
            observe(world, standing=True)
            nobody_asks(world)

    walk()


def take(world: World, step: Walk | Subscribe | Unsubscribe) -> None:
    """Do one step; events are published while somebody walks."""
    match step:
        case Walk(client, to, seconds):
            x, y = world.place(client)
            world.put(client, (x, y), ((to[0] - x) / seconds, (to[1] - y) / seconds))
            for _ in range(seconds):
                world.run(PACE_S)
                observe(world)
            world.put(client, to)
        case Subscribe(client, radius):
            world.subscribe(client, radius, interval=PACE_S)
        case Unsubscribe(client, which):
            own = [handle for owner, handle in world.everybody() if owner == client]
            if own:
                world.clients[client].unsubscribe(own[which % len(own)])


def observe(world: World, *, standing: bool = False) -> None:
    """Publish at the edges of all areas, and where people are if they stand: it reaches all whom it must, and
    nobody whom it may not."""
    published = [(PUBLISHER, at, world.publish(PUBLISHER, at)) for at in {*edges(world)}]
    if standing:
        published += [(client, world.place(client), world.publish_local(client)) for client in WALKERS]
    world.run(1e-6)  # links have no delay
    promises = [
        (client, handle, promise(world, client, handle.radius)) for client, handle in world.everybody()
    ]
    for publisher, at, event in published:
        heard = world.heard(event)
        judged = [
            (client, handle, promised(at)) for client, handle, promised in promises if client != publisher
        ]
        must = {(client, handle.id) for client, handle, (must, _) in judged if must}
        may = {(client, handle.id) for client, handle, (_, may) in judged if may}
        assert must <= {*heard} <= may, (at, must, heard, may)
        assert len(heard) == len({*heard})


def nobody_asks(world: World) -> None:
    """People stand: who still asks for channels is never content with what it is told."""
    world.up.clear()
    world.run(PACE_S)
    assert not any(isinstance(message, AssignmentRequest) for message in world.up)


def edges(world: World) -> Iterator[Point]:
    """Places half a metre within and beyond every area, all around: on no border, where rounding decides."""
    for client, handle in world.everybody():
        x, y = world.place(client)
        for distance in (0.0,) if handle.radius is None else (handle.radius - 0.5, handle.radius + 0.5):
            for eighth in range(8):
                angle = eighth * math.pi / 4
                yield x + distance * math.cos(angle), y + distance * math.sin(angle)


def promise(world: World, client: int, radius: int | None) -> Callable[[Point], tuple[bool, bool]]:
    """Give a function that says whether an event at a place must, and whether it may, reach a subscription.

    The owner's latest fix decides.
    """
    if radius is None:
        return lambda at: (True, True)
    fix = world.clients[client].host.location.last()
    scheme = world.scheme_of(client)
    assert fix is not None
    place, values = (fix.x, fix.y), scheme.settings()
    slack = THRESHOLD if world.clients[client].filter.settings().get("updates") == "distance" else 0.0
    mine = world.around(place)

    def by_distance(at: Point) -> tuple[bool, bool]:
        return math.dist(at, place) <= radius - slack, math.dist(at, place) <= radius + slack

    def by_attraction(at: Point) -> tuple[bool, bool]:
        its = world.around(at)
        return (bool(mine & its) or not (mine or its),) * 2

    match scheme.name:
        case "radial":
            return by_distance
        case "ste" if slack:  # how the subscriber moves may have changed without a report
            return lambda at: (by_distance(at)[0], True)
        case "ste":
            return lambda at: (in_envelope(at, place, radius, (fix.vx, fix.vy), values["alpha"]),) * 2
        case "grid":
            return lambda at: (cell(at, values["grid"]) == cell(place, values["grid"]),) * 2
        case "egrid":
            known = world.broker.table.place(client)
            assert known is not None
            touched = [square(where, radius, values["grid"]) for where in (place, known[:2])]

            def by_cell(at: Point) -> tuple[bool, bool]:
                i, j = cell(at, values["grid"])
                must, may = (i0 <= i <= i1 and j0 <= j <= j1 for (i0, j0), (i1, j1) in touched)
                return must, may

            return by_cell
        case "multi" if not mine:
            return by_distance
        case _:
            return by_attraction


def square(place: Point, radius: int, n: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """The outermost cells that the square around an area touches."""
    low, high = [cell((place[0] + r, place[1] + r), n) for r in (-radius, radius)]
    return low, high
