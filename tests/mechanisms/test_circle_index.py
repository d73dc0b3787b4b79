"""Channels around attraction points, alone and beside discs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.events.event import Event
from bypass.events.filters import Subscription, attr
from bypass.mechanisms.filters.attract import KnownChannels
from bypass.mechanisms.filters.indexes.circles import CircleIndex
from bypass.mechanisms.filters.indexes.envelopes import EnvelopeIndex
from bypass.mechanisms.filters.indexes.multi import MultiIndex
from bypass.mechanisms.filters.indexes.table import SubscriptionTable
from bypass.places.geo import within
from bypass.protocol.messages import Circle, Kind, Publish

ANY = Subscription.of(attr("n") >= 0)
Point = tuple[float, float]
TWO = (Circle("a1:park", 0.0, 0.0, 100.0), Circle("a1:pond", 80.0, 0.0, 40.0))

coordinates = st.integers(-300, 300).map(float) | st.floats(-300, 300).map(lambda v: round(v, 1))
places = st.tuples(coordinates, coordinates)
some_circles = st.lists(st.tuples(coordinates, coordinates, st.integers(1, 200)), max_size=5).map(
    lambda them: tuple(Circle(f"a1:{k}", x, y, float(r)) for k, (x, y, r) in enumerate(them))
)
steps = st.lists(
    st.tuples(
        st.sampled_from(["insert", "move", "remove"]),
        st.integers(0, 9),
        places,
        st.sampled_from([1, 60, 250]),
    ),
    max_size=30,
)


def holding(place: Point, circles: tuple[Circle, ...], margin: float = 0.0) -> set[str]:
    return {c.channel for c in circles if within(*place, c.x, c.y, c.radius + margin)}


def reached(at: Point, circles: tuple[Circle, ...], extension: float) -> set[str]:
    """The channels of an event: enlarged circles, and elsewhere if it is in none that is not enlarged."""
    return holding(at, circles, extension) | (set() if holding(at, circles) else {"a1:other"})


def event(at: Point, channel: str | None = None) -> Publish:
    return Publish(1, Event(n=1), Kind.LOCAL, 0, at, channel)


@given(steps, some_circles, st.sampled_from([0.0, 50.0]), st.lists(places, min_size=1, max_size=5))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_circles_equal_brute_force(
    steps: list[tuple[str, int, Point, int]],
    circles: tuple[Circle, ...],
    extension: float,
    events: list[Point],
) -> None:
    table = SubscriptionTable()
    indexes = [CircleIndex(table, resolver, circles, 1, True) for resolver in (False, True)]
    table.listeners = tuple(indexes)
    model: dict[int, set[str]] = {}
    for index in indexes:
        index.extension = extension
    for what, client, place, radius in steps:
        if what == "remove":
            row = table.remove(client, 1)
            model.pop(-1 if row is None else row, None)
            continue
        row = table.add(client, 1, ANY, radius)
        table.locate(client, *place, 0.0)
        if what == "insert":
            for index in indexes:
                index.insert(np.array([row]))
            model[row] = holding(place, circles) or {"a1:other"}
    for at in events:
        expected = sorted(row for row, own in model.items() if own & reached(at, circles, extension))
        for index in indexes:
            found = index.match(event(at))
            assert found is not None
            assert found.tolist() == expected
            assert index.members().tolist() == sorted(model)
    names = [*(c.channel for c in circles), "a1:other"]
    for row, own in model.items():
        assert {names[k] for k in indexes[0].channels(row)} == own


@given(steps, some_circles, st.sampled_from([0.0, 50.0]), st.lists(places, min_size=1, max_size=5))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_circles_beside_discs_equal_brute_force(
    steps: list[tuple[str, int, Point, int]],
    circles: tuple[Circle, ...],
    extension: float,
    events: list[Point],
) -> None:
    table = SubscriptionTable()
    indexes = [
        MultiIndex(CircleIndex(table, resolver, circles, 1, True), EnvelopeIndex(table, resolver))
        for resolver in (False, True)
    ]
    table.listeners = tuple(indexes)
    inside: dict[int, set[str]] = {}
    outside: dict[int, tuple[Point, float]] = {}
    for index in indexes:
        index.circles.extension = extension
    for what, client, place, radius in steps:
        if what == "remove":
            row = table.remove(client, 1)
            inside.pop(-1 if row is None else row, None)
            outside.pop(-1 if row is None else row, None)
            continue
        row = table.add(client, 1, ANY, radius)
        table.locate(client, *place, 0.0)
        if what == "insert":
            for index in indexes:
                index.insert(np.array([row]))
            inside.pop(row, None)
            outside.pop(row, None)
            if own := holding(place, circles):
                inside[row] = own
        if row not in inside and (what == "insert" or row in outside):
            outside[row] = place, float(table.radius[row])
    for at in events:
        by_circle = [row for row, own in inside.items() if own & reached(at, circles, extension)]
        by_place = [row for row, (place, r) in outside.items() if within(*at, *place, r)]
        for index in indexes:
            found = index.match(event(at))
            assert found is not None
            assert found.tolist() == sorted(by_circle + by_place)
            assert index.members().tolist() == sorted([*inside, *outside])


def two_circles(trust_location: bool = True) -> CircleIndex:
    """Somebody in the park alone, in both, in the pond alone, and elsewhere, by row."""
    table = SubscriptionTable()
    index = CircleIndex(table, False, TWO, 1, trust_location)
    for client, x in enumerate((0.0, 90.0, 115.0, 500.0)):
        table.add(client, 1, ANY, 50)
        table.locate(client, x, 0.0, 0.0)
    index.insert(table.rows())
    return index


@pytest.mark.parametrize(
    ("x", "rows"),
    [(0.0, [0, 1]), (90.0, [0, 1, 2]), (115.0, [1, 2]), (100.0, [0, 1, 2]), (120.1, [3]), (-100.1, [3])],
)
def test_an_event_reaches_all_circles_it_lies_in(x: float, rows: list[int]) -> None:
    found = two_circles().match(event((x, 0.0)))
    assert found is not None
    assert found.tolist() == rows


@pytest.mark.parametrize(
    ("x", "extension", "rows"),
    [
        (-110.0, 0.0, [3]),
        (-110.0, 10.0, [0, 1, 3]),
        (-110.0, 9.0, [3]),
        (-110.0, 500.0, [0, 1, 2, 3]),
        (0.0, 500.0, [0, 1, 2]),
        (115.0, 15.0, [0, 1, 2]),
    ],
)
def test_enlarged_circles_take_in_events_but_no_members(x: float, extension: float, rows: list[int]) -> None:
    """In the ring the event reaches the circle's members and those outside; membership stays as it is."""
    index = two_circles()
    before = [index.channels(row) for row in range(4)]
    index.extension = extension
    found = index.match(event((x, 0.0)))
    assert found is not None
    assert found.tolist() == rows
    assert [index.channels(row) for row in range(4)] == before == [[0], [0, 1], [1], [2]]


