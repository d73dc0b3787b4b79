"""Predicates of all subscriptions, each distinct one once, in columns that kernels read."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from bypass.events.attributes import ANYTHING, BOOLEAN, FLOAT, INTEGER, SET, STRING
from bypass.events.event import Event
from bypass.events.filters import Filter
from bypass.events.operators import BUILT_IN
from bypass.events.operators import EXISTS as EXISTS_OPERATOR
from bypass.mechanisms.filters.indexes.buckets import NONE
from bypass.mechanisms.matching.attribute_lookup import (
    COLLECTION,
    LONGEST_AFFIX,
    NUMBER,
    OTHER,
    TEXT,
    TRUTH,
    AttributeLookup,
    EncodedEvent,
    SymbolUses,
)
from bypass.mechanisms.matching.columns import ListPool, NumberPool, grown
from bypass.mechanisms.matching.kernels import (
    ALWAYS_IN_PYTHON,
    DIFFERENT,
    EQUAL,
    EXISTS,
    GREATER,
    GREATER_EQUAL,
    HAS_ELEMENT,
    IN_PYTHON,
    INTERSECTS,
    LESS,
    LESS_EQUAL,
    MARKED,
    ONE_OF,
    START,
    WITHIN,
)
from bypass.mechanisms.matching.numbers import bounds_of, bounds_of_text
from bypass.support.arrays import Floats, Ints

KINDS = {INTEGER: NUMBER, FLOAT: NUMBER, STRING: TEXT, BOOLEAN: TRUTH, SET: COLLECTION, ANYTHING: OTHER}
OF_VALUES = {
    EXISTS_OPERATOR: EXISTS, "=": EQUAL, "!=": DIFFERENT, "<": LESS, "<=": LESS_EQUAL, ">": GREATER,
    ">=": GREATER_EQUAL, "in": ONE_OF,
}  # fmt: skip
OF_SETS = {"=": EQUAL, "!=": DIFFERENT, "in": WITHIN, "intersects": INTERSECTS, "contains": HAS_ELEMENT}
SYMBOLIC = (EQUAL, DIFFERENT, HAS_ELEMENT)
LISTS = (ONE_OF, INTERSECTS, WITHIN)
ELEMENTS = (HAS_ELEMENT, INTERSECTS, WITHIN)
COUNT_EVERY = 8
"""Of so many events one is counted, to tell which predicates are rarely satisfied."""


@final
class PredicateColumns:
    """Filters by number; `keys` are numbers of symbols, ranges and whatever else finds subscriptions.

    `rows`, `constants` and `pool` are the columns of the kernels, `at` is room for them, by name.
    """

    def __init__(self) -> None:
        self.keys = NumberPool()
        self.everything = self.keys.take()  # the key of what any event may satisfy
        self.rows: Ints = np.zeros((0, 6), np.int64)
        self.constants: Floats = np.zeros((0, 2))
        self.pool = ListPool()
        self.at: Ints = np.full(16, NONE, np.int64)
        self.names: dict[str, AttributeLookup] = {}
        self.counted = 0  # events
        self._events = 0
        self._name_numbers = NumberPool()
        self._numbers: dict[Filter, int] = {}
        self._uses: dict[int, int] = {}
        self._free = NumberPool()
        self._symbols = SymbolUses(self.keys)

    def __len__(self) -> int:
        """How many distinct predicates there are."""
        return len(self._numbers)

    def take(self, each: Filter) -> int:
        """Give the number of a filter, a new one if there is none, and count one more user."""
        number = self._numbers.get(each)
        if number is None:
            number = self._numbers[each] = self._free.take()
            self._uses[number] = 0
            self.rows = grown(self.rows, number + 1)
            self.constants = grown(self.constants, number + 1)
            self._write(number, each)
        self._uses[number] += 1
        return number

    def uses(self, number: int) -> int:
        """How many subscriptions use a predicate."""
        return self._uses[number]

    def give_back(self, each: Filter) -> None:
        """Count one user of a filter less."""
        number = self._numbers[each]
        self._uses[number] -= 1
        if self._uses[number]:
            return
        del self._uses[number], self._numbers[each]
        lookup = self._erase(number, each)
        lookup.uses -= 1
        if not lookup.uses:
            del self.names[lookup.name]
            self._name_numbers.give_back(lookup.number)
            self.keys.give_back(lookup.key)
        self._free.give_back(number)

    def encode(self, event: Event) -> EncodedEvent:
        """Turn the values that predicates are about into numbers."""
        encoded = EncodedEvent()
        encoded.keys.append(self.everything)
        self._events += 1
        counts = self._events % COUNT_EVERY == 1
        self.counted += counts
        names = self.names
        for name, value in event._first.items():
            lookup = names.get(name)
            if lookup is not None:
                encoded.keys.append(lookup.key)
                lookup.encode(value, encoded, True)
                if counts:
                    lookup.note(value)
        for name, value in event._repeated:
            lookup = names.get(name)
            if lookup is not None:
                lookup.encode(value, encoded, False)
        return encoded

    # -- internals ----------------------------------------------------------------------------------------

    def _lookup(self, name: str) -> AttributeLookup:
        lookup = self.names.get(name)
        if lookup is None:
            lookup = self.names[name] = AttributeLookup(name, self._name_numbers.take(), self.keys)
            self.at = grown(self.at, self._name_numbers.used, NONE)
        lookup.uses += 1
        return lookup

    def _write(self, number: int, each: Filter) -> None:
        """Write a filter's columns: operation, name, kind, symbol, list of symbols, bounds of a constant."""
        lookup = self._lookup(each.attribute.name)
        op, value = each.op, each.value
        code, kind = _operation(each)
        symbol, start, count = NONE, 0, 0
        bounds = (0.0, 0.0)
        if LESS <= code <= GREATER_EQUAL:
            bounds = bounds_of(value) if kind == NUMBER else bounds_of_text(value)
            lookup.ordered_texts += kind == TEXT
        elif code == MARKED or _has_affix(each):
            symbol = lookup.take_affix(op, affix_of(op, value), self._symbols)
        elif code in LISTS:
            symbols, take = _symbols_in(lookup, code, kind), self._symbols.take
            members = sorted([take(symbols, member) for member in value])
            if members:
                start, count = self.pool.add(members), len(members)
        elif code in SYMBOLIC:
            symbol = self._symbols.take(_symbols_in(lookup, code, kind), value)
        self.rows[number] = (code, lookup.number, kind, symbol, start, count)
        self.constants[number] = bounds

    def _erase(self, number: int, each: Filter) -> AttributeLookup:
        """Give back what `_write` has taken."""
        lookup = self.names[each.attribute.name]
        op, value = each.op, each.value
        code, kind = _operation(each)
        if LESS <= code <= GREATER_EQUAL:
            lookup.ordered_texts -= kind == TEXT
        elif code == MARKED or _has_affix(each):
            lookup.give_back_affix(op, affix_of(op, value), self._symbols)
        elif code in LISTS:
            symbols = _symbols_in(lookup, code, kind)
            for member in value:
                self._symbols.give_back(symbols, member)
            start, count = self.rows[number, START:].tolist()
            if count:
                self.pool.remove(start, count)
        elif code in SYMBOLIC:
            self._symbols.give_back(_symbols_in(lookup, code, kind), value)
        return lookup


