"""Notifications that a client has not got: they follow it to another edge."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import NamedTuple

from bypass.mechanisms.storage.infra.edge.service.area_contact import AreaContact
from bypass.mechanisms.storage.infra.edge.service.losses import EdgeLoss, LossCounts
from bypass.mechanisms.storage.infra.edge.service.worlds import EdgeWorlds
from bypass.objects.metadata import Metadata
from bypass.ports.edge import EdgeLink
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.edge import EdgeRelay
from bypass.protocol.storage import FoundObjects, MoveNode
from bypass.support.units import MICROSECONDS
from bypass.transitions.recent import Recent

MOST_PENDING_CLIENTS = 4096
TOLD_AGAIN_S = 1.0

_Place = tuple[str, int]  # a world, and a client in it


class _Told(Recent[int, float]):
    """When others were told of clients."""

    LIMIT = MOST_PENDING_CLIENTS


class _Pending(NamedTuple):
    since: float
    body: FoundObjects


class PendingNotifications:
    """Keeps notifications for clients that were not reached, for `ttl_s`, and at most `most_each` of one.
    They are sent when the client is heard here again, or to the edge that has it now and says so; `place`
    gives that edge, None if it is this one or not known."""

    def __init__(
        self,
        now: Callable[[], float],
        ttl_s: float,
        most_each: int,
        place: Callable[[int], int | None],
        link: EdgeLink,
        area: AreaContact,
        worlds: EdgeWorlds,
        losses: LossCounts,
    ) -> None:
        self.handed_over = 0
        self._now = now
        self._ttl_s = ttl_s
        self._most_each = most_each
        self._place = place
        self._link = link
        self._area = area
        self._worlds = worlds
        self._losses = losses
        self._told_at = _Told()
        self._pending: OrderedDict[_Place, deque[_Pending]] = OrderedDict()

    def keep(self, world: str, client: int, body: FoundObjects, since: float | None = None) -> None:
        """Keep a notification that did not reach a client, as one that waits since a time, None: now; or send
        it to the edge that has the client now."""
        edge = self._place(client)
        if edge is not None and self._link.to_edge(edge, EdgeRelay(NodeAddress(client), body)):
            self.handed_over += 1
            return
        place = world, client
        kept = self._pending.setdefault(place, deque())
        self._pending.move_to_end(place)
        if any(each.body == body for each in kept):
            return
        kept.append(_Pending(self._now() if since is None else since, body))
        if len(kept) > self._most_each:
            kept.popleft()
            self._losses[EdgeLoss.MANY_PENDING] += 1
        if len(self._pending) > MOST_PENDING_CLIENTS:
            self._losses[EdgeLoss.MANY_PENDING] += len(self._pending.popitem(last=False)[1])

    def heard(self, world: str, client: int) -> None:
        """Send a client what is kept for it: it is here."""
        for pending in self._taken((world, client)):
            self._deliver(world, client, pending.body, pending.since)

    def joined(self, client: int) -> None:
        """Tell other edges that a client has come: one of them may keep something for it. A client that
        comes and goes all the time is told of once in TOLD_AGAIN_S."""
        now = self._now()
        if now - self._told_at.get(client, -TOLD_AGAIN_S) < TOLD_AGAIN_S:
            return
        self._told_at.pop(client, None)
        self._told_at[client] = now
        moved = MoveNode(client, None, at_us=round(now * MICROSECONDS))
        for edge in self._link.edges():
            self._link.to_edge(edge, moved)

    def is_later(self, moved: MoveNode) -> bool:
        """Whether a client came to another edge after it came here."""
        return moved.at_us > round(self._told_at.get(moved.node, -1.0) * MICROSECONDS)

    def moved(self, edge: int, client: int) -> None:
        """Send what is kept for a client to the edge that has it now."""
        for place in [place for place in self._pending if place[1] == client]:
            for pending in self._taken(place):
                relay = EdgeRelay(NodeAddress(client), pending.body)
                self.handed_over += self._link.to_edge(edge, relay)

    def take(self, relay: EdgeRelay) -> None:
        """Send a client what another edge has kept for it."""
        body, client = relay.body, relay.target.node
        if not isinstance(body, FoundObjects) or body.op or client is None or not body.items:
            self._losses[EdgeLoss.UNEXPECTED] += 1
            return
        world = body.items[0].namespace
        if world not in self._worlds:
            self._losses[EdgeLoss.NO_WORLD] += 1
            return
        self._deliver(world, client, body, self._now())

    def forget(self, is_meant: Callable[[Metadata], bool]) -> None:
        """Forget the objects that are meant: they were deleted."""
        for place, kept in list(self._pending.items()):
            left = [each for each in (_without(each, is_meant) for each in kept) if each is not None]
            if left:
                self._pending[place] = deque(left)
            else:
                del self._pending[place]

    def _deliver(self, world: str, client: int, body: FoundObjects, since: float) -> None:
        def sent(arrived: bool) -> None:
            if not arrived:
                self.keep(world, client, body, since)

        self._area.to_node(world, client, body, sent)

    def _taken(self, place: _Place) -> list[_Pending]:
        """Take what is kept for a client and not too old."""
        before = self._now() - self._ttl_s
        kept = self._pending.pop(place, ())
        fresh = [each for each in kept if each.since >= before]
        if old := len(kept) - len(fresh):
            self._losses[EdgeLoss.OLD_PENDING] += old
        return fresh


def _without(pending: _Pending, is_meant: Callable[[Metadata], bool]) -> _Pending | None:
    """A notification without the objects that are meant; None if nothing is left."""
    body = pending.body
    items = tuple(each for each in body.items if not is_meant(each))
    if not items:
        return None
    return pending._replace(body=FoundObjects(0, body.query, items, conjunction=body.conjunction))
