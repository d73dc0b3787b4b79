"""One attribute's constants in predicates, found by the values that events have under its name."""

from __future__ import annotations

from collections import deque
from typing import Any, final

from bypass.mechanisms.matching.columns import NumberPool
from bypass.mechanisms.matching.numbers import bounds_of, bounds_of_text
from bypass.mechanisms.matching.ranges import RangeKeys

ABSENT_SYMBOL = -1
NUMBER, TEXT, TRUTH, COLLECTION, OTHER = range(5)
"""Kinds of values: those of one kind can be compared with each other."""

LONGEST_AFFIX = 32
"""Texts are looked up by at most so many letters of their beginning and end."""

RECENT = 64
"""Values of so many events are kept, to tell which predicates are rarely satisfied."""

_KINDS = {int: NUMBER, float: NUMBER, str: TEXT, bool: TRUTH, frozenset: COLLECTION}


class EncodedEvent:
    """The values of an event that predicates are about, in numbers; columns are those of the kernels.

    `keys` are those under which subscriptions that it may satisfy are found; `marks` are, by
    the number of the name, symbols of beginnings and ends that all its texts have.
    """

    __slots__ = ("elements", "keys", "marks", "numbers", "values")

    def __init__(self) -> None:
        self.values: list[int] = []
        self.numbers: list[float] = []
        self.elements: list[int] = []
        self.keys: list[int] = []
        self.marks: dict[int, set[int]] = {}


class SymbolUses:
    """Counts the predicates that use each symbol."""

    __slots__ = ("_uses", "keys")

    def __init__(self, keys: NumberPool) -> None:
        self.keys = keys
        self._uses: dict[int, int] = {}

    def take(self, symbols: dict[Any, int], constant: Any) -> int:
        """Give the symbol of a constant, a new one if there is none, and count one more user."""
        symbol = symbols.get(constant)
        if symbol is None:
            symbol = symbols[constant] = self.keys.take()
            self._uses[symbol] = 0
        self._uses[symbol] += 1
        return symbol

    def give_back(self, symbols: dict[Any, int], constant: Any) -> None:
        """Count one user less; a constant that nobody uses has no symbol any more."""
        symbol = symbols[constant]
        self._uses[symbol] -= 1
        if not self._uses[symbol]:
            del self._uses[symbol], symbols[constant]
            self.keys.give_back(symbol)


@final
class AttributeLookup:
    """The constants that predicates on one name compare with. A symbol is the number of a constant, and a key
    as well.

    `values` has the symbols of numbers, texts and collections, `truths` those of truth values, `elements`
    those of what collections consist of; `key` is for whatever is about this name.
    """

    __slots__ = ("_affixes", "elements", "key", "name", "number", "ordered_texts", "present", "ranges",
                 "recent", "truths", "uses", "values")  # fmt: skip

    def __init__(self, name: str, number: int, keys: NumberPool) -> None:
        self.name, self.number, self.key = name, number, keys.take()
        self.uses = 0  # predicates
        self.values: dict[Any, int] = {}
        self.truths: dict[Any, int] = {}
        self.elements: dict[Any, int] = {}
        self._affixes: dict[str, tuple[dict[str, int], dict[int, int]]] = {
            "prefix": ({}, {}),
            "suffix": ({}, {}),
        }
        self.ordered_texts = 0  # predicates that order texts
        self.ranges = RangeKeys(keys)
        self.recent: deque[Any] = deque(maxlen=RECENT)
        self.present = 0  # events of those that are counted, with this attribute

    # -- constants ----------------------------------------------------------------------------------------

    def symbols_for(self, kind: int) -> dict[Any, int]:
        """The symbols of values of a kind."""
        return self.truths if kind == TRUTH else self.values

    def take_affix(self, op: str, text: str, uses: SymbolUses) -> int:
        """Give the symbol of the beginning or end of texts, and count one more user."""
        symbols, lengths = self._affixes[op]
        if text not in symbols:
            lengths[len(text)] = lengths.get(len(text), 0) + 1
        return uses.take(symbols, text)

    def give_back_affix(self, op: str, text: str, uses: SymbolUses) -> None:
        """Count one user of a beginning or end less."""
        symbols, lengths = self._affixes[op]
        uses.give_back(symbols, text)
        if text not in symbols:
            lengths[len(text)] -= 1
            if not lengths[len(text)]:
                del lengths[len(text)]

    def affix_symbol(self, op: str, text: str) -> int:
        """The symbol of a beginning or an end that some predicate asks for."""
        return self._affixes[op][0][text]

    def distinct_affixes(self, op: str) -> int:
        """How many beginnings or ends are asked for."""
        return len(self._affixes[op][0])

    # -- values of events ---------------------------------------------------------------------------------

    def encode(self, value: Any, event: EncodedEvent, first: bool) -> None:
        """Add a value to an event, with the keys that it leads to, if it is the first one of its name."""
        kind = _KINDS.get(value.__class__, OTHER)
        keys = event.keys if first else []
        symbol, start, count = ABSENT_SYMBOL, 0, 0
        low = high = 0.0
        if kind == NUMBER:
            symbol = self.values.get(value, ABSENT_SYMBOL)
            low, high = bounds = bounds_of(value)
            if self.ranges and low == low:
                self.ranges.at(bounds, keys)
        elif kind == TEXT:
            symbol = self.values.get(value, ABSENT_SYMBOL)
            if self.ordered_texts:
                low, high = bounds_of_text(value)
            self._mark(value, event, first)
        elif kind == TRUTH:
            symbol = self.truths.get(value, ABSENT_SYMBOL)
        elif kind == COLLECTION:
            symbol = self.values.get(value, ABSENT_SYMBOL)
            start, count = len(event.elements), len(value)
            of = self.elements
            if of:
                found = [of.get(each, ABSENT_SYMBOL) for each in value]
                keys += [each for each in found if each != ABSENT_SYMBOL]
                event.elements += found
            else:
                event.elements += [ABSENT_SYMBOL] * count
        if symbol != ABSENT_SYMBOL:
            keys.append(symbol)
        event.values += (self.number, kind, symbol, start, count)
        event.numbers += (low, high)

    def note(self, value: Any) -> None:
        """Count a value, to tell which predicates are rarely satisfied."""
        self.present += 1
        if value.__class__ in _KINDS:
            self.recent.append(value)

    def _mark(self, text: str, event: EncodedEvent, first: bool) -> None:
        """Note the beginnings and ends that a text has; if it is not the first one, those that it has too."""
        (begins, lengths), (ends, tails) = self._affixes["prefix"], self._affixes["suffix"]
        if not lengths and not tails:
            return
        found = [begins[part] for n in lengths if n <= len(text) and (part := text[:n]) in begins]
        found += [ends[part] for n in tails if n <= len(text) and (part := text[len(text) - n :]) in ends]
        if first:
            event.keys += found
            event.marks[self.number] = {*found}
        elif self.number in event.marks:
            event.marks[self.number] &= {*found}
