"""Passages of the borders of polygons, compiled: the same operations in the same order as in
`places.areas`."""

from __future__ import annotations

from math import hypot, inf, nextafter

import numpy as np

from bypass.support.arrays import Bools, Floats, Ints
from bypass.support.kernel import kernel

MICROMETRE = 1e-6  # compiled into kernels
RIGHT_AFTER = nextafter(0.0, 1.0)  # compiled into kernels


@kernel
def in_part(edges: Floats, x: float, y: float) -> bool:
    """Whether a point is in an odd number of the rings with these edges, or on one."""
    inside = False
    for i in range(len(edges)):
        ax, ay, bx, by = edges[i]
        if (ay > y) != (by > y):
            if ay < by:
                side = (bx - ax) * (y - ay) - (x - ax) * (by - ay)
            else:
                side = (ax - bx) * (y - by) - (x - bx) * (ay - by)
            if side > 0.0:
                inside = not inside
            elif side == 0.0:
                return True
        elif by == y and (bx == x or (ay == y and (ax > x) != (bx > x))):
            return True
    return inside


@kernel
def in_polygons(edges: Floats, parts: Ints, bounds: Floats, x: float, y: float) -> bool:
    """Whether a point is in one of the parts, part p having edges[parts[p]:parts[p + 1]] in bounds[p]."""
    for p in range(len(parts) - 1):
        if (
            bounds[p, 0] <= x <= bounds[p, 2]
            and bounds[p, 1] <= y <= bounds[p, 3]
            and in_part(edges[parts[p] : parts[p + 1]], x, y)
        ):
            return True
    return False


@kernel
def crossings(
    edges: Floats, parts: Ints, bounds: Floats, x0: float, y0: float, x1: float, y1: float,
    places: Floats, found: Floats,
) -> int:  # fmt: skip
    """Write the shares of the straight way at which it passes the border of polygons, and give how many there
    are: at most as many as there are edges, and one more. `places` has room for two more."""
    dx, dy = x1 - x0, y1 - y0
    left, right, low, high = min(x0, x1), max(x0, x1), min(y0, y1), max(y0, y1)
    count = 0
    for i in range(len(edges)):
        ax, ay, bx, by = edges[i]
        if (
            (ax < left and bx < left)
            or (ax > right and bx > right)
            or (ay < low and by < low)
            or (ay > high and by > high)
        ):
            continue
        ex, ey = bx - ax, by - ay
        across = dx * ey - dy * ex
        if across != 0.0:
            fx, fy = ax - x0, ay - y0
            if -1e-9 <= (fx * dy - fy * dx) / across <= 1 + 1e-9:
                count += 1
                places[count] = (fx * ey - fy * ex) / across
    places[1 : count + 1].sort()
    distance = hypot(dx, dy)
    apart = MICROMETRE / distance if distance else 1.0
    kept = 1
    places[0] = 0.0
    for i in range(1, count + 1):
        if places[kept - 1] + apart < places[i] < 1.0 - apart:
            places[kept] = places[i]
            kept += 1
    places[kept] = 1.0
    now = in_polygons(edges, parts, bounds, x0, y0)
    written = 0
    for i in range(kept):
        middle = (places[i] + places[i + 1]) / 2
        then = in_polygons(edges, parts, bounds, x0 + dx * middle, y0 + dy * middle)
        if then != now:
            found[written] = places[i] if places[i] > 0.0 else RIGHT_AFTER
            written += 1
            now = then
    if in_polygons(edges, parts, bounds, x1, y1) != now:
        found[written] = 1.0
        written += 1
    return written


@kernel
def all_crossings(
    ways: Floats, pairs: Ints, exact: Bools, first_edge: Ints, edges: Floats, first_part: Ints, parts: Ints,
    bounds: Floats, starts: Ints, shares: Floats,
) -> int:  # fmt: skip
    """Write the shares of each pair of a way and a fence, pair i's from starts[i] on, and give how many there
    are in all; only so many as fit are written. Fences that are not `exact` have none: infinity stands
    there."""
    most = 0
    for fence in range(len(exact)):
        most = max(most, first_edge[fence + 1] - first_edge[fence])
    places, own = np.empty(most + 3), np.empty(most + 3)
    count = 0
    for i in range(len(pairs)):
        starts[i] = count
        way, fence = pairs[i]
        if not exact[fence]:
            if count < len(shares):
                shares[count] = inf
            count += 1
            continue
        begin, end = first_edge[fence], first_edge[fence + 1]
        part, last = first_part[fence], first_part[fence + 1]
        x0, y0, x1, y1 = ways[way]
        some = crossings(
            edges[begin:end],
            parts[part : last + 1] - parts[part],
            bounds[part:last],
            x0,
            y0,
            x1,
            y1,
            places,
            own,
        )
        for j in range(some):
            if count < len(shares):
                shares[count] = own[j]
            count += 1
    starts[len(pairs)] = count
    return count
