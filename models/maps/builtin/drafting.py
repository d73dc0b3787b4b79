"""Functions that draft the streets of a town: crossings, streets between them, bends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from bypass.models.maps.clipping import StreetNetwork
from bypass.support.arrays import Floats, Ints
from bypass.support.counter_rng import Purpose, uniform_pair
from bypass.support.kernel import kernel

Point = tuple[float, float]

_NONE: Floats = np.empty((0, 2))
_TOUCH = 1e-6  # share of a line by which it may miss another and still meet it


@kernel
def draws(seed: np.uint64, number: int, count: int) -> Floats:
    """`count` rows of two uniform draws. A town has its own seed and a number for each use of draws."""
    rows = np.empty((count, 2))
    for i in range(count):
        rows[i, 0], rows[i, 1] = uniform_pair(seed, Purpose.MOBILITY, i, number)
    return rows


def along(corners: Sequence[Point], step: float) -> Floats:
    """Points on the line through `corners`, about `step` (m) apart, corners included."""
    parts = []
    for a, b in zip(np.array(corners[:-1]), np.array(corners[1:]), strict=True):
        pieces = max(1, round(np.hypot(*(b - a)) / step))
        parts.append(a + np.arange(pieces)[:, None] / pieces * (b - a))
    return np.concatenate([*parts, [corners[-1]]])


def oval(x: float, y: float, across: float, up: float, step: float) -> Floats:
    """Points on an ellipse around (x, y) with these half axes, about `step` (m) apart."""
    count = round(np.pi * (across + up) / step)
    angle = 2 * np.pi * np.arange(count) / count
    return np.column_stack([x + across * np.cos(angle), y + up * np.sin(angle)])


def scatter(candidates: Floats, apart: Callable[[Floats], Floats], given: Floats = _NONE) -> Floats:
    """The given points and those candidates that are far enough (m) apart from all points before them."""
    points = given
    for candidate, distance in zip(candidates, apart(candidates), strict=True):
        if (np.hypot(*(points - candidate).T) >= distance).all():
            points = np.concatenate([points, [candidate]])
    return points


def between_neighbours(points: Floats, chances: Floats) -> Ints:
    """Streets between points, of which no two cross, and by which each point can be reached from each other.

    Two points have a street if no third one is nearer to both than they are to each other (the relative
    neighbourhood graph), and one in four pairs also if only no third one is in the circle that has them as
    opposite points (the Gabriel graph). `chances` has a row of two uniform draws for each point.
    """
    from scipy.spatial import Delaunay  # scipy takes long to import

    corners = Delaunay(points).simplices
    sides = np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]])
    edges = np.unique(np.sort(sides, axis=1), axis=0).astype(np.int64)
    a, b = edges.T
    apart = np.hypot(*np.moveaxis(points[:, None] - points, 2, 0))
    length, from_a, from_b = apart[a, b][:, None], apart[a].copy(), apart[b].copy()
    each = np.arange(len(edges))
    for end in (a, b):
        from_a[each, end] = from_b[each, end] = np.inf
    relative = (np.maximum(from_a, from_b) >= length).all(axis=1)
    gabriel = (from_a**2 + from_b**2 >= length**2).all(axis=1)
    chosen = (chances[a, 0] + chances[b, 1]) % 1 < 0.25
    streets: Ints = edges[relative | (gabriel & chosen)]
    return streets


def bent(nodes: Floats, edges: Ints, bends: Floats, piece: float) -> StreetNetwork:
    """Streets in straight pieces of about `piece` (m) that swing sideways by `bends` of their length."""
    places, pairs, count = [nodes], [], len(nodes)
    for (a, b), bend in zip(edges.tolist(), bends.tolist(), strict=True):
        step = nodes[b] - nodes[a]
        pieces = max(1, round(np.hypot(*step) / piece))
        share = np.arange(1, pieces)[:, None] / pieces
        places.append(nodes[a] + share * step + 4 * share * (1 - share) * bend * step[::-1] * (-1, 1))
        chain = np.array([a, *range(count, count + pieces - 1), b])
        pairs.append(np.column_stack([chain[:-1], chain[1:]]))
        count += pieces - 1
    return np.concatenate(places), np.concatenate(pairs)


def crossing(lines: Floats) -> tuple[Floats, Ints, Ints]:
    """Streets along straight lines, with a node wherever two of them meet.

    `lines` has a row ((x, y), (x, y)) for each line. Gives nodes, edges, and the line of each edge.
    """
    starts, steps = lines[:, 0], lines[:, 1] - lines[:, 0]
    between = starts - starts[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        # How far along the line of its row, as a share, each line of the columns crosses it.
        share = _cross(between, steps) / _cross(steps[:, None], steps)
    meet = (share > -_TOUCH) & (share < 1 + _TOUCH)
    meet &= meet.T
    nodes: dict[Point, int] = {}
    places: list[Floats] = []
    edges, sources = [], []
    for line, (start, step) in enumerate(zip(starts, steps, strict=True)):
        chain: list[int] = []
        for at in np.unique(np.clip([0.0, *share[line, meet[line]], 1.0], 0, 1)):
            place = start + at * step
            key = (round(place[0], 2), round(place[1], 2))
            if key not in nodes:
                nodes[key] = len(places)
                places.append(place)
            if nodes[key] not in chain[-1:]:
                chain.append(nodes[key])
        edges += list(pairwise(chain))
        sources += [line] * (len(chain) - 1)
    return np.array(places), np.array(edges), np.array(sources)


def _cross(a: Floats, b: Floats) -> Floats:
    product: Floats = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return product
