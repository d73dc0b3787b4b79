"""The watches of a broker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bypass.core.borders.fences import Fences
from bypass.core.borders.watched_client import KeptWatch
from bypass.protocol.borders import BorderWatch

if TYPE_CHECKING:
    from bypass.places.areas import Area


class KeptWatches:
    """Watches by watcher and handle, and by number; `fences` are those of all of them."""

    def __init__(self) -> None:
        self.fences = Fences()
        self._watches: dict[tuple[int, int], KeptWatch] = {}
        self._by_number: dict[int, KeptWatch] = {}
        self._last = 0

    def __iter__(self) -> Iterator[KeptWatch]:
        return iter([*self._watches.values()])

    def __len__(self) -> int:
        return len(self._watches)

    def get(self, watcher: int, handle: int) -> KeptWatch | None:
        """The watch of a subscription; None if it is none."""
        return self._watches.get((watcher, handle))

    def numbered(self, number: int) -> KeptWatch | None:
        """The watch with a number; None if it is over."""
        return self._by_number.get(number)

    def of(self, watcher: int) -> list[KeptWatch]:
        """The watches of a client."""
        return [kept for kept in self._watches.values() if kept.watcher == watcher]

    def add(self, watcher: int, handle: int, terms: BorderWatch, areas: dict[str, Area]) -> KeptWatch:
        """Keep a new watch."""
        self._last += 1
        kept = KeptWatch(self._last, watcher, handle, terms, areas)
        self._watches[watcher, handle] = self._by_number[kept.number] = kept
        self.fences.put(kept)
        return kept

    def reshape(self, kept: KeptWatch, terms: BorderWatch, areas: dict[str, Area]) -> None:
        """Have a watch on other terms, in other areas."""
        kept.terms, kept.areas = terms, areas
        self.fences.put(kept)

    def drop(self, kept: KeptWatch) -> None:
        """A watch is over."""
        del self._watches[kept.watcher, kept.handle], self._by_number[kept.number]
        self.fences.drop(kept)
