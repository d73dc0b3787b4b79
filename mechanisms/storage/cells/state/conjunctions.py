"""Divides a query into the conjunctions of its formula, each of which goes to the cell of one of its tags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import NamedTuple

from bypass.objects.query import ObjectQuery
from bypass.objects.tags import Conjunction
from bypass.places.cell_grid import CellGrid


class KeyedConjunction(NamedTuple):
    """A conjunction as a query of its own, its number in the formula, and the tag to whose cell it goes."""

    number: int
    query: ObjectQuery
    key: str

    def cell(self, grid: CellGrid) -> int:
        """The cell that keeps it."""
        return grid.cell_of_tag(self.query.namespace, self.key)


def divide(query: ObjectQuery) -> list[KeyedConjunction] | None:
    """The conjunctions of a query with their keys; None if one has no tag that must be there.

    The key is one of the positive tags at random, the same one whenever the same query is divided.
    """
    conjunctions = query.formula.conjunctions()
    if not all(each.positive for each in conjunctions):
        return None
    return [
        KeyedConjunction(number, replace(query, formula=each.formula()), _key(query.id, number, each))
        for number, each in enumerate(conjunctions)
    ]


def cells_of(conjunctions: Sequence[KeyedConjunction], grid: CellGrid) -> tuple[int, ...]:
    """The cells that keep conjunctions, each once, in the order of their numbers."""
    return tuple(sorted({each.cell(grid) for each in conjunctions}))


def key_tag(query: ObjectQuery, number: int) -> str:
    """The tag to whose cell a query of one conjunction goes, which has this number in the whole formula."""
    return _key(query.id, number, query.formula.conjunctions()[0])


def _key(query: int, number: int, conjunction: Conjunction) -> str:
    draw = blake2b(b"%d %d" % (query, number), digest_size=8).digest()
    tags = conjunction.key_candidates
    return tags[int.from_bytes(draw) % len(tags)]
