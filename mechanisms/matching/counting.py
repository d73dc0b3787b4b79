"""Matching by the rarest predicate of each subscription, then by counting its others: up to the first that
fails."""

from __future__ import annotations

import numpy as np

from bypass.events.filters import Subscription
from bypass.mechanisms.matching.anchors import anchor_of
from bypass.mechanisms.matching.indexed import IndexedMatching
from bypass.mechanisms.matching.ranges import RangeKeys, RangeName

Taken = tuple[RangeKeys, int, RangeName]

SHORTEST, LONGEST = 64, 4096
"""Events after which it is seen where most subscriptions were looked at; more if nothing was to change."""

LED_OFTEN = 16
"""Fewer events that led to a key do not tell how often that is."""

MOST_MOVED = 128
"""So many subscriptions are found elsewhere from then on, at most."""


class Counting(IndexedMatching):
    """Keeps a subscription under the keys of its rarest term: an equality, a member of a set, a beginning or
    end, a range. Of those under the keys of an event, one accepts it whose predicates are all satisfied.

    Which term is the rarest, the events of late tell: subscriptions that are looked at often and in vain are
    moved.
    """

    def clear(self) -> None:
        super().clear()
        self._taken: dict[int, list[Taken]] = {}
        self._interval = self._left = SHORTEST
        self._from = 0

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

    def before(self) -> None:
        self._left -= 1
        if not self._left:
            self._interval = self._left = SHORTEST if self._move() else min(2 * self._interval, LONGEST)

    def _move(self) -> int:
        """Move subscriptions from the key under which most were looked at to where events lead more rarely;
        gives how many."""
        key = int(np.argmax(self.tried))
        under = self.under.groups_under(key)
        led = int(self.tried[key]) // max(len(under), 1)  # events
        self.tried[:] = 0
        if led < LED_OFTEN or not under:  # withdrawn meanwhile
            return 0
        moved = 0
        first = self._from % len(under)
        self._from += MOST_MOVED
        for group in (under[first:] + under[:first])[:MOST_MOVED]:
            subscription = self.groups[group]
            anchor = anchor_of(subscription, self.predicates)
            in_range = any(taken == key for _, taken, _ in self._taken.get(group, ()))
            if key not in anchor.keys and not in_range and anchor.chance < led / self._interval / 2:
                self.put_again(group, subscription)
                moved += 1
        return moved
