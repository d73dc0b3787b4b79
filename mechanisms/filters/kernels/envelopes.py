"""Kernels of RADIAL and STE: an event reaches those whose envelope, around their last report, holds it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bypass.mechanisms.filters.indexes.envelopes import SECONDS_AHEAD, WIDENING, in_envelope
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
    cells_near,
    outside_box,
    squared_span,
    stray_of,
)
from bypass.mechanisms.filters.kernels.ground_truth import GroundTruth
from bypass.mechanisms.filters.kernels.judge import Conditions, Counts, Judge, SchemeSetting
from bypass.mechanisms.filters.kernels.window import (
    NEVER,
    PLACE_X,
    PLACE_Y,
    SPEED_X,
    SPEED_Y,
    Fixes,
    Leg,
    Window,
)
from bypass.support.arrays import Floats, Ints
from bypass.support.kernel import kernel

OLD, NEW = 0, 5
KNOWN_X, KNOWN_Y, UX, UY, LENGTH = range(5)
"""Columns of reports, those before the fix from OLD on, those after it from NEW on. U is the direction of the
way, LENGTH how far the farthest envelope reaches along it."""
STANDS = -1.0


class Reported(NamedTuple):
    """The last reports of a crowd's members, in their order: `rows` with the columns above, and when each
    reports again.

    `spots` are boxes around the places of each node's members, `areas` around all that envelopes there can
    hold; these extend by `stray` m at most beyond the cells of the crowd.
    """

    fix_us: Ints
    rows: Floats
    spots: Floats
    areas: Floats
    stray: float


def reported_of(crowd: ClientTree, fixes: Fixes, radius: float, ahead: float) -> Reported:
    """Collect the members' reports, one at each fix, for envelopes up to `ahead` seconds long."""
    rows, spots, areas = _gather(crowd.order, fixes, radius, ahead)
    boxes = boxes_of(crowd.nodes, areas)
    stray = stray_of(boxes, crowd.roots, crowd.tiling)
    return Reported(fixes.at_us[crowd.order], rows, boxes_of(crowd.nodes, spots), boxes, stray)


@kernel
def _gather(order: Ints, fixes: Fixes, radius: float, ahead: float) -> tuple[Floats, Floats, Floats]:
    """Put the data that the tests need of each member side by side in memory; also gives the bounds of spots
    and areas."""
    rows, spots, areas = np.empty((len(order), 2 * NEW)), np.empty((len(order), 4)), np.empty((len(order), 4))
    for m in range(len(order)):
        i = order[m]
        for at in (OLD, NEW):
            if at == NEW and fixes.at_us[i] == NEVER:
                for column in range(NEW):
                    rows[m, NEW + column] = rows[m, column]
                continue
            x, y = fixes.before[i, PLACE_X], fixes.before[i, PLACE_Y]
            vx, vy = fixes.before[i, SPEED_X], fixes.before[i, SPEED_Y]
            if at == NEW:
                x, y = fixes.after[i, PLACE_X], fixes.after[i, PLACE_Y]
                vx, vy = fixes.after[i, SPEED_X], fixes.after[i, SPEED_Y]
            speed = math.sqrt(vx * vx + vy * vy)
            ux = uy = 0.0
            length = STANDS
            if speed > 0.0 and ahead > 0.0:
                ux, uy, length = vx / speed, vy / speed, ahead * speed
            # All of a cone is between its beginning and the line across the way in which it ends.
            reach = max(length, 0.0)
            end_x, end_y, half = x + reach * ux, y + reach * uy, radius + reach * WIDENING + SLACK
            left, right = min(x - radius, end_x - half * abs(uy)), max(x + radius, end_x + half * abs(uy))
            below, above = min(y - radius, end_y - half * abs(ux)), max(y + radius, end_y + half * abs(ux))
            rows[m, at + KNOWN_X], rows[m, at + KNOWN_Y] = x, y
            rows[m, at + UX], rows[m, at + UY], rows[m, at + LENGTH] = ux, uy, length
            if at == OLD:
                spots[m, LEFT], spots[m, BELOW], spots[m, RIGHT], spots[m, ABOVE] = x, y, x, y
                areas[m, LEFT], areas[m, RIGHT] = left - SLACK, right + SLACK
                areas[m, BELOW], areas[m, ABOVE] = below - SLACK, above + SLACK
            else:
                spots[m, LEFT], spots[m, RIGHT] = min(spots[m, LEFT], x), max(spots[m, RIGHT], x)
                spots[m, BELOW], spots[m, ABOVE] = min(spots[m, BELOW], y), max(spots[m, ABOVE], y)
                areas[m, LEFT] = min(areas[m, LEFT], left - SLACK)
                areas[m, RIGHT] = max(areas[m, RIGHT], right + SLACK)
                areas[m, BELOW] = min(areas[m, BELOW], below - SLACK)
                areas[m, ABOVE] = max(areas[m, ABOVE], above + SLACK)
    return rows, spots, areas


