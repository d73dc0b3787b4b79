"""Which items of its area an edge fetches: the popular ones by world, or all."""

from __future__ import annotations

from collections import defaultdict

from bypass.mechanisms.caches.partition import largest_remainders
from bypass.mechanisms.storage.infra.edge.popularity import Popularity, PopularityTable
from bypass.protocol.edge import ItemKey


def ranked(table: PopularityTable, cycle: int, active_window: int, limit: int) -> list[ItemKey]:
    """Choose at most `limit` items: those of which downloads were reported in the last `active_window` cycles
    before `cycle`, or in it, are active.

    Each world has a share of the limit as large as its share of the downloads of all active items, by largest
    remainders, and its items with the most downloads are chosen; of equally many, those with the smaller key.
    """
    active: defaultdict[str, list[tuple[ItemKey, Popularity]]] = defaultdict(list)
    for key, known in table:
        if 0 <= cycle - known.cycle <= active_window:
            active[key.world].append((key, known))
    downloads = {world: sum(known.downloads for _, known in of) for world, of in active.items()}
    chosen: list[ItemKey] = []
    shares = largest_remainders(downloads, limit)
    for world, items in sorted(active.items()):
        order = sorted(items, key=lambda each: (-each[1].downloads, _order(each[0])))
        chosen.extend(key for key, _ in order[: shares[world]])
    return chosen


def unranked(table: PopularityTable) -> list[ItemKey]:
    """Choose all items that are known, those that were reported the longest time ago first."""
    return [key for key, _ in table]


def _order(key: ItemKey) -> tuple[str, int, str, int]:
    return key.world, *key.object, -1 if key.source is None else key.source
