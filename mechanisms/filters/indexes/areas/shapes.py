"""Shapes as blocks of numbers, and the exact test whether a place is inside.

A block is a head (altitude, bounds, kind, size of the block) and what the kind needs. The tests multiply
and add in the order of `bypass.places.areas`, so that brokers and clients agree to the last bit.
"""

from __future__ import annotations

import math

from bypass.support.arrays import Floats
from bypass.support.kernel import kernel

LOW, HIGH, X0, Y0, X1, Y1, KIND, SIZE = range(8)
HEAD = 8

BOX, DISC, SECTOR, CORRIDOR, POLYGONS, MOVING = range(6)
"""Kinds: none; centre and radius; centre, radius, `ALL`, `NARROW` or `WIDE`, left and right; number of
points, half the width and its square, points; number of parts, and of each bounds, number of rings, and of
each number of points, points; of what moves the beginning of another block, drawn around (0, 0) with north
up, the anchor, and its heading."""

ALL, NARROW, WIDE = range(3)
PART = 5  # numbers before the rings of a part


@kernel
def covers(pool: Floats, start: int, x: float, y: float) -> bool:
    """Whether a place is in a shape, at whatever altitude."""
    if not in_bounds(pool, start + X0, x, y):
        return False
    if pool[start + KIND] == MOVING:
        at = start + HEAD
        dx, dy = x - pool[at + 1], y - pool[at + 2]
        sine, cosine = pool[at + 3], pool[at + 4]
        x, y = dx * cosine - dy * sine, dx * sine + dy * cosine
        start = int(pool[at])
        if not in_bounds(pool, start + X0, x, y):
            return False
    kind = int(pool[start + KIND])
    at = start + HEAD
    if kind == POLYGONS:
        return in_polygons(pool, at, x, y)
    if kind == DISC:
        return in_disc(pool, at, x, y)
    if kind == SECTOR:
        return in_disc(pool, at, x, y) and in_wedge(pool, at, x, y)
    if kind == CORRIDOR:
        return in_corridor(pool, at, x, y)
    return True


@kernel
def in_bounds(pool: Floats, at: int, x: float, y: float) -> bool:
    """Whether a place is in the rectangle of the four numbers from `at` on."""
    return bool(pool[at] <= x <= pool[at + 2] and pool[at + 1] <= y <= pool[at + 3])


@kernel
def in_disc(pool: Floats, at: int, x: float, y: float) -> bool:
    dx, dy = x - pool[at], y - pool[at + 1]
    return bool(dx * dx + dy * dy <= pool[at + 2] * pool[at + 2])


@kernel
def in_wedge(pool: Floats, at: int, x: float, y: float) -> bool:
    """Whether a place is seen from the centre of a sector within its opening."""
    dx, dy = x - pool[at], y - pool[at + 1]
    after_left = pool[at + 4] * dy - pool[at + 5] * dx <= 0.0
    before_right = pool[at + 6] * dy - pool[at + 7] * dx >= 0.0
    opening = pool[at + 3]
    if opening == NARROW:
        return bool(after_left and before_right)
    return bool(opening == ALL or after_left or before_right)


@kernel
def in_corridor(pool: Floats, at: int, x: float, y: float) -> bool:
    most, points = pool[at + 2], at + 3
    for k in range(points, points + 2 * int(pool[at]) - 2, 2):
        ax, ay, bx, by = pool[k], pool[k + 1], pool[k + 2], pool[k + 3]
        dx, dy, fx, fy = bx - ax, by - ay, x - ax, y - ay
        along, squared = fx * dx + fy * dy, dx * dx + dy * dy
        if along <= 0.0:
            near = fx * fx + fy * fy <= most
        elif along >= squared:
            gx, gy = x - bx, y - by
            near = gx * gx + gy * gy <= most
        else:
            across = fx * dy - fy * dx
            near = across * across <= most * squared
        if near:
            return True
    return False


@kernel
def in_polygons(pool: Floats, at: int, x: float, y: float) -> bool:
    """Whether a place is in a part: in an odd number of its rings, or on one."""
    parts = int(pool[at])
    at += 1
    for _ in range(parts):
        rings = int(pool[at + 4])
        inside, on_border = False, False
        meets = in_bounds(pool, at, x, y)
        at += PART
        for _ in range(rings):
            end = at + 1 + 2 * int(pool[at])
            if meets and not on_border:
                crossings = crossings_beside(pool, at + 1, end, x, y)
                on_border = crossings < 0
                inside ^= (crossings & 1) == 1
            at = end
        if on_border or inside:
            return True
    return False


@kernel
def crossings_beside(pool: Floats, at: int, end: int, x: float, y: float) -> int:
    """How many edges of a ring pass on one side of a place; -1 if one passes through it."""
    crossings = 0
    ax, ay = pool[end - 2], pool[end - 1]
    for k in range(at, end, 2):
        bx, by = pool[k], pool[k + 1]
        if (ay > y) != (by > y):
            if ay < by:
                side = (bx - ax) * (y - ay) - (x - ax) * (by - ay)
            else:
                side = (ax - bx) * (y - by) - (x - bx) * (ay - by)
            if side > 0.0:
                crossings += 1
            elif side == 0.0:
                return -1
        elif by == y and (bx == x or (ay == y and (ax > x) != (bx > x))):
            return -1
        ax, ay = bx, by
    return crossings


@kernel
def weight(pool: Floats, start: int) -> int:
    """The number of edges that a test looks at, at most."""
    at = start + HEAD
    if pool[start + KIND] == CORRIDOR:
        return int(pool[at])
    if pool[start + KIND] != POLYGONS:
        return 1
    total, parts = 0, int(pool[at])
    at += 1
    for _ in range(parts):
        rings = int(pool[at + 4])
        at += PART
        for _ in range(rings):
            total += int(pool[at])
            at += 1 + 2 * int(pool[at])
    return total


@kernel
def border_distance(pool: Floats, start: int, x: float, y: float) -> float:
    """The distance (m) of a place from the border of a shape without polygons, or less."""
    at = start + HEAD
    kind = int(pool[start + KIND])
    if kind == BOX:
        x0, y0, x1, y1 = pool[start + X0], pool[start + Y0], pool[start + X1], pool[start + Y1]
        inwards = min(min(x - x0, x1 - x), min(y - y0, y1 - y))
        return float(abs(inwards))
    if kind == CORRIDOR:
        nearest, points = math.inf, at + 3
        for k in range(points, points + 2 * int(pool[at]) - 2, 2):
            to_line = line_distance(x, y, pool[k], pool[k + 1], pool[k + 2], pool[k + 3])
            nearest = min(nearest, to_line)
        return float(abs(nearest - pool[at + 1]))
    cx, cy, radius = pool[at], pool[at + 1], pool[at + 2]
    nearest = abs(math.hypot(x - cx, y - cy) - radius)
    if kind == SECTOR and pool[at + 3] != ALL:
        for k in (at + 4, at + 6):
            to_side = line_distance(x, y, cx, cy, cx + radius * pool[k], cy + radius * pool[k + 1])
            nearest = min(nearest, to_side)
    return float(nearest)


@kernel
def line_distance(x: float, y: float, ax: float, ay: float, bx: float, by: float) -> float:
    """The distance of a place from the straight line from a to b."""
    dx, dy = bx - ax, by - ay
    squared = dx * dx + dy * dy
    part = min(max(((x - ax) * dx + (y - ay) * dy) / squared, 0.0), 1.0) if squared > 0.0 else 0.0
    return math.hypot(x - (ax + part * dx), y - (ay + part * dy))
