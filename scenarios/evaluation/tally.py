"""Who should get each event of a window and whom each scheme notifies: counted, not listed."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from bypass.kernel import kernel, kernel_using
from bypass.mechanisms.filters.channels import cell_of
from bypass.mechanisms.filters.circles import around
from bypass.mechanisms.filters.envelopes import in_envelope
from bypass.scenarios.evaluation.leaves import (
    ABOVE,
    BELOW,
    DX,
    DY,
    LEFT,
    NEW_X,
    OLD_X,
    REACH,
    RIGHT,
    X,
    Y,
)
from bypass.scenarios.evaluation.replay import (
    CLIENT,
    MICROSECONDS,
    NEVER,
    SCHEME,
    STATE,
    TIME,
    find_set,
    listens,
    outside,
    overlap,
    state_at,
    unpacked,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Words = NDArray[np.uint64]
Area = tuple[float, float, float, float]

TESTED, IN_BULK, PASSED = range(3)
"""What the work is counted in: clients tested one by one, clients counted by the box, boxes passed over."""


@kernel_using(unpacked)
def add_span(span: int, n: int, counts: Ints, offset: int, amount: int) -> None:
    """A client begins (1) or ceases (-1) to listen to the cells of a span."""
    i0, i1, j0, j1, _, _ = unpacked(span)
    for i in range(i0, i1 + 1):
        for j in range(j0, j1 + 1):
            counts[offset + i * n + j] += amount


@kernel_using(unpacked)
def enlist(spans: Ints, grid: Ints, counts: Ints, offsets: Ints) -> None:
    """Count the listeners of every cell of every grid; those of grid g begin at offsets[g]."""
    for g in range(len(grid)):
        for i in range(spans.shape[1]):
            add_span(spans[g, i], grid[g], counts, offsets[g], 1)


@kernel_using(cell_of, around, find_set)
def count_listeners(
    event_us: Ints, event_client: NDArray[np.int32], px: Floats, py: Floats,
    grid: Ints, area: Area, spans: Ints, counts: Ints, offsets: Ints,
    cx: Floats, cy: Floats, cr: Floats, extension: Floats, multi: Bools,
    set_of: Ints, sets: Words, known: int, set_counts: Ints,
    changes: Ints, used: int, notified: Ints, envelopes: int,
) -> None:  # fmt: skip
    """Count, for each event of a window, who listens to its channels, without its publisher.

    `spans`, `set_of` and the counts are those of the window's begin and are brought to its end. Events are in
    the order of time. Fills the columns of `notified` from `envelopes` on; MULTI's clients outside of all
    circles are not among them, because they listen to no channel.
    """
    grids, rings = len(grid), len(extension)
    order = np.argsort(changes[:used, TIME], kind="mergesort")
    upcoming = 0
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
            notified[e, envelopes + g] = counts[offsets[g] + column * n + row] - own
        for a in range(rings):
            found = find_set(px[e], py[e], cx, cy, cr, extension[a], sets.shape[1])
            total = 0
            for k in range(known):
                if overlap(sets[k], found) and not (multi[a] and outside(sets[k], len(cx))):
                    total += set_counts[k] - (1 if k == set_of[p] else 0)
            notified[e, envelopes + grids + a] = total


@kernel
def squared_gap(px: float, py: float, box: Floats) -> float:
    """The square of the distance from a place to the nearest point of a box."""
    gx = max(box[LEFT] - px, px - box[RIGHT], 0.0)
    gy = max(box[BELOW] - py, py - box[ABOVE], 0.0)
    square: float = gx * gx + gy * gy
    return square


@kernel
def squared_span(px: float, py: float, box: Floats) -> float:
    """The square of the distance from a place to the farthest point of a box."""
    gx = max(px - box[LEFT], box[RIGHT] - px)
    gy = max(py - box[BELOW], box[ABOVE] - py)
    square: float = gx * gx + gy * gy
    return square


@kernel_using(cell_of, around, in_envelope, find_set)
def tally(
    event_us: Ints, event_client: NDArray[np.int32], px: Floats, py: Floats, t: float, dt: float,
    radius: float, clients: Ints, leaf_of: Ints, members: Floats, fix_us: Ints, starts: Ints, boxes: Floats,
    cell_leaves: Ints, cell_box: Floats, x0: float, y0: float, size: float, columns: int, rows: int,
    far: float, ahead: Floats, grid: Ints, area: Area,
    cx: Floats, cy: Floats, cr: Floats, extension: Floats, multi: Bools, sets: Words,
    runs: Ints, leaf_runs: Ints, settled: Bools, states: Ints, changes: Ints, first: Ints, order: Ints,
    subscribers: Ints, notified: Ints, correct: Ints, work: Ints,
) -> None:  # fmt: skip
    """Count the clients that each event of a window concerns, and for each scheme the notified among them.

    `clients`, `members`, `fix_us`, `states`, `first` are in the order of leaves, so that neighbours in the
    world are neighbours in memory. `states` has a column for each grid and, if there are circles, one for the
    set of circles, as they are when the window begins; `first` is where a client's changes begin. Events are
    visited in `order`. Fills `subscribers` and `correct`; adds envelopes and what MULTI finds outside of
    circles to `notified`.
    """
    envelopes, grids, rings = len(ahead), len(grid), len(extension)
    square = radius * radius
    stretched = ahead.max() > 0.0 if envelopes else False
    column, row = np.empty(grids, np.int64), np.empty(grids, np.int64)
    event_sets = np.zeros((rings, sets.shape[1]), np.uint64)
    for e in order:
        ex, ey, at_us, publisher = px[e], py[e], event_us[e], event_client[e]
        share = (at_us / MICROSECONDS - t) / dt
        for g in range(grids):
            column[g] = cell_of(ex, area[0], (area[2] - area[0]) / grid[g], grid[g])
            row[g] = cell_of(ey, area[1], (area[3] - area[1]) / grid[g], grid[g])
        for a in range(rings):
            event_sets[a] = find_set(ex, ey, cx, cy, cr, extension[a], sets.shape[1])
        concerned = in_discs = in_discs_only = 0  # the last: in the disc, but not concerned
        low_row = max(0, math.floor((ey - far - y0) / size))
        high_row = min(rows - 1, math.floor((ey + far - y0) / size))
        for cell_column in range(
            max(0, math.floor((ex - far - x0) / size)),
            min(columns - 1, math.floor((ex + far - x0) / size)) + 1,
        ):
            for cell in range(cell_column * rows + low_row, cell_column * rows + high_row + 1):
                reach = cell_box[cell, REACH]
                if reach < 0.0 or squared_gap(ex, ey, cell_box[cell]) > reach * reach:
                    continue
                for leaf in range(cell_leaves[cell], cell_leaves[cell + 1]):
                    reach = boxes[leaf, REACH]
                    begin, end = starts[leaf], starts[leaf + 1]
                    if begin == end or squared_gap(ex, ey, boxes[leaf]) > reach * reach:
                        work[PASSED] += 1
                        continue
                    own = 1 if leaf_of[publisher] == leaf else 0
                    all_inside = squared_span(ex, ey, boxes[leaf]) <= square
                    if all_inside:
                        # Everybody is concerned and, wherever believed to be, in the disc of every envelope.
                        concerned += end - begin - own
                        in_discs += end - begin - own
                        work[IN_BULK] += end - begin - own
                        for run in (
                            range(leaf_runs[leaf], leaf_runs[leaf + 1]) if states.shape[1] else range(0)
                        ):
                            m = runs[run]
                            n = runs[run + 1] - m
                            if own:
                                for k in range(m, runs[run + 1]):
                                    n -= clients[k] == publisher
                            chain = -1 if settled[run] else first[m]
                            for g in range(grids):
                                state = state_at(states[m, g], changes, chain, g, at_us)
                                if listens(state, column[g], row[g]):
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
                    work[TESTED] += end - begin - own
                    for m in range(begin, end):
                        if clients[m] == publisher:
                            continue
                        mx = members[m, X] + share * members[m, DX]
                        my = members[m, Y] + share * members[m, DY]
                        in_area = (mx - ex) * (mx - ex) + (my - ey) * (my - ey) <= square
                        since = NEW_X if fix_us[m] < at_us else OLD_X
                        bx, by = ex - members[m, since], ey - members[m, since + 1]
                        in_disc = bx * bx + by * by <= square
                        concerned += in_area
                        if in_disc:
                            in_discs += 1
                            in_discs_only += not in_area
                        elif stretched:
                            vx, vy = members[m, since + 2], members[m, since + 3]
                            for k in range(envelopes):
                                if in_envelope(bx, by, radius, vx, vy, ahead[k]):
                                    notified[e, k] += 1
                                    correct[e, k] += in_area
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
        for k in range(envelopes):
            notified[e, k] += in_discs
            correct[e, k] += in_discs - in_discs_only
