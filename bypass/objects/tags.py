"""Formulas over tags: how they are written, when they hold, and their disjunctive normal form."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass
from typing import Any, final

from bypass.errors import InvalidFormula, shown
from bypass.objects.formula_text import All, AnyPart, FormulaPart, Not, Tag, parse, written

MOST_CONJUNCTIONS = 64
_TRANSIENT = 4 * MOST_CONJUNCTIONS  # while two parts are multiplied: some may still absorb others


@dataclass(frozen=True, slots=True)
class Conjunction:
    """The tags that must be there, and those that must not."""

    positive: frozenset[str]
    negative: frozenset[str] = frozenset()

    def matches(self, tags: Set[str]) -> bool:
        """Whether these tags satisfy it."""
        return self.positive <= tags and self.negative.isdisjoint(tags)

    @property
    def key_candidates(self) -> list[str]:
        """The tags of which one can be the key of this conjunction, sorted: all that match have them. Empty
        if it has negations only."""
        return sorted(self.positive)

    def formula(self) -> TagFormula:
        """The formula that this conjunction is. Raises InvalidFormula for one without a tag."""
        return TagFormula.parse(str(self))

    def __str__(self) -> str:
        literals = [Tag(each) for each in sorted(self.positive)]
        return written(All((*literals, *[Not(Tag(each)) for each in sorted(self.negative)])))


@final
class TagFormula:
    """A propositional formula over tags, which holds or not for a set of tags. Never changes.

        TagFormula.parse('beach & (sunset | ~rain) & "black and white"')

    `str` gives it in a form that can be parsed. Equal formulas are written alike.
    """

    __slots__ = ("_conjunctions", "_text")

    _text: str
    _conjunctions: tuple[Conjunction, ...]

    def __init__(self, text: str, conjunctions: tuple[Conjunction, ...]) -> None:
        object.__setattr__(self, "_text", text)
        object.__setattr__(self, "_conjunctions", conjunctions)

    @classmethod
    def parse(cls, text: str) -> TagFormula:
        """Read a formula: tags joined by `&` and `|`, negated by `~`, grouped by `( )`.

        `~` binds more closely than `&`, and that more closely than `|`. A tag is a word, or a text in double
        quotes in which a backslash makes the next character an ordinary one. Raises InvalidFormula, which
        names the column; and for a formula that has more than MOST_CONJUNCTIONS in disjunctive normal form,
        or of which a part has.
        """
        node = parse(text)
        return cls(written(node), _normal_form(node))

    def conjunctions(self) -> tuple[Conjunction, ...]:
        """The disjunctive normal form: the formula holds where one of these does. No one contradicts itself
        or implies another. Empty for a formula that never holds."""
        return self._conjunctions

    def matches(self, tags: Set[str]) -> bool:
        """Whether the formula holds for these tags."""
        return any(each.matches(tags) for each in self._conjunctions)

    def tags(self) -> frozenset[str]:
        """The tags on which the formula depends, negated ones included."""
        return frozenset(tag for each in self._conjunctions for tag in each.positive | each.negative)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"formulas do not change: cannot set {name}")

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return TagFormula.parse, (self._text,)

    def __eq__(self, other: object) -> bool:
        return self._text == other._text if isinstance(other, TagFormula) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._text)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"TagFormula({shown(self._text)})"


def _normal_form(node: FormulaPart) -> tuple[Conjunction, ...]:
    """Raises InvalidFormula as soon as a part has too many conjunctions."""
    tags = sorted(_tags(node))
    bits = {tag: 1 << 2 * i for i, tag in enumerate(tags)}
    positive = sum(bits.values())
    terms = _expanded(node, False, bits, positive)
    if len(terms) > MOST_CONJUNCTIONS:
        raise _too_many()
    found = [
        Conjunction(
            frozenset(tag for tag, bit in bits.items() if term & bit),
            frozenset(tag for tag, bit in bits.items() if term & bit << 1),
        )
        for term in terms
    ]
    return tuple(sorted(found, key=lambda each: (sorted(each.positive), sorted(each.negative))))


def _tags(node: FormulaPart) -> set[str]:
    if isinstance(node, Tag):
        return {node.name}
    if isinstance(node, Not):
        return _tags(node.of)
    return {tag for part in node.parts for tag in _tags(part)}


def _expanded(node: FormulaPart, negated: bool, bits: dict[str, int], positive: int) -> list[int]:
    """A part's terms. A term is a set of literals as bits: that of a tag, and next to it that of its
    negation; `positive` are the bits of all tags."""
    if isinstance(node, Tag):
        return [bits[node.name] << negated]
    if isinstance(node, Not):
        return _expanded(node.of, not negated, bits, positive)
    parts = [_expanded(part, negated, bits, positive) for part in dict.fromkeys(node.parts)]
    if isinstance(node, AnyPart) != negated:
        terms = _irredundant(term for part in parts for term in part)
    else:
        parts.sort(key=len)
        terms = parts[0]
        for part in parts[1:]:
            products = (left | right for left in terms for right in part)
            terms = _irredundant(term for term in products if not term >> 1 & term & positive)
            if len(terms) > MOST_CONJUNCTIONS:
                raise _too_many()
    return terms


def _irredundant(terms: Iterable[int]) -> list[int]:
    """The terms that imply no other one."""
    kept: list[int] = []
    for term in terms:
        if any(each & term == each for each in kept):
            continue
        kept = [each for each in kept if each & term != term]
        kept.append(term)
        if len(kept) > _TRANSIENT:
            raise _too_many()
    return kept


def _too_many() -> InvalidFormula:
    return InvalidFormula(
        f"formula with too many alternatives: expected at most {MOST_CONJUNCTIONS} in disjunctive normal form"
    )
