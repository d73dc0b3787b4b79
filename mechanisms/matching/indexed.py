"""The base of matching by an index: few subscriptions are looked at for an event, in compiled code."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

import numpy as np

from bypass.events.event import Event
from bypass.events.filters import AnyOf, Subscription
from bypass.events.matching import matches
from bypass.mechanisms.matching.attribute_lookup import EncodedEvent
from bypass.mechanisms.matching.base import AttributeMatching
from bypass.mechanisms.matching.columns import grown
from bypass.mechanisms.matching.kernels import (
    AND,
    NOT,
    OR,
    P_START,
    judge_slots,
    rows_with,
    slots_of,
    slots_under,
)
from bypass.mechanisms.matching.postings import INLINE, Postings
from bypass.mechanisms.matching.predicates import PredicateColumns
from bypass.support.arrays import Floats, Ints

FEW = 4
"""So few subscriptions are tried one by one: that takes less than to encode an event."""


class IndexedMatching(AttributeMatching):
    """Keeps each distinct subscription under keys, looks up those that an event leads to, and judges what is
    there by its predicates. What needs an operator of an application is tried in Python, at the end."""

    predicates: PredicateColumns

    def clear(self) -> None:
        self.predicates = PredicateColumns()
        self._programs: Ints = np.zeros((0, 3), np.int64)
        self._pool = self.predicates.pool
        self.under = Postings()
        self._marked: Ints = np.zeros(0, np.int64)
        self.tried: Ints = np.zeros(0, np.int64)
        self._seen: Ints = np.zeros(0, np.int64)
        self._accepted: Ints = np.zeros(0, np.int64)
        self._found: Ints = np.zeros(0, np.int64)
        self._stamp = 0

    @abstractmethod
    def place(self, group: int, subscription: Subscription) -> list[int]:
        """Choose the distinct keys under which a subscription is found from now on; its predicates are there.

        An event that satisfies it has to lead to one of them (`lead`).
        """

    @abstractmethod
    def displace(self, group: int) -> None:
        """Give back what `place` has taken."""

    def before(self) -> None:
        """Do what is to be done before an event is looked at. Nothing, by default."""

    def lead(self, encoded: EncodedEvent) -> list[int]:
        """Give the keys that an event leads to."""
        return encoded.keys

    def added(self, group: int, subscription: Subscription) -> None:
        program = [*self._program(subscription)]
        start = self._pool.add(program)
        size = group + 1
        if size > len(self._seen):
            self._programs = grown(self._programs, size)
            self._seen = grown(self._seen, size)
            self._accepted, self._found = grown(self._accepted, size), grown(self._found, size)
        self._programs[group] = (start, len(program), not subscription.compounds)
        self._put(group, subscription, program[: len(subscription.filters)])

    def withdrawn(self, group: int, subscription: Subscription) -> None:
        self.under.remove(group)
        self.displace(group)
        start, count, _ = self._programs[group].tolist()
        self._pool.remove(start, count)
        for each in subscription.all_filters():
            self.predicates.give_back(each)

    def accepting(self, event: Event) -> Ints:
        if len(self.groups) <= FEW:
            return self._one_by_one(event)
        self.before()
        encoded = self.predicates.encode(event)
        return self._judge(event, encoded, self._slots_under(np.array(self.lead(encoded), np.int64)))

    def accepted(self, event: Event, rows: Ints, group_of: Ints) -> Ints:
        known = len(self.groups)
        if known == 1:  # all want the same
            return rows if matches(event, self.groups[0]) else rows[:0]
        if len(rows) <= FEW:
            own = group_of[rows].tolist()
            kept = [matches(event, self.groups[group]) for group in own]
            return rows if all(kept) else rows[np.array(kept, np.bool_)]
        if known <= FEW:
            self._stamp += 1
            found = self._one_by_one(event)
            if len(found) == known:
                return rows
            self._accepted[found] = self._stamp
            return rows_with(rows, group_of, self._accepted, self._stamp)
        self.before()
        encoded = self.predicates.encode(event)
        keys = np.array(self.lead(encoded), np.int64)
        under = self.under
        if under.count(keys) < len(rows):
            slots = self._slots_under(keys)
        else:
            slots = slots_of(rows, group_of, under.first, under.postings)
        found = self._judge(event, encoded, slots)
        self._accepted[found] = self._stamp
        return rows_with(rows, group_of, self._accepted, self._stamp)

    def candidates(self, event: Event) -> int:
        """How many records of subscriptions an event leads to: those that are looked at."""
        return self.under.count(np.array(self.lead(self.predicates.encode(event)), np.int64))

    def put_again(self, group: int, subscription: Subscription) -> None:
        """Have `place` choose anew where a subscription is found."""
        self.under.remove(group)
        self.displace(group)
        start = int(self._programs[group, P_START])
        self._put(group, subscription, self._pool.values[start : start + len(subscription.filters)].tolist())

    # -- internals ----------------------------------------------------------------------------------------

    def _one_by_one(self, event: Event) -> Ints:
        return np.array([group for group, each in self.groups.items() if matches(event, each)], np.int64)

    def _slots_under(self, keys: Ints) -> Ints:
        return slots_under(keys, self.under.keys, self.tried)

    def _judge(self, event: Event, encoded: EncodedEvent, slots: Ints) -> Ints:
        """Find the groups of some records that accept an event."""
        n, m = judge_slots(*self._arguments(encoded), slots, self.under.records, self._seen, self._found)
        found = self._found[:n].copy()
        undecided = self._found[m:]
        if not len(undecided):
            return found
        groups = self.groups
        more = [group for group in undecided.tolist() if matches(event, groups[group])]
        return np.concatenate((found, np.array(more, np.int64)))

    def _arguments(
        self, encoded: EncodedEvent
    ) -> tuple[Ints, Ints, Floats, Ints, Ints, Ints, Floats, Ints, Ints, Ints, int]:
        predicates = self.predicates
        self._stamp += 1
        marks = [mark for each in encoded.marks.values() for mark in each]
        return (
            self._programs,
            predicates.rows,
            predicates.constants,
            self._pool.values,
            predicates.at,
            np.array(encoded.values, np.int64).reshape(-1, 5),
            np.array(encoded.numbers, np.float64).reshape(-1, 2),
            np.array(encoded.elements, np.int64),
            np.array(marks, np.int64),
            self._marked,
            self._stamp,
        )

    def _put(self, group: int, subscription: Subscription, tests: list[int]) -> None:
        """Put a group under its keys; the tests are the predicates of its filters."""
        keys = self.place(group, subscription)
        size = self.predicates.keys.used
        if size > len(self._marked):
            self._marked, self.tried = grown(self._marked, size), grown(self.tried, size)
        tests.sort(key=self.predicates.uses, reverse=True)  # what many share is at hand
        rest = bool(subscription.compounds) or len(tests) > INLINE
        self.under.add(group, keys, tests[:INLINE], rest, size - 1)

    def _program(self, subscription: Subscription) -> Iterable[int]:
        """Take a subscription's predicates, and give its program: operands, then what joins them."""
        take = self.predicates.take
        yield from [take(each) for each in subscription.filters]
        if not subscription.compounds:
            return
        for compound in subscription.compounds:
            if isinstance(compound, AnyOf):
                for part in compound.alternatives:
                    yield from self._operand(part)
                yield _joined(len(compound.alternatives), OR)
            else:
                yield from self._operand(compound.of)
                yield _joined(1, NOT)
        yield _joined(len(subscription.filters) + len(subscription.compounds), AND)

    def _operand(self, part: Subscription) -> Iterable[int]:
        yield from self._program(part)
        if not part.compounds:
            yield _joined(len(part.filters), AND)


def _joined(operands: int, join: int) -> int:
    return -(3 * operands + join) - 1