@pytest.mark.parametrize(("channel", "rows"), [("a1:park", [0, 1]), ("a1:pond", [1, 2]), ("a1:other", [3])])
def test_without_a_place_the_channel_decides(channel: str, rows: list[int]) -> None:
    found = two_circles().match(Publish(1, Event(n=1), Kind.LOCAL, channel=channel))
    assert found is not None
    assert found.tolist() == rows


@pytest.mark.parametrize("channel", [None, "a2:park"])
def test_without_place_and_known_channel_nothing_can_be_said(channel: str | None) -> None:
    assert two_circles().match(Publish(1, Event(n=1), Kind.LOCAL, channel=channel)) is None


def test_a_channel_of_another_generation_is_discarded_or_translated() -> None:
    late = event((0.0, 0.0), "a0:pond")
    strict, lenient = two_circles(trust_location=False), two_circles(trust_location=True)
    assert (found := strict.match(late)) is not None
    assert len(found) == 0
    assert strict.discarded == 1
    assert (found := lenient.match(late)) is not None
    assert found.tolist() == [0, 1]
    assert lenient.discarded == 0


@given(some_circles, places)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_a_client_knows_its_circles_the_deepest_first(circles: tuple[Circle, ...], at: Point) -> None:
    around = KnownChannels(1, "a1:other", circles, frozenset()).around(*at)
    depths = [math.dist(at, (c.x, c.y)) / c.radius for c in around]
    assert depths == sorted(depths)
    clear = [c for c in circles if abs(math.dist(at, (c.x, c.y)) - c.radius) > 1e-6]
    assert {c.channel for c in around if c in clear} == holding(at, tuple(clear))


@given(places, st.integers(1, 200).map(float), st.floats(0.0, 2 * math.pi), st.integers(-4, 4))
@settings(max_examples=500, deadline=None, derandomize=True)
def test_clients_and_brokers_mean_the_same_circle_also_at_its_border(
    centre: Point, radius: float, angle: float, away: int
) -> None:
    """Clients that compare and brokers that compute: a circle that they disagree on is asked for again at
    every fix."""
    x, y = centre[0] + radius * math.cos(angle), centre[1] + radius * math.sin(angle)
    for _ in range(abs(away)):
        x = math.nextafter(x, math.copysign(math.inf, away))
    circle = Circle("a1:park", *centre, radius)
    known = KnownChannels(1, "a1:other", (circle,), frozenset())
    index = CircleIndex(SubscriptionTable(), False, (circle,), 1, True)
    inside = within(x, y, *centre, radius)
    assert (len(known.around(x, y)), len(index.around(x, y))) == (inside, inside)
    table = SubscriptionTable()
    discs = EnvelopeIndex(table, False)
    discs.insert(np.array([table.add(1, 1, ANY, int(radius))]))
    table.locate(1, *centre, 0.0)
    discs.moved(np.array([0]))
    found = discs.match(event((x, y)))
    assert found is not None
    assert len(found) == inside
