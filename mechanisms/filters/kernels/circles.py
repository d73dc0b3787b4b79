"""Kernels of ATTRACT and MULTI: who is in a circle that an event lies in, or outside of all.

A client's state is the number of the set of circles that it was in at its last fix.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bypass.mechanisms.filters.kernels.circle_sets import (
    enter_set,
    is_outside,
    is_same,
    overlap,
    set_at,
    sets_at,
)
from bypass.mechanisms.filters.kernels.client_tree import (
    AFTER,
    BEGIN,
    END,
    SLACK,
    ClientTree,
    cells_near,
    outside_box,
    squared_span,
)
from bypass.mechanisms.filters.kernels.envelopes import KNOWN_X, KNOWN_Y, NEW, OLD, Reported, reported_of
from bypass.mechanisms.filters.kernels.ground_truth import GroundTruth
from bypass.mechanisms.filters.kernels.judge import (
    Circles,
    Conditions,
    Counts,
    Judge,
    MessageSizes,
    SchemeSetting,
)
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
from bypass.mechanisms.filters.multi import Multi
from bypass.support.arrays import Bools, Floats, Ints, Words
from bypass.support.kernel import kernel

REQUESTS, OUTSIDE = range(2)
"""Columns of counts: requests for channels, fixes outside of all circles that need no request."""


class CircleRules(NamedTuple):
    """The rules of each scheme: by how much (m) circles grow when an event is looked up, and whether clients
    outside of all circles are served by RADIAL's rule (`multi`)."""

    extension: Floats
    multi: Bools


@kernel
def _follow(
    window: Window, circles: Circles, set_of: Ints, sets: Words, known: int, sent: Ints
) -> tuple[StateChanges, Words, int]:
    """Renew at their fixes which circles clients are in; gives the changes, the sets, how many."""
    fixes = window.fixes
    rows, used = np.empty((len(set_of), 4), np.int64), 0
    chains = np.full((len(set_of), 2), NONE, np.int64)
    for i in range(len(set_of)):
        if fixes.at_us[i] == NEVER:
            continue
        found = set_at(fixes.after[i, PLACE_X], fixes.after[i, PLACE_Y], circles, 0.0)
        if not is_same(found, sets[set_of[i]]):
            k, sets, known = enter_set(found, sets, known)
            note(rows, used, chains, fixes.at_us[i], i, k)
            used += 1
            set_of[i] = k
            sent[REQUESTS] += 1
        elif is_outside(found, circles):
            sent[OUTSIDE] += 1
    return StateChanges(rows[:used], chains[:, 0].copy()), sets, known


class Audience(NamedTuple):
    """The clients that listen to the events of a window: of[e, a] is a number for the channels of event `e`
    in scheme `a`, and hears[a, of[e, a], k] says whether clients with set `k` listen to one of them. In
    MULTI, clients `outside` of all circles listen to none."""

    of: Ints
    hears: Bools
    outside: Bools


@kernel
def _audience(events: Events, circles: Circles, rules: CircleRules, sets: Words, known: int) -> Audience:
    of = np.empty((len(events.at_us), len(rules.extension)), np.int64)
    found, used = np.empty((64, sets.shape[1]), np.uint64), 0
    for e in range(len(events.at_us)):
        for a in range(len(rules.extension)):
            if a > 0 and rules.extension[a] == rules.extension[a - 1]:
                of[e, a] = of[e, a - 1]
                continue
            event_set = set_at(events.x[e], events.y[e], circles, rules.extension[a])
            of[e, a], found, used = enter_set(event_set, found, used)
    outside = np.empty(known, np.bool_)
    hears = np.empty((len(rules.extension), used, known), np.bool_)
    for k in range(known):
        outside[k] = is_outside(sets[k], circles)
        for a in range(len(rules.extension)):
            for s in range(used):
                hears[a, s, k] = overlap(sets[k], found[s]) and not (rules.multi[a] and outside[k])
    return Audience(of, hears, outside)


@kernel
def _count_listeners(
    events: Events, audience: Audience, set_of: Ints, members: Ints, changes: Ints, order: Ints
) -> Ints:
    """Count, for each event of a window, who listens to its channels, without its publisher.

    `set_of`, and `members`, which counts the clients of each set, are those of the window's begin and are
    brought to its end; `order` is that of the changes in time.
    """
    of, hears = audience.of, audience.hears
    notified = np.empty(of.shape, np.int64)
    upcoming = 0
    for e in range(len(events.at_us) + 1):
        at_us = events.at_us[e] if e < len(events.at_us) else NEVER
        while upcoming < len(order) and changes[order[upcoming], TIME] < at_us:
            i, state = changes[order[upcoming], CLIENT], changes[order[upcoming], STATE]
            members[set_of[i]] -= 1
            members[state] += 1
            set_of[i] = state
            upcoming += 1
        if e == len(events.at_us):
            break
        for a in range(of.shape[1]):
            listening = -int(hears[a, of[e, a], set_of[events.client[e]]])
            for k in range(len(members)):
                listening += members[k] * hears[a, of[e, a], k]
            notified[e, a] = listening
    return notified


