"""Deliveries: from what the broker selects to packets, in turns.

What happens in a turn is sent when what it changed is durable: nobody hears of an event that could still be
forgotten. While one turn's changes are written, the next ones' are collected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from bypass.core.downlink import Delivery
from bypass.live.broker.delivery.log_feeder import LogFeeder
from bypass.live.broker.delivery.notifier import Notifier
from bypass.live.broker.delivery.packet_sender import Failed, PacketSender
from bypass.live.broker.delivery.plan_pacing import Pacing
from bypass.live.broker.delivery.retention import Retention, RetentionLimits
from bypass.live.broker.delivery.turn import Turn
from bypass.live.broker.sessions.sessions import Session, Sessions
from bypass.live.broker.sessions.unacknowledged_kernels import RECEIVED
from bypass.live.broker.store.reader import Reader
from bypass.live.broker.store.store import Store
from bypass.models.queueing import DelayEstimator
from bypass.protocol.messages import Message
from bypass.protocol.session import RETRY
from bypass.protocol.wire import Codec

STORE_RETRY_S = 1.0
"""After so long a client may ask again for what could not be stored; it waits longer each time."""


class Deliveries:
    """The broker's way to its clients. `send_packet(route, packet)` raises ZMQError if it is not taken,
    `after` calls something some seconds later; `grace` and `codec` are the broker's.

    An event that is for a client with a durable session is in the log before it is sent, and until the client
    has acknowledged it, unless it is given up (see `Retention`); `now` is its. `soon` calls something in this
    thread.
    """

    def __init__(
        self,
        sessions: Sessions,
        store: Store,
        send_packet: Callable[[bytes, bytes | memoryview], None],
        now: Callable[[], float],
        limits: RetentionLimits,
        last_seq: int,
        after: Callable[..., Any],
        soon: Callable[..., None],
        grace: float,
        codec: Codec,
    ) -> None:
        self.turn = Turn()
        self.acknowledged = 0
        self._codec = codec
        self.kept = Retention(sessions, limits, last_seq, lambda: self.turn, self.to_route, now)
        self.sending = PacketSender(send_packet, sessions)
        self.delays = DelayEstimator(self._work, durable=True)
        self._sessions = sessions
        self._awaited = sessions.awaited
        self._pacing = Pacing(self.to_route, after, grace)
        self.feeding = LogFeeder(
            Reader(store, soon),
            sessions,
            self.kept.lanes,
            self.kept.missing,
            lambda: self.turn,
            after,
            last_seq,
            now,
        )
        self.feed = self.feeding.feed
        self._notifier = Notifier(sessions, self.kept, self.feeding, lambda: self.turn, limits.pending_events)

    @property
    def deliveries(self) -> int:
        """Events that were for somebody, counted for each of them."""
        return self.kept.deliveries

    @property
    def waiting(self) -> int:
        """Deliveries that wait for an acknowledgement."""
        return self.kept.waiting

    # -- what the broker asks for -------------------------------------------------------------------------

    def send(self, client: int, message: Message) -> None:
        """A message for one client, if it is connected."""
        session = self._sessions.by_number.get(client)
        if session is not None:
            self._pacing.send(session, message)

    def notify(self, deliveries: Iterable[Delivery]) -> None:
        """Notify clients of events, of one after the other; each that is for a durable session is logged."""
        for delivery in deliveries:
            self._notifier.notify(delivery)

    # -- what the server asks for -------------------------------------------------------------------------

    def to_route(self, route: bytes, message: Message) -> None:
        """A message for whoever is behind a route. Raises MalformedMessage if it cannot travel."""
        self.turn.send(route, self._codec.encode(message))

    def acknowledge(self, session: Session, ids: Iterable[int]) -> bool:
        """A client has these events; gives whether it was sent any of them."""
        numbers = np.array(ids, np.uint64).view(np.int64)
        known = [self._awaited.acknowledge(session.slot, numbers)]
        if session.lanes:
            ordered = np.sort(numbers)
            known += [self._awaited.acknowledge(lane, ordered, sent=True) for lane in session.lanes.values()]
        count = 0
        for each in known:
            count += len(each.numbers)
            self.kept.received(session, each)
        self.acknowledged += count
        if session.lanes:
            self.kept.lanes.tidy(session)
        if session.lanes or self._awaited.unsent(session.slot):
            self.feed(session)
        return count > 0

    @property
    def last(self) -> int:
        """Where the latest event is in the log."""
        return self.kept.last

    def outstanding(self, first: int, last: int) -> tuple[int, int]:
        """How many deliveries of a part of the log are not acknowledged: by clients that are connected, by
        clients that are away."""
        return self._awaited.between(first, last)

    def claimed(self, session: Session) -> None:
        """A subscription is the present life's, maybe for the first time."""
        if session.divided:
            self.kept.lanes.tidy(session)
            self.feed(session)

    def close(self) -> None:
        """Nothing is read from the log any more."""
        self.feeding.close()

    # -- turns --------------------------------------------------------------------------------------------

    def take_turn(self) -> Turn:
        """Begin a new turn; give the one that was collected so far."""
        turn = self.turn
        self.turn = Turn(turn.notifications.count)
        return turn

    def send_turn(self, turn: Turn) -> Failed:
        """Send what a turn has collected, now that what it changed is durable; give where that has failed."""
        if turn.logged:
            self.feeding.durable = turn.logged[-1].seq
        failed = self.sending.send(turn.answers())
        self.sending.notify(turn.notifications, failed)
        return failed

    def refuse_turn(self, turn: Turn, reason: str) -> Failed:
        """Give up a turn that could not be stored: nobody gets its events, and their senders are told why;
        give where that has failed."""
        self.kept.refused(turn)
        self.turn.retry(turn)
        return self.sending.send(turn.refusals(reason, self._retry))

    # -- internals ----------------------------------------------------------------------------------------

    def _retry(self, route: bytes) -> float:
        """After how many seconds the client on a route may ask again for what could not be stored; 0 if its
        version knows of no such thing."""
        session = self._sessions.by_route.get(route)
        return STORE_RETRY_S if session is not None and RETRY in session.capabilities else 0.0

    def _work(self, client: int) -> tuple[int, float]:
        """How many events a client has got, and how long it took to send so many."""
        slot = self._sessions.by_number[client].slot
        received = int(self._awaited.slots[slot, RECEIVED])
        return received, received * self.sending.mean_s
