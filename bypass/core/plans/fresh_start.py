"""Transitions without state transfer, for comparison."""

from __future__ import annotations

from bypass.mechanisms.filters import FilterBroker
from bypass.mechanisms.filters.base.grace import Grace
from bypass.mechanisms.filters.indexes.table import SubscriptionTable
from bypass.transitions import AtomicTransition


class StartFromNothing(AtomicTransition[FilterBroker, FilterBroker]):
    """A transition without state transfer, for comparison: clients must subscribe again."""

    def transfer_state(self, a: FilterBroker, b: FilterBroker) -> None:
        b.table = SubscriptionTable()
        b.grace = Grace(0.0, a.host.after)
        b.region = a.region