@kernel
def _count_correct(
    events: Events, audience: Audience, crowd: ClientTree, concerned: GroundTruth, known: Known
) -> Ints:
    """Count, for each event of a window, those it concerns who listen to one of its channels."""
    nodes, states, changes, first = crowd.nodes, known.states, known.changes, known.first
    of, hears = audience.of, audience.hears
    correct = np.empty(of.shape, np.int64)
    for i in range(len(concerned.order)):
        e = concerned.order[i]
        at_us, publisher = events.at_us[e], crowd.place_of[events.client[e]]
        for a in range(of.shape[1]):
            listening = 0
            for group in range(concerned.group_starts[i], concerned.group_starts[i + 1]):
                k = concerned.groups[group]
                stop = nodes[k, AFTER]
                while k < stop:
                    begin, end, after = nodes[k, BEGIN], nodes[k, END], nodes[k, AFTER]
                    if known.settled[k]:
                        n = end - begin - (begin <= publisher < end)
                        listening += n * hears[a, of[e, a], states[begin]]
                    elif after > k + 1:
                        after = k + 1
                    else:
                        for m in range(begin, end):
                            state = state_at(states[m], changes, first[m], at_us)
                            listening += hears[a, of[e, a], state] & (m != publisher)
                    k = after
            for single in range(concerned.single_starts[i], concerned.single_starts[i + 1]):
                m = concerned.singles[single]
                listening += hears[a, of[e, a], state_at(states[m], changes, first[m], at_us)]
            correct[e, a] = listening
    return correct


@kernel
def _count_outside(
    events: Events,
    outside: Bools,
    crowd: ClientTree,
    concerned: GroundTruth,
    known: Known,
    reported: Reported,
    radius: float,
) -> Counts:
    """Count, for each event of a window, those who are outside of all circles and within the radius of it by
    what they have reported; `correct` are those whom it concerns."""
    nodes, roots, tiling, settled = crowd.nodes, crowd.roots, crowd.tiling, known.settled
    states, changes, first = known.states, known.changes, known.first
    rows, fix_us, spots, areas = reported.rows, reported.fix_us, reported.spots, reported.areas
    square, within = radius * radius, (radius - SLACK) ** 2
    notified, correct = np.empty((len(events.at_us), 1), np.int64), np.empty((len(events.at_us), 1), np.int64)
    for i in range(len(concerned.order)):
        e = concerned.order[i]
        ex, ey, at_us, publisher = events.x[e], events.y[e], events.at_us[e], crowd.place_of[events.client[e]]
        near = right = 0
        low_column, high_column, low_row, high_row = cells_near(ex, ey, reported.stray, tiling)
        for column in range(low_column, high_column + 1):
            k, stop = roots[column * tiling.rows + low_row], roots[column * tiling.rows + high_row + 1]
            while k < stop:
                begin, end, after = nodes[k, BEGIN], nodes[k, END], nodes[k, AFTER]
                if outside_box(ex, ey, areas, k) or (settled[k] and not outside[states[begin]]):
                    k = after
                    continue
                if settled[k] and squared_span(ex, ey, spots, k) <= within:
                    near += end - begin - (begin <= publisher < end)
                elif after > k + 1:
                    after = k + 1
                else:
                    for m in range(begin, end):
                        last = NEW if fix_us[m] < at_us else OLD
                        bx, by = ex - rows[m, last + KNOWN_X], ey - rows[m, last + KNOWN_Y]
                        state = state_at(states[m], changes, first[m], at_us)
                        near += (bx * bx + by * by <= square) & outside[state] & (m != publisher)
                k = after
        for group in range(concerned.group_starts[i], concerned.group_starts[i + 1]):
            k = concerned.groups[group]
            stop = nodes[k, AFTER]
            while k < stop:
                begin, end, after = nodes[k, BEGIN], nodes[k, END], nodes[k, AFTER]
                if settled[k] and squared_span(ex, ey, spots, k) <= within:
                    right += (end - begin - (begin <= publisher < end)) * outside[states[begin]]
                elif after > k + 1:
                    after = k + 1
                else:
                    for m in range(begin, end):
                        last = NEW if fix_us[m] < at_us else OLD
                        bx, by = ex - rows[m, last + KNOWN_X], ey - rows[m, last + KNOWN_Y]
                        state = state_at(states[m], changes, first[m], at_us)
                        right += (bx * bx + by * by <= square) & outside[state] & (m != publisher)
                k = after
        for single in range(concerned.single_starts[i], concerned.single_starts[i + 1]):
            m = concerned.singles[single]
            last = NEW if fix_us[m] < at_us else OLD
            bx, by = ex - rows[m, last + KNOWN_X], ey - rows[m, last + KNOWN_Y]
            state = state_at(states[m], changes, first[m], at_us)
            right += (bx * bx + by * by <= square) & outside[state]
        notified[e, 0], correct[e, 0] = near, right
    return Counts(notified, correct)


