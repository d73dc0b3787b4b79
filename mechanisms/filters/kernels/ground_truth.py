"""The ground truth of an evaluation: everybody within the radius of an event should get it.

It does not depend on a scheme, so it is computed once for each window.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bypass.mechanisms.filters.kernels.client_tree import (
    ABOVE,
    AFTER,
    BEGIN,
    BELOW,
    END,
    LEFT,
    RIGHT,
    SLACK,
    ClientTree,
    boxes_of,
    by_cell,
    cells_near,
    squared_gap,
    squared_span,
    stray_of,
)
from bypass.mechanisms.filters.kernels.window import Events, Leg, Window
from bypass.support.arrays import Floats, Ints
from bypass.support.kernel import kernel
from bypass.support.units import MICROSECONDS

TESTED, IN_BULK, PASSED = range(3)
"""Units of work: clients tested one by one, clients counted by the box, boxes passed over."""


class GroundTruth(NamedTuple):
    """The clients that each event of a window concerns, as groups and single members of a crowd.

    `subscribers` has their number, without the publisher, for each event. The lists are for events in an
    `order` in which those that are near to each other follow each other: the i-th of these, order[i],
    concerns all in the nodes groups[group_starts[i]:group_starts[i + 1]], except for its publisher, who may
    be in one of them, and the members singles[single_starts[i]:single_starts[i + 1]]. `pairs` lists all of
    them without groups.
    """

    subscribers: Ints
    order: Ints
    group_starts: Ints
    groups: Ints
    single_starts: Ints
    singles: Ints


class Ways(NamedTuple):
    """The way of each member of a crowd in a leg, a row x, y, dx, dy, boxes around those of each node, and
    how far (m) boxes extend beyond the cells of the crowd."""

    rows: Floats
    boxes: Floats
    stray: float


def find_concerned(window: Window, crowd: ClientTree, radius: float, work: Ints) -> GroundTruth:
    """Find everybody within the radius (m) of the events of a window; what it takes is added to `work`."""
    leg, events = window.leg, window.events
    rows, bounds = _gather(leg, crowd.order)
    boxes = boxes_of(crowd.nodes, bounds)
    ways = Ways(rows, boxes, stray_of(boxes, crowd.roots, crowd.tiling))
    order, _ = by_cell(events.x, events.y, crowd.tiling)
    return _find(events, leg, crowd, ways, order, radius, work)


@kernel
def _gather(leg: Leg, order: Ints) -> tuple[Floats, Floats]:
    """The way of each member, a row x, y, dx, dy, and its bounds."""
    rows, bounds = np.empty((len(order), 4)), np.empty((len(order), 4))
    for m in range(len(order)):
        i = order[m]
        x, y, dx, dy = leg.x[i], leg.y[i], leg.dx[i], leg.dy[i]
        rows[m, 0], rows[m, 1], rows[m, 2], rows[m, 3] = x, y, dx, dy
        bounds[m, LEFT], bounds[m, RIGHT] = min(x, x + dx), max(x, x + dx)
        bounds[m, BELOW], bounds[m, ABOVE] = min(y, y + dy), max(y, y + dy)
    return rows, bounds


@kernel
def pairs(concerned: GroundTruth, crowd: ClientTree, publisher: NDArray[np.int32]) -> tuple[Ints, Ints]:
    """All pairs of an event and a client that it concerns, given the events' publishers; in no order."""
    event, client = np.empty((2, concerned.subscribers.sum()), np.int64)
    n = 0
    for i in range(len(concerned.order)):
        e = concerned.order[i]
        for g in range(concerned.group_starts[i], concerned.group_starts[i + 1]):
            k = concerned.groups[g]
            for m in range(crowd.nodes[k, BEGIN], crowd.nodes[k, END]):
                if crowd.order[m] != publisher[e]:
                    event[n], client[n] = e, crowd.order[m]
                    n += 1
        for s in range(concerned.single_starts[i], concerned.single_starts[i + 1]):
            event[n], client[n] = e, crowd.order[concerned.singles[s]]
            n += 1
    return event, client


