"""Watches whose areas change, end, or are withdrawn; who may watch whom; clients that stand."""

from __future__ import annotations

import pytest

from bypass.errors import InvalidWatch, UnknownHandle
from bypass.events.filters import attr
from bypass.places.areas import Area
from bypass.places.borders import EVERYBODY, BorderEvent
from bypass.places.region import Place, Region
from bypass.sim.cellular import Traffic
from bypass.sim.system import SimulatedSystem
from bypass.transitions import Action, Plan
from tests.core.borders.walks import Walks

REGION = Region((0, 0, 1000, 1000), (Place("market", 500, 500, 100),))
SQUARE, ELSEWHERE = Area.box((400, 400), (600, 600)), Area.box((0, 0), (10, 10))
Way = list[tuple[float, float, float]]
THROUGH: Way = [(0, 100, 500), (40, 900, 500)]
INSIDE: Way = [(0, 500, 500)]
schemes = pytest.mark.parametrize("scheme", ["radial", "egrid"])


def started(way: Way, scheme: str = "radial") -> tuple[SimulatedSystem, list[BorderEvent]]:
    """A watcher and a client that the broker knows; what the watcher is told."""
    system = SimulatedSystem(2, Walks([INSIDE, way]), REGION, scheme=scheme)
    system.clients[1].subscribe(attr("kind") == "any", lambda *_: None, radius=50)
    system.run_until(0.5)
    return system, []


def brief(told: list[BorderEvent]) -> list[tuple[str, str, str]]:
    return [(event.kind, event.area, event.why) for event in told]


@schemes
def test_areas_change_in_place(scheme: str) -> None:
    """A client that stands is left by one, and entered by another; one that goes is left, too."""
    system, told = started(INSIDE, scheme)
    watcher = system.clients[0]
    watch = watcher.watch({"a": SQUARE, "b": ELSEWHERE}, told.append, whom=EVERYBODY, initial=True)
    system.run_until(10)
    assert brief(told) == [("enter", "a", "initial")]
    watcher.change_watch(watch, {"a": ELSEWHERE, "b": SQUARE})
    system.run_until(20)
    assert sorted(brief(told)[1:]) == [("enter", "b", "changed"), ("exit", "a", "changed")]
    watcher.change_watch(watch, {"a": ELSEWHERE})
    system.run_until(30)
    assert brief(told)[3:] == [("exit", "b", "removed")]
    watcher.change_watch(watch, {"a": ELSEWHERE, "c": SQUARE})
    system.run_until(40)
    assert brief(told)[4:] == [("enter", "c", "initial")]


@schemes
def test_a_watch_that_expires_or_a_client_that_leaves_ends_all_stays(scheme: str) -> None:
    system, told = started(INSIDE, scheme)
    system.clients[0].watch(SQUARE, told.append, whom=EVERYBODY, initial=True, expires=20)
    gone: list[BorderEvent] = []
    system.clients[0].watch(SQUARE, gone.append, whom=EVERYBODY, initial=True)
    system.run_until(30)
    assert brief(told) == [("enter", "1", "initial"), ("exit", "1", "expired")]
    system.leave(1)
    system.run_until(40)
    assert brief(gone) == [("enter", "1", "initial"), ("exit", "1", "left")]
    assert brief(told)[2:] == []


@schemes
def test_a_client_is_watched_only_as_long_as_it_allows_that(scheme: str) -> None:
    system, told = started(INSIDE, scheme)
    system.clients[0].watch("place:market", told.append, whom=["client-1"], initial=True)
    system.run_until(10)
    assert told == []
    system.clients[1].allow_following(["client-0"])
    system.run_until(20)
    assert brief(told) == [("enter", "market", "initial")]
    system.clients[1].allow_following([])
    system.run_until(30)
    assert brief(told)[1:] == [("exit", "market", "forbidden")]
    assert told[-1].name == "client-1"


@schemes
def test_a_client_that_stands_dwells(scheme: str) -> None:
    """Once, and also if it says nothing any more."""
    system, told = started(INSIDE, scheme)
    system.clients[0].watch(SQUARE, told.append, on={"dwell"}, dwell=30, whom=EVERYBODY, interval=60)
    system.run_until(200)
    assert brief(told) == [("dwell", "1", "moved")]
    assert told[0].at == pytest.approx(told[0].since + 30)


