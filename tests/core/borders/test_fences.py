"""Fences that are found together miss none that a way passes, and the tracker finds the same with them
alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.core.borders.fences import Fences
from bypass.core.borders.watched_client import KeptWatch
from bypass.places.areas import Area
from bypass.places.borders import BorderEvent, BorderOptions, BorderTracker, PathPoint
from bypass.protocol.borders import BorderWatch

numbers = st.integers(-300, 300).map(float)
points = st.tuples(numbers, numbers)
sizes = st.integers(1, 200).map(float)


def box(corner: tuple[float, float], width: float, height: float) -> Area:
    return Area.box(corner, (corner[0] + width, corner[1] + height))


def triangle(corner: tuple[float, float], width: float, height: float) -> Area:
    x, y = corner
    return Area.polygon([(x, y), (x + width, y), (x, y + height)])


areas = st.one_of(
    st.builds(box, points, sizes, sizes),
    st.builds(triangle, points, sizes, sizes),
    st.builds(Area.circle, points, sizes),
    st.builds(lambda a, b, w: Area.corridor([a, (b[0], b[1] + 301)], w), points, points, sizes),
    st.builds(lambda c, r, b: Area.sector(c, r, b, 70.0), points, sizes, st.integers(0, 359)),
    st.builds(lambda c, r: Area.circle(c, r, altitude=(10, 20)), points, sizes),
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(areas, min_size=1, max_size=12),
    st.lists(areas, max_size=4),
    st.lists(st.lists(st.tuples(numbers, numbers, st.sampled_from([0.0, 15.0])), min_size=2, max_size=8),
             min_size=1, max_size=4),
    st.sampled_from([{}, {"debounce": 2.0}, {"margin": 30.0}, {"on": {"enter", "exit", "dwell"}, "dwell":
    3.0}]),
)  # fmt: skip
def test_the_tracker_needs_no_other_fences(
    first: list[Area],
    second: list[Area],
    paths: list[list[tuple[float, float, float]]],
    options: dict[str, Any],
) -> None:
    """Ways of several clients at once, areas of two watches, which are changed half way."""
    terms = BorderOptions(**options)
    fences = Fences()
    watch = KeptWatch(1, 1, 1, BorderWatch(terms, (("a", first[0]),)), {})
    other = KeptWatch(2, 1, 2, BorderWatch(terms, (("a", first[0]),)), {})
    watch.areas = {str(i): area for i, area in enumerate(first)}
    fences.put(watch)
    length = min(map(len, paths))
    for step in range(1, length):
        if second and step == length // 2:
            other.areas = {str(i): area for i, area in enumerate(second)}
            fences.put(other)
        ways = np.array([[*path[step - 1][:2], *path[step][:2]] for path in paths])
        passed = fences.passed(ways)
        for i, path in enumerate(paths):
            found = {(fence.watch.number, fence.key): shares for j, fence, shares in passed if j == i}
            start, end = (
                PathPoint(x, y, float(at), z) for at, (x, y, z) in enumerate(path[step - 1 : step + 1])
            )
            for each in (watch, other):
                for key, area in each.areas.items():
                    if (shares := found.get((each.number, key))) is not None:
                        assert shares == area.crossings(start.x, start.y, end.x, end.y)
                    elif (each.number, key) not in found:
                        tracker = BorderTracker(terms)
                        tracker.begin([(key, area)], start)
                        states = tracker.dump()
                        assert moved(tracker.go([(key, area)], start, end)) == []
                        assert tracker.dump().keys() == states.keys()


def moved(events: list[BorderEvent]) -> list[BorderEvent]:
    """The events that come of a passage."""
    return [event for event in events if event.kind != "dwell"]


def test_a_margin_counts_from_the_place_of_the_passage() -> None:
    """Steps about the border are no visits; a visit that reaches far enough is told with its beginning."""
    tracker = BorderTracker(BorderOptions(margin=10.0))
    square = [("a", Area.box((0, 0), (100, 100)))]
    path = [(-5.0, 50.0), (5.0, 50.0), (-5.0, 50.0), (4.0, 50.0), (9.0, 50.0), (12.0, 50.0), (-20.0, 50.0)]
    last = PathPoint(*path[0], 0.0)
    told: list[tuple[str, float, float]] = []
    for at, (x, y) in enumerate(path[1:], 1):
        point = PathPoint(x, y, float(at))
        told += [(event.kind, event.at, event.x) for event in tracker.go(square, last, point)]
        if at == 4:
            assert told == []
        last = point
    assert [(kind, x) for kind, _, x in told] == [("enter", 0.0), ("exit", 0.0)]
    assert 2 < told[0][1] < 3
    assert 5 < told[1][1] < 6
