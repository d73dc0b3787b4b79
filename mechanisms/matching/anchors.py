"""Where a subscription is found: under keys of which an event that satisfies it leads to at least one.

A conjunction is as rare as its rarest term, alternatives as frequent as all of them together. How often an
event leads to a key is estimated from those that came lately.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from bypass.events.attributes import ANYTHING, BOOLEAN, FLOAT, INTEGER, SET
from bypass.events.filters import AnyOf, Filter, Subscription
from bypass.mechanisms.matching.attribute_lookup import TRUTH, AttributeLookup
from bypass.mechanisms.matching.numbers import bounds_of
from bypass.mechanisms.matching.predicates import PredicateColumns, affix_of, is_compiled

MOST_KEYS = 64
"""A subscription is not kept under more keys than this for one of its terms."""


class IndexedRange(NamedTuple):
    """A range of numbers of an attribute, which has at least one end."""

    lookup: AttributeLookup
    low: float
    high: float


class Anchor(NamedTuple):
    """The keys and ranges under which a subscription is found, and how likely an event leads to one."""

    chance: float
    keys: tuple[int, ...] = ()
    ranges: tuple[IndexedRange, ...] = ()


def anchor_of(subscription: Subscription, predicates: PredicateColumns) -> Anchor:
    """Choose where a subscription is found, whose filters the columns have."""
    best = Anchor(1.0, (predicates.everything,))
    bounds: dict[str, tuple[float, float]] = {}
    for each in subscription.filters:
        anchor = _of_filter(each, predicates)
        if anchor is not None and anchor.chance < best.chance:
            best = anchor
        if each.attribute.type in (INTEGER, FLOAT) and each.op in ("<", "<=", ">", ">="):
            low, high = bounds.get(each.attribute.name, (-math.inf, math.inf))
            least, most = bounds_of(each.value)
            bounds[each.attribute.name] = (
                (low, min(high, most)) if each.op[0] == "<" else (max(low, least), high)
            )
    for name, (low, high) in bounds.items():
        anchor = _of_range(predicates.names[name], low, high, predicates)
        if anchor.chance < best.chance:
            best = anchor
    for compound in subscription.compounds:
        if isinstance(compound, AnyOf):
            anchor = _together(anchor_of(part, predicates) for part in compound.alternatives)
            if anchor.chance < best.chance and len(anchor.keys) + len(anchor.ranges) <= MOST_KEYS:
                best = anchor
    return best


def _together(anchors: Iterable[Anchor]) -> Anchor:
    every = [*anchors]
    keys = dict.fromkeys(key for each in every for key in each.keys)
    ranges = dict.fromkeys(one for each in every for one in each.ranges)
    return Anchor(sum(each.chance for each in every), (*keys,), (*ranges,))


def _share(lookup: AttributeLookup, predicates: PredicateColumns) -> float:
    """How likely an event has an attribute."""
    return (lookup.present + 1) / (predicates.counted + 2)


def _of_filter(each: Filter, predicates: PredicateColumns) -> Anchor | None:
    """The keys of one filter; None if an event without its attribute may satisfy it."""
    lookup = predicates.names[each.attribute.name]
    kind, op, value = each.attribute.type, each.op, each.value
    compiled = is_compiled(each)
    if not compiled and object in each.check[1]:
        return None
    share = _share(lookup, predicates)
    recent = lookup.recent
    present = Anchor(share, (lookup.key,))
    if not compiled or kind == ANYTHING:
        return present
    symbols = lookup.elements if kind == SET else lookup.symbols_for(TRUTH if kind == BOOLEAN else -1)
    if op == "=":
        symbols = lookup.symbols_for(TRUTH if kind == BOOLEAN else -1)
        chance = (recent.count(value) + 1) / (len(recent) + len(symbols) + 1)
        return Anchor(share * chance, (symbols[value],))
    if op in ("prefix", "suffix"):
        affix = affix_of(op, value)
        begins = str.startswith if op == "prefix" else str.endswith
        hits = sum(isinstance(each, str) and begins(each, affix) for each in recent)
        chance = (hits + 1) / (len(recent) + lookup.distinct_affixes(op) + 1)
        return Anchor(share * chance, (lookup.affix_symbol(op, affix),))
    if kind == SET and op in ("contains", "intersects"):
        wanted = (value,) if op == "contains" else value
        hits = sum(isinstance(each, frozenset) and not each.isdisjoint(wanted) for each in recent)
    elif kind != SET and op == "in":
        wanted = value
        hits = sum(each in wanted for each in recent)
    else:
        return present
    if len(wanted) > MOST_KEYS:
        return present
    chance = (hits + len(wanted)) / (len(recent) + len(symbols) + len(wanted) + 1)
    return Anchor(share * chance, tuple([symbols[each] for each in wanted]))


def _of_range(lookup: AttributeLookup, low: float, high: float, predicates: PredicateColumns) -> Anchor:
    hits = sum(isinstance(each, int | float) and low <= each <= high for each in lookup.recent)
    unknown = 2 if math.isinf(low) or math.isinf(high) else 4
    chance = (hits + 1) / (len(lookup.recent) + unknown)
    return Anchor(_share(lookup, predicates) * chance, (), (IndexedRange(lookup, low, high),))
