"""Quotas: how many entries of each tag a cache elsewhere is given, by who has subscribed there."""

from __future__ import annotations

from bypass.mechanisms.caches.partition import check_counts, largest_remainders
from bypass.ports.caches import CacheKey, EntryCounts


def tag_quotas(
    capacity: int, subscriptions: EntryCounts, available: EntryCounts, total: int
) -> dict[CacheKey, int]:
    """Give each tag its share of a capacity, rounded down: that of its subscriptions in a total, and no more
    than there are entries of it.

    A subscription may count at several tags. If that makes all together more than the capacity, quotas are
    cut in proportion. Raises InvalidCount.
    """
    check_counts("subscriptions", subscriptions)
    check_counts("available entries", available)
    check_counts("capacity and total", {"capacity": capacity, "total": total})
    if not total:
        return {}
    quotas = {
        tag: min(capacity * count // total, available.get(tag, 0)) for tag, count in subscriptions.items()
    }
    if sum(quotas.values()) > capacity:
        quotas = largest_remainders(quotas, capacity)
    return {tag: quota for tag, quota in quotas.items() if quota}
