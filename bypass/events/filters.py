"""Filters and subscriptions: what a subscriber wants to know about.

    attr("kind") == "monster"
    (attr("level") >= 12) & (attr("level") < 20)
    (attr("tags", SET).contains("rare") | ~attr("level").exists()) & (attr("open") == True)

A filter tests one attribute; a subscription is a conjunction of filters and, rarely, of alternatives and
negations, which are made of subscriptions. A filter may stand wherever a subscription is expected. Where
something has to happen is no part of either.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import InitVar, dataclass, field
from typing import Any, TypeAlias, final

from bypass.errors import EmptySubscription, InvalidFilter, UnknownType, shown
from bypass.events.attributes import (
    ANYTHING,
    AREA,
    BOOLEAN,
    PLACE,
    SET,
    Attribute,
    AttributeType,
    plain,
    type_of,
)
from bypass.events.operators import BUILT_IN, EXISTS, OPERATORS, OperatorRegistry, Test
from bypass.events.place_operators import operand
from bypass.places.areas import Area
from bypass.places.geo import PlanarLocation

MAX_DEPTH = 16
"""So deep alternatives and negations may be in each other."""

LONGEST_REPR = 200  # characters of a subscription where it is shown in one line

CompiledFilter: TypeAlias = tuple[str, tuple[type, ...], Test, Any]
"""A filter as matching wants it: attribute name, classes of values to look at, test, filter value."""


class _Expression:
    """The operators of filters and subscriptions: `&`, `|` and `~`. Using one as a truth value raises
    InvalidFilter."""

    __slots__ = ()

    def __and__(self, other: Filter | Subscription) -> Subscription:
        if not isinstance(other, _Expression):
            return NotImplemented
        return Subscription((*_terms_of(self), *_terms_of(other)))

    def __or__(self, other: Filter | Subscription) -> Subscription:
        if not isinstance(other, _Expression):
            return NotImplemented
        return any_of((Subscription(_terms_of(self)), Subscription(_terms_of(other))))

    def __invert__(self) -> Subscription:
        only, *more = _terms_of(self)
        if not more and isinstance(only, Negation):
            return only.of
        return Subscription((Negation(Subscription((only, *more))),))

    def __bool__(self) -> bool:
        # `a and b` and `12 <= attr("level") < 20` would silently forget their first half.
        raise InvalidFilter(
            f"{self!r} is neither true nor false: join filters with & and |, not with and, or"
        )


@final
@dataclass(frozen=True, slots=True, repr=False)
class Filter(_Expression):
    """Tests the values of one attribute: passes if `candidate op value` holds.

    Looks only at candidates of the attribute's type, where integers and floats count as one; any other
    candidate fails. The operator is looked up once, here, in `operators`. Collections are kept as frozensets.

    Raises UnknownOperator, and InvalidFilter for a value that the operator cannot work with: of another
    type, not a number (NaN), unhashable, for `in` not a non-empty collection of values of one type.
    """

    attribute: Attribute
    value: Any
    op: str
    operators: InitVar[OperatorRegistry] = OPERATORS
    check: CompiledFilter = field(init=False, compare=False)

    def __post_init__(self, operators: OperatorRegistry) -> None:
        attribute = self.attribute
        test = operators.get(attribute.type, self.op)
        with _explained(attribute.name, self.op, self.value):
            value = _filter_value(attribute.type, self.op, self.value)
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "check", (attribute.name, attribute.type.candidates, test, value))

    def __reduce__(self) -> tuple[type[Filter], tuple[Attribute, Any, str]]:
        # An application's operator may be a lambda: look it up again instead of pickling it.
        return Filter, (self.attribute, self.value, self.op)

    def __str__(self) -> str:
        value = self.value
        if self.attribute.type is ANYTHING:
            return f"{self.attribute.name} {self.op}"
        text = f"{{{', '.join(sorted(map(repr, value)))}}}" if isinstance(value, frozenset) else repr(value)
        return f"{self.attribute.name} {self.op} {text}"

    def __repr__(self) -> str:
        return f"Filter({self})"


@final
@dataclass(frozen=True, slots=True)
class AnyOf:
    """Holds if one of its alternatives does, of which there are two or more; made by `|`."""

    alternatives: tuple[Subscription, ...] = field(compare=False)
    _set: frozenset[Subscription] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_set", frozenset(self.alternatives))

    def __str__(self) -> str:
        return f"({' or '.join(map(str, self.alternatives))})"


@final
@dataclass(frozen=True, slots=True)
class Negation:
    """Holds if a subscription does not, also for want of an attribute; made by `~`."""

    of: Subscription

    def __str__(self) -> str:
        return f"not ({self.of})"


Compound: TypeAlias = AnyOf | Negation
Term: TypeAlias = Filter | Compound


@final
class Subscription(_Expression):
    """A conjunction of terms, never empty: `filters`, and `compounds` made by `|` and `~`, nearly always
    none. Order and repetition make no difference. `size` is the number of filters, those in compounds
    included, `depth` how deep these are.

    Raises EmptySubscription without terms, InvalidFilter for what is none and for more than MAX_DEPTH of them
    in each other.
    """

    __slots__ = ("_set", "checks", "compounds", "depth", "filters", "size")

    filters: tuple[Filter, ...]
    compounds: tuple[Compound, ...]
    checks: tuple[CompiledFilter, ...]
    size: int
    depth: int
    _set: frozenset[Term]

    def __init__(self, terms: Iterable[Term]) -> None:
        given = tuple(terms) if isinstance(terms, Iterable) else terms
        if not isinstance(given, tuple) or not all(isinstance(each, Term) for each in given):
            raise InvalidFilter(f"subscription to {shown(given)}: expected filters")
        if not given:
            raise EmptySubscription("subscription to (): expected at least one filter")
        unique = dict.fromkeys(given)
        filters = tuple([each for each in unique if isinstance(each, Filter)])
        compounds = tuple([each for each in unique if not isinstance(each, Filter)])
        within = [part for each in compounds for part in _parts(each)]
        depth = 1 + max((part.depth for part in within), default=0)
        if depth > MAX_DEPTH:
            raise InvalidFilter(f"subscription of depth {depth}: expected {MAX_DEPTH} or less")
        object.__setattr__(self, "filters", filters)
        object.__setattr__(self, "compounds", compounds)
        object.__setattr__(self, "checks", tuple([each.check for each in filters]))
        object.__setattr__(self, "size", len(filters) + sum(part.size for part in within))
        object.__setattr__(self, "depth", depth)
        object.__setattr__(self, "_set", frozenset(unique))

    @classmethod
    def of(cls, wanted: Filter | Subscription | Iterable[Filter]) -> Subscription:
        """`wanted` as a subscription. Raises as the constructor does."""
        if isinstance(wanted, Subscription):
            return wanted
        return cls((wanted,) if isinstance(wanted, Filter) else wanted)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"subscriptions do not change: cannot set {name}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"subscriptions do not change: cannot delete {name}")

    def all_filters(self) -> Iterator[Filter]:
        """All filters, those inside compounds included."""
        yield from self.filters
        for each in self.compounds:
            for part in _parts(each):
                yield from part.all_filters()

    def __reduce__(self) -> tuple[type[Subscription], tuple[tuple[Term, ...]]]:
        return Subscription, (_terms_of(self),)

    def __eq__(self, other: object) -> bool:
        return self._set == other._set if isinstance(other, Subscription) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._set)

    def __str__(self) -> str:
        return " and ".join(map(str, _terms_of(self)))

    def __repr__(self) -> str:
        text = str(self)
        return f"Subscription({text if len(text) <= LONGEST_REPR else text[:LONGEST_REPR] + '…'})"


def any_of(alternatives: Iterable[Subscription]) -> Subscription:
    """The subscription that holds if one of these does; alternatives among them are taken apart. Raises
    EmptySubscription for none."""
    unique: dict[Subscription, None] = {}
    for each in alternatives:
        only, *more = _terms_of(each)
        unique.update(dict.fromkeys(only.alternatives if isinstance(only, AnyOf) and not more else (each,)))
    if len(unique) == 1:
        return next(iter(unique))
    return Subscription((AnyOf(tuple(unique)),) if unique else ())


def _terms_of(wanted: Any) -> tuple[Term, ...]:
    return (*wanted.filters, *wanted.compounds) if isinstance(wanted, Subscription) else (wanted,)


def _parts(compound: Compound) -> tuple[Subscription, ...]:
    return compound.alternatives if isinstance(compound, AnyOf) else (compound.of,)


@final
class attr:  # noqa: N801 - reads as a word of the filter language
    """Builds filters on the attribute `name`: `attr("level") >= 12`.

    The attribute's type is that of the value compared with, unless `type` says otherwise. It has to where
    the two differ: `attr("tags", SET).contains("rare")`, since `attr("name").contains("rare")` is about
    strings; and for application types whose operators take something else than such a value.

    Every method raises InvalidFilter, UnknownOperator and InvalidAttribute as `Filter` and `Attribute` do.
    """

    __slots__ = ("_name", "_type")

    def __init__(self, name: str, type: AttributeType | None = None) -> None:  # noqa: A002
        self._name = name
        self._type = type

    def op(self, name: str, value: Any) -> Filter:
        """The filter with the operator of that name."""
        kind = self._type
        if kind is None:
            with _explained(self._name, name, value):
                kind = _inferred(name, value)
        return Filter(Attribute(self._name, kind), value, name)

    def __eq__(self, value: Any) -> Filter:  # type: ignore[override]
        return self.op("=", value)

    def __ne__(self, value: Any) -> Filter:  # type: ignore[override]
        return self.op("!=", value)

    def __lt__(self, value: Any) -> Filter:
        return self.op("<", value)

    def __le__(self, value: Any) -> Filter:
        return self.op("<=", value)

    def __gt__(self, value: Any) -> Filter:
        return self.op(">", value)

    def __ge__(self, value: Any) -> Filter:
        return self.op(">=", value)

    __hash__ = None  # type: ignore[assignment]

    def exists(self) -> Filter:
        """The event has the attribute, with whatever value."""
        return Filter(Attribute(self._name, ANYTHING), None, EXISTS)

    def in_(self, values: Collection[Any]) -> Filter:
        """The value is one of these; for sets: has no element besides these."""
        return self.op("in", values)

    def startswith(self, prefix: str) -> Filter:
        """The string begins with `prefix`."""
        return self.op("prefix", prefix)

    def endswith(self, suffix: str) -> Filter:
        """The string ends with `suffix`."""
        return self.op("suffix", suffix)

    def within(self, area: Area) -> Filter:
        """The place is in this area, in metres; an area (`attr(name, AREA)`) is in it as a whole."""
        return attr(self._name, self._type or PLACE).op("within", area)

    def dwithin(self, location: PlanarLocation, metres: float) -> Filter:
        """The place is no farther away than that from another one; for areas: some point of it is. Raises
        InvalidArea for what is no place, and no distance."""
        return attr(self._name, self._type or PLACE).op("intersects", Area.circle(location, metres))

    def intersects(self, area: Area) -> Filter:
        """The area has a point in common with this one; the place (`attr(name, PLACE)`) is in it."""
        return attr(self._name, self._type or AREA).op("intersects", area)

    def contains(self, part: Any) -> Filter:
        """The string has `part` somewhere in it; for sets: `part` is an element."""
        return self.op("contains", part)


def _inferred(op: str, value: Any) -> AttributeType:
    """The type of an attribute that is compared with `value`."""
    return type_of(next(iter(_collection(op, value))) if op == "in" else value)


def _filter_value(kind: AttributeType, op: str, value: Any) -> Any:
    """`value` as a filter keeps it. Raises ValueError or UnknownType."""
    if (kind, op) not in BUILT_IN:
        if not _is_hashable(value):
            raise ValueError("expected a hashable value")
        return value
    if kind in (PLACE, AREA) and op in ("within", "intersects"):
        return operand(value)
    if kind == ANYTHING:
        if value is not None:
            raise ValueError("expected None")
        return None
    takes_many = op == "in" or (kind == SET and op != "contains")
    elements = [*map(plain, _collection(op, value))] if takes_many else [plain(value)]
    classes = (int, float, str) if kind == SET else kind.candidates
    truths = any(isinstance(each, bool) for each in elements)
    if not all(isinstance(each, classes) for each in elements) or (truths and kind != BOOLEAN):
        raise ValueError("expected set elements" if kind == SET else f"expected type {kind.name}")
    if any(each != each for each in elements):
        raise ValueError("expected a number, NaN compares with nothing")
    if op == "in" and len(set(map(type, elements))) > 1:
        raise ValueError("expected values of one type")
    return frozenset(elements) if takes_many else elements[0]


def _collection(op: str, value: Any) -> Collection[Any]:
    if not isinstance(value, Collection) or isinstance(value, (str, bytes)):
        raise ValueError("expected a collection of values")
    if op == "in" and len(value) == 0:
        raise ValueError("expected at least one value")
    return value


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


@contextmanager
def _explained(name: str, op: str, value: Any) -> Iterator[None]:
    try:
        yield
    except (ValueError, UnknownType) as error:
        raise InvalidFilter(f"filter {name} {op} {shown(value)}: {error}") from None
