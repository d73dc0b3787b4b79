"""What the clients' parts of the schemes do, replayed: who has reported where, and who listens to what.

Time goes by windows, in which everybody moves straight and has at most one fix. A client looks at its
channels at each fix and, in a grid, before it publishes locally. Messages take no time: what a client reports
holds for all that comes after that microsecond.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bypass.mechanisms.filters.indexes.channels import cell_of
from bypass.mechanisms.filters.indexes.circles import around
from bypass.support.arrays import Bools, Floats, Ints, Words
from bypass.support.kernel import kernel
from bypass.support.units import MICROSECONDS

NEVER = 2**62
REQUESTS, RIDING, OUTSIDE = range(3)
"""What is counted: requests for channels, requests that ride on events, fixes outside of all circles that
need no request."""
TIME, CLIENT, SCHEME, STATE, NEXT = range(5)  # columns of changes


@kernel
def fix_times(phase_us: Ints, interval_us: int, start_us: int, end_us: int) -> Ints:
    """When each client has its fix from `start_us` on and before `end_us`, NEVER if it has none then."""
    times = np.empty(len(phase_us), np.int64)
    for i in range(len(phase_us)):
        rounds = max(0, -((phase_us[i] - start_us) // interval_us))
        at = phase_us[i] + rounds * interval_us
        times[i] = at if at < end_us else NEVER
    return times


@kernel
def reports(fix_us: Ints, x: Floats, y: Floats, dx: Floats, dy: Floats, t: float, dt: float) -> Floats:
    """Place and movement vector of each client at its fix, a row (x, y, vx, vy); where it starts if it has
    none."""
    rows = np.empty((len(fix_us), 4))
    for i in range(len(fix_us)):
        share = 0.0 if fix_us[i] == NEVER else (fix_us[i] / MICROSECONDS - t) / dt
        rows[i, 0], rows[i, 1] = x[i] + share * dx[i], y[i] + share * dy[i]
        rows[i, 2], rows[i, 3] = dx[i] / dt, dy[i] / dt
    return rows


# A span of cells and the cell that a client is in, in one number: 9 bits for each of six cell numbers.
BITS = 9
MASK = (1 << BITS) - 1


@kernel
def span_at(x: float, y: float, margin: float, area: tuple[float, float, float, float], n: int) -> int:
    """The cells that a client at (x, y) listens to, and its own, as one number."""
    width, height = (area[2] - area[0]) / n, (area[3] - area[1]) / n
    packed = cell_of(x - margin, area[0], width, n)
    packed = packed << BITS | cell_of(x + margin, area[0], width, n)
    packed = packed << BITS | cell_of(y - margin, area[1], height, n)
    packed = packed << BITS | cell_of(y + margin, area[1], height, n)
    packed = packed << BITS | cell_of(x, area[0], width, n)
    return packed << BITS | cell_of(y, area[1], height, n)


@kernel
def unpacked(span: int) -> tuple[int, int, int, int, int, int]:
    """First and last column, first and last row, own column and row."""
    return (
        span >> 5 * BITS,
        (span >> 4 * BITS) & MASK,
        (span >> 3 * BITS) & MASK,
        (span >> 2 * BITS) & MASK,
        (span >> BITS) & MASK,
        span & MASK,
    )


@kernel
def listens(span: int, column: int, row: int) -> bool:
    """Whether a client with this span listens to a cell."""
    i0, i1, j0, j1, _, _ = unpacked(span)
    return i0 <= column <= i1 and j0 <= row <= j1


@kernel
def still_covered(span: int, now: int, publishing: bool) -> bool:
    """Whether a client that would get the span `now` may keep the one it has: its own cell is the same and,
    unless it only wants to publish, no cell that it needs is missing."""
    i0, i1, j0, j1, i, j = unpacked(span)
    n0, n1, m0, m1, n, m = unpacked(now)
    if i != n or j != m:
        return False
    return publishing or (i0 <= n0 and n1 <= i1 and j0 <= m0 and m1 <= j1)


@kernel
def find_set(x: float, y: float, cx: Floats, cy: Floats, cr: Floats, extension: float, words: int) -> Words:
    """The circles around a place as bits; the bit after the last one for a place outside all of them."""
    found = np.zeros(words, np.uint64)
    inside = around(x, y, cx, cy, cr, 0.0)
    if len(inside) == 0:
        k = len(cx)
        found[k >> 6] |= np.uint64(1) << np.uint64(k & 63)
    if extension > 0.0:
        inside = around(x, y, cx, cy, cr, extension)
    for k in inside:
        found[k >> 6] |= np.uint64(1) << np.uint64(k & 63)
    return found


@kernel
def same(a: Words, b: Words) -> bool:
    """Whether two sets are equal."""
    different = np.uint64(0)
    for word in range(len(a)):
        different |= a[word] ^ b[word]
    return bool(different == 0)


@kernel
def overlap(a: Words, b: Words) -> bool:
    """Whether two sets have a circle, or being outside of all, in common."""
    common = np.uint64(0)
    for word in range(len(a)):
        common |= a[word] & b[word]
    return bool(common != 0)


@kernel
def outside(a: Words, circles: int) -> bool:
    """Whether a set says that its client is outside of all circles."""
    return bool(a[circles >> 6] >> np.uint64(circles & 63) & np.uint64(1))


@kernel
def put_set(sets: Words, k: int, found: Words) -> None:
    """Write a set into row k; a loop, because slices take seconds to compile."""
    for word in range(len(found)):
        sets[k, word] = found[word]


@kernel
def enter_set(found: Words, sets: Words, known: int) -> tuple[int, Words, int]:
    """The number of a set among the known ones, to which it belongs from now on; the sets, how many."""
    for k in range(known):
        if same(sets[k], found):
            return k, sets, known
    if known == len(sets):
        more = np.empty((2 * known, sets.shape[1]), np.uint64)
        for k in range(known):
            put_set(more, k, sets[k])
        sets = more
    put_set(sets, known, found)
    return known, sets, known + 1


@kernel
def room_for(rows: Ints, used: int) -> Ints:
    """The rows, in an array with room for one more."""
    if used < len(rows):
        return rows
    grown = np.empty((2 * len(rows) + 1024, rows.shape[1]), np.int64)
    for k in range(used):
        for column in range(rows.shape[1]):
            grown[k, column] = rows[k, column]
    return grown


@kernel
def note(
    changes: Ints, used: int, first: Ints, last: Ints, at_us: int, client: int, scheme: int, state: int
) -> None:
    """Enter a change into the next row, at the end of its client's chain."""
    changes[used, TIME], changes[used, CLIENT] = at_us, client
    changes[used, SCHEME], changes[used, STATE], changes[used, NEXT] = scheme, state, -1
    if first[client] < 0:
        first[client] = used
    else:
        changes[last[client], NEXT] = used
    last[client] = used


