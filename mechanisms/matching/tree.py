"""Matching by a tree over attributes: a branch for each value that subscriptions ask an attribute for."""

from __future__ import annotations

from typing import final

from bypass.events.attributes import BOOLEAN
from bypass.events.filters import Subscription
from bypass.mechanisms.filters.indexes.buckets import NONE
from bypass.mechanisms.matching.attribute_lookup import ABSENT_SYMBOL, TRUTH, EncodedEvent
from bypass.mechanisms.matching.indexed import IndexedMatching
from bypass.mechanisms.matching.kernels import V_NAME, V_SYMBOL
from bypass.mechanisms.matching.predicates import is_compiled

DEEPEST = 8
"""Equalities of a subscription that the tree tells apart; an event may take every subset of its branches."""


@final
class Branch:
    """The subscriptions with the same equalities, whose key is NONE without any, and branches to those with
    one more: by symbol, for which the attribute's number comes after those before it."""

    __slots__ = ("branches", "key", "users")

    def __init__(self) -> None:
        self.key = NONE
        self.users = 0
        self.branches: dict[int, dict[int, Branch]] = {}


class Tree(IndexedMatching):
    """Keeps a subscription at the branch of its equalities, in the order of attributes, and judges all at the
    branches of an event by their other predicates. Better than `counting` where equalities are only together
    rare; without an equality, all are judged.
    """

    def clear(self) -> None:
        super().clear()
        self._root = Branch()
        self._paths: dict[int, list[tuple[int, int]]] = {}

    def place(self, group: int, subscription: Subscription) -> list[int]:
        path: dict[int, int] = {}
        for each in subscription.filters:
            if each.op == "=" and is_compiled(each):
                lookup = self.predicates.names[each.attribute.name]
                symbols = lookup.symbols_for(TRUTH if each.attribute.type == BOOLEAN else ABSENT_SYMBOL)
                path.setdefault(lookup.number, symbols[each.value])
        own = sorted(path.items())[:DEEPEST]
        branch = self._root
        for number, symbol in own:
            branch = branch.branches.setdefault(number, {}).setdefault(symbol, Branch())
        if branch.key == NONE:
            branch.key = self.predicates.keys.take()
        branch.users += 1
        self._paths[group] = own
        return [branch.key]

    def displace(self, group: int) -> None:
        path = self._paths.pop(group)
        branches = [self._root]
        for number, symbol in path:
            branches.append(branches[-1].branches[number][symbol])
        last = branches[-1]
        last.users -= 1
        if not last.users:
            self.predicates.keys.give_back(last.key)
            last.key = NONE
        for (number, symbol), parent, child in zip(
            path[::-1], branches[-2::-1], branches[:0:-1], strict=True
        ):
            if child.users or child.branches:
                break
            del parent.branches[number][symbol]
            if not parent.branches[number]:
                del parent.branches[number]

    def lead(self, encoded: EncodedEvent) -> list[int]:
        values = encoded.values
        # The first value of a name counts, as others must be equal to it.
        symbols = {values[i + V_NAME]: values[i + V_SYMBOL] for i in range(len(values) - 5, -1, -5)}
        keys: list[int] = []
        ahead = [self._root]
        while ahead:
            branch = ahead.pop()
            if branch.key != NONE:
                keys.append(branch.key)
            for number, by_symbol in branch.branches.items():
                further = by_symbol.get(symbols.get(number, ABSENT_SYMBOL))
                if further is not None:
                    ahead.append(further)
        return keys
