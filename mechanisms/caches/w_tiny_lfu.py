"""W-TinyLFU: an entry stays if it is used more often than the one that would have to go for it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from copy import deepcopy
from typing import Annotated, Any

from pydantic import Field

from bypass.mechanisms.caches.base import CacheMechanism
from bypass.mechanisms.caches.keys import key_digest
from bypass.mechanisms.caches.sketch import MOST_COUNTED, FrequencySketch
from bypass.ports.caches import CacheEntry, CacheKey
from bypass.transitions import MechanismState, TransferState

DigestQueue = OrderedDict[CacheKey, int]
"""Keys, the one that was used least recently first, with their digests."""


class WTinyLfu(CacheMechanism):
    """A new entry begins in a window, a `window` share of all entries. One that leaves it takes the place of
    the main part's next victim if a sketch counts more uses for it, and is evicted otherwise.

    The main part is a segmented LRU: an entry that is used again is protected, up to a `protected` share of
    it; victims are the others. Of both parts the entry goes that was used least recently.
    """

    window: Annotated[float, MechanismState(), Field(gt=0, lt=1)] = 0.04
    protected: Annotated[float, MechanismState(), Field(ge=0, lt=1)] = 0.8
    sketch: Annotated[
        FrequencySketch,
        TransferState("frequency sketch", optional=True),
        Field(default_factory=FrequencySketch),
    ]

    def __init__(self, host: Any = None, **values: Any) -> None:
        super().__init__(host, **values)
        self._window: DigestQueue = OrderedDict()
        self._probation: DigestQueue = OrderedDict()
        self._protected: DigestQueue = OrderedDict()

    def set_capacity(self, capacity: int) -> None:
        self.sketch.resize(capacity)
        super().set_capacity(capacity)

    def adopt(self, entries: Iterable[CacheEntry]) -> None:
        """The latest entries are in the window, of the others those that were used again are protected."""
        known = not self.sketch.is_empty
        if known:
            self.sketch = deepcopy(self.sketch)  # the other mechanism's, which goes on if this one fails
            self.sketch.resize(self.capacity)
        else:
            self.sketch = FrequencySketch(self.capacity, self.host.random("cache").getrandbits(64))
        all_entries = list(entries)
        first = len(all_entries) - self._window_size(len(all_entries))
        for number, entry in enumerate(all_entries):
            digest = key_digest(entry.key)
            if not known:
                self.sketch.add(digest, min(entry.uses, MOST_COUNTED))
            if number >= first:
                self._window[entry.key] = digest
            elif entry.uses > 1:
                self._protected[entry.key] = digest
                self._demote()
            else:
                self._probation[entry.key] = digest

    def added(self, entry: CacheEntry) -> None:
        digest = key_digest(entry.key)
        self.sketch.add(digest)
        self._window[entry.key] = digest
        while len(self._window) > self._window_size(self.count):
            key, digest = self._window.popitem(last=False)
            self._probation[key] = digest

    def used(self, entry: CacheEntry) -> None:
        key = entry.key
        digest = self._probation.pop(key, None)
        if digest is not None:
            self._protected[key] = digest
            self._demote()
        else:
            segment = self._window if key in self._window else self._protected
            segment.move_to_end(key)
            digest = segment[key]
        self.sketch.add(digest)

    def removed(self, entry: CacheEntry) -> None:
        for segment in (self._window, self._probation, self._protected):
            if segment.pop(entry.key, None) is not None:
                return

    def evict(self) -> CacheEntry:
        victims = self._probation or self._protected
        if victims and len(self._window) < self._window_size(self.count):
            return self.content.entries[victims.popitem(last=False)[0]]
        key, digest = self._window.popitem(last=False)
        if victims:
            victim = next(iter(victims))
            if self.sketch.count(digest) > self.sketch.count(victims[victim]):
                del victims[victim]
                self._probation[key] = digest
                key = victim
        return self.content.entries[key]

    def _window_size(self, entries: int) -> int:
        """How many of so many entries are in the window, at least one."""
        return min(entries, max(1, round(self.window * entries)))

    def _demote(self) -> None:
        """Have no more entries protected than the share of the main part."""
        most = self.protected * (len(self._probation) + len(self._protected))
        while len(self._protected) > max(1.0, most):
            key, digest = self._protected.popitem(last=False)
            self._probation[key] = digest
