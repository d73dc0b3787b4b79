"""The content of a cache: its entries, their tags, and who is told of evictions."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from bypass.ports.caches import CacheEntry, CacheKey, EvictionListener


class CacheContent:
    """All that a cache has, whatever mechanism runs. The index of tags equals the entries at any time."""

    def __init__(self) -> None:
        self.entries: dict[CacheKey, CacheEntry] = {}
        self.bytes = 0
        self.listeners: list[EvictionListener] = []
        self._calls = 0
        self._tagged: dict[CacheKey, dict[CacheKey, None]] = {}

    def add(self, key: CacheKey, value: Any, size: int, tags: Collection[CacheKey]) -> CacheEntry:
        """Add an entry of a key that is not there."""
        self._calls += 1
        entry = CacheEntry(key, value, size, tuple(dict.fromkeys(tags)), self._calls, self._calls)
        self.entries[key] = entry
        self._count(entry)
        return entry

    def use(self, entry: CacheEntry) -> None:
        """Note a use of an entry."""
        self._calls += 1
        entry.used_before = entry.used
        entry.used = self._calls
        entry.uses += 1

    def replace(self, entry: CacheEntry, value: Any, size: int, tags: Collection[CacheKey]) -> None:
        """Give an entry another value, size and tags, and note a use of it."""
        self._uncount(entry)
        entry.value, entry.size, entry.tags = value, size, tuple(dict.fromkeys(tags))
        self._count(entry)
        self.use(entry)

    def discard(self, key: CacheKey) -> CacheEntry | None:
        """Take an entry out; None if there is none."""
        entry = self.entries.pop(key, None)
        if entry is not None:
            self._uncount(entry)
        return entry

    def tagged(self, tag: CacheKey) -> list[CacheKey]:
        """List the keys of the entries that have a tag."""
        return list(self._tagged.get(tag, ()))

    def _count(self, entry: CacheEntry) -> None:
        self.bytes += entry.size
        for tag in entry.tags:
            self._tagged.setdefault(tag, {})[entry.key] = None

    def _uncount(self, entry: CacheEntry) -> None:
        self.bytes -= entry.size
        for tag in entry.tags:
            keys = self._tagged[tag]
            del keys[entry.key]
            if not keys:
                del self._tagged[tag]