def _operation(each: Filter) -> tuple[int, int]:
    """The operation of a filter, and the kind of values that it is about."""
    of, op = each.attribute.type, each.op
    if not is_compiled(each):
        return ALWAYS_IN_PYTHON if object in each.check[1] else IN_PYTHON, OTHER
    kind = KINDS[of]
    if op in ("prefix", "suffix"):
        return MARKED if len(each.value) <= LONGEST_AFFIX else IN_PYTHON, kind
    return (OF_SETS if kind == COLLECTION else OF_VALUES).get(op, IN_PYTHON), kind


def _has_affix(each: Filter) -> bool:
    """Whether a filter is about the beginning or the end of texts, by a built-in operator."""
    return each.op in ("prefix", "suffix") and is_compiled(each)


def _symbols_in(lookup: AttributeLookup, code: int, kind: int) -> dict[Any, int]:
    """The symbols of a predicate's constants."""
    return lookup.elements if code in ELEMENTS else lookup.symbols_for(kind)


def is_compiled(each: Filter) -> bool:
    """Whether the operator of a filter and the type of its attribute are built in and known to kernels, which
    places and areas are not."""
    return each.attribute.type in KINDS and (each.attribute.type, each.op) in BUILT_IN


def affix_of(op: str, text: str) -> str:
    """The part of a beginning or an end by which texts are looked up."""
    return text[:LONGEST_AFFIX] if op == "prefix" else text[-LONGEST_AFFIX:]
