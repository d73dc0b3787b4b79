"""The items that an edge fetches: from clients in its area, and from other edges, in pieces."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from bypass.mechanisms.storage.infra.edge.service.area_contact import AreaContact
from bypass.mechanisms.storage.infra.edge.service.losses import EdgeLoss, LossCounts
from bypass.mechanisms.storage.infra.edge.service.settings import EdgeSettings
from bypass.objects.metadata import Metadata
from bypass.ports.edge import EdgeLink
from bypass.ports.host import Lease, Timer
from bypass.protocol.edge import Download, Downloaded, DownloadKind, Item, ItemKey
from bypass.protocol.storage import LONGEST_DATA

MOST_FETCHES = 65_536
"""Fetches from clients, and from edges, that are under way or wait."""


class Holder(NamedTuple):
    """Somebody who may have an item: an edge, or a client of the item's world."""

    number: int
    is_edge: bool
    asks_others: bool = True
    """Whether an edge is to ask others if it does not have the item itself."""


NOBODY = Holder(0, False)
"""Before anybody was asked."""


Fetched = Callable[[Item | None, int], None]
"""Is given an item, or the piece that was asked for, and the retrieval cycle that came with it; None: nobody
has it."""


@dataclass(slots=True)
class ItemWish:
    """An item that is wanted: of one of `holders`, who are asked one after another.

    A wish that is not `is_valid` any more when its turn comes is dropped, without a call of `done`. A `piece`
    is bytes from an offset on, so many of them; None: the whole item, which is checked. `lost` is told of
    each holder that did not give it.
    """

    key: ItemKey
    holders: deque[Holder]
    done: Fetched
    cycle: int = 0
    is_valid: Callable[[], bool] = lambda: True
    piece: tuple[int, int] | None = None
    lost: Callable[[Holder], None] = lambda _: None


@dataclass(slots=True)
class _Fetch:
    wish: ItemWish
    at: Holder = NOBODY
    op: int = 0
    tries: int = 0
    timer: Timer | None = None
    metadata: Metadata | None = None
    data: bytearray = field(default_factory=bytearray)

    @property
    def offset(self) -> int:
        return len(self.data) + (self.wish.piece[0] if self.wish.piece else 0)


