"""The tracker gives the border events of the exact path, each once."""

from __future__ import annotations

from math import cos, pi, sin

from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from bypass.places.areas import Area
from bypass.places.borders import BorderEvent, BorderOptions, BorderTracker, PathPoint
from tests.places.borders.exact_path import ExactPath, Grazing

ALL = frozenset(("enter", "exit", "cross"))
SQUARE = Area.box((0, 0), (100, 100))

steps = st.integers(-1500, 1500).map(lambda each: each / 10)
places = st.tuples(steps, steps)
centres = st.tuples(*[st.integers(-500, 500).map(lambda each: each / 10)] * 2)


@st.composite
def polygons(draw: st.DrawFn) -> Area:
    """A star around a place, maybe with a hole, and maybe another one beside it."""
    x, y = draw(centres)
    reach = draw(st.lists(st.integers(20, 100), min_size=3, max_size=9))
    ring = [
        (x + r * cos(2 * pi * i / len(reach)), y + r * sin(2 * pi * i / len(reach)))
        for i, r in enumerate(reach)
    ]
    holes = []
    if draw(st.booleans()):
        holes = [[(x + dx, y + dy) for dx, dy in ((-3, -3), (3, -3), (0, 4))]]
    parts = [(ring, holes)]
    if draw(st.booleans()):
        parts.append(([(x + 200, y), (x + 260, y), (x + 230, y + 50)], []))
    return Area.polygons(parts)


areas = st.one_of(polygons(), st.builds(lambda p, w, h: Area.box(p, (p[0] + w, p[1] + h)), centres,
                                        st.integers(1, 150), st.integers(1, 150)))  # fmt: skip
changes = st.one_of(places, places, places, areas, st.none())


@settings(max_examples=100, deadline=None)
@given(
    areas,
    st.lists(changes, min_size=2, max_size=14),
    st.lists(st.integers(1, 400).map(lambda each: each / 10), min_size=14, max_size=14),
    st.sampled_from([0.0, 3.0]),
    st.sampled_from([None, 5.0, 40.0]),
    st.booleans(),
)
def test_events_are_those_of_the_exact_path(
    area: Area,
    script: list[tuple[float, float] | Area | None],
    gaps: list[float],
    debounce: float,
    dwell: float | None,
    initial: bool,
) -> None:
    """Under any fixes and changes of the shape; with debounce, a change of the shape ends the comparison."""
    on = ALL | {"dwell"} if dwell is not None else ALL
    options = BorderOptions(on, dwell, debounce, initial=initial)
    path, tracker = ExactPath(area.geometry()), BorderTracker(options)
    found: list[BorderEvent] = []
    now: float = 0.0
    last: PathPoint | None = None
    shape = {"a": area}
    try:
        for gap, step in zip(gaps, script, strict=False):
            if isinstance(step, tuple):
                now += gap
                point = PathPoint(step[0], step[1], now)
                if last is None:
                    found += tracker.begin(shape.items(), point)
                else:
                    found += tracker.go(shape.items(), last, point)
                last = point
                path.fix(point)
            elif not debounce:
                after: dict[str, Area] = {} if step is None else {"a": step}
                found += tracker.change(shape, after, last)
                shape = after
                path.reshape(step)
        assume(last is not None)
        expected = path.events(options)
    except Grazing:
        assume(False)
    assume(all(abs(b - a) > 1e-6 for a in [f.at for f in path.flips] for b in [a + debounce, a + (dwell or 1)]
               for fix in path.fixes if abs(fix.at - b) < 1e-6))  # fmt: skip
    event(f"events: {min(len(found), 4)}")
    assert sorted((e.kind, round(e.at, 5), e.why) for e in found) == sorted(
        (kind, round(at, 5), why) for kind, at, why in expected
    )
