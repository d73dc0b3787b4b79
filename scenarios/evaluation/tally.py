"""Who should get each event of a window and whom each scheme notifies: counted, not listed."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bypass.mechanisms.filters.indexes.channels import cell_of
from bypass.mechanisms.filters.indexes.envelopes import WIDENING, in_envelope
from bypass.scenarios.evaluation.client_tree import (
    ABOVE,
    AFTER,
    BEGIN,
    BELOW,
    DX,
    DY,
    END,
    KNOWN_X,
    KNOWN_Y,
    LEFT,
    LENGTH,
    NEW,
    OLD,
    REACH,
    RIGHT,
    UX,
    UY,
    VX,
    VY,
    X,
    Y,
)
from bypass.scenarios.evaluation.replay import (
    CLIENT,
    NEVER,
    SCHEME,
    STATE,
    TIME,
    find_set,
    listens,
    outside,
    overlap,
    put_set,
    state_at,
    unpacked,
)
from bypass.support.arrays import Bools, Floats, Ints, Words
from bypass.support.kernel import kernel
from bypass.support.units import MICROSECONDS

EventArea = tuple[float, float, float, float]

TESTED, IN_BULK, PASSED = range(3)
"""What the work is counted in: clients tested one by one, clients counted by the box, boxes passed over."""


@kernel
def add_span(span: int, n: int, counts: Ints, offset: int, amount: int) -> None:
    """A client begins (1) or ceases (-1) to listen to the cells of a span."""
    i0, i1, j0, j1, _, _ = unpacked(span)
    for i in range(i0, i1 + 1):
        for j in range(j0, j1 + 1):
            counts[offset + i * n + j] += amount


@kernel
def enlist(spans: Ints, grid: Ints, counts: Ints, offsets: Ints) -> None:
    """Count the listeners of every cell of every grid; those of grid g begin at offsets[g]."""
    for g in range(len(grid)):
        for i in range(spans.shape[1]):
            add_span(spans[g, i], grid[g], counts, offsets[g], 1)


@kernel
def count_listeners(
    event_us: Ints, event_client: NDArray[np.int32], px: Floats, py: Floats,
    grid: Ints, area: EventArea, spans: Ints, counts: Ints, offsets: Ints,
    cx: Floats, cy: Floats, cr: Floats, extension: Floats, multi: Bools,
    set_of: Ints, sets: Words, known: int, set_counts: Ints,
    changes: Ints, order: Ints, notified: Ints, envelopes: int,
) -> None:  # fmt: skip
    """Count, for each event of a window, who listens to its channels, without its publisher.

    `spans`, `set_of` and the counts are those of the window's begin and are brought to its end. Events are in
    the order of time; `order` is that of the changes. Adds to the columns of `notified` from `envelopes` on;
    MULTI's clients outside of all circles are not among them, because they listen to no channel.
    """
    grids, rings = len(grid), len(extension)
    used, upcoming = len(order), 0
    for e in range(len(event_us) + 1):
        at_us = event_us[e] if e < len(event_us) else NEVER
        while upcoming < used and changes[order[upcoming], TIME] < at_us:
            k = order[upcoming]
            i, scheme, state = changes[k, CLIENT], changes[k, SCHEME], changes[k, STATE]
            if scheme < grids:
                add_span(spans[scheme, i], grid[scheme], counts, offsets[scheme], -1)
                add_span(state, grid[scheme], counts, offsets[scheme], 1)
                spans[scheme, i] = state
            else:
                set_counts[set_of[i]] -= 1
                set_counts[state] += 1
                set_of[i] = state
            upcoming += 1
        if e == len(event_us):
            break
        p = event_client[e]
        for g in range(grids):
            n = grid[g]
            column = cell_of(px[e], area[0], (area[2] - area[0]) / n, n)
            row = cell_of(py[e], area[1], (area[3] - area[1]) / n, n)
            own = 1 if listens(spans[g, p], column, row) else 0
            notified[e, envelopes + g] += counts[offsets[g] + column * n + row] - own
        for a in range(rings):
            found = find_set(px[e], py[e], cx, cy, cr, extension[a], sets.shape[1])
            total = 0
            for k in range(known):
                if overlap(sets[k], found) and not (multi[a] and outside(sets[k], len(cx))):
                    total += set_counts[k] - (1 if k == set_of[p] else 0)
            notified[e, envelopes + grids + a] += total


SLACK = 1e-6  # metres by which the quick test of cones is too wide


@kernel
def squared_gap(px: float, py: float, boxes: Floats, k: int) -> float:
    """The square of the distance from a place to the nearest point of a box."""
    gx = max(boxes[k, LEFT] - px, px - boxes[k, RIGHT], 0.0)
    gy = max(boxes[k, BELOW] - py, py - boxes[k, ABOVE], 0.0)
    square: float = gx * gx + gy * gy
    return square


@kernel
def squared_span(px: float, py: float, boxes: Floats, k: int) -> float:
    """The square of the distance from a place to the farthest point of a box."""
    gx = max(px - boxes[k, LEFT], boxes[k, RIGHT] - px)
    gy = max(py - boxes[k, BELOW], boxes[k, ABOVE] - py)
    square: float = gx * gx + gy * gy
    return square


@kernel
def tally(
    event_us: Ints, event_client: NDArray[np.int32], px: Floats, py: Floats, t: float, dt: float,
    radius: float, place_of: Ints, members: Floats, fix_us: Ints, nodes: Ints, boxes: Floats, settled: Bools,
    roots: Ints, x0: float, y0: float, size: float, columns: int, rows: int,
    far: float, ahead: Floats, grid: Ints, area: EventArea,
    cx: Floats, cy: Floats, cr: Floats, extension: Floats, multi: Bools, sets: Words,
    states: Ints, changes: Ints, first: Ints,
    subscribers: Ints, notified: Ints, correct: Ints, work: Ints,
) -> None:  # fmt: skip
    """Count the clients that each event of a window concerns, and for each scheme the notified among them.

    `members`, `fix_us`, `states`, `first` are in the order of leaves, so that neighbours in the world are
    neighbours in memory; `place_of` says where in it each client is. `states` has a column for each grid and,
    if there are circles, one for the set of circles, as they are when the window begins; `first` is where a
    member's changes begin. Fills `subscribers` and `correct`; adds envelopes and what MULTI finds outside of
    circles to `notified`.
    """
    envelopes, grids, rings = len(ahead), len(grid), len(extension)
    square = radius * radius
    column, row = np.empty(grids, np.int64), np.empty(grids, np.int64)
    event_sets = np.zeros((rings, sets.shape[1]), np.uint64)
    for e in range(len(px)):
        ex, ey, at_us, publisher = px[e], py[e], event_us[e], place_of[event_client[e]]
        share = (at_us / MICROSECONDS - t) / dt
        for g in range(grids):
            column[g] = cell_of(ex, area[0], (area[2] - area[0]) / grid[g], grid[g])
            row[g] = cell_of(ey, area[1], (area[3] - area[1]) / grid[g], grid[g])
        for a in range(rings):
            put_set(event_sets, a, find_set(ex, ey, cx, cy, cr, extension[a], sets.shape[1]))
        concerned = in_discs = in_discs_only = 0  # the last: in the disc, but not concerned
        low_row = max(0, math.floor((ey - far - y0) / size))
        high_row = min(rows - 1, math.floor((ey + far - y0) / size))
        low_column = max(0, math.floor((ex - far - x0) / size))
        high_column = min(columns - 1, math.floor((ex + far - x0) / size))
        for cell_column in range(low_column, high_column + 1 if low_row <= high_row else low_column):
            k, stop = roots[cell_column * rows + low_row], roots[cell_column * rows + high_row + 1]
            while k < stop:
                reach = boxes[k, REACH]
                if squared_gap(ex, ey, boxes, k) > reach * reach:
                    work[PASSED] += 1
                    k = nodes[k, AFTER]
                    continue
                begin, end, after = nodes[k, BEGIN], nodes[k, END], nodes[k, AFTER]
                all_inside = squared_span(ex, ey, boxes, k) <= square
                alike = all_inside and settled[k]
                if not alike and after > k + 1:
                    k += 1
                    continue
                k = after
                if all_inside:
                    # Everybody is concerned and, wherever believed to be, in the disc of every envelope.
                    n = end - begin - (begin <= publisher < end)
                    concerned += n
                    in_discs += n
                    work[IN_BULK] += n
                    if states.shape[1] == 0:
                        continue
                    for m in range(begin, begin + 1 if alike else end):
                        if not alike:
                            n = 0 if m == publisher else 1
                        chain = -1 if alike else first[m]
                        for g in range(grids):
                            if listens(state_at(states[m, g], changes, chain, g, at_us), column[g], row[g]):
                                correct[e, envelopes + g] += n
                        if rings:
                            here = sets[state_at(states[m, grids], changes, chain, grids, at_us)]
                            for a in range(rings):
                                if multi[a] and outside(here, len(cx)):
                                    notified[e, envelopes + grids + a] += n
                                    correct[e, envelopes + grids + a] += n
                                elif overlap(here, event_sets[a]):
                                    correct[e, envelopes + grids + a] += n
                    continue
                work[TESTED] += end - begin - (begin <= publisher < end)
                for m in range(begin, end):
                    if m == publisher:
                        continue
                    mx = members[m, X] + share * members[m, DX]
                    my = members[m, Y] + share * members[m, DY]
                    in_area = (mx - ex) * (mx - ex) + (my - ey) * (my - ey) <= square
                    last = NEW if fix_us[m] < at_us else OLD
                    bx, by = ex - members[m, last + KNOWN_X], ey - members[m, last + KNOWN_Y]
                    in_disc = bx * bx + by * by <= square
                    concerned += in_area
                    if in_disc:
                        in_discs += 1
                        in_discs_only += not in_area
                    else:
                        # Few are in the cone: without roots and divisions, that is found out faster.
                        ux, uy = members[m, last + UX], members[m, last + UY]
                        along, aside = bx * ux + by * uy, abs(bx * uy - by * ux)
                        width = radius + along * WIDENING + SLACK
                        if (
                            (along >= -SLACK)
                            & (along <= members[m, last + LENGTH] + SLACK)
                            & (aside <= width)
                        ):
                            vx, vy = members[m, last + VX], members[m, last + VY]
                            for s in range(envelopes):
                                if in_envelope(bx, by, radius, vx, vy, ahead[s]):
                                    notified[e, s] += 1
                                    correct[e, s] += in_area
                    if in_area:
                        for g in range(grids):
                            state = state_at(states[m, g], changes, first[m], g, at_us)
                            correct[e, envelopes + g] += listens(state, column[g], row[g])
                    if rings and (in_area or in_disc):
                        here = sets[state_at(states[m, grids], changes, first[m], grids, at_us)]
                        for a in range(rings):
                            if multi[a] and outside(here, len(cx)):
                                notified[e, envelopes + grids + a] += in_disc
                                correct[e, envelopes + grids + a] += in_disc and in_area
                            elif in_area and overlap(here, event_sets[a]):
                                correct[e, envelopes + grids + a] += 1
        subscribers[e] = concerned
        for s in range(envelopes):
            notified[e, s] += in_discs
            correct[e, s] += in_discs - in_discs_only
