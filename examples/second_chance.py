"""A cache of your own: an entry that was used since it was looked at last gets a second chance."""

from collections import OrderedDict
from typing import Annotated, Any

from pydantic import Field

from bypass import MechanismState
from bypass.mechanisms.caches.base import CacheMechanism
from bypass.ports.caches import CacheEntry, CacheKey


class SecondChance(CacheMechanism):
    """Looks at entries in turn and evicts the first without a chance; a use gives an entry `most` of them."""

    most: Annotated[int, MechanismState(), Field(ge=1, le=100)] = 1

    def __init__(self, host: Any = None, **values: Any) -> None:
        super().__init__(host, **values)
        self.chances: OrderedDict[CacheKey, int] = OrderedDict()  # the next to be looked at first

    def added(self, entry: CacheEntry) -> None:
        self.chances[entry.key] = 0

    def used(self, entry: CacheEntry) -> None:
        self.chances[entry.key] = self.most

    def removed(self, entry: CacheEntry) -> None:
        del self.chances[entry.key]

    def evict(self) -> CacheEntry:
        while True:
            key, left = self.chances.popitem(last=False)
            if not left:
                return self.content.entries[key]
            self.chances[key] = left - 1
