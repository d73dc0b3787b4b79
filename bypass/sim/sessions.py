"""The cellular network with durable sessions: messages for a client that is cut off wait for it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bypass.errors import BypassError
from bypass.protocol.messages import Message, Publish
from bypass.protocol.wire import CODEC, Codec
from bypass.sim.cellular import Cellular, CellularModel, Station
from bypass.sim.clock import VirtualClock
from bypass.support.arrays import Ints

HandleNumbers = tuple[int, ...]


class NotDurable(BypassError):
    """A client cannot be cut off, because its session is not durable."""


class _Notification(NamedTuple):
    """An event for a client: what it was notified of, or is to pass on to `targets`."""

    publication: Publish
    handles: HandleNumbers
    unfiltered: bool = False
    targets: HandleNumbers | None = None


class DurableCellular(Cellular):
    """Links that can be cut. Events wait at the broker, publications at the client, each in their order.

    They wait from when they are handed over until they arrive, so that what is on its way when a link is cut
    is not lost: it is sent again, and its bytes count again. Nothing arrives twice. All other messages are
    lost while a link is cut, and have to be said again. Nothing is given up, however much waits.
    """

    def __init__(
        self, clock: VirtualClock, model: CellularModel, clients: int, seed: int, codec: Codec = CODEC
    ) -> None:
        super().__init__(clock, model, clients, seed, codec)
        self.expired = 0  # notifications that waited longer than the lifetimes of their events
        self._away: set[int] = set()
        self._outboxes: list[dict[int, Publish]] = [{} for _ in range(clients)]  # by number
        self._inboxes: list[dict[tuple[int, HandleNumbers], _Notification]] = [{} for _ in range(clients)]

    @property
    def waiting(self) -> int:
        """Publications and notifications that have not arrived yet."""
        return sum(map(len, self._outboxes)) + sum(map(len, self._inboxes))

    def cut(self, number: int) -> None:
        """A client's link is gone, with all that is on its way; no effect if it is already."""
        self._away.add(number)

    def mend(self, number: int) -> None:
        """A client has a link again, later than the one before was cut. What waits is not sent yet."""
        self._away.discard(number)
        # Nothing of what was on the old link arrives: it cannot be overtaken, and keeps nobody waiting.
        now = self._replaced[number] = self._clock.now_us
        self._up_free[number] = self._up_last[number] = now
        self._down_free[number] = self._down_last[number] = now

    def send_again(self, number: int) -> None:
        """Send what waits, to a client and at it; what has outlived its time is not sent any more."""
        now = self._clock.now_us / 1e6
        for key, waiting in [*self._inboxes[number].items()]:
            if waiting.publication.expired(now):
                del self._inboxes[number][key]
                self.expired += 1
        for each in list(self._inboxes[number].values()):
            if each.targets is None:
                to = np.array((number,))
                super().multicast(each.publication, to, [each.handles], each.unfiltered)
            else:
                super().relay(each.publication, [number], [each.handles], [each.targets])
        for publication in list(self._outboxes[number].values()):
            # Where the publisher was then, and which channels there were, is of no interest any more.
            publication.piggyback = publication.channel = None
            super().send_up(publication)

    # -- as without sessions ------------------------------------------------------------------------------

    def replace_client(self, number: int, station: Station) -> None:
        super().replace_client(number, station)
        self._away.discard(number)
        self._outboxes[number].clear()
        self._inboxes[number].clear()

    def send_up(self, message: Message) -> None:
        if isinstance(message, Publish):
            self._outboxes[message.client][message.id] = message
        if message.client not in self._away:
            super().send_up(message)

    def send(self, client: int, message: Message) -> None:
        if client not in self._away:
            super().send(client, message)

    def multicast(
        self, publication: Publish, clients: Ints, handles: list[HandleNumbers], unfiltered: bool
    ) -> None:
        there = []
        for i, (client, own) in enumerate(zip(clients.tolist(), handles, strict=True)):
            self._inboxes[client][publication.id, own] = _Notification(publication, own, unfiltered)
            if client not in self._away:
                there.append(i)
        if there:
            super().multicast(publication, clients[there], [handles[i] for i in there], unfiltered)

    def relay(
        self,
        publication: Publish,
        clients: list[int],
        handles: list[HandleNumbers],
        targets: list[HandleNumbers],
    ) -> None:
        for client, own, others in zip(clients, handles, targets, strict=True):
            self._inboxes[client][publication.id, own] = _Notification(publication, own, targets=others)
            if client not in self._away:
                super().relay(publication, [client], [own], [others])

    # -- arrivals -----------------------------------------------------------------------------------------

    def _arrive(
        self,
        publication: Publish,
        clients: list[int],
        handles: list[HandleNumbers],
        unfiltered: bool,
        sent_us: int,
    ) -> None:
        for client, own in zip(clients, handles, strict=True):
            if self._takes(client, publication, own, sent_us):
                self._notified[client](publication, own, unfiltered)

    def _pass_on(
        self, client: int, publication: Publish, own: HandleNumbers, others: HandleNumbers, sent_us: int
    ) -> None:
        if self._takes(client, publication, own, sent_us):
            self._relayed[client](publication, own, others)

    def _reach_broker(self, message: Message, sent_us: int) -> None:
        if not self._is_lost(message.client, sent_us):
            if isinstance(message, Publish):
                self._outboxes[message.client].pop(message.id, None)
            self._broker(message)

    def _takes(self, client: int, publication: Publish, handles: HandleNumbers, sent_us: int) -> bool:
        """Whether a notification arrives, for the first time; it does not wait any more."""
        if self._is_lost(client, sent_us):
            return False
        return self._inboxes[client].pop((publication.id, handles), None) is not None

    def _is_lost(self, client: int, sent_us: int) -> bool:
        return client in self._away or super()._is_lost(client, sent_us)
