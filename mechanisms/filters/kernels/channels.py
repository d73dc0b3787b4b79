"""Kernels of GRID and EGRID: who listens to the cell of an event.

The cells that a client listens to and the one that it is in are one number, a span: it is the client's state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bypass.mechanisms.filters.egrid import Egrid
from bypass.mechanisms.filters.indexes.channels import Layout, cell_of
from bypass.mechanisms.filters.kernels.client_tree import AFTER, BEGIN, END, ClientTree
from bypass.mechanisms.filters.kernels.ground_truth import GroundTruth
from bypass.mechanisms.filters.kernels.judge import Conditions, Counts, Judge, MessageSizes, SchemeSetting
from bypass.mechanisms.filters.kernels.state_changes import (
    CLIENT,
    NONE,
    STATE,
    TIME,
    Known,
    StateChanges,
    known_of,
    note,
    state_at,
)
from bypass.mechanisms.filters.kernels.window import NEVER, PLACE_X, PLACE_Y, Events, Leg, Window
from bypass.support.arrays import Floats, Ints
from bypass.support.kernel import kernel

BITS = 9  # for each of the six cell numbers in a span
MASK = (1 << BITS) - 1
OWN_BITS = 2 * BITS
OWN_MASK = (1 << OWN_BITS) - 1
REQUESTS, RIDING = range(2)  # what is counted: requests for channels, and those that ride on events


class ChannelGrid(NamedTuple):
    """n × n equal cells over an area with its corner at (x0, y0); clients listen to those within `margin`."""

    n: int
    x0: float
    y0: float
    width: float
    height: float
    margin: float


@kernel
def _own_cell(x: float, y: float, grid: ChannelGrid) -> int:
    """The column and row of a place as one number."""
    column = cell_of(x, grid.x0, grid.width, grid.n)
    return column << BITS | cell_of(y, grid.y0, grid.height, grid.n)


@kernel
def _span_at(x: float, y: float, grid: ChannelGrid) -> int:
    """The cells that a client at (x, y) listens to, and its own, as one number."""
    n, x0, y0, width, height, margin = grid
    packed = cell_of(x - margin, x0, width, n)
    packed = packed << BITS | cell_of(x + margin, x0, width, n)
    packed = packed << BITS | cell_of(y - margin, y0, height, n)
    packed = packed << BITS | cell_of(y + margin, y0, height, n)
    return packed << OWN_BITS | _own_cell(x, y, grid)


@kernel
def _spans_at(x: Floats, y: Floats, grid: ChannelGrid) -> Ints:
    """The spans of clients."""
    spans = np.empty(len(x), np.int64)
    for i in range(len(x)):
        spans[i] = _span_at(x[i], y[i], grid)
    return spans


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
def _listens(span: int, cell: int) -> bool:
    """Whether a client with this span listens to a cell, its column and row as one number."""
    i0, i1, j0, j1, _, _ = unpacked(span)
    column, row = cell >> BITS, cell & MASK
    return (i0 <= column) & (column <= i1) & (j0 <= row) & (row <= j1)


@kernel
def _covers(span: int, now: int) -> bool:
    """Whether a client that would get the span `now` may keep the one it has: its own cell is the same, and
    no cell that it needs is missing."""
    i0, i1, j0, j1, i, j = unpacked(span)
    n0, n1, m0, m1, n, m = unpacked(now)
    return i == n and j == m and i0 <= n0 and n1 <= i1 and j0 <= m0 and m1 <= j1


@kernel
def _follow(window: Window, grid: ChannelGrid, spans: Ints, sent: Ints) -> StateChanges:
    """Renew what clients listen to over one window: at their fixes and, if they have left their cell, before
    they publish locally. `spans` and `sent` are brought to the end of the window."""
    fixes, events = window.fixes, window.events
    rows, used = np.empty((len(events.at_us) + len(spans), 4), np.int64), 0
    chains = np.full((len(spans), 2), NONE, np.int64)
    done = np.zeros(len(spans), np.bool_)
    for turn in range(len(events.at_us) + len(spans)):
        # First the publications as they come, each after its client's fix if that was earlier; then all fixes
        # that are left.
        publishing = turn < len(events.at_us)
        if publishing and not events.local[turn]:
            continue
        i = events.client[turn] if publishing else turn - len(events.at_us)
        at_us = events.at_us[turn] if publishing else NEVER
        fix_us = fixes.at_us[i]
        if fix_us < at_us and not done[i]:
            done[i] = True
            now = _span_at(fixes.after[i, PLACE_X], fixes.after[i, PLACE_Y], grid)
            if not _covers(spans[i], now):
                note(rows, used, chains, fix_us, i, now)
                used += 1
                spans[i] = now
                sent[REQUESTS] += 1
        if publishing and _own_cell(events.x[turn], events.y[turn], grid) != spans[i] & OWN_MASK:
            spans[i] = _span_at(events.x[turn], events.y[turn], grid)
            note(rows, used, chains, at_us, i, spans[i])
            used += 1
            sent[RIDING] += 1
    return StateChanges(rows[:used], chains[:, 0].copy())


@kernel
def _add_span(span: int, counts: Ints, amount: int) -> None:
    """A client begins (1) or ceases (-1) to listen to the cells of a span."""
    i0, i1, j0, j1, _, _ = unpacked(span)
    for i in range(i0, i1 + 1):
        for j in range(j0, j1 + 1):
            counts[i, j] += amount


@kernel
def _enlist(spans: Ints, n: int) -> Ints:
    """Count the listeners of every cell."""
    counts = np.zeros((n, n), np.int64)
    for span in spans:
        _add_span(span, counts, 1)
    return counts


@kernel
def _count_notified(
    events: Events, grid: ChannelGrid, spans: Ints, listeners: Ints, changes: Ints, order: Ints
) -> Ints:
    """Count, for each event of a window, who listens to its cell, without its publisher.

    `spans` and `listeners` are those of the window's begin and are brought to its end; `order` is that of the
    changes in time.
    """
    notified = np.empty(len(events.at_us), np.int64)
    upcoming = 0
    for e in range(len(events.at_us) + 1):
        at_us = events.at_us[e] if e < len(events.at_us) else NEVER
        while upcoming < len(order) and changes[order[upcoming], TIME] < at_us:
            i, state = changes[order[upcoming], CLIENT], changes[order[upcoming], STATE]
            _add_span(spans[i], listeners, -1)
            _add_span(state, listeners, 1)
            spans[i] = state
            upcoming += 1
        if e < len(events.at_us):
            cell = _own_cell(events.x[e], events.y[e], grid)
            own = _listens(spans[events.client[e]], cell)
            notified[e] = listeners[cell >> BITS, cell & MASK] - own
    return notified


@kernel
def _count_correct(
    events: Events, grid: ChannelGrid, crowd: ClientTree, concerned: GroundTruth, known: Known
) -> Ints:
    """Count, for each event of a window, those it concerns who listen to its cell."""
    nodes, states, changes, first = crowd.nodes, known.states, known.changes, known.first
    correct = np.empty(len(events.at_us), np.int64)
    for i in range(len(concerned.order)):
        e = concerned.order[i]
        at_us, publisher = events.at_us[e], crowd.place_of[events.client[e]]
        cell = _own_cell(events.x[e], events.y[e], grid)
        listening = 0
        for group in range(concerned.group_starts[i], concerned.group_starts[i + 1]):
            k = concerned.groups[group]
            stop = nodes[k, AFTER]
            while k < stop:
                begin, end, after = nodes[k, BEGIN], nodes[k, END], nodes[k, AFTER]
                if known.settled[k]:
                    n = end - begin - (begin <= publisher < end)
                    listening += n * _listens(states[begin], cell)
                elif after > k + 1:
                    after = k + 1
                else:
                    for m in range(begin, end):
                        state = state_at(states[m], changes, first[m], at_us)
                        listening += _listens(state, cell) & (m != publisher)
                k = after
        for single in range(concerned.single_starts[i], concerned.single_starts[i + 1]):
            m = concerned.singles[single]
            listening += _listens(state_at(states[m], changes, first[m], at_us), cell)
        correct[e] = listening
    return correct


class Channels:
    """The channels of one scheme: who listens to which cells of a grid, and what was said about it."""

    def __init__(self, conditions: Conditions, n: int, margin: float, leg: Leg) -> None:
        x0, y0, x1, y1 = conditions.area
        self._layout = Layout(conditions.area, n, 1)
        self._sizes = conditions.sizes
        self._grid = ChannelGrid(n, x0, y0, (x1 - x0) / n, (y1 - y0) / n, margin)
        self.spans = _spans_at(leg.x, leg.y, self._grid)
        self.begin()

    def begin(self) -> None:
        """Count from now on."""
        self._sent = np.zeros(2, np.int64)
        self._assigned: Counter[int] = Counter()
        self._listeners = _enlist(self.spans, self._grid.n)

    def follow(self, window: Window) -> StateChanges:
        """Let a window pass."""
        return _follow(window, self._grid, self.spans, self._sent)

    def count(self, window: Window, crowd: ClientTree, concerned: GroundTruth) -> tuple[Ints, Ints]:
        """Let a window pass; gives how many each event notified, and how many rightly."""
        spans = self.spans.copy()
        changes = self.follow(window)
        self._assigned.update(changes.rows[:, STATE].tolist())
        # In which cell a client itself is makes no difference to what it listens to.
        changes.rows[:, STATE] &= ~OWN_MASK
        known = known_of(crowd, spans & ~OWN_MASK, changes)
        correct = _count_correct(window.events, self._grid, crowd, concerned, known)
        order = np.argsort(changes.rows[:, TIME], kind="stable")
        notified = _count_notified(window.events, self._grid, spans, self._listeners, changes.rows, order)
        return notified, correct

    def traffic(self) -> list[int]:
        """Messages and bytes since the begin."""
        sizes = self._sizes
        asked, rode = self._sent.tolist()
        down = sum(count * _answer(sizes, self._layout, span) for span, count in self._assigned.items())
        return [asked + rode, asked * sizes.request + rode * sizes.riding, self._assigned.total(), down]


class ChannelKernels(Judge):
    """Judges schemes with a channel for each cell, to which clients listen until they are told others."""

    def __init__(self, conditions: Conditions, schemes: Sequence[SchemeSetting], leg: Leg) -> None:
        wide = [issubclass(scheme.scheme, Egrid) for scheme in schemes]
        self._channels = [
            Channels(conditions, scheme.values["grid"], conditions.radius if far else 0.0, leg)
            for scheme, far in zip(schemes, wide, strict=True)
        ]
        self._carried = [each for each, far in zip(self._channels, wide, strict=True) if far]

    def pass_window(self, window: Window) -> None:
        for each in self._channels:
            each.follow(window)

    def begin(self, carried: Ints | None) -> None:
        if carried is not None:
            for each, spans in zip(self._carried, carried, strict=True):
                each.spans = spans
        for each in self._channels:
            each.begin()

    def carried(self) -> Ints:
        """The spans in EGRID: a client keeps its cells as long as they cover its area."""
        return np.stack([each.spans for each in self._carried])

    def count(self, window: Window, crowd: ClientTree, concerned: GroundTruth) -> Counts:
        counts = [each.count(window, crowd, concerned) for each in self._channels]
        notified, correct = zip(*counts, strict=True)
        return Counts(np.column_stack(notified), np.column_stack(correct))

    def traffic(self) -> Ints:
        return np.array([each.traffic() for each in self._channels], np.int64)


def _answer(sizes: MessageSizes, layout: Layout, span: int) -> int:
    """How many bytes the broker's answer has."""
    i0, i1, j0, j1, i, j = unpacked(span)
    channels = tuple(layout.name(a, b) for a in range(i0, i1 + 1) for b in range(j0, j1 + 1))
    cell, cover = layout.bounds(i, i, j, j), layout.bounds(i0, i1, j0, j1)
    return sizes.assignment(layout.name(i, j), channels, cell, cover)
