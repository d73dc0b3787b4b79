"""Areas that turn with a client: it looks where it went, also if nobody was told anything while it did."""

from __future__ import annotations

import pytest

from bypass import Area, Event, PlanarLocation, Region, SimulatedSystem, attr
from tests.core.borders.walks import Walks

NEWS = attr("kind") == "x"
AHEAD = Area.sector((0, 0), 100, 0, 90)
EAST = [(0.0, 100.0, 500.0), (20.0, 500.0, 500.0)]
STAYS = [(0.0, 10.0, 10.0)]
schemes = pytest.mark.parametrize("scheme", ["radial", "egrid", "attract"])


def started(scheme: str) -> SimulatedSystem:
    return SimulatedSystem(2, Walks([STAYS, EAST]), Region((0, 0, 1000, 1000)), scheme=scheme)


def told_of(told: list[int], system: SimulatedSystem, publisher: int) -> list[int]:
    """The numbers of events that come, of one in the east, one in the north and one in the west."""
    for n, (x, y) in enumerate([(560, 500), (500, 560), (440, 500)]):
        system.clients[publisher].publish(Event(kind="x", n=n), PlanarLocation(x, y))
    system.run_until(80)
    return told


@schemes
def test_a_client_that_stands_looks_where_it_went(scheme: str) -> None:
    system, told = started(scheme), list[int]()
    system.run_until(1)
    system.clients[1].subscribe(NEWS, lambda event, _: told.append(event["n"]), area=AHEAD, relative=True)
    system.run_until(60)  # no event comes while it goes
    assert told_of(told, system, 0) == [0]


@schemes
def test_a_broker_that_has_forgotten_a_followed_client_is_told_where_it_looks(scheme: str) -> None:
    system, told = started(scheme), list[int]()
    me, bus = system.clients
    bus.allow_following(everybody=True)
    system.run_until(60)
    bus.allow_following()
    bus.allow_following(everybody=True)
    system.run_until(61)
    me.subscribe(NEWS, lambda event, _: told.append(event["n"]), area=AHEAD, around="client-1")
    system.run_until(62)
    assert told_of(told, system, 1) == [0]
