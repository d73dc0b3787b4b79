"""The base of caches: it keeps entries within bounds, and mechanisms say which one goes next."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from bypass.errors import InvalidCallback, shown
from bypass.mechanisms.caches.content import CacheContent
from bypass.mechanisms.caches.keys import InvalidCacheEntry, encoded_key
from bypass.ports.caches import CacheEntry, CacheHost, CacheKey, EvictionListener
from bypass.support.callbacks import is_plain_function
from bypass.transitions import Mechanism, MechanismState, TransferState

MOST_ENTRIES = 1_000_000


class CacheLimits(NamedTuple):
    """The bounds of a cache, as the next mechanism gets them."""

    capacity: int
    most_bytes: int | None


class CacheMechanism(Mechanism, ABC):
    """Keeps at most `capacity` entries of at most `most_bytes` together (None: of any size).

    The content moves in a transition, and so do the bounds, unless they are set with it. What does not fit
    into smaller bounds is evicted at once when they are set, and right after a transition.
    """

    capacity: Annotated[int, MechanismState(), Field(ge=1, le=MOST_ENTRIES)] = 100
    most_bytes: Annotated[int | None, MechanismState(), Field(ge=1, le=1 << 50)] = None
    content: Annotated[
        CacheContent, TransferState("cache content", optional=True), Field(default_factory=CacheContent)
    ]
    limits: Annotated[CacheLimits | None, TransferState("cache limits", optional=True)] = None

    host: CacheHost

    def __init__(self, host: Any = None, **values: Any) -> None:
        super().__init__(host, **values)
        self._given = values.keys()

    # -- what mechanisms say ------------------------------------------------------------------------------

    @abstractmethod
    def added(self, entry: CacheEntry) -> None:
        """Put an entry that is new, or comes from another mechanism, in its place."""

    def admits(self, key: CacheKey) -> bool:  # noqa: ARG002
        """Whether a new entry may have the place of another one; asked where there is no room for both. It
        has at least one entry then."""
        return True

    def used(self, entry: CacheEntry) -> None:
        """Take notice of a use of an entry, after it was counted."""

    @abstractmethod
    def removed(self, entry: CacheEntry) -> None:
        """Forget an entry that was removed."""

    @abstractmethod
    def evict(self) -> CacheEntry:
        """Choose the entry that goes next, and forget it. There is at least one."""

    def rank(self, entry: CacheEntry) -> int:
        """The place of an entry of another mechanism; the lowest is added first. By default entries come by
        their last use. It must not change the entry, nor may `added` do so: a transition can fail."""
        return entry.used

    def adopt(self, entries: Iterable[CacheEntry]) -> None:
        """Take over the entries of another mechanism, by rank."""
        for entry in entries:
            self.added(entry)

    # -- a mechanism's life -------------------------------------------------------------------------------

    def start(self) -> None:
        for name, value in (self.limits._asdict() if self.limits else {}).items():
            if name not in self._given:
                setattr(self, name, value)
        self.limits = CacheLimits(self.capacity, self.most_bytes)
        self.adopt(sorted(self.content.entries.values(), key=self.rank))
        if self._lacks_room(0, 0):
            self.host.after(0.0, self._fit)  # the content is still the other mechanism's: this may fail

    def set_capacity(self, capacity: int) -> None:
        """Change the bound; what does not fit is evicted."""
        self.capacity = capacity
        self._fit()

    def set_most_bytes(self, most_bytes: int | None) -> None:
        """Change the bound; what does not fit is evicted."""
        self.most_bytes = most_bytes
        self._fit()

    # -- entries ------------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        return len(self.content.entries)

    @property
    def bytes(self) -> int:
        return self.content.bytes

    def get(self, key: CacheKey) -> Any:
        entry = self.content.entries.get(key)
        if entry is None:
            return None
        self.content.use(entry)
        self.used(entry)
        return entry.value

    def find(self, key: CacheKey) -> CacheEntry | None:
        return self.content.entries.get(key)

    def put(self, key: CacheKey, value: Any, size: int = 0, tags: Collection[CacheKey] = ()) -> bool:
        if value is None:
            raise InvalidCacheEntry(f"value of {shown(key)} None: expected anything else, None is no entry")
        if not isinstance(size, int) or size < 0:
            raise InvalidCacheEntry(f"size of {shown(key)} {shown(size)}: expected a whole number from 0 on")
        if isinstance(tags, str | bytes):  # each letter would be a tag
            raise InvalidCacheEntry(f"tags of {shown(key)} {shown(tags)}: expected a collection of tags")
        for name in (key, *tags):
            if type(name) not in (int, str, bytes):
                encoded_key(name)
        if self.most_bytes is not None and size > self.most_bytes:
            self.remove(key)
            return False
        entry = self.content.entries.get(key)
        if entry is None:
            if self._lacks_room(1, size) and not self.admits(key):
                return False
            evicted = self._make_room(1, size)
            self.added(self.content.add(key, value, size, tags))
        else:
            self.content.replace(entry, value, size, tags)
            self.used(entry)
            evicted = self._make_room(0, 0)
        self._tell(evicted)
        return key in self.content.entries

    def remove(self, key: CacheKey) -> bool:
        entry = self.content.discard(key)
        if entry is not None:
            self.removed(entry)
        return entry is not None

    def keys(self) -> list[CacheKey]:
        return list(self.content.entries)

    def tagged(self, tag: CacheKey) -> list[CacheKey]:
        return self.content.tagged(tag)

    # -- listeners ----------------------------------------------------------------------------------------

    def add_listener(self, listener: EvictionListener) -> None:
        if not is_plain_function(listener):
            raise InvalidCallback(f"listener {shown(listener)}: expected a plain function of an entry")
        self.content.listeners.append(listener)

    def remove_listener(self, listener: EvictionListener) -> None:
        if listener in self.content.listeners:
            self.content.listeners.remove(listener)

    # -- room ---------------------------------------------------------------------------------------------

    def _lacks_room(self, more: int, size: int) -> bool:
        content = self.content
        if len(content.entries) + more > self.capacity:
            return True
        return self.most_bytes is not None and content.bytes + size > self.most_bytes

    def _make_room(self, more: int, size: int) -> list[CacheEntry]:
        """Evict until there is room for so many entries more; gives those that are gone."""
        gone = []
        while self._lacks_room(more, size):
            entry = self.evict()
            self.content.discard(entry.key)
            gone.append(entry)
        return gone

    def _tell(self, evicted: list[CacheEntry]) -> None:
        for entry in evicted:
            for listener in tuple(self.content.listeners):
                listener(entry)

    def _fit(self) -> None:
        self.limits = CacheLimits(self.capacity, self.most_bytes)
        self._tell(self._make_room(0, 0))
