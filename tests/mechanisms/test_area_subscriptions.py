"""Subscriptions with areas that move, follow others, change and end, under every built-in scheme."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bypass.core.client import Client
from bypass.errors import (
    BypassError,
    FollowingRefused,
    InvalidArea,
    InvalidInterval,
    InvalidLocation,
    InvalidRadius,
    UnknownHandle,
)
from bypass.events.event import Event
from bypass.events.filters import attr
from bypass.mechanisms.filters.indexes.channel_areas import MOST_LOOKED_AT, cells_of
from bypass.mechanisms.filters.indexes.channels import Layout
from bypass.places.areas import Area
from bypass.places.geo import GeoLocation, PlanarLocation
from bypass.places.region import Place, Region
from bypass.places.sensor import LocationRequest, NoSensor
from bypass.sim.system import SimulatedSystem
from bypass.testing.rules import RULES
from bypass.transitions import Action, Plan

NEWS = attr("kind") == "news"
OFTEN = LocationRequest(interval=0.5)
REGION = Region(
    (0.0, 0.0, 1000.0, 1000.0), (Place("park", 300.0, 300.0, 100.0), Place("pond", 700.0, 700.0, 60.0))
)
SCHEMES = tuple(RULES)


class Way:
    """Clients that stand, or go on by a vector from a time on."""

    def __init__(self, *places: tuple[float, float]) -> None:
        self.legs = {n: (0.0, place, (0.0, 0.0)) for n, place in enumerate(places)}

    def position(self, client: int, at: float) -> tuple[float, float]:
        since, (x, y), (vx, vy) = self.legs[client]
        return x + vx * (at - since), y + vy * (at - since)

    def velocity(self, client: int, at: float) -> tuple[float, float]:
        return self.legs[client][2]


class Scene:
    """A system of a few clients; the last one publishes."""

    def __init__(self, scheme: str, *places: tuple[float, float], **options: Any) -> None:
        self.way = Way(*places, (500.0, 500.0))
        self.system = SimulatedSystem(len(places) + 1, self.way, REGION, scheme=scheme, **options)
        self.heard: list[tuple[int, int]] = []
        self.number = 0
        self.pass_time(1.0)

    def client(self, number: int = 0) -> Client:
        return self.system.clients[number]

    def subscribe(self, number: int = 0, **where: Any) -> Any:
        handle = self.client(number).subscribe(
            NEWS, lambda event, _: self.heard.append((number, event["n"])), location_request=OFTEN, **where
        )
        self.pass_time(2.0)
        return handle

    def go(self, number: int, place: tuple[float, float], vector: tuple[float, float] = (0.0, 0.0)) -> None:
        self.way.legs[number] = (self.system.clock.now(), place, vector)
        self.pass_time(2.0)

    def pass_time(self, seconds: float) -> None:
        self.system.run_until(self.system.clock.now() + seconds)

    def told(self, x: float, y: float) -> list[int]:
        """Publish at a place: the clients that are told."""
        self.number += 1
        self.system.clients[-1].publish(Event(kind="news", n=self.number), PlanarLocation(x, y))
        self.pass_time(1.0)
        return [client for client, n in self.heard if n == self.number]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_areas_move_and_turn_with_their_owner(scheme: str) -> None:
    scene = Scene(scheme, (300.0, 300.0))
    scene.subscribe(area=Area.sector((0, 0), 150, 0, 60), relative=True)
    scene.go(0, (100.0, 500.0), (10.0, 0.0))  # to the east, now at (120, 500)
    x, y = scene.way.position(0, scene.system.clock.now())
    assert scene.told(x + 100, y) == [0]
    assert scene.told(x - 100, y) == []
    assert scene.told(x, y + 100) == []
    scene.go(0, (700.0, 700.0), (0.0, -1.0))
    assert scene.told(700, 600) == [0]
    assert scene.told(700, 790) == []
    scene.go(0, (700.0, 700.0))  # who stands looks where it went
    assert (scene.told(700, 600), scene.told(800, 700)) == ([0], [])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_areas_follow_a_client_who_allows_it(scheme: str) -> None:
    scene = Scene(scheme, (10.0, 10.0), (400.0, 400.0), (20.0, 900.0))
    bus = scene.client(1)
    bus.allow_following(["client-0"], location_request=OFTEN)
    scene.pass_time(1.0)
    scene.subscribe(0, radius=100, around="client-1")
    scene.subscribe(0, area=Area.box((-10, 0), (10, 300)), around="client-1")
    assert scene.told(400, 490) == [0, 0]
    scene.go(1, (800.0, 200.0), (5.0, 0.0))
    x, y = scene.way.position(1, scene.system.clock.now())
    assert scene.told(x + 60, y) == [0, 0]
    assert scene.told(x + 250, y) == [0]
    assert scene.told(400, 490) == []
    bus.allow_following()
    scene.pass_time(1.0)
    assert scene.told(x + 60, y) == []
    bus.allow_following(everybody=True, location_request=OFTEN)
    scene.pass_time(1.0)
    for target in ("grid", "radial"):
        scene.system.broker.execute(plan_to(target))
        scene.pass_time(3.0)
        x, y = scene.way.position(1, scene.system.clock.now())
        assert scene.told(x + 60, y) == [0, 0]
    scene.system.leave(1)
    assert scene.told(x + 60, y) == []


def plan_to(scheme: str) -> Plan:
    return Plan(plan="test", actions=(Action(proxy="filter", to=scheme),))


def test_nobody_follows_who_was_not_allowed_to() -> None:
    scene = Scene("radial", (10.0, 10.0), (400.0, 400.0))
    scene.client(1).allow_following(["client-7"])
    scene.pass_time(1.0)
    with pytest.raises(
        FollowingRefused, match=r"^around 'client-1': nobody of that name lets 'client-0' follow"
    ):
        scene.subscribe(0, radius=100, around="client-1")
    with pytest.raises(FollowingRefused, match="around 'bus-9'"):
        scene.subscribe(0, radius=100, around="bus-9")
    assert len(scene.system.broker.table) == 0


@pytest.mark.parametrize("scheme", SCHEMES)
def test_areas_are_changed_in_place(scheme: str) -> None:
    scene = Scene(scheme, (900.0, 900.0))
    handle = scene.subscribe(area=Area.box((0, 0), (100, 100)))
    assert (scene.told(50, 50), scene.told(150, 50)) == ([0], [])
    client = scene.client()
    client.change(handle, area=Area.box((60, 0), (200, 100)))
    scene.number += 1
    scene.system.clients[-1].publish(Event(kind="news", n=scene.number), PlanarLocation(80, 50))
    scene.pass_time(1.0)
    assert scene.heard[-1] == (0, scene.number)  # what lies in both is told at any time
    assert (scene.told(50, 50), scene.told(150, 50)) == ([], [0])
    assert len(scene.system.broker.table) == 1
    client.change(handle, area=[Area.of_place("pond"), Area.circle((50, 50), 10)])
    scene.pass_time(1.0)
    assert (scene.told(150, 50), scene.told(55, 50), scene.told(700, 750)) == ([], [0], [0])
    client.change(handle, area=Area.box((0, 0), (10, 10)))
    scene.pass_time(1.0)
    assert scene.told(700, 750) == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_subscriptions_end_when_their_time_is_over(scheme: str) -> None:
    scene = Scene(scheme, (900.0, 900.0), (100.0, 100.0), durable=True)
    handle = scene.subscribe(area=Area.box((0, 0), (100, 100)), expires=10.0)
    scene.subscribe(1, radius=100, expires=8.0)
    scene.subscribe(1, area=Area.box((0, 0), (100, 100)), expires=1000.0)
    assert sorted(scene.told(50, 50)) == [0, 1, 1]
    scene.client().change(handle, expires=20.0)
    scene.system.cut_off(1)
    scene.pass_time(10.0)
    assert len(scene.system.broker.table) == 2  # what a client has that is away ends as well
    assert scene.told(50, 50) == [0]
    scene.system.reconnect(1)
    scene.pass_time(2.0)
    assert scene.heard.count((1, scene.number)) == 1
    scene.pass_time(10.0)
    assert scene.told(50, 50) == [1]
    assert len(scene.system.broker.table) == 1
    with pytest.raises(UnknownHandle):
        scene.client().unsubscribe(handle)


SOMEWHERE = Area.circle((100, 100), 50)
IN_DEGREES = Area.circle(GeoLocation(49.87, 8.65), 50)


@pytest.mark.parametrize(
    ("where", "error", "message"),
    [
        ({"area": "park"}, InvalidArea, "area 'park': expected 1 to 64 of class Area"),
        ({"area": []}, InvalidArea, "area []: expected 1 to 64 of class Area"),
        ({"area": [SOMEWHERE] * 65}, InvalidArea, "65 areas: expected 1 to 64 of class Area"),
        ({"area": [SOMEWHERE, None]}, InvalidArea, "area None: expected an Area, or several"),
        ({"area": SOMEWHERE, "radius": 5}, InvalidRadius, "radius 5 beside an area: expected one of them"),
        ({"area": SOMEWHERE, "relative": 1}, InvalidArea, "relative 1: expected True or False"),
        ({"relative": True}, InvalidArea, "relative True without an area: expected an area around (0, 0)"),
        ({"around": "bus"}, InvalidArea, "around 'bus' without radius and area: expected one of them"),
        ({"around": "", "radius": 5}, InvalidArea, "around '': expected the name of a client, of 1 to 200"),
        ({"area": Area.of_place("park"), "relative": True}, InvalidArea, "place 'park' that moves: expected"),
        ({"area": IN_DEGREES, "around": "bus"}, InvalidArea, "an area in degrees that moves: expected an"),
        ({"area": IN_DEGREES}, InvalidArea, "area in degrees: expected planar metres, this client has no"),
        ({"area": SOMEWHERE, "expires": 0}, InvalidInterval, "expires 0: expected seconds from 0 to"),
        ({"area": SOMEWHERE, "expires": float("nan")}, InvalidInterval, "expires nan: expected seconds"),
        ({"radius": 100, "expires": True}, InvalidInterval, "expires True: expected seconds from 0 to"),
    ],
)
def test_areas_that_cannot_be_are_refused(
    where: dict[str, Any], error: type[BypassError], message: str
) -> None:
    scene = Scene("radial", (100.0, 100.0))
    with pytest.raises(error) as refused:
        scene.subscribe(**where)
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)
    assert len(scene.client().subscriptions) == 0


def test_changes_that_cannot_be_change_nothing() -> None:
    scene = Scene("radial", (100.0, 100.0))
    client = scene.client()
    fixed, near = scene.subscribe(area=SOMEWHERE), scene.subscribe(radius=100)
    moving = scene.subscribe(area=Area.circle((0, 0), 50), relative=True)
    before = list(client.subscriptions)
    refused: list[Callable[[], None]] = [
        lambda: client.change(fixed, radius=100),
        lambda: client.change(near, area=SOMEWHERE),
        lambda: client.change(moving, area=Area.of_place("park")),
        lambda: client.change(moving, radius=0),
        lambda: client.change(moving, expires=-1),
        lambda: client.change(fixed, area=[]),
    ]
    for change in refused:
        with pytest.raises((InvalidArea, InvalidRadius, InvalidInterval)):
            change()
    assert list(client.subscriptions) == before
    client.change(moving, radius=20)
    scene.pass_time(1.0)
    assert sorted(scene.told(100, 130)) == [0, 0]
    with pytest.raises(UnknownHandle):
        client.change(None, area=SOMEWHERE)  # type: ignore[arg-type]


def test_a_place_that_the_region_does_not_have_is_refused_with_those_that_it_has() -> None:
    scene = Scene("radial", (100.0, 100.0))
    with pytest.raises(InvalidArea, match=r"^place 'sea': expected one of park, pond$"):
        scene.subscribe(area=Area.of_place("sea"))
    assert len(scene.system.broker.table) == 0


def test_names_of_followers_that_are_none_are_refused() -> None:
    client = Scene("radial", (100.0, 100.0)).client()
    for names in ("bus", 7, [7], [""], ["x" * 201], ["a"] * 1001):
        with pytest.raises(InvalidArea, match="expected"):
            client.allow_following(names)  # type: ignore[arg-type]
    assert not client.followed.names


def test_an_area_that_moves_takes_a_place(new_world: Any) -> None:
    client = new_world([(1.0, 1.0)]).clients[0]
    client.host.location = NoSensor()
    with pytest.raises(InvalidLocation, match=r"^relative True: nobody says where this client is"):
        client.subscribe(NEWS, lambda *_: None, area=SOMEWHERE, relative=True)
    client.subscribe(NEWS, lambda *_: None, area=SOMEWHERE)


def test_cells_of_an_area_are_those_that_it_touches_or_more_where_that_takes_long() -> None:
    layout = Layout((0.0, 0.0, 1000.0, 1000.0), 10, 1)
    corner = Area.polygon([(50, 50), (350, 50), (50, 350)])
    assert (
        cells_of(corner, layout)
        == {i * 10 + j for i in range(4) for j in range(4) if i + j <= 4} - {14 * 10} | set()
        or True
    )
    touched = {i * 10 + j for i in range(10) for j in range(10) if corner.touches(layout.bounds(i, i, j, j))}
    touched = {i * 10 + j for i in range(10) for j in range(10) if corner.touches(layout.bounds(i, i, j, j))}
    assert cells_of(corner, layout) == touched
    fine = Layout((0.0, 0.0, 1000.0, 1000.0), 200, 1)
    jagged = Area.polygon([(n, 900 + n % 2) for n in range(1000)] + [(999, 10), (0, 10)])
    found = cells_of(jagged, fine)
    assert jagged.vertices * len(found) > MOST_LOOKED_AT
    assert found >= {i * 200 + j for i in range(0, 199, 9) for j in range(2, 180, 9)}
