"""The downloads that an edge answers: from its caches, from the edge where an item comes from, and, for other
edges, from the clients in its area."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from typing import NamedTuple

from bypass.mechanisms.storage.infra.edge.caches import EdgeCaches
from bypass.mechanisms.storage.infra.edge.popularity import PopularityTable
from bypass.mechanisms.storage.infra.edge.service.area_contact import AreaContact
from bypass.mechanisms.storage.infra.edge.service.fetches import Holder, ItemFetches, ItemWish, clients
from bypass.mechanisms.storage.infra.edge.service.losses import EdgeLoss, LossCounts
from bypass.objects.metadata import Metadata
from bypass.ports.edge import EdgeLink
from bypass.protocol.edge import Download, Downloaded, DownloadKind, Item, ItemKey
from bypass.protocol.storage import LONGEST_DATA
from bypass.transitions.recent import Recent

MOST_WAITING = 1024
"""Clients that wait for one item."""
MOST_WAITING_EACH = 256
"""Downloads of one client that wait."""


class _Providers(Recent[ItemKey, int]):
    """The edges that have sent items ahead."""

    LIMIT = 65_536


class _LongItems(Recent[ItemKey, Item]):
    """Items that clients are fetching in pieces, which a cache may have evicted meanwhile."""

    LIMIT = 4


class _Waiting(NamedTuple):
    """A client's request that waits for an item."""

    client: int
    request: Download