def test_a_withdrawn_watch_is_silent() -> None:
    system, told = started(THROUGH)
    watch = system.clients[0].watch(SQUARE, told.append, whom=EVERYBODY)
    system.run_until(18)
    assert brief(told) == [("enter", "1", "moved")]
    system.clients[0].unwatch(watch)
    system.run_until(60)
    assert len(told) == 1
    with pytest.raises(UnknownHandle):
        system.clients[0].unwatch(watch)


def test_reports_of_borders_are_context_traffic() -> None:
    """Under a scheme without fixes the same client sends more context with a watch than without one."""
    sent = []
    for watched in (False, True):
        system, told = started(THROUGH, "grid")
        if watched:
            system.clients[0].watch(SQUARE, told.append, whom=EVERYBODY)
        system.run_until(60)
        sent.append((int(system.cellular.up[Traffic.CONTEXT, 1]), int(system.cellular.up[Traffic.EVENTS, 1])))
    assert len(told) == 2
    assert sent[1][0] > sent[0][0]
    assert sent[1][1] == sent[0][1]


def test_oneself_takes_no_broker() -> None:
    """Nothing is sent, and the own watch goes on while the client is cut off."""
    system = SimulatedSystem(1, Walks([THROUGH]), REGION, durable=True)
    told: list[BorderEvent] = []
    system.cut_off(0)
    system.clients[0].watch({"way": SQUARE}, told.append, on={"enter", "exit"}, interval=1)
    system.run_until(60)
    assert brief(told) == [("enter", "way", "moved"), ("exit", "way", "moved")]
    assert [round(each.at, 6) for each in told] == [15.0, 25.0]
    assert system.cellular.up.sum() == 0


def test_all_places_of_the_region_may_be_watched_for_oneself() -> None:
    system, told = started(THROUGH)
    system.clients[1].watch("places", told.append)
    system.run_until(60)
    assert brief(told) == [("enter", "market", "moved"), ("exit", "market", "moved")]


def test_transitions_hand_over_in_the_middle_of_a_stay() -> None:
    system, told = started(INSIDE)
    on = {"enter", "dwell"}
    system.clients[0].watch(SQUARE, told.append, on=on, dwell=50, whom=EVERYBODY, initial=True)
    for at, to in ((10, "grid"), (20, "ste"), (30, "multi"), (40, "radial"), (45, "attract")):
        system.run_until(at)
        system.broker.execute(Plan(plan="other", actions=(Action(proxy="filter", to=to),)))
    system.run_until(120)
    assert brief(told) == [("enter", "1", "initial"), ("dwell", "1", "moved")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on": {"dwell"}}, "dwell None"),
        ({"on": {"enter"}, "dwell": 3}, "dwell 3"),
        ({"on": "enter"}, "on 'enter'"),
        ({"on": {"leave"}}, "on {'leave'}"),
        ({"debounce": -1}, "debounce -1"),
        ({"margin": float("nan")}, "margin nan"),
        ({"whom": "bus"}, "whom 'bus'"),
        ({"whom": []}, "expected at least one name"),
        ({"interval": 0}, "interval 0"),
    ],
)
def test_bad_options_are_refused_in_one_line(options: dict[str, object], message: str) -> None:
    system, told = started(INSIDE)
    with pytest.raises(InvalidWatch, match=message) as refused:
        system.clients[0].watch(SQUARE, told.append, **options)  # type: ignore[arg-type]
    assert "\n" not in str(refused.value)


def test_bad_areas_are_refused() -> None:
    system, told = started(INSIDE)
    wrong: tuple[object, ...] = ("market", 3, [], {"": SQUARE}, {"x" * 201: SQUARE})
    for areas in wrong:
        with pytest.raises(InvalidWatch):
            system.clients[0].watch(areas, told.append)  # type: ignore[arg-type]


def test_reports_of_a_client_whose_mode_leaves_the_broker_out_are_counted() -> None:
    """It walks through the area, and nobody is told."""
    system, told = started(THROUGH, "egrid")
    system.clients[0].watch(SQUARE, told.append, whom=EVERYBODY, interval=2)
    system.run_until(5)
    client = system.clients[1]
    system.broker.execute(Plan(plan="alone", actions=(Action(proxy="mode", to="ad-hoc", members=(1,)),)))
    system.run_until(60)
    assert told == []
    assert client.reports_unsent == 2