@kernel
def state_at(state: int, changes: Ints, first: int, scheme: int, at_us: int) -> int:
    """What has become of a client's `state` by `at_us`: its chain of changes begins at `first`."""
    k = first
    while k >= 0 and changes[k, TIME] < at_us:
        if changes[k, SCHEME] == scheme:
            state = changes[k, STATE]
        k = changes[k, NEXT]
    return state


@kernel
def replay(
    fix_us: Ints, fixes: Floats, x: Floats, y: Floats, dx: Floats, dy: Floats, t: float, dt: float,
    event_us: Ints, event_client: NDArray[np.int32], event_local: Bools,
    margin: Floats, grid: Ints, area: tuple[float, float, float, float], spans: Ints,
    cx: Floats, cy: Floats, cr: Floats, circle_sets: bool, set_of: Ints, sets: Words, known: int,
    first: Ints, last: Ints, sent: Ints,
) -> tuple[Ints, int, Words, int]:  # fmt: skip
    """Renew what clients listen to over one window; gives the changes, how many, the sets, how many.

    `spans` has a row for each grid, `set_of` the set of circles that each client is in, `sets` those known.
    Changes of a client are chained in the order of time from `first[client]` on; those of circles count as
    scheme len(grid). `sent` counts messages: a row for each grid and one for circles, columns as above.
    """
    changes = np.empty((1024, 5), np.int64)
    used = 0
    grids = len(grid)
    done = np.zeros(len(fix_us), np.bool_)
    for turn in range(len(event_us) + len(fix_us)):
        # First the publications as they come, each after its client's fix if that was earlier; then all fixes
        # that are left.
        publishing = turn < len(event_us)
        i = event_client[turn] if publishing else turn - len(event_us)
        if publishing and not (grids and event_local[turn]):
            continue
        at_us = event_us[turn] if publishing else NEVER
        if not done[i] and fix_us[i] < at_us:
            done[i] = True
            fx, fy = fixes[i, 0], fixes[i, 1]
            for g in range(grids):
                now = span_at(fx, fy, margin[g], area, grid[g])
                if not still_covered(spans[g, i], now, False):
                    changes = room_for(changes, used)
                    note(changes, used, first, last, fix_us[i], i, g, now)
                    used += 1
                    spans[g, i] = now
                    sent[g, REQUESTS] += 1
            if circle_sets:
                found = find_set(fx, fy, cx, cy, cr, 0.0, sets.shape[1])
                if not same(found, sets[set_of[i]]):
                    k, sets, known = enter_set(found, sets, known)
                    changes = room_for(changes, used)
                    note(changes, used, first, last, fix_us[i], i, grids, k)
                    used += 1
                    set_of[i] = k
                    sent[grids, REQUESTS] += 1
                elif outside(found, len(cx)):
                    sent[grids, OUTSIDE] += 1
        if publishing:
            share = (at_us / MICROSECONDS - t) / dt
            px, py = x[i] + share * dx[i], y[i] + share * dy[i]
            for g in range(grids):
                now = span_at(px, py, margin[g], area, grid[g])
                if not still_covered(spans[g, i], now, True):
                    changes = room_for(changes, used)
                    note(changes, used, first, last, at_us, i, g, now)
                    used += 1
                    spans[g, i] = now
                    sent[g, RIDING] += 1
    return changes, used, sets, known
