"""One stretch of a trace: everybody's context is replayed and every event counted, window by window."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bypass.mechanisms.filters.indexes.envelopes import WIDENING
from bypass.models.workloads import Publications
from bypass.scenarios.evaluation.client_tree import (
    boxes_of,
    by_cell,
    gather,
    grid_of,
    plant,
    settled_nodes,
    strays,
)
from bypass.scenarios.evaluation.replay import (
    BITS,
    SCHEME,
    STATE,
    TIME,
    enter_set,
    find_set,
    fix_times,
    replay,
    reports,
    span_at,
)
from bypass.scenarios.evaluation.schemes import SchemeCatalogue
from bypass.scenarios.evaluation.tally import count_listeners, enlist, tally
from bypass.support.arrays import Floats, Ints, Singles
from bypass.support.counter_rng import Purpose, uniform_pair
from bypass.support.kernel import kernel
from bypass.support.units import MICROSECONDS

OWN_BITS = 2 * BITS


class Leg(NamedTuple):
    """How everybody moves between two samples, `dt` s apart, from time `t` (s) on."""

    t: float
    dt: float
    x: Floats
    y: Floats
    dx: Floats
    dy: Floats


class Window(NamedTuple):
    """A part of a leg (microseconds, end excluded) in which nobody has more than one fix."""

    leg: Leg
    start_us: int
    end_us: int


def windows(x: Singles, y: Singles, first: int, step: float, interval_us: int) -> Iterator[Window]:
    """The windows of a stretch whose first row of positions is sample number `first`, one each `step` s."""
    for k in range(len(x) - 1):
        t, end = (first + k) * step, (first + k + 1) * step
        x0, y0 = x[k].astype(np.float64), y[k].astype(np.float64)
        leg = Leg(t, end - t, x0, y0, x[k + 1].astype(np.float64) - x0, y[k + 1].astype(np.float64) - y0)
        start_us, end_us = round(t * MICROSECONDS), round(end * MICROSECONDS)
        parts = -(-(end_us - start_us) // interval_us)
        cuts = [start_us + (end_us - start_us) * part // parts for part in range(parts + 1)]
        for begin, until in pairwise(cuts):
            yield Window(leg, begin, until)


@kernel
def _phases(seed: np.uint64, purpose: int, first: int, last: int) -> Floats:
    phases = np.empty(last - first)
    for i in range(first, last):
        phases[i - first], _ = uniform_pair(seed, purpose, i, 0)
    return phases


def sensor_phases(seed: int, first: int, last: int, interval_us: int) -> Ints:
    """When clients have their first fixes (microseconds), as the simulator's sensors have them."""
    phases = _phases(np.uint64(seed), Purpose.SENSOR, first, last)
    return np.rint(phases * interval_us).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Replayed:
    """What happened to the context of clients in one window."""

    fix_us: Ints
    before: Floats
    fixes: Floats
    changes: Ints
    used: int
    first: Ints


class Context:
    """What is known of a range of clients: their last fixes, the channels they listen to.

    It begins where they are at the first window's start, as if they subscribed there.
    """

    def __init__(
        self, catalogue: SchemeCatalogue, radius: float, phase_us: Ints, interval_us: int, leg: Leg
    ) -> None:
        c = self.catalogue = catalogue
        n = len(phase_us)
        self._phase_us, self._interval_us = phase_us, interval_us
        self.known = np.column_stack([leg.x, leg.y, leg.dx / leg.dt, leg.dy / leg.dt])
        self.margin = np.where(c.wide, radius, 0.0)
        self.spans = np.empty((len(c.grid), n), np.int64)
        for g in range(len(c.grid)):
            _spans_at(leg.x, leg.y, self.margin[g], c.area, c.grid[g], self.spans[g])
        self.circles = bool(len(c.extension))
        words = (len(c.circle_x) >> 6) + 1
        self.set_of = np.zeros(n, np.int64)
        self.sets = np.empty((64, words), np.uint64)
        self.set_count = 0
        if self.circles:
            self.sets, self.set_count = _sets_at(
                leg.x, leg.y, c.circle_x, c.circle_y, c.circle_r, self.sets, self.set_of
            )
        self.sent = np.zeros((len(c.grid) + 1, 3), np.int64)
        self.fixes = 0
        self._first, self._last = np.full(n, -1, np.int64), np.empty(n, np.int64)

    def set_sizes(self) -> Ints:
        """How many circles each known set has; 0 for the one of being outside of all."""
        bits = np.unpackbits(self.sets[: self.set_count].view(np.uint8), axis=1, bitorder="little")
        return np.asarray(bits[:, : len(self.catalogue.circle_x)].sum(axis=1, dtype=np.int64))

    def pass_window(self, window: Window, publications: Publications) -> Replayed:
        """Let a window pass in which these clients, numbered from 0 here, publish."""
        c, leg = self.catalogue, window.leg
        fix_us = fix_times(self._phase_us, self._interval_us, window.start_us, window.end_us)
        fixes = reports(fix_us, leg.x, leg.y, leg.dx, leg.dy, leg.t, leg.dt)
        fixed = fix_us < window.end_us
        before = self.known.copy()
        self._first[:] = -1
        changes, used, self.sets, self.set_count = replay(
            fix_us, fixes, leg.x, leg.y, leg.dx, leg.dy, leg.t, leg.dt,
            publications.at_us, publications.client, np.isnan(publications.x),
            self.margin, c.grid, c.area, self.spans,
            c.circle_x, c.circle_y, c.circle_r, self.circles, self.set_of, self.sets, self.set_count,
            self._first, self._last, self.sent,
        )  # fmt: skip
        self.known[fixed] = fixes[fixed]
        self.fixes += int(np.count_nonzero(fixed))
        return Replayed(fix_us, before, np.where(fixed[:, None], fixes, before), changes, used, self._first)


