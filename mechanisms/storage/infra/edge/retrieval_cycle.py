"""The retrieval of popular items: an edge decides again and again which items of its area to fetch from the
clients that have copies."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from bypass.mechanisms.storage.infra.edge.popularity import PopularityTable
from bypass.objects.metadata import Replica
from bypass.ports.caches import Insertion, Ranking
from bypass.ports.host import Timer
from bypass.protocol.edge import Item, ItemKey
from bypass.transitions.recent import Recent

MOST_STAGED_BYTES = 256 << 20


class RetrievalHost(Protocol):
    """The world of a retrieval: timers alone."""

    def after(self, delay: float, action: Callable[..., None]) -> Timer:
        """Call `action()` in `delay` seconds."""


class RetrievalSettings(NamedTuple):
    """How an edge retrieves: seconds, numbers of cycles and of items.

    Decisions are `period_s` apart, the first one `first_s` after the first data of a cell (None: a period);
    the last batch ends `slack_s` before the next one. A ranking is to choose
    at most `limit` items of the last `active_window` cycles. Of those that are not there, at most
    `most_requests` are asked for in a cycle, None: all.
    """

    period_s: float = 30.0
    slack_s: float = 3.0
    limit: int = 100
    active_window: int = 3
    first_s: float | None = None
    most_requests: int | None = None


class RetrievalPort(Protocol):
    """The node of a retrieval."""

    def ask(self, key: ItemKey, replica: Replica, cycle: int) -> None:
        """Ask a client for an item: `arrived` or `failed` is called with the same cycle, now or later."""

    def is_cached(self, key: ItemKey) -> bool:
        """Whether an item is in the cache for the own area."""

    def has_room(self) -> bool:
        """Whether the cache for the own area has room for more items."""

    def is_deleted(self, item: Item) -> bool:
        """Whether the owner has deleted an item."""

    def insert(self, items: Collection[Item], batch: bool) -> None:
        """Insert items into the cache for the own area: together, or the one that has just arrived."""


@dataclass(slots=True)
class _Request:
    """The copies that have not been asked for, and the one that was."""

    left: deque[Replica] = field(default_factory=deque)
    asked: Replica | None = None


class _Declined(Recent[ItemKey, int]):
    """Items that the cache did not keep when they came, and the downloads that were known of them then."""

    LIMIT = 65_536


class RetrievalCycle:
    """Decides every `period_s` which items to fetch, as the `ranking` mechanism says, beginning after
    the first data of a cell; the first time it fetches none, so that there is something to decide by
    the next time.

    Copies of an item are asked for one after another. An item comes with the cycle in which it was asked
    for: of an older cycle it is discarded (`late`), because popularity may be another one now. Items are
    staged until the `insertion` mechanism says. Those that arrive after the last batch of a cycle are
    discarded, too; `refused` counts those for which there is no room. An item that the full cache does not
    keep is asked for again when more downloads of it were reported: else it would come for nothing.
    """

    def __init__(
        self,
        host: RetrievalHost,
        popularity: PopularityTable,
        ranking: Ranking,
        insertion: Insertion,
        port: RetrievalPort,
        settings: RetrievalSettings = RetrievalSettings(),  # noqa: B008 - it never changes
    ) -> None:
        self.cycle = 0
        self.requested = 0  # items, in the present cycle
        self.requested_in_all = 0
        self.late = self.refused = 0
        self.settings = settings
        self._host = host
        self._popularity = popularity
        self._ranking = ranking
        self._insertion = insertion
        self._port = port
        self._timer: Timer | None = None
        self._requests: dict[ItemKey, _Request] = {}
        self._staged: dict[ItemKey, Item] = {}
        self._staged_bytes = 0
        self._declined = _Declined()

    @property
    def staged(self) -> Collection[ItemKey]:
        """The items that wait for a batch."""
        return self._staged.keys()

    def arm(self) -> None:
        """Begin, at the first data of a cell; harmless after that."""
        if self._timer is None:
            first_s = self.settings.period_s if self.settings.first_s is None else self.settings.first_s
            self._timer = self._host.after(first_s, self._decide)

    def stop(self) -> None:
        """Decide nothing any more, and forget what is under way."""
        if self._timer is not None:
            self._timer.cancel()
        self.cycle += 1
        self._forget_cycle()

    def arrived(self, item: Item, cycle: int) -> None:
        """Take an item that was asked for in a cycle."""
        key = item.key
        if cycle != self.cycle or key not in self._requests:
            self.late += cycle != self.cycle
            return
        if item.data is None or not item.metadata.describes(item.data):
            self.failed(key, cycle)
            return
        del self._requests[key]
        if self._port.is_deleted(item):
            self._popularity.forget(key)
        elif self._insertion.is_immediate():
            self._put([item], batch=False)
        elif self._staged_bytes + len(item.data) > MOST_STAGED_BYTES:
            self.refused += 1
        else:
            self._staged[key] = item
            self._staged_bytes += len(item.data)

    def failed(self, key: ItemKey, cycle: int) -> None:
        """Learn that a client did not give an item, or not in time: the next copy is asked for."""
        request = self._requests.get(key)
        if cycle != self.cycle or request is None:
            return
        if request.asked is not None:
            self._popularity.lose_replica(key, request.asked)
        self._ask(key, request)

    def discard(self, is_meant: Callable[[Item], bool]) -> None:
        """Forget the staged items that are meant."""
        for key in [key for key, item in self._staged.items() if is_meant(item)]:
            self._staged_bytes -= len(self._staged.pop(key).data or b"")

    def _decide(self) -> None:
        settings = self.settings
        self._timer = self._host.after(settings.period_s, self._decide)
        self.cycle += 1
        self._forget_cycle()
        if self.cycle == 1:
            return
        chosen = self._ranking.choose(self._popularity, self.cycle, settings.active_window, settings.limit)
        for key in self._wanted(chosen)[: settings.most_requests]:
            known = self._popularity.get(key)
            if known is not None and known.replicas:
                self._requests[key] = _Request(deque(known.replicas))
        self.requested = len(self._requests)
        self.requested_in_all += self.requested
        cycle = self.cycle
        for delay in self._insertion.batches(settings.period_s, settings.slack_s):
            self._host.after(delay, lambda: self._insert(cycle))
        for key, request in list(self._requests.items()):
            self._ask(key, request)

    def _ask(self, key: ItemKey, request: _Request) -> None:
        if not request.left:
            self._requests.pop(key, None)
            return
        request.asked = request.left.popleft()
        self._port.ask(key, request.asked, self.cycle)

    def _insert(self, cycle: int) -> None:
        if cycle != self.cycle or not self._staged:
            return
        items, self._staged, self._staged_bytes = list(self._staged.values()), {}, 0
        self._put(items, batch=True)

    def _put(self, items: Collection[Item], *, batch: bool) -> None:
        self._port.insert(items, batch=batch)
        for item in items:
            if self._port.is_cached(item.key):
                self._declined.pop(item.key, None)
            else:
                self._declined[item.key] = self._popularity.downloads(item.key)

    def _wanted(self, chosen: Collection[ItemKey]) -> list[ItemKey]:
        """Those of the chosen items that are not here, and that the cache may keep."""
        has_room, downloads = self._port.has_room(), self._popularity.downloads
        return [
            key
            for key in chosen
            if not self._port.is_cached(key) and (has_room or downloads(key) > self._declined.get(key, -1))
        ]

    def _forget_cycle(self) -> None:
        self.requested = 0
        self._requests.clear()
        self._staged.clear()
        self._staged_bytes = 0