class EdgeDownloads:
    """Answers a regular download from the caches, or at once that the item is not here.

    A forced one of an item that is not here is fetched from the edge where it comes from, or that has sent it
    ahead; if it comes from this area, from a client. Clients that want the same item wait together. Another
    edge is answered from the caches, or with what a client here gives, piece by piece.
    `asked` counts the regular downloads of clients, `found` those of them that caches served.
    `promoted` is told of items that came from elsewhere and were used here for the first time, `used` of
    each client that got one.
    """

    def __init__(
        self,
        number: int,
        link: EdgeLink,
        area: AreaContact,
        caches: EdgeCaches,
        popularity: PopularityTable,
        fetches: ItemFetches,
        holder: Callable[[ItemKey], int | None],
        is_deleted: Callable[[Metadata], bool],
        promoted: Callable[[ItemKey, int], None],
        used: Callable[[int, ItemKey], None],
        losses: LossCounts,
    ) -> None:
        self.asked = self.found = 0
        self.served: Counter[DownloadKind] = Counter()  # to clients, from caches or elsewhere
        self._number = number
        self._link = link
        self._area = area
        self._caches = caches
        self._popularity = popularity
        self._fetches = fetches
        self._holder = holder
        self._is_deleted = is_deleted
        self._promoted = promoted
        self._used = used
        self._losses = losses
        self._providers = _Providers()
        self._long = _LongItems()
        self._waiting: dict[ItemKey, list[_Waiting]] = {}
        self._waiting_each: Counter[int] = Counter()
        self._relayed: set[tuple[int, int]] = set()  # edge and operation

    def provided(self, key: ItemKey, edge: int) -> None:
        """Note that an edge has sent an item ahead."""
        self._providers.pop(key, None)
        self._providers[key] = edge

    def take(self, client: int, request: Download) -> None:
        """Answer a client."""
        key = request.item
        found = self._in_caches(key, request.offset == 0)
        if request.kind is DownloadKind.REGULAR and request.offset == 0:
            self.asked += 1
            self.found += found is not None
        if found is not None:
            self._give(client, request, found)
        elif request.kind is DownloadKind.FORCED:
            self._force(key, _Waiting(client, request))
        else:
            self._give(client, request, None)

    def take_of_edge(self, edge: int, request: Download) -> None:
        """Answer another edge."""
        if (edge, request.op) in self._relayed:
            return  # it asks again while a client is asked
        found = self._caches.local.use(request.item) or self._caches.find(request.item)
        if found is not None and found.data is not None:
            self._link.to_edge(edge, _piece(request, found))
            return
        if request.kind is not DownloadKind.FORCED or request.item.source not in (self._number, None):
            self._link.to_edge(edge, Downloaded(request.op))
            return
        self._relayed.add((edge, request.op))

        def fetched(item: Item | None, _: int) -> None:
            self._relayed.discard((edge, request.op))
            if item is not None and self._is_deleted(item.metadata):
                item = None
            self._link.to_edge(edge, Downloaded(request.op, item, 0, request.offset if item else 0))

        piece = request.offset, request.length or LONGEST_DATA
        self._want_of_clients(request.item, fetched, piece)

    def forget(self, is_meant: Callable[[Metadata], bool]) -> None:
        """Forget the items that are meant: they were deleted."""
        for key in [key for key, item in self._long.items() if is_meant(item.metadata)]:
            del self._long[key]

    # -- forced downloads ---------------------------------------------------------------------------------

    def _force(self, key: ItemKey, waiting: _Waiting) -> None:
        known = self._waiting.get(key, [])
        if waiting in known:
            return  # it asks again
        if len(known) >= MOST_WAITING or self._waiting_each[waiting.client] >= MOST_WAITING_EACH:
            self._losses[EdgeLoss.MANY_WAITING] += 1
            self._give(waiting.client, waiting.request, None)
            return
        self._waiting_each[waiting.client] += 1
        known.append(waiting)
        if key in self._waiting:
            return
        self._waiting[key] = known
        edges = dict.fromkeys((self._providers.get(key, key.source), key.source))
        holders = deque(Holder(each, True) for each in edges if each is not None and each != self._number)
        if holders:
            self._fetches.want(ItemWish(key, holders, lambda item, _: self._forced(key, item, True)))
        else:
            self._want_of_clients(key, lambda item, _: self._forced(key, item, False), None)

    def _forced(self, key: ItemKey, item: Item | None, remote: bool) -> None:
        """Keep an item that has come from elsewhere, and give it to those who wait for it."""
        promoted = False
        if item is not None and remote:
            item, promoted = self._caches.take_remote(item)
        elif item is not None and self._is_deleted(item.metadata):
            item = None
        if item is None:
            self._losses[EdgeLoss.NOT_FOUND] += 1
        elif item.metadata.size > LONGEST_DATA:
            self._long[key] = item
        for waiting in self._waiting.pop(key, ()):
            self._waiting_each[waiting.client] -= 1
            if not self._waiting_each[waiting.client]:
                del self._waiting_each[waiting.client]
            self._give(waiting.client, waiting.request, item)
        if promoted:
            self._was_promoted(key)

    def _want_of_clients(
        self,
        key: ItemKey,
        done: Callable[[Item | None, int], None],
        piece: tuple[int, int] | None,
    ) -> None:
        """Fetch from the edge that was given an item for which there was no room here, from the clients that
        are known to have copies, and from the owner."""
        known = self._popularity.get(key)
        copies = () if known is None else known.replicas
        nodes = [each.node for each in copies if each.node is not None]
        holders = clients([*nodes, key.object.owner])
        displaced_to = self._holder(key)
        if displaced_to is not None:
            holders.appendleft(Holder(displaced_to, True, False))
        by_node = {each.node: each for each in copies}

        def lost(holder: Holder) -> None:
            if not holder.is_edge and holder.number in by_node:
                self._popularity.lose_replica(key, by_node[holder.number])

        self._fetches.want(ItemWish(key, holders, done, piece=piece, lost=lost))

    # -- answers ------------------------------------------------------------------------------------------

    def _in_caches(self, key: ItemKey, is_first: bool) -> Item | None:
        """An item with its data; pieces behind the first one are not further uses of it."""
        if is_first:
            item, promoted = self._caches.download(key)
            if promoted:
                self._was_promoted(key)
            return item
        found = self._caches.find(key)
        return self._long.get(key) if found is None or found.data is None else found

    def _was_promoted(self, key: ItemKey) -> None:
        edge = self._providers.pop(key, key.source)
        if edge is not None and edge != self._number:
            self._promoted(key, edge)

    def _give(self, client: int, request: Download, item: Item | None) -> None:
        if item is not None and request.offset == 0:
            self.served[request.kind] += 1
            self._used(client, item.key)
        self._area.answer(request.item.world, client, _piece(request, item))


def _piece(request: Download, item: Item | None) -> Downloaded:
    """The answer to a request for an item, or for a part of its bytes."""
    if item is None or item.data is None:
        return Downloaded(request.op)
    length = min(request.length or LONGEST_DATA, LONGEST_DATA)
    part = item._replace(data=item.data[request.offset : request.offset + length])
    return Downloaded(request.op, part, request.cycle, request.offset)