class ItemFetches:
    """Fetches items, so many at once from clients and from edges as the settings say; others wait.

    A holder that is silent is asked again as often as the settings say; then, or if it has no such item or
    cannot be reached, the next one is asked.
    """

    def __init__(
        self,
        host: Lease,
        link: EdgeLink,
        area: AreaContact,
        settings: EdgeSettings,
        losses: LossCounts,
    ) -> None:
        self._host = host
        self._link = link
        self._area = area
        self._settings = settings
        self._losses = losses
        self._number = 0
        self._fetches: dict[int, _Fetch] = {}  # by operation
        self._under_way = {True: 0, False: 0}  # at edges, at clients
        self._waiting: dict[bool, deque[_Fetch]] = {True: deque(), False: deque()}
        self._busy = False

    def __len__(self) -> int:
        return len(self._fetches) + sum(map(len, self._waiting.values()))

    def want(self, wish: ItemWish) -> None:
        """Fetch an item. Its `done` is called once, later or at once."""
        self._next_holder(_Fetch(wish))

    def arrived(self, answer: Downloaded, sender: Holder) -> None:
        """Take an answer of somebody who was asked."""
        fetch = self._fetches.get(answer.op)
        if fetch is None or fetch.at[:2] != sender[:2]:
            self._losses[EdgeLoss.UNEXPECTED] += 1
            return
        item = answer.item
        if item is None or item.data is None:
            self._give_up(fetch, EdgeLoss.NOT_FOUND)
        elif item.key != fetch.wish.key or answer.offset != fetch.offset:
            if item.key != fetch.wish.key or answer.offset > fetch.offset:
                self._give_up(fetch, EdgeLoss.DAMAGED)  # an older offset is that of a repeated request
        else:
            self._take(fetch, item.metadata, item.data, answer.cycle)

    def disconnected(self, edge: int) -> None:
        """Ask others for what an edge was asked for: it cannot answer."""
        for fetch in [each for each in self._fetches.values() if each.at[:2] == (edge, True)]:
            self._give_up(fetch, EdgeLoss.NO_EDGE)

    def stop(self) -> None:
        """Forget all fetches, without a call of `done`."""
        for fetch in self._fetches.values():
            if fetch.timer is not None:
                fetch.timer.cancel()
        self._fetches.clear()
        for waiting in self._waiting.values():
            waiting.clear()
        self._under_way = {True: 0, False: 0}

    # -- one fetch ----------------------------------------------------------------------------------------

    def _take(self, fetch: _Fetch, metadata: Metadata, data: bytes, cycle: int) -> None:
        wish = fetch.wish
        if wish.piece is not None:
            self._end(fetch)
            wish.done(Item(metadata, data[: wish.piece[1]]), cycle)
            return
        if fetch.metadata is None:
            fetch.metadata = metadata
        fetch.data += data
        if len(fetch.data) < fetch.metadata.size and data:
            fetch.tries = 0
            self._ask(fetch)
        elif fetch.metadata.describes(whole := bytes(fetch.data)):
            self._end(fetch)
            wish.done(Item(fetch.metadata, whole), cycle)
        else:
            self._give_up(fetch, EdgeLoss.DAMAGED)

    def _ask(self, fetch: _Fetch) -> None:
        """Send the request for the next piece, and wait for it."""
        wish, settings = fetch.wish, self._settings
        length = LONGEST_DATA if wish.piece is None else min(wish.piece[1], LONGEST_DATA)
        kind = DownloadKind.POPULAR
        if fetch.at.is_edge:
            kind = DownloadKind.FORCED if fetch.at.asks_others else DownloadKind.REGULAR
        request = Download(fetch.op, wish.key, kind, wish.cycle, fetch.offset, length)
        wait = settings.edge_timeout_s if fetch.at.is_edge else settings.client_timeout_s
        if fetch.timer is not None:
            fetch.timer.cancel()
        fetch.tries += 1
        fetch.timer = self._host.after(wait, lambda: self._silent(fetch))
        op = fetch.op
        if fetch.at.is_edge:
            if not self._link.to_edge(fetch.at.number, request):
                self._give_up(fetch, EdgeLoss.NO_EDGE)
            return

        def sent(arrived: bool) -> None:
            if not arrived and fetch.op == op:
                self._give_up(fetch, EdgeLoss.UNREACHED)

        self._area.to_node(wish.key.world, fetch.at.number, request, sent)

    def _silent(self, fetch: _Fetch) -> None:
        settings = self._settings
        retries = settings.edge_retries if fetch.at.is_edge else settings.client_retries
        if fetch.tries <= retries:
            self._ask(fetch)
        else:
            self._give_up(fetch, EdgeLoss.SILENT)

    def _give_up(self, fetch: _Fetch, reason: EdgeLoss) -> None:
        """Turn to the next holder."""
        self._losses[reason] += 1
        self._release(fetch)
        fetch.wish.lost(fetch.at)
        fetch.metadata = None
        fetch.data.clear()
        self._next_holder(fetch)
        self._go_on()

    def _end(self, fetch: _Fetch) -> None:
        self._release(fetch)
        self._go_on()

    def _release(self, fetch: _Fetch) -> None:
        if fetch.timer is not None:
            fetch.timer.cancel()
        if self._fetches.pop(fetch.op, None) is not None:
            self._under_way[fetch.at.is_edge] -= 1
        fetch.op = 0

    # -- turns --------------------------------------------------------------------------------------------

    def _next_holder(self, fetch: _Fetch) -> None:
        if not fetch.wish.holders:
            fetch.wish.done(None, fetch.wish.cycle)
            return
        fetch.at = fetch.wish.holders.popleft()
        waiting = self._waiting[fetch.at.is_edge]
        if len(waiting) >= MOST_FETCHES:
            self._losses[EdgeLoss.MANY_FETCHES] += 1
            fetch.wish.done(None, fetch.wish.cycle)
            return
        waiting.append(fetch)
        self._go_on()

    def _go_on(self) -> None:
        """Begin the fetches whose turn it is. A call from inside another one is left to that."""
        if self._busy:
            return
        self._busy = True
        try:
            while (fetch := self._next_turn()) is not None:
                self._begin(fetch)
        finally:
            self._busy = False

    def _next_turn(self) -> _Fetch | None:
        """The fetch that may begin; None if none waits, or too many are under way."""
        settings = self._settings
        for is_edge, most in ((True, settings.edge_requests), (False, settings.client_requests)):
            if self._waiting[is_edge] and self._under_way[is_edge] < most:
                return self._waiting[is_edge].popleft()
        return None

    def _begin(self, fetch: _Fetch) -> None:
        if not fetch.wish.is_valid():
            return
        self._number += 1
        fetch.op = self._host.id << 32 | self._number
        fetch.tries = 0
        self._fetches[fetch.op] = fetch
        self._under_way[fetch.at.is_edge] += 1
        self._ask(fetch)


def clients(numbers: Iterable[int]) -> deque[Holder]:
    """Clients as holders, each once."""
    return deque(Holder(each, False) for each in dict.fromkeys(numbers))