@kernel
def _near_cone(rows: Floats, m: int, last: int, bx: float, by: float, radius: float) -> bool:
    """Whether a place at (bx, by) from a member's own may be in the cone of its longest envelope.

    A quick test without roots and divisions, because few places are.
    """
    ux, uy = rows[m, last + UX], rows[m, last + UY]
    along, aside = bx * ux + by * uy, abs(bx * uy - by * ux)
    width = radius + along * WIDENING + SLACK
    inside: bool = (along >= -SLACK) & (along <= rows[m, last + LENGTH] + SLACK) & (aside <= width)
    return inside


@kernel
def _count_notified(
    window: Window, crowd: ClientTree, order: Ints, reported: Reported, radius: float, ahead: Floats
) -> Ints:
    """Count, for each event, those whose envelope holds it; its publisher is none of them."""
    nodes, roots, tiling, place_of = crowd.nodes, crowd.roots, crowd.tiling, crowd.place_of
    rows, fix_us, spots, areas = reported.rows, reported.fix_us, reported.spots, reported.areas
    events, fixes = window.events, window.fixes
    square, within = radius * radius, (radius - SLACK) ** 2
    notified = np.zeros((len(order), len(ahead)), np.int64)
    for e in order:
        ex, ey, at_us, publisher = events.x[e], events.y[e], events.at_us[e], place_of[events.client[e]]
        in_discs = 0
        low_column, high_column, low_row, high_row = cells_near(ex, ey, reported.stray, tiling)
        for column in range(low_column, high_column + 1):
            k, stop = roots[column * tiling.rows + low_row], roots[column * tiling.rows + high_row + 1]
            while k < stop:
                if outside_box(ex, ey, areas, k):
                    k = nodes[k, AFTER]
                    continue
                begin, end, after = nodes[k, BEGIN], nodes[k, END], nodes[k, AFTER]
                if squared_span(ex, ey, spots, k) <= within:
                    in_discs += end - begin - (begin <= publisher < end)
                elif after > k + 1:
                    after = k + 1
                else:
                    for m in range(begin, end):
                        last = NEW if fix_us[m] < at_us else OLD
                        bx, by = ex - rows[m, last + KNOWN_X], ey - rows[m, last + KNOWN_Y]
                        in_disc, other = bx * bx + by * by <= square, m != publisher
                        in_discs += in_disc & other
                        if _near_cone(rows, m, last, bx, by, radius) & other & (not in_disc):
                            c = crowd.order[m]
                            vx = fixes.after[c, SPEED_X] if last == NEW else fixes.before[c, SPEED_X]
                            vy = fixes.after[c, SPEED_Y] if last == NEW else fixes.before[c, SPEED_Y]
                            for s in range(len(ahead)):
                                notified[e, s] += in_envelope(bx, by, radius, vx, vy, ahead[s])
                k = after
        for s in range(len(ahead)):
            notified[e, s] += in_discs
    return notified


