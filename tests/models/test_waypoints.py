from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.models.waypoints import InvalidWaypoints, Track, Waypoints, within
from bypass.support.arrays import Floats

# Sixteenths are exact in binary, so that many waypoints coincide and many questions hit a waypoint.
times = st.integers(0, 1600).map(lambda n: n / 16)
coordinates = st.floats(0, 1300)


@st.composite
def tracks(draw: st.DrawFn) -> Track:
    t = sorted(draw(st.lists(times, min_size=1, max_size=8)))
    x = [draw(coordinates) for _ in t]
    y = [draw(coordinates) for _ in t]
    return np.array(t), np.array(x), np.array(y)


populations = st.lists(tracks(), min_size=1, max_size=5)
# Forward and back, before the first waypoint and after the last.
questions = st.lists(st.one_of(times, st.floats(-10, 120)), min_size=1, max_size=12)


def by_interp(population: list[Track], at: float) -> tuple[Floats, Floats]:
    x = np.array([np.interp(at, t, x) for t, x, _ in population])
    y = np.array([np.interp(at, t, y) for t, _, y in population])
    return x, y


def walk() -> Waypoints:
    """Client 0 walks to (10, 0) in 10 s, pauses 5 s, walks up 10 m in 5 s. Client 1 stands at (3, 4)."""
    return Waypoints.of_tracks(
        [
            (np.array([0.0, 10, 15, 20]), np.array([0.0, 10, 10, 10]), np.array([0.0, 0, 0, 10])),
            (np.array([0.0, 30]), np.array([3.0, 3]), np.array([4.0, 4])),
        ]
    )


@given(populations, questions)
@settings(deadline=None)
def test_positions_equal_interpolation_whichever_way_one_asks(
    population: list[Track], asked: list[float]
) -> None:
    waypoints = Waypoints.of_tracks(population)
    cursor, scalar = waypoints.cursor(), waypoints.cursor()
    for at in asked:
        x, y = waypoints.positions(at)
        np.testing.assert_allclose((x, y), by_interp(population, at), rtol=0, atol=1e-9)
        followed_x, followed_y = cursor.positions(at)
        assert (followed_x.tolist(), followed_y.tolist()) == (x.tolist(), y.tolist())
        single = [scalar.position(client, at) for client in range(len(waypoints))]
        assert single == list(zip(x.tolist(), y.tolist(), strict=True))


@given(populations, questions)
@settings(deadline=None)
def test_samples_are_rounded_positions(population: list[Track], asked: list[float]) -> None:
    waypoints = Waypoints.of_tracks(population)
    x, y = (np.empty((len(asked), len(waypoints)), np.float32) for _ in range(2))
    waypoints.cursor().sample(np.array(asked), x, y)
    positions = [waypoints.positions(at) for at in asked]
    np.testing.assert_array_equal(x, np.array([px for px, _ in positions]).astype(np.float32))
    np.testing.assert_array_equal(y, np.array([py for _, py in positions]).astype(np.float32))


@given(populations, questions)
@settings(deadline=None)
def test_velocity_leads_to_the_next_waypoint(population: list[Track], asked: list[float]) -> None:
    waypoints = Waypoints.of_tracks(population)
    cursor = waypoints.cursor()
    for at in asked:
        vx, vy = waypoints.velocities(at)
        assert [cursor.velocity(i, at) for i in range(len(waypoints))] == list(
            zip(vx.tolist(), vy.tolist(), strict=True)
        )
        for client, (t, x, y) in enumerate(population):
            later = np.flatnonzero(t > at)
            if not later.size or later[0] == 0:
                assert (vx[client], vy[client]) == (0, 0)
                continue
            here = cursor.position(client, at)
            left = t[later[0]] - at
            reached = here[0] + vx[client] * left, here[1] + vy[client] * left
            assert reached == pytest.approx((x[later[0]], y[later[0]]), abs=1e-6)


@given(populations, questions, coordinates, coordinates, st.data())
@settings(deadline=None)
def test_within_equals_brute_force(
    population: list[Track], asked: list[float], px: float, py: float, data: st.DataObject
) -> None:
    waypoints = Waypoints.of_tracks(population)
    radii = st.one_of(st.just(np.nan), st.floats(0, 1000))
    radius = np.array([data.draw(radii) for _ in population])
    cursor = waypoints.cursor()
    for at in asked:
        x, y = waypoints.positions(at)
        expected = [
            not np.isnan(r) and (cx - px) ** 2 + (cy - py) ** 2 <= r**2
            for cx, cy, r in zip(x, y, radius, strict=True)
        ]
        assert within(*cursor.arrays, at, px, py, radius).tolist() == expected


def test_a_walk_a_pause_and_the_times_around() -> None:
    waypoints = walk()
    assert len(waypoints) == 2
    assert waypoints.duration == 20
    cursor = waypoints.cursor()
    assert [cursor.position(0, at) for at in (-1, 2.5, 12, 17.5, 99, 2.5)] == [
        (0, 0),
        (2.5, 0),
        (10, 0),
        (10, 5),
        (10, 10),
        (2.5, 0),
    ]
    assert [cursor.velocity(0, at) for at in (-1, 0, 10, 15, 20)] == [(0, 0), (1, 0), (0, 0), (0, 2), (0, 0)]
    assert cursor.position(1, 7) == (3, 4)


def test_within_includes_the_border_and_never_those_without_radius() -> None:
    cursor = walk().cursor()
    assert within(*cursor.arrays, 0.0, 0.0, 0.0, np.array([0.0, 5.0])).tolist() == [True, True]
    assert within(*cursor.arrays, 0.0, 0.0, 0.0, np.array([np.nan, 4.99])).tolist() == [False, False]


@pytest.mark.parametrize(
    ("offsets", "t", "x", "y", "message"),
    [
        ([0, 2], [0, 1], [0, 1], [0], r"^t, x, y have 2, 2, 1 entries"),
        ([0], [], [], [], r"^offsets are \[0\]"),
        ([0, 1], [0, 1], [0, 1], [0, 1], r"^offsets are \[0 1\]: expected 0, ..., 2"),
        ([0, 2, 2], [0, 1], [0, 1], [0, 1], r"^client 1 has no waypoint"),
        ([0, 2], [0, 1], [0, np.nan], [0, 1], r"^x\[1\] is nan"),
        ([0, 1, 3], [9, 5, 4], [0, 0, 0], [0, 0, 0], r"^t\[2\] is 4.0: expected at least 5.0"),
    ],
)
def test_arrays_that_are_no_movement_are_refused(
    offsets: list[int], t: list[float], x: list[float], y: list[float], message: str
) -> None:
    columns = (np.array(column, dtype=float) for column in (t, x, y))
    with pytest.raises(InvalidWaypoints, match=message):
        Waypoints(np.array(offsets), *columns)


def test_nobody_does_not_move() -> None:
    with pytest.raises(InvalidWaypoints, match="no clients"):
        Waypoints.of_tracks([])