class CircleKernels(Judge):
    """Judges schemes with a channel for each circle and one for everywhere else, renewed at each fix."""

    def __init__(self, conditions: Conditions, schemes: Sequence[SchemeSetting], leg: Leg) -> None:
        self._radius, self._circles = conditions.radius, conditions.circles
        self._message_sizes = conditions.sizes
        self._rules = CircleRules(
            np.array([_metres(scheme.values["extension"], conditions.radius) for scheme in schemes]),
            np.array([issubclass(scheme.scheme, Multi) for scheme in schemes], np.bool_),
        )
        self._set_of, self._sets, self._known = sets_at(leg.x, leg.y, self._circles)
        self.begin(None)

    def pass_window(self, window: Window) -> None:
        self._follow(window)

    def begin(self, carried: Ints | None) -> None:  # noqa: ARG002 - nothing is older than a fix
        self._sent = np.zeros(2, np.int64)
        self._assigned: Counter[int] = Counter()  # by how many circles there are in a set

    def count(self, window: Window, crowd: ClientTree, concerned: GroundTruth) -> Counts:
        set_of = self._set_of.copy()
        changes = self._follow(window)
        sizes, counts = np.unique(self._sizes()[changes.rows[:, STATE]], return_counts=True)
        self._assigned.update(dict(zip(sizes.tolist(), counts.tolist(), strict=True)))
        events, rules = window.events, self._rules
        audience = _audience(events, self._circles, rules, self._sets, self._known)
        known = known_of(crowd, set_of, changes)
        correct = _count_correct(events, audience, crowd, concerned, known)
        members = np.bincount(set_of, minlength=self._known)
        order = np.argsort(changes.rows[:, TIME], kind="stable")
        notified = _count_listeners(events, audience, set_of, members, changes.rows, order)
        if rules.multi.any():
            reported = reported_of(crowd, window.fixes, self._radius, 0.0)
            near = _count_outside(events, audience.outside, crowd, concerned, known, reported, self._radius)
            notified += np.where(rules.multi, near.notified, 0)
            correct += np.where(rules.multi, near.correct, 0)
        return Counts(notified, correct)

    def traffic(self) -> Ints:
        sizes = self._message_sizes
        down = sum(count * _answer(sizes, circles) for circles, count in self._assigned.items())
        asked, outside = self._sent.tolist()
        return np.array(
            [
                [
                    asked + multi * outside,
                    asked * sizes.request + multi * outside * sizes.report,
                    self._assigned.total(),
                    down,
                ]
                for multi in self._rules.multi.tolist()
            ],
            np.int64,
        )

    def _follow(self, window: Window) -> StateChanges:
        changes, self._sets, self._known = _follow(
            window, self._circles, self._set_of, self._sets, self._known, self._sent
        )
        return changes

    def _sizes(self) -> Ints:
        """How many circles each known set has; 0 for the one of being outside of all."""
        bits = np.unpackbits(self._sets[: self._known].view(np.uint8), axis=1, bitorder="little")
        return np.asarray(bits[:, : len(self._circles.x)].sum(axis=1, dtype=np.int64))


def _metres(extension: float | str, radius: float) -> float:
    """The extension of circles in metres. Every subscription has the same radius here, so the largest and the
    average radius are equal."""
    if extension == "none":
        return 0.0
    return radius if isinstance(extension, str) else extension


def _answer(sizes: MessageSizes, circles: int) -> int:
    """How many bytes the broker's answer has. Where circles have numbers of several digits it has some more;
    that is not counted."""
    names = tuple(f"a1:{k}" for k in range(circles)) or ("a1:other",)
    return sizes.assignment(names[0], names, None, None)