@kernel
def _longer(numbers: Ints, least: int) -> Ints:
    """The numbers, in an array with room for so many at least, and as many again."""
    grown = np.empty(2 * least, np.int64)
    grown[: len(numbers)] = numbers
    return grown


@kernel
def _find(
    events: Events, leg: Leg, crowd: ClientTree, ways: Ways, order: Ints, radius: float, work: Ints
) -> GroundTruth:
    subscribers = np.empty(len(order), np.int64)
    group_starts, single_starts = np.zeros(len(order) + 1, np.int64), np.zeros(len(order) + 1, np.int64)
    groups, singles = np.empty(2 * len(order), np.int64), np.empty(8 * len(order), np.int64)
    done = 0
    while done < len(order):
        # Whatever the next event is, there is room for it.
        if group_starts[done] + len(crowd.nodes) > len(groups):
            groups = _longer(groups, group_starts[done] + len(crowd.nodes))
        if single_starts[done] + len(crowd.order) > len(singles):
            singles = _longer(singles, single_starts[done] + len(crowd.order))
        concerned = GroundTruth(subscribers, order, group_starts, groups, single_starts, singles)
        done = _find_some(events, leg, crowd, ways, radius, concerned, done, work)
    return GroundTruth(
        subscribers,
        order,
        group_starts,
        groups[: group_starts[-1]],
        single_starts,
        singles[: single_starts[-1]],
    )


@kernel
def _find_some(
    events: Events,
    leg: Leg,
    crowd: ClientTree,
    ways: Ways,
    radius: float,
    concerned: GroundTruth,
    done: int,
    work: Ints,
) -> int:
    """Enter whom events concern, from number `done` of the order on, as long as there is room for everybody;
    gives the number of the next one. Arrays that were exchanged in here would make it half as fast."""
    nodes, roots, tiling, boxes, rows = crowd.nodes, crowd.roots, crowd.tiling, ways.boxes, ways.rows
    groups, singles = concerned.groups, concerned.singles
    far = ways.stray + radius + SLACK
    square, reach, within = radius * radius, (radius + SLACK) ** 2, (radius - SLACK) ** 2
    grouped, alone = concerned.group_starts[done], concerned.single_starts[done]
    while done < len(concerned.order) and (
        grouped + len(nodes) <= len(groups) and alone + len(rows) <= len(singles)
    ):
        e = concerned.order[done]
        ex, ey, publisher = events.x[e], events.y[e], crowd.place_of[events.client[e]]
        share = (events.at_us[e] / MICROSECONDS - leg.t) / leg.dt
        together = tested = passed = 0
        before = alone
        low_column, high_column, low_row, high_row = cells_near(ex, ey, far, tiling)
        for column in range(low_column, high_column + 1):
            k, stop = roots[column * tiling.rows + low_row], roots[column * tiling.rows + high_row + 1]
            while k < stop:
                if squared_gap(ex, ey, boxes, k) > reach:
                    passed += 1
                    k = nodes[k, AFTER]
                    continue
                begin, end, after = nodes[k, BEGIN], nodes[k, END], nodes[k, AFTER]
                if squared_span(ex, ey, boxes, k) <= within:
                    together += end - begin - (begin <= publisher < end)
                    groups[grouped] = k
                    grouped += 1
                elif after > k + 1:
                    after = k + 1
                else:
                    tested += end - begin - (begin <= publisher < end)
                    for m in range(begin, end):
                        gx = rows[m, 0] + share * rows[m, 2] - ex
                        gy = rows[m, 1] + share * rows[m, 3] - ey
                        # Without a branch, which could not be foreseen.
                        singles[alone] = m
                        alone += (gx * gx + gy * gy <= square) & (m != publisher)
                k = after
        work[TESTED] += tested
        work[IN_BULK] += together
        work[PASSED] += passed
        concerned.subscribers[e] = together + alone - before
        done += 1
        concerned.group_starts[done], concerned.single_starts[done] = grouped, alone
    return done
