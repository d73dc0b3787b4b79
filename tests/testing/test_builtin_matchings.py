"""The built-in mechanisms of attribute matching pass the suite that others' are tested with; so does a small
one."""

from __future__ import annotations

import numpy as np

from bypass.events.event import Event
from bypass.events.filters import Subscription
from bypass.events.matching import matches
from bypass.mechanisms.matching import AttributeMatching
from bypass.support.arrays import Ints
from bypass.testing.suites.matchings import MatchingSuite


class TestCounting(MatchingSuite):
    mechanism = "counting"


class TestTree(MatchingSuite):
    mechanism = "tree"


class TestLinear(MatchingSuite):
    mechanism = "linear"


class ByFirstName(AttributeMatching):
    """Keeps subscriptions by the name in their first filter, as far as they have one."""

    def clear(self) -> None:
        self.by_name: dict[str, dict[int, Subscription]] = {}

    def added(self, group: int, subscription: Subscription) -> None:
        self.by_name.setdefault(self._name(subscription), {})[group] = subscription

    def withdrawn(self, group: int, subscription: Subscription) -> None:
        del self.by_name[self._name(subscription)][group]

    def accepting(self, event: Event) -> Ints:
        found = [self.by_name.get(name, {}) for name in ("", *event)]
        return np.array([n for each in found for n, one in each.items() if matches(event, one)], np.int64)

    def _name(self, subscription: Subscription) -> str:
        first = [each.attribute.name for each in subscription.filters if each.op != "absent"]
        return first[0] if first else ""


class TestByFirstName(MatchingSuite):
    mechanism = ByFirstName
