"""Matching by the rarest predicate of each subscription, then by counting those that are satisfied."""

from __future__ import annotations

from bypass.events.filters import Subscription
from bypass.mechanisms.matching.anchors import anchor_of
from bypass.mechanisms.matching.indexed import IndexedMatching
from bypass.mechanisms.matching.ranges import RangeKeys

Taken = tuple[RangeKeys, int, tuple[object, ...]]


class Counting(IndexedMatching):
    """Keeps a subscription under the keys of its rarest term: an equality, a member of a set, a beginning or end,
    a range. Of those under the keys of an event, one whose satisfied predicates are as many as it has accepts it.
    """

    def clear(self) -> None:
        super().clear()
        self._taken: dict[int, list[Taken]] = {}

    def place(self, group: int, subscription: Subscription) -> list[int]:
        anchor = anchor_of(subscription, self.predicates)
        keys = [*anchor.keys]
        for each in anchor.ranges:
            ranges = each.lookup.ranges
            for key, name in ranges.take(each.low, each.high):
                self._taken.setdefault(group, []).append((ranges, key, name))
                keys.append(key)
        return list(dict.fromkeys(keys))

    def displace(self, group: int) -> None:
        for ranges, key, name in self._taken.pop(group, ()):
            ranges.give_back(key, name)
