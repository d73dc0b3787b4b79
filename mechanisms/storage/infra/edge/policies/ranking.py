"""Which items of its area an edge fetches: the popular ones by world, or all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from bypass.mechanisms.caches.partition import largest_remainders
from bypass.ports.caches import KnownItems, Popularity
from bypass.protocol.edge import ItemKey
from bypass.transitions import Mechanism

ActiveItems = Mapping[ItemKey, Popularity]
"""Items of which downloads were reported lately."""


class RankingMechanism(Mechanism, ABC):
    """Chooses the items that an edge fetches from clients; see `bypass.ports.caches.Ranking`.

    How often items were downloaded is known to the edge, so that nothing has to move in a transition but what
    a mechanism makes of that.
    """

    @abstractmethod
    def choose(self, known: KnownItems, cycle: int, active_window: int, limit: int) -> list[ItemKey]:
        """Choose items for a retrieval cycle, none twice, those that are to be asked for first in front."""


class Everything(RankingMechanism):
    """Chooses all items that are known, in their order, however many these are."""

    def choose(self, known: KnownItems, cycle: int, active_window: int, limit: int) -> list[ItemKey]:  # noqa: ARG002
        return [key for key, _ in known]


class Popular(RankingMechanism):
    """Chooses the items with the most downloads among those of which downloads were reported in the last
    `active_window` cycles, or in the present one.

    Each world has a share of the limit as large as its share of the downloads of all active items, by largest
    remainders; of equally many downloads the item with the smaller key is chosen.
    """

    def choose(self, known: KnownItems, cycle: int, active_window: int, limit: int) -> list[ItemKey]:
        active = active_items(known, cycle, active_window)
        downloads = {key: found.downloads for key, found in active.items()}
        return most_by_world(downloads, downloads, limit)


def active_items(known: KnownItems, cycle: int, window: int) -> ActiveItems:
    """The items of which downloads were reported in the last `window` cycles before `cycle`, or in it."""
    return {key: found for key, found in known if 0 <= cycle - found.cycle <= window}


def most_by_world(weights: Mapping[ItemKey, int], among: Iterable[ItemKey], limit: int) -> list[ItemKey]:
    """The items with the most weight of some, at most `limit`, of which each world has a share by the weights
    of all its items."""
    worlds: Counter[str] = Counter()
    for key, weight in weights.items():
        worlds[key.world] += weight
    shares = largest_remainders(worlds, limit)
    candidates: defaultdict[str, list[ItemKey]] = defaultdict(list)
    for key in among:
        candidates[key.world].append(key)
    chosen: list[ItemKey] = []
    for world, keys in sorted(candidates.items()):
        chosen.extend(sorted(keys, key=lambda key: (-weights[key], key_order(key)))[: shares[world]])
    return chosen


def key_order(key: ItemKey) -> tuple[str, int, str, int]:
    """The order of keys, of which that of an object without a source is not a number."""
    return key.world, *key.object, -1 if key.source is None else key.source
