"""Discs and envelopes: the index finds exactly whom the geometry says, with and without the resolver."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shapely.geometry import Point, Polygon

from bypass.events.event import Event
from bypass.events.filters import Subscription, attr
from bypass.mechanisms.filters.indexes.envelopes import EnvelopeIndex, in_envelope, largest_reach
from bypass.mechanisms.filters.indexes.table import SubscriptionTable
from bypass.protocol.messages import Kind, Publish

pytestmark = pytest.mark.slow

ANY = Subscription.of(attr("n") >= 0)
Subscriber = tuple[float, float, int, float, float]  # x, y, radius, vx, vy

near = st.floats(-300, 300).map(lambda v: round(v, 3))
anywhere = near | st.floats(-1e7, 1e7) | st.sampled_from([-250.0, -125.0, 0.0, 125.0, 250.0])
speeds = st.sampled_from([0.0, 1e-200, -1e-9, 0.3, 1.5, -2.0, 30.0])
radii = st.sampled_from([1, 7, 50, 125, 3000, 20_000_000])
subscribers = st.tuples(anywhere, anywhere, radii, speeds, speeds)
alphas = st.sampled_from([0.0, 0.5, 1.5, 60.0])
steps = st.lists(
    st.tuples(st.sampled_from(["insert", "move", "remove", "rest"]), st.integers(0, 11), subscribers),
    max_size=40,
)


def event(x: float, y: float) -> Publish:
    return Publish(1, Event(n=1), Kind.PLACED, 0, (x, y))


def concerned(s: Subscriber, at: tuple[float, float], alpha: float) -> bool:
    """The rule as it is written down, in units of the axis of movement."""
    x, y, r, vx, vy = s
    dx, dy = at[0] - x, at[1] - y
    if dx * dx + dy * dy <= r * r:
        return True
    speed = math.sqrt(vx * vx + vy * vy)
    if speed == 0.0 or alpha == 0.0:
        return False
    along, aside = (dx * vx + dy * vy) / speed, abs(dx * vy - dy * vx) / speed
    return 0.0 <= along <= 60.0 * alpha * speed and aside <= r + along * math.tan(math.radians(15))


def index_of(*subscribers: Subscriber, alpha: float = 0.0, resolver: bool = False) -> EnvelopeIndex:
    table = SubscriptionTable()
    index = EnvelopeIndex(table, resolver, alpha)
    table.listeners = (index,)
    for client, (x, y, r, vx, vy) in enumerate(subscribers):
        table.add(client, 1, ANY, r)
        table.locate(client, x, y, 0.0, (vx, vy))
    index.insert(table.rows())
    return index


@pytest.mark.parametrize("x", [-8.620282007606966e-37, -1e-300, -5e-324, -1e-17, 1e-17])
@pytest.mark.parametrize("radius", [1, 7, 50])
def test_somebody_across_the_border_of_a_cell_is_found_at_the_radius(x: float, radius: int) -> None:
    """The distance is the radius only after it was rounded."""
    for alpha in (0.0, 1.5):
        index = index_of((x, 0.0, radius, 0.0, 0.0), alpha=alpha)
        for place in ((x + radius, 0.0), (x - radius, 0.0)):
            found = index.match(event(*place))
            assert found is not None
            assert found.tolist() == [0]


@given(steps, alphas, st.lists(st.tuples(anywhere, anywhere), min_size=1, max_size=6))
@settings(max_examples=200, deadline=None, derandomize=True)
def test_equal_to_brute_force(
    steps: list[tuple[str, int, Subscriber]], alpha: float, places: list[tuple[float, float]]
) -> None:
    table = SubscriptionTable()
    indexes = [EnvelopeIndex(table, resolver, alpha) for resolver in (False, True)]
    table.listeners = tuple(indexes)
    model: dict[int, Subscriber] = {}  # by row
    for what, client, subscriber in steps:
        x, y, radius, vx, vy = subscriber
        if what == "remove":
            row = table.remove(client, 1)
            model.pop(-1 if row is None else row, None)
        else:
            row = table.add(client, 1, ANY, radius)
            table.locate(client, x, y, 0.0, (vx, vy))
            if what == "insert":
                for index in indexes:
                    index.insert(np.array([row]))
            elif what == "rest":  # leaves the index, stays in the table
                for index in indexes:
                    index.removed(np.array([row]))
                model.pop(row, None)
            if what == "insert" or row in model:
                model[row] = (x, y, int(table.radius[row]), vx, vy)
        for index in indexes:
            assert index.members().tolist() == sorted(model)
    around = [(x + r, y) for x, y, r, _, _ in model.values()]
    for place in [*places, *around]:
        expected = sorted(row for row, s in model.items() if concerned(s, place, alpha))
        for index in indexes:
            found = index.match(event(*place))
            assert found is not None
            assert found.tolist() == expected
    for index in indexes:
        together = index.match_many([event(*place) for place in places])
        for found, place in zip(together, places, strict=True):
            single = index.match(event(*place))
            assert found is not None
            assert single is not None
            assert found.tolist() == single.tolist()
    px, py = np.array([x for x, _ in places]), np.array([y for _, y in places])
    offsets, rows = indexes[0].match_places(px, py)
    for i, place in enumerate(places):
        assert rows[offsets[i] : offsets[i + 1]].tolist() == sorted(
            row for row, s in model.items() if concerned(s, place, alpha)
        )


@given(st.lists(subscribers, max_size=20), st.lists(st.tuples(anywhere, anywhere), min_size=1))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_without_length_an_envelope_is_a_disc(
    them: list[Subscriber], places: list[tuple[float, float]]
) -> None:
    stretched, discs = index_of(*them, alpha=0.0), index_of(*((x, y, r, 0.0, 0.0) for x, y, r, _, _ in them))
    for x, y in places:
        first, second = stretched.match(event(x, y)), discs.match(event(x, y))
        assert first is not None
        assert second is not None
        assert first.tolist() == second.tolist()


@pytest.mark.parametrize(
    ("place", "inside"),
    [
        ((130.0, 155.0), True),
        ((136.0, 0.0), False),
        ((-124.9, 0.0), True),
        ((-126.0, 0.0), False),
        ((100.0, 150.0), True),
        ((0.0, 126.0), False),
        ((134.9, 0.0), True),
        ((134.99, 161.16), True),
        ((134.99, 161.18), False),
        ((-1.0, 125.0), False),
    ],
)
@pytest.mark.parametrize("turn", [0.0, 30.0, 90.0, 137.0, 270.0])
@pytest.mark.parametrize("resolver", [False, True])
def test_shape_of_an_envelope(place: tuple[float, float], inside: bool, turn: float, resolver: bool) -> None:
    """Radius 125 m, 1.5 m/s, 1.5 minutes: 135 m long and 161.17 m wide to either side at its end."""
    angle = math.radians(turn)

    def turned(x: float, y: float) -> tuple[float, float]:
        return x * math.cos(angle) - y * math.sin(angle), x * math.sin(angle) + y * math.cos(angle)

    index = index_of((0.0, 0.0, 125, *turned(1.5, 0.0)), alpha=1.5, resolver=resolver)
    found = index.match(event(*turned(*place)))
    assert found is not None
    assert len(found) == inside


@pytest.mark.parametrize("place", [(-125.0, 0.0), (0.0, 125.0), (135.0, 0.0)])
def test_the_border_belongs_to_the_envelope(place: tuple[float, float]) -> None:
    index = index_of((0.0, 0.0, 125, 1.5, 0.0), alpha=1.5)
    found = index.match(event(*place))
    assert found is not None
    assert len(found) == 1


@pytest.mark.parametrize("place", [(125.1, 0.0), (0.0, 126.0), (-126.0, 0.0), (100.0, 150.0)])
def test_somebody_who_stands_has_a_disc(place: tuple[float, float]) -> None:
    index = index_of((0.0, 0.0, 125, 0.0, 0.0), alpha=1.5)
    found = index.match(event(*place))
    assert found is not None
    assert len(found) == 0


@given(
    r=st.integers(1, 500),
    speed=st.floats(0.1, 5.0),
    angle=st.floats(0, 2 * math.pi),
    alpha=st.floats(0.1, 4.0),
    places=st.lists(st.tuples(st.floats(-1500, 1500), st.floats(-1500, 1500)), min_size=5, max_size=30),
)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_envelope_is_the_union_of_disc_and_trapezoid(
    r: int, speed: float, angle: float, alpha: float, places: list[tuple[float, float]]
) -> None:
    length = 60.0 * alpha * speed
    far = r + length * math.tan(math.radians(15))
    cos, sin = math.cos(angle), math.sin(angle)
    corners = [(0.0, -r), (length, -far), (length, far), (0.0, r)]
    cone = Polygon([(x * cos - y * sin, x * sin + y * cos) for x, y in corners])
    index = index_of((0.0, 0.0, r, speed * cos, speed * sin), alpha=alpha)
    for x, y in places:
        point = Point(x, y)
        if cone.exterior.distance(point) < 1e-6 or abs(math.hypot(x, y) - r) < 1e-6:
            continue
        found = index.match(event(x, y))
        assert found is not None
        assert len(found) == (cone.contains(point) or math.hypot(x, y) < r)


def test_reach_is_the_distance_to_the_farthest_corner() -> None:
    rows = np.array([0])
    reach = largest_reach(rows, np.array([125.0]), np.array([1.5]), np.array([0.0]), 90.0)
    assert reach == pytest.approx(math.hypot(135.0, 161.173), abs=1e-2)
    assert largest_reach(rows, np.array([125.0]), np.array([1.5]), np.array([0.0]), 0.0) == 125.0


def test_an_event_without_a_place_cannot_be_judged() -> None:
    assert index_of((0.0, 0.0, 1, 0.0, 0.0)).match(Publish(1, Event(n=1), Kind.LOCAL)) is None


def test_a_vector_too_small_to_square_points_nowhere() -> None:
    assert not in_envelope(10.0, 0.0, 1.0, 1e-200, 1e-200, 90.0)