@dataclass(frozen=True, eq=False)
class Counted:
    """The events of a window in columns. `notified` and `correct` have a column for each scheme, in the
    order of the catalogue."""

    at_us: Ints
    client: NDArray[np.int32]
    x: Floats
    y: Floats
    subscribers: Ints
    notified: Ints
    correct: Ints


class Counter:
    """Counts the events of windows that follow each other, given what happens to the context meanwhile."""

    def __init__(self, context: Context, radius: float) -> None:
        c = context.catalogue
        self._context, self._radius = context, radius
        self._offsets = np.cumsum(np.concatenate([[0], c.grid * c.grid]))
        self._listeners = np.zeros(self._offsets[-1], np.int64)
        enlist(context.spans, c.grid, self._listeners, self._offsets)
        self._members = np.bincount(context.set_of, minlength=len(context.sets))
        self.work = np.zeros(3, np.int64)

    def pass_window(self, window: Window, publications: Publications) -> tuple[Counted, Ints]:
        """Let a window pass, for the context too; gives its events and the changes of channels."""
        context, leg, radius = self._context, window.leg, self._radius
        c = context.catalogue
        spans, set_of = context.spans.copy(), context.set_of.copy()
        happened = context.pass_window(window, publications)
        if len(self._members) < len(context.sets):
            self._members = np.append(
                self._members, np.zeros(len(context.sets) - len(self._members), np.int64)
            )
        p, n = publications, len(publications)
        share = (p.at_us / MICROSECONDS - leg.t) / leg.dt
        local = np.isnan(p.x)
        px = np.where(local, leg.x[p.client] + share * leg.dx[p.client], p.x)
        py = np.where(local, leg.y[p.client] + share * leg.dy[p.client], p.y)
        # In which cell a client itself is makes no difference to what it listens to.
        listened = spans >> OWN_BITS << OWN_BITS
        states = np.concatenate([listened, set_of[None]] if context.circles else [listened]).T
        changes = happened.changes[: happened.used].copy()
        of_grids = changes[:, SCHEME] < len(c.grid)
        changes[of_grids, STATE] = changes[of_grids, STATE] >> OWN_BITS << OWN_BITS

        x0, y0, size, columns, rows = grid_of(leg.x, leg.y, radius)
        order, starts = by_cell(leg.x, leg.y, x0, y0, size, columns, rows)
        nodes, roots = plant(order, starts, leg.x, leg.y, x0, y0, size, rows)
        place_of = np.empty(len(order), np.int64)
        place_of[order] = np.arange(len(order))
        ahead = float(c.ahead.max(initial=0.0))
        members = gather(order, leg.x, leg.y, leg.dx, leg.dy, happened.before, happened.fixes, ahead)
        boxes = boxes_of(nodes, members, radius, WIDENING)
        states, first = states[order], happened.first[order]
        settled = settled_nodes(nodes, states, first, changes)
        # Events in the order of cells, too: what is near is looked up while it is in the cache.
        near, _ = by_cell(px, py, x0, y0, size, columns, rows)
        shape = n, len(c.order)
        sums = np.zeros(n, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        tally(
            p.at_us[near], p.client[near], px[near], py[near], leg.t, leg.dt,
            radius, place_of, members, happened.fix_us[order], nodes, boxes, settled,
            roots, x0, y0, size, columns, rows,
            strays(boxes, roots, x0, y0, size, rows), c.ahead, c.grid, c.area,
            c.circle_x, c.circle_y, c.circle_r, c.extension, c.multi, context.sets,
            states, changes, first, *sums, self.work,
        )  # fmt: skip
        subscribers, notified, correct = (
            np.empty(n, np.int64),
            np.empty(shape, np.int64),
            np.empty(shape, np.int64),
        )
        subscribers[near], notified[near], correct[near] = sums
        count_listeners(
            p.at_us, p.client, px, py,
            c.grid, c.area, spans, self._listeners, self._offsets,
            c.circle_x, c.circle_y, c.circle_r, c.extension, c.multi,
            set_of, context.sets, context.set_count, self._members,
            changes, np.argsort(changes[:, TIME], kind="stable"), notified, len(c.ahead),
        )  # fmt: skip
        counted = Counted(p.at_us, p.client, px, py, subscribers, notified, correct)
        return counted, happened.changes[: happened.used]


@kernel
def _spans_at(
    x: Floats, y: Floats, margin: float, area: tuple[float, float, float, float], n: int, spans: Ints
) -> None:
    for i in range(len(x)):
        spans[i] = span_at(x[i], y[i], margin, area, n)


@kernel
def _sets_at(
    x: Floats, y: Floats, cx: Floats, cy: Floats, cr: Floats, sets: NDArray[np.uint64], set_of: Ints
) -> tuple[NDArray[np.uint64], int]:
    known = 0
    for i in range(len(x)):
        found = find_set(x[i], y[i], cx, cy, cr, 0.0, sets.shape[1])
        k, sets, known = enter_set(found, sets, known)
        set_of[i] = k
    return sets, known
