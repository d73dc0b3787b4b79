"""Subscriptions by their areas: the index finds whom the areas say, with and without the resolver."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.events.event import Event
from bypass.events.filters import Subscription, attr
from bypass.mechanisms.filters.indexes.areas.index import MARGIN, AreaIndex
from bypass.mechanisms.filters.indexes.table import SubscriptionTable
from bypass.places import Area
from bypass.places.geo import within
from bypass.protocol.messages import Kind, Publish
from tests.mechanisms.areas.shapes import anywhere, areas, at_borders, corners

pytestmark = pytest.mark.slow

ANY = Subscription.of(attr("n") >= 0)


@dataclass(frozen=True)
class Wanted:
    areas: tuple[Area, ...]
    relative: bool = False

    @property
    def reach(self) -> float:
        return max(area.reach for area in self.areas)


interests = st.builds(Wanted, st.lists(anywhere, min_size=1, max_size=3).map(tuple)) | st.builds(
    Wanted, st.lists(areas, min_size=1, max_size=2).map(tuple), st.just(True)
)
clients = st.integers(0, 6)
steps = st.lists(
    st.tuples(st.just("insert"), clients, interests)
    | st.tuples(st.just("move"), clients, corners)
    | st.tuples(st.sampled_from(["remove", "rest"]), clients, st.none()),
    max_size=25,
)


def event(x: float, y: float, z: float | None = None) -> Publish:
    return Publish(1, Event(n=1), Kind.PLACED, 0, (x, y), z=z)


class Broker:
    """A table of subscriptions, indexes over it, and what these must hold."""

    def __init__(self) -> None:
        self.table = SubscriptionTable()
        self.interests: dict[int, Wanted] = {}
        self.indexes = [AreaIndex(self.table, resolver, self.interests) for resolver in (False, True)]
        self.table.listeners = tuple(self.indexes)
        self.held: set[int] = set()

    def do(self, what: str, client: int, subject: Wanted | tuple[float, float] | None) -> None:
        if what == "remove":
            self.held.discard(-1 if (row := self.table.remove(client, 1)) is None else row)
            return
        row = self.table.add(client, 1, ANY, None)
        if isinstance(subject, tuple):
            self.table.locate(client, *subject, 0.0)
        elif isinstance(subject, Wanted):
            if self.table.place(client) is None:
                self.table.locate(client, 0.0, 0.0, 0.0)
            self.interests[row] = subject  # in place of another one, maybe
            self.held.add(row)
            for index in self.indexes:
                index.insert(np.array((row,)))
        else:
            self.held.discard(row)
            for index in self.indexes:
                index.removed(np.array((row,)))

    def expected(self, x: float, y: float, z: float | None) -> list[int]:
        return sorted(row for row in self.held if self._concerned(row, x, y, z))

    def _concerned(self, row: int, x: float, y: float, z: float | None) -> bool:
        interest = self.interests[row]
        if interest.relative:
            return within(x - self.table.x[row], y - self.table.y[row], 0.0, 0.0, interest.reach + MARGIN)
        return any(area.contains(x, y, z) for area in interest.areas)


@given(steps, st.lists(corners, min_size=1, max_size=6), st.sampled_from([None, math.nan, 4.0, 10.0]))
@settings(max_examples=80, deadline=None, derandomize=True)
def test_equal_to_brute_force(
    steps: list[tuple[str, int, Wanted | tuple[float, float] | None]],
    places: list[tuple[float, float]],
    z: float | None,
) -> None:
    broker = Broker()
    for step in steps:
        broker.do(*step)
    for row in broker.held:
        places = [
            *places,
            *(place for area in broker.interests[row].areas for place in at_borders(area)[:12]),
        ]
    expected = [broker.expected(*place, z) for place in places]
    for index in broker.indexes:
        assert index.members().tolist() == sorted(broker.held)
        events = [event(*place, z) for place in places]
        singles = [index.match(each) for each in events]
        assert [None if rows is None else rows.tolist() for rows in singles] == expected
        together = index.match_many(events)
        assert [None if rows is None else rows.tolist() for rows in together] == expected


def test_an_event_without_a_place_concerns_nobody_that_the_index_knows() -> None:
    broker = Broker()
    broker.do("insert", 0, Wanted((Area.circle((0, 0), 5),)))
    nowhere = Publish(1, Event(n=1), Kind.PLAIN, 0)
    for index in broker.indexes:
        assert index.match(nowhere) is None
        found = [*index.match_many([nowhere, event(0.0, 0.0), nowhere])]
        assert found[0] is None
        assert found[1] is not None
        assert found[1].tolist() == [0]
        assert found[2] is None


def test_many_subscriptions_to_one_area_are_found_ascending() -> None:
    broker = Broker()
    for client in range(50):
        broker.do("insert", client, Wanted((Area.circle((0, 0), 5),)))
    broker.do("remove", 7, None)
    for index in broker.indexes:
        found = index.match(event(3.0, 4.0))
        assert found is not None
        assert found.tolist() == [row for row in range(50) if row != 7]
