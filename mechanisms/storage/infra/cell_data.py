"""The counts of a cell, which each of its clients keeps, so that any of them can report: by cycles, until an
edge has confirmed them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from functools import reduce

from bypass.objects.metadata import MOST_REPLICAS, Metadata, Replica
from bypass.objects.window import TimeWindow
from bypass.protocol.edge import (
    MOST_CONFIRMED,
    CellCycle,
    CellData,
    CellNeed,
    DownloadCount,
    ItemKey,
    item_key,
)
from bypass.protocol.storage import MOST_ITEMS, MOST_NAMED

MOST_PENDING = 1024
"""Cycles without a confirmation that are kept; the oldest are given up."""
MOST_SUBSCRIPTIONS = 16_384
"""Subscriptions whose tags and windows are kept; more are not counted."""


class CellCounters:
    """Counts downloads of a cell's objects, and its subscriptions by tag, in cycles of `period_s`.

    All clients of a cell that see the same count the same. A subscription is known by its number, which may
    come again, and counts once for each tag; `expire` takes off those whose windows are over. A download
    counts in the cell of the object's first tag in alphabetical order alone: else an object with several tags
    would count several times. Items beyond MOST_NAMED in one cycle, and subscriptions beyond
    MOST_SUBSCRIPTIONS, are not counted (`uncounted`).
    """

    def __init__(self, world: str, map_epoch: int, cell: int, cell_of: Callable[[str], int]) -> None:
        self.uncounted = 0
        self.given_up = 0  # cycles
        self.world = world
        self._cell_of = cell_of
        self._subscriptions: dict[tuple[int, str], TimeWindow] = {}
        self._by_tag: dict[str, set[tuple[int, str]]] = {}
        self.moved(map_epoch, cell, 0)

    def moved(self, map_epoch: int, cell: int, first_cycle: int) -> None:
        """Begin anew in a cell, without subscriptions and counts. The first cycle that is reported is the
        next that begins: who comes while one goes on has not seen all of it."""
        self.map_epoch = map_epoch
        self.cell = cell
        self._first_cycle = first_cycle
        self._subscriptions.clear()
        self._by_tag.clear()
        self._downloads: dict[ItemKey, tuple[int, tuple[Replica, ...]]] = {}
        self._pending: OrderedDict[int, CellCycle] = OrderedDict()
        self._confirmed: OrderedDict[int, None] = OrderedDict()

    # -- counting -----------------------------------------------------------------------------------------

    def downloaded(self, metadata: Metadata, replica: Replica) -> None:
        """Count a download of an object that is indexed in this cell, after which `replica` has a copy."""
        if self._cell_of(min(metadata.tags)) != self.cell:
            return
        key = item_key(metadata)
        count, replicas = self._downloads.get(key, (0, ()))
        if not count and len(self._downloads) == MOST_NAMED:
            self.uncounted += 1
            return
        others = [each for each in replicas if each != replica]
        self._downloads[key] = count + 1, (replica, *others)[:MOST_REPLICAS]

    def subscribed(self, number: int, tag: str, window: TimeWindow) -> None:
        """Count a subscription for a tag; one that is known replaces its window."""
        known = number, tag
        if known not in self._subscriptions and len(self._subscriptions) == MOST_SUBSCRIPTIONS:
            self.uncounted += 1
            return
        self._subscriptions[known] = window
        self._by_tag.setdefault(tag, set()).add(known)

    def unsubscribed(self, number: int, tag: str) -> None:
        """Take off a subscription for a tag; harmless if it is not known."""
        known = number, tag
        if self._subscriptions.pop(known, None) is not None:
            self._by_tag[tag].remove(known)
            if not self._by_tag[tag]:
                del self._by_tag[tag]

    def subscriptions_are(self, subscriptions: Mapping[tuple[int, str], TimeWindow]) -> None:
        """Count these subscriptions, by number and tag, and no others."""
        for number, tag in [each for each in self._subscriptions if each not in subscriptions]:
            self.unsubscribed(number, tag)
        for (number, tag), window in subscriptions.items():
            self.subscribed(number, tag, window)

    def expire(self, now_us: int) -> None:
        """Take off the subscriptions whose windows are over."""
        for number, tag in [each for each, window in self._subscriptions.items() if window.ended(now_us)]:
            self.unsubscribed(number, tag)

    # -- cycles -------------------------------------------------------------------------------------------

    def close(self, cycle: int) -> None:
        """End a cycle: its counts wait for a confirmation, and counting begins at 0."""
        downloads = [
            DownloadCount(key.object, key.source, count, replicas)
            for key, (count, replicas) in sorted(self._downloads.items(), key=lambda each: _order(each[0]))
        ]
        self._downloads = {}
        if cycle < self._first_cycle:
            return
        if cycle not in self._confirmed:
            self._pending[cycle] = CellCycle(cycle, tuple(downloads))
        if len(self._pending) > MOST_PENDING:
            self._pending.popitem(last=False)
            self.given_up += 1

    @property
    def pending(self) -> Mapping[int, CellCycle]:
        """The cycles without a confirmation, the oldest first."""
        return self._pending

    def messages(self, op: int) -> list[CellData]:
        """All cycles without a confirmation, the oldest first, in as few messages as hold them, each with the
        present subscriptions; of more than MOST_NAMED tags those with the most."""
        groups: list[list[CellCycle]] = []
        room = 0
        for each in self._pending.values():
            room -= len(each.downloads)
            if not groups or room < 0 or len(groups[-1]) == MOST_ITEMS:
                groups.append([])
                room = MOST_NAMED - len(each.downloads)
            groups[-1].append(each)
        needs = tuple(self._needs()) if groups else ()
        return [CellData(op, self.world, self.map_epoch, self.cell, tuple(each), needs) for each in groups]

    def confirm(self, cycles: Iterable[int]) -> None:
        """Forget cycles that an edge has merged: it has confirmed them to this client, or another client of
        the cell says so in its hello."""
        for cycle in cycles:
            self._confirmed.pop(cycle, None)
            self._confirmed[cycle] = None
            self._pending.pop(cycle, None)
        while len(self._confirmed) > MOST_CONFIRMED:
            self._confirmed.popitem(last=False)

    @property
    def confirmed(self) -> tuple[int, ...]:
        """The cycles that were confirmed last, for this client's hello, ascending."""
        return tuple(sorted(self._confirmed))

    def _needs(self) -> list[CellNeed]:
        needs = []
        for tag in sorted(self._by_tag, key=lambda each: (-len(self._by_tag[each]), each))[:MOST_NAMED]:
            windows = [self._subscriptions[each] for each in self._by_tag[tag]]
            needs.append(CellNeed(tag, len(windows), reduce(TimeWindow.hull, windows)))
        return needs


def _order(key: ItemKey) -> tuple[int, str, int]:
    return *key.object, -1 if key.source is None else key.source
