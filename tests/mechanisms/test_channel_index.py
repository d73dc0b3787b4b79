"""Square channels: cells, their names, and who listens to them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from bypass.events.event import Event
from bypass.events.filters import Subscription, attr
from bypass.mechanisms.filters.grid import holds
from bypass.mechanisms.filters.indexes.channels import ChannelIndex, Layout
from bypass.mechanisms.filters.indexes.table import SubscriptionTable
from bypass.protocol.messages import Kind, Publish

ANY = Subscription.of(attr("n") >= 0)
TOWN = (0.0, 0.0, 1300.0, 1300.0)
Point = tuple[float, float]

coordinates = st.floats(-200, 1500).map(lambda v: round(v, 2)) | st.sampled_from([0.0, 260.0, 650.0, 1300.0])
places = st.tuples(coordinates, coordinates)
factors = st.integers(1, 20)
steps = st.lists(
    st.tuples(
        st.sampled_from(["insert", "move", "remove"]),
        st.integers(0, 9),
        places,
        st.sampled_from([1, 125, 400, 9999]),
    ),
    max_size=30,
)


def cells_of(place: Point, margin: float, n: int) -> set[tuple[int, int]]:
    """Every cell that has a point in common with the square, one by one."""
    g = 1300.0 / n

    def touched(v: float) -> list[int]:
        low, high = (min(max(math.floor(w / g), 0), n - 1) for w in (v - margin, v + margin))
        return [i for i in range(n) if low <= i <= high]

    return {(i, j) for i in touched(place[0]) for j in touched(place[1])}


@given(steps, factors, st.booleans(), st.lists(places, min_size=1, max_size=5), st.booleans())
@settings(max_examples=200, deadline=None, derandomize=True)
def test_equal_to_brute_force(
    steps: list[tuple[str, int, Point, int]], n: int, wide: bool, events: list[Point], tagged: bool
) -> None:
    table = SubscriptionTable()
    layout = Layout(TOWN, n, 3)
    indexes = [ChannelIndex(table, resolver, layout, wide, True) for resolver in (False, True)]
    table.listeners = tuple(indexes)
    model: dict[int, set[tuple[int, int]]] = {}
    for what, client, place, radius in steps:
        if what == "remove":
            row = table.remove(client, 1)
            model.pop(-1 if row is None else row, None)
            continue
        row = table.add(client, 1, ANY, radius)
        table.locate(client, *place, 0.0)
        if what == "insert":  # a mere move changes nothing: only an assignment does
            for index in indexes:
                index.insert(np.array([row]))
            model[row] = cells_of(place, table.radius[row] if wide else 0.0, n)
    for x, y in events:
        (own,) = cells_of((x, y), 0.0, n)
        expected = sorted(row for row, cells in model.items() if own in cells)
        publication = Publish(1, Event(n=1), Kind.LOCAL, 0, (x, y), layout.name(*own) if tagged else None)
        for index in indexes:
            found = index.match(publication)
            assert found is not None
            assert found.tolist() == expected
            assert index.members().tolist() == sorted(model)


whole = st.tuples(st.integers(-200, 1200), st.integers(-200, 1200))
margins = st.lists(st.integers(0, 600), min_size=1, max_size=4).map(lambda own: np.array(own, np.float64))


@given(whole, whole, margins, st.sampled_from([1, 2, 5, 8, 10]))
@settings(max_examples=500, deadline=None, derandomize=True)
def test_who_stays_where_it_is_steady_touches_no_other_cells(
    here: tuple[int, int], there: tuple[int, int], own: NDArray[np.float64], n: int
) -> None:
    layout = Layout((0.0, 0.0, 1000.0, 1000.0), n, 1)
    x0, y0, x1, y1 = layout.steady(*here, own)
    before, after = ([layout.span(*place, margin) for margin in own] for place in (here, there))
    stays = all(
        a[0] >= b[0] and a[1] <= b[1] and a[2] >= b[2] and a[3] <= b[3]
        for a, b in zip(after, before, strict=True)
    )
    assert (x0 <= there[0] < x1 and y0 <= there[1] < y1) == stays


finite = st.floats(-1e7, 1e7)


@given(finite, st.floats(1e-3, 1e7), st.integers(1, 200), st.integers(0, 200), margins, st.integers(-3, 3))
@settings(max_examples=500, deadline=None, derandomize=True)
def test_everybody_is_steady_at_the_own_place_however_numbers_are_rounded(
    low: float, size: float, n: int, border: int, own: NDArray[np.float64], away: int
) -> None:
    """Also who is on a border, or as near to it as numbers can be."""
    layout = Layout((low, low, low + n * size, low + n * size), n, 1)
    v = beside(low + border * size + float(own[0]), away)
    x0, y0, x1, y1 = layout.steady(v, -v, own)
    assert x0 <= v < x1
    assert y0 <= -v < y1


@pytest.mark.parametrize(
    ("n", "place", "first", "last"),
    [
        (10, (650.0, 650.0), 4, 5),
        (10, (700.0, 700.0), 4, 6),
        (10, (0.0, 0.0), 0, 0),
        (20, (650.0, 650.0), 8, 11),
        (20, (660.0, 660.0), 8, 12),
        (5, (650.0, 650.0), 2, 2),
        (2, (650.0, 650.0), 0, 1),
    ],
)
def test_cells_that_an_area_touches(n: int, place: Point, first: int, last: int) -> None:
    """A town of 1300 m and areas of 125 m around: 4, 9, 1, 16, 25, 1 and 4 cells."""
    assert Layout(TOWN, n, 1).span(*place, 125.0) == (first, last, first, last)


@pytest.mark.parametrize(
    ("place", "cell"),
    [
        ((0.0, 0.0), (0, 0)),
        ((259.999, 260.0), (0, 1)),
        ((1299.0, 1300.0), (4, 4)),
        ((-1.0, 5000.0), (0, 4)),
        ((1e12, -1e12), (4, 0)),
        ((1e300, -1e300), (4, 0)),
    ],
)
def test_cells_are_half_open_and_the_outermost_have_everything_beyond(
    place: Point, cell: tuple[int, int]
) -> None:
    assert Layout(TOWN, 5, 1).cell(*place) == cell


def test_the_origin_of_the_area_is_the_first_cell() -> None:
    layout = Layout((-100.0, 50.0, 100.0, 150.0), 4, 1)
    assert layout.cell_size == (50.0, 25.0)
    assert layout.cell(-100.0, 50.0) == (0, 0)
    assert layout.cell(1.0, 101.0) == (2, 2)
    assert layout.bounds(1, 2, 0, 3) == (-50.0, -math.inf, 50.0, math.inf)


def beside(v: float, steps: int) -> float:
    """The number that is so many numbers away."""
    for _ in range(abs(steps)):
        v = math.nextafter(v, math.copysign(math.inf, steps))
    return v


borders = {
    "low": finite,
    "size": st.floats(1e-3, 1e7),
    "n": st.integers(1, 200),
    "border": st.integers(0, 200),
    "margin": st.integers(0, 600).map(float),
    "away": st.integers(-3, 3),
}


@given(**borders)
@settings(max_examples=500, deadline=None, derandomize=True)
def test_bounds_hold_what_is_in_the_cells_and_nothing_else(
    low: float, size: float, n: int, border: int, margin: float, away: int
) -> None:
    """Clients compare, brokers and evaluations compute: at a border, too, they come to the same."""
    layout = Layout((low, low, low + n * size, low + n * size), n, 1)
    v = beside(low + border * layout.cell_size[0] - margin, away)
    for place in (v, v + 2 * margin):
        column, _ = layout.cell(place, 0.0)
        for i in {column, min(column + 1, n - 1), max(column - 1, 0)}:
            bounds = layout.bounds(i, i, 0, n - 1)
            assert holds(bounds, place, 0.0) == (i == column)
        i0, i1, _, _ = layout.span(place, 0.0, margin)
        assert holds(layout.bounds(i0, i1, 0, n - 1), place, 0.0, margin)
        for k0, k1 in ((i0 + 1, i1), (i0, i1 - 1)):
            if k0 <= k1:
                assert not holds(layout.bounds(k0, k1, 0, n - 1), place, 0.0, margin)


@given(**borders, start=st.floats(-1, 1))
@settings(max_examples=500, deadline=None, derandomize=True)
def test_who_is_steady_touches_no_other_cells_however_numbers_are_rounded(
    low: float, size: float, n: int, border: int, margin: float, away: int, start: float
) -> None:
    layout = Layout((low, low, low + n * size, low + n * size), n, 1)
    here = low + border * size + start * size
    before = layout.span(here, 0.0, margin)
    rect = layout.steady(here, 0.0, [margin])
    for there in (beside(rect[0], away), beside(rect[2], away), beside(low + border * size + margin, away)):
        if math.isfinite(there) and rect[0] <= there < rect[2]:
            i0, i1, _, _ = layout.span(there, 0.0, margin)
            assert before[0] <= i0
            assert i1 <= before[1]


@given(st.integers(1, 1000), st.integers(0, 10**6), st.data())
@settings(max_examples=100, deadline=None, derandomize=True)
def test_names_come_back_as_cells(n: int, generation: int, data: st.DataObject) -> None:
    layout = Layout(TOWN, n, generation)
    i, j = data.draw(st.integers(0, n - 1)), data.draw(st.integers(0, n - 1))
    assert layout.name(i, j) == f"g{generation}:{i}:{j}"
    assert layout.parse(layout.name(i, j)) == (i, j)
    assert Layout(TOWN, n, generation + 1).parse(layout.name(i, j)) is None


@pytest.mark.parametrize(
    "name",
    [
        "",
        "g3",
        "g3:",
        "g3:1",
        "g3:1:",
        "g3::1",
        "g3:5:0",
        "g3:0:5",
        "g3:1:1:1",
        "g3:-1:0",
        "a3:1:1",
        "g3:x:y",
    ],
)
def test_what_is_no_channel_of_the_layout(name: str) -> None:
    assert Layout(TOWN, 5, 3).parse(name) is None


def one_subscriber(trust_location: bool) -> ChannelIndex:
    table = SubscriptionTable()
    index = ChannelIndex(table, False, Layout(TOWN, 5, 3), False, trust_location)
    row = table.add(1, 1, ANY, 125)
    table.locate(1, 100.0, 100.0, 0.0)
    index.insert(np.array([row]))
    return index


def test_a_channel_of_another_layout_is_discarded() -> None:
    index = one_subscriber(trust_location=False)
    found = index.match(Publish(1, Event(n=1), Kind.LOCAL, 0, (100.0, 100.0), "g2:0:0"))
    assert found is not None
    assert len(found) == 0
    assert index.discarded == 1


def test_a_channel_of_another_layout_is_translated_by_the_place() -> None:
    index = one_subscriber(trust_location=True)
    found = index.match(Publish(1, Event(n=1), Kind.LOCAL, 0, (100.0, 100.0), "g2:4:4"))
    assert found is not None
    assert found.tolist() == [0]
    assert index.discarded == 0


def test_the_channel_counts_and_not_the_place() -> None:
    found = one_subscriber(trust_location=True).match(
        Publish(1, Event(n=1), Kind.LOCAL, 0, (1200.0, 1200.0), "g3:0:0")
    )
    assert found is not None
    assert found.tolist() == [0]


@pytest.mark.parametrize("channel", [None, "g2:0:0"])
def test_without_place_and_known_channel_nothing_can_be_said(channel: str | None) -> None:
    assert (
        one_subscriber(trust_location=True).match(Publish(1, Event(n=1), Kind.LOCAL, channel=channel)) is None
    )