@kernel
def _count_correct(
    window: Window,
    crowd: ClientTree,
    concerned: GroundTruth,
    reported: Reported,
    radius: float,
    ahead: Floats,
) -> Ints:
    """Count, for each event, those whom it concerns and whose envelope holds it."""
    nodes, place_of = crowd.nodes, crowd.place_of
    rows, fix_us, spots = reported.rows, reported.fix_us, reported.spots
    events, fixes = window.events, window.fixes
    square, within = radius * radius, (radius - SLACK) ** 2
    correct = np.zeros((len(concerned.order), len(ahead)), np.int64)
    for i in range(len(concerned.order)):
        e = concerned.order[i]
        ex, ey, at_us, publisher = events.x[e], events.y[e], events.at_us[e], place_of[events.client[e]]
        in_discs = 0
        for group in range(concerned.group_starts[i], concerned.group_starts[i + 1]):
            k = concerned.groups[group]
            stop = nodes[k, AFTER]
            while k < stop:
                begin, end, after = nodes[k, BEGIN], nodes[k, END], nodes[k, AFTER]
                if squared_span(ex, ey, spots, k) <= within:
                    in_discs += end - begin - (begin <= publisher < end)
                elif after > k + 1:
                    after = k + 1
                else:
                    for m in range(begin, end):
                        last = NEW if fix_us[m] < at_us else OLD
                        bx, by = ex - rows[m, last + KNOWN_X], ey - rows[m, last + KNOWN_Y]
                        in_disc, other = bx * bx + by * by <= square, m != publisher
                        in_discs += in_disc & other
                        if _near_cone(rows, m, last, bx, by, radius) & other & (not in_disc):
                            c = crowd.order[m]
                            vx = fixes.after[c, SPEED_X] if last == NEW else fixes.before[c, SPEED_X]
                            vy = fixes.after[c, SPEED_Y] if last == NEW else fixes.before[c, SPEED_Y]
                            for s in range(len(ahead)):
                                correct[e, s] += in_envelope(bx, by, radius, vx, vy, ahead[s])
                k = after
        for single in range(concerned.single_starts[i], concerned.single_starts[i + 1]):
            m = concerned.singles[single]
            last = NEW if fix_us[m] < at_us else OLD
            bx, by = ex - rows[m, last + KNOWN_X], ey - rows[m, last + KNOWN_Y]
            in_disc = bx * bx + by * by <= square
            in_discs += in_disc
            if _near_cone(rows, m, last, bx, by, radius) & (not in_disc):
                c = crowd.order[m]
                vx = fixes.after[c, SPEED_X] if last == NEW else fixes.before[c, SPEED_X]
                vy = fixes.after[c, SPEED_Y] if last == NEW else fixes.before[c, SPEED_Y]
                for s in range(len(ahead)):
                    correct[e, s] += in_envelope(bx, by, radius, vx, vy, ahead[s])
        for s in range(len(ahead)):
            correct[e, s] += in_discs
    return correct


class EnvelopeKernels(Judge):
    """Judges schemes in which clients report at each fix and have a disc or an envelope around that place."""

    def __init__(self, conditions: Conditions, schemes: Sequence[SchemeSetting], _leg: Leg) -> None:
        self._radius = conditions.radius
        alphas = [scheme.values.get("alpha") for scheme in schemes]
        self._ahead = np.array([SECONDS_AHEAD * (alpha or 0.0) for alpha in alphas], np.float64)
        # RADIAL, the one without `alpha`, reports no vector.
        sizes = conditions.sizes
        self._report = [sizes.report if alpha is None else sizes.with_vector for alpha in alphas]
        self._fixes = 0

    def pass_window(self, window: Window) -> None:
        """Do nothing: the window itself holds the members' reports."""

    def begin(self, carried: Ints | None) -> None:  # noqa: ARG002 - nothing is older than a fix
        self._fixes = 0

    def count(self, window: Window, crowd: ClientTree, concerned: GroundTruth) -> Counts:
        self._fixes += int(np.count_nonzero(window.fixes.at_us < NEVER))
        reported = reported_of(crowd, window.fixes, self._radius, float(self._ahead.max()))
        return Counts(
            _count_notified(window, crowd, concerned.order, reported, self._radius, self._ahead),
            _count_correct(window, crowd, concerned, reported, self._radius, self._ahead),
        )

    def traffic(self) -> Ints:
        return np.array([[self._fixes, self._fixes * size, 0, 0] for size in self._report], np.int64)
