"""Deliveries: from what the broker selects to packets, in turns.

What happens in a turn is sent when what it changed is durable: nobody hears of an event that could still be
forgotten. While one turn's changes are written, the next ones' are collected.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, NamedTuple

from bypass.live.broker.pacing import Pacing
from bypass.live.broker.sending import HEAD_BYTES, Sending
from bypass.live.broker.sessions import WINDOW, WINDOW_BYTES, Session, Sessions
from bypass.live.broker.store import Batch, Logged, Recipient, Store, StoreFailed
from bypass.mechanisms.filters.buckets import Ints
from bypass.messages import Message, Publish, Subscribe
from bypass.models.queueing import DelayEstimator
from bypass.session import Ack, Refused
from bypass.wire import Forwarding, decode_raw, encode, preceding

log = logging.getLogger(__name__)

FEED = 200
"""Events that are read from the log at a time for a client that was away."""


class Limits(NamedTuple):
    """What is kept for a client at most: events, and seconds."""

    pending_events: int
    pending_age: float


class Turn:
    """What is to be written, and what is to be sent once it is."""

    def __init__(self) -> None:
        self.batch = Batch()
        self.packets: dict[bytes, list[bytes]] = {}
        self.notifications: defaultdict[bytes, list[bytes]] = defaultdict(list)
        """By route, in their parts."""
        self.acknowledged: dict[bytes, tuple[list[int], list[int]]] = {}
        self.logged: list[Logged] = []
        self.released: list[int] = []
        self.changes: list[tuple[Session, int, Subscribe | None]] = []
        """Handles that were subscribed (None) or withdrawn, and what was behind these."""
        self.fleeting: list[tuple[Session, int]] = []
        """Events for clients whose sessions are not durable."""


class Deliveries:
    """The broker's way to its clients. `send_packet(route, packet)` gives whether it was taken, `after` calls
    something some seconds later; `grace` is the broker's.

    An event that is for a client with a durable session is in the log before it is sent, and until the client
    has acknowledged it, unless there come to be too many or it gets too old: then it is counted in the
    session's `missed`.
    """

    def __init__(
        self,
        sessions: Sessions,
        store: Store,
        send_packet: Callable[[bytes, bytes], bool],
        now: Callable[[], float],
        limits: Limits,
        last_seq: int,
        after: Callable[..., Any],
        grace: float,
    ) -> None:
        self.turn = Turn()
        self.deliveries = 0  # events that were for somebody, counted for each of them
        self.acknowledged = 0
        self.missed = 0
        self.waiting = 0
        self.unreadable = False  # the log, when it was read last
        self.sending = Sending(send_packet)
        self.delays = DelayEstimator(self._work, durable=True)
        self._sessions = sessions
        self._store = store
        self._now = now
        self._limits = limits
        self._pacing = Pacing(self.to_route, after, grace)
        self._seq = last_seq
        self._durable = last_seq  # the log is durable up to here
        self._hungry: set[Session] = set()  # connected, and something waits for them in the log
        self._remaining: dict[int, int] = {}  # by place in the log: clients that it waits for
        self._logged_at: dict[int, float] = {}  # in the order of the log
        self._raw: tuple[int, bytes] = (0, b"")
        self._forwarding: tuple[int, Forwarding] | None = None
        self._recipients: list[Recipient] = []
        self._awaited = 0  # how many clients they are

    # -- what the broker asks for -------------------------------------------------------------------------

    def publishing(self, publication: Publish, raw: bytes) -> None:
        """The broker is about to look at a publication that came as these bytes."""
        self._raw = (publication.id, raw)
        self._recipients = []
        self._forwarding = None

    def published(self, publication: Publish) -> None:
        """The broker has told all whom the publication concerns."""
        if self._awaited:
            self._log(publication)
        self._recipients = []

    def send(self, client: int, message: Message) -> None:
        """A message for one client, if it is connected."""
        session = self._sessions.by_number.get(client)
        if session is not None:
            self._pacing.send(session, message)

    def multicast(
        self, publication: Publish, clients: Ints, handles: list[tuple[int, ...]], unfiltered: bool
    ) -> None:
        """Notify many distinct clients of one event, each with its own handles."""
        forwarding = self._forward(publication)
        by_number, notifications, recipients = (
            self._sessions.by_number,
            self.turn.notifications,
            self._recipients,
        )
        number, seq, most = publication.id, self._seq + 1, min(WINDOW, self._limits.pending_events)
        latest, rest, before, size, plain = None, b"", b"", 0, 0
        for client, own in zip(clients.tolist(), handles, strict=True):
            if own != latest:  # nearly all have one subscription, and that is their first
                latest, rest = own, forwarding.rest(own, unfiltered)
                size = HEAD_BYTES + len(rest)
                before = preceding(size)
            session = by_number.get(client)
            if session is None:
                continue
            waiting, route = session.waiting, session.route
            if (
                route is None
                or not session.durable
                or session.backlog
                or number in waiting
                or len(waiting) >= most
                or session.bytes >= WINDOW_BYTES
            ):
                self._notify(session, number, own, unfiltered, rest)
                continue
            # What `_notify` does for nearly everybody, without its calls: this is done for each delivery.
            waiting[number] = seq
            known = session.latest
            if known.handles != own or known.unfiltered != unfiltered:
                known = session.recipient(own, unfiltered)
            recipients.append(known)
            session.bytes += size
            notifications[route].extend((before, session.head, rest))
            plain += 1
        self.deliveries += plain
        self._awaited += plain
        self._conclude(publication)

    def relay(
        self,
        publication: Publish,
        clients: list[int],
        handles: list[tuple[int, ...]],
        targets: list[tuple[int, ...]],
    ) -> None:
        """Notify gateways of one event, each with its own handles and the addresses that it serves."""
        forwarding = self._forward(publication)
        for client, own, others in zip(clients, handles, targets, strict=True):
            session = self._sessions.by_number.get(client)
            if session is not None:
                self._notify(session, publication.id, own, False, forwarding.relayed(own, others))
        self._conclude(publication)

    # -- what the server asks for -------------------------------------------------------------------------

    def to_route(self, route: bytes, message: Message) -> None:
        """A message for whoever is behind a route. Raises MalformedMessage if it cannot travel."""
        data = encode(message)
        self.turn.packets.setdefault(route, []).append(data)

    def confirm(self, route: bytes, publication: int | None = None, handle: int | None = None) -> None:
        """Acknowledge a publication, or a change of subscriptions, when this turn is durable."""
        ids, handles = self.turn.acknowledged.setdefault(route, ([], []))
        if publication is not None:
            ids.append(publication)
        if handle is not None:
            handles.append(handle)

    def acknowledge(self, session: Session, ids: Iterable[int]) -> bool:
        """A client has these events; gives whether it was sent any of them."""
        places = session.acknowledged(ids)
        self.acknowledged += len(places)
        self._release([seq for seq in places if seq and self._done(seq)])
        if session.backlog:
            self.feed(session)
        return bool(places)

    def feed(self, session: Session) -> None:
        """Send a connected client what waits for it in the log, as much as may be on its way at a time."""
        backlog = session.backlog
        while session.route is not None and (room := session.room):
            first = islice(backlog, min(FEED, room))
            some = [(number, seq) for number, seq in first if seq <= self._durable]
            if not some:
                break
            try:
                known = {logged.seq: logged for logged in self._store.read([seq for _, seq in some])}
            except StoreFailed as error:
                if not self.unreadable:
                    log.error("%s; what waits there is sent when it can be read", error)
                self.unreadable = True
                break
            self.unreadable = False
            for number, seq in some:
                if not session.room:
                    break
                backlog.popleft()
                if number not in session.waiting:
                    continue  # given up meanwhile
                if seq not in known:
                    self._give_up(session, number)
                    continue
                for data in self._from_log(known[seq], session):
                    session.bytes += len(data)
                    # It is durable whatever becomes of this turn.
                    self.turn.packets.setdefault(session.route, []).append(data)
        if backlog and session.route is not None:
            self._hungry.add(session)

    @property
    def last(self) -> int:
        """Where the latest event is in the log."""
        return self._seq

    def outstanding(self, first: int, last: int) -> int:
        """How many deliveries of a part of the log clients that are connected have not acknowledged."""
        return sum(
            first <= seq <= last
            for session in self._sessions.by_route.values()
            for seq in session.waiting.values()
        )

    def forget(self, session: Session) -> None:
        """A session has ended: nothing waits for it any more."""
        self._release([seq for seq in session.waiting.values() if seq and self._done(seq)])
        session.waiting.clear()
        session.backlog.clear()

    def restore(self, session: Session, number: int, seq: int, at: float) -> None:
        """An event of the log waits for a client; in the order of the log.

        Said again, for other subscriptions of the client, it changes nothing.
        """
        if number in session.waiting:
            return
        session.waiting[number] = seq
        self._remaining[seq] = self._remaining.get(seq, 0) + 1
        self._logged_at[seq] = at
        self.waiting += 1

    def note_cursors(self, part: int = 0, parts: int = 1) -> None:
        """Have the store know how far clients have got, one of so many parts of them, and give up what has
        become too old."""
        self._expire()
        for session in self._sessions:
            if session.cursor_moved and session.durable and session.number % parts == part:
                before = session.cursor_before
                cursor = self._seq if before is None else before - 1
                self.turn.batch.cursor(session.number, cursor, session.missed)
                session.cursor_moved = False

    # -- turns --------------------------------------------------------------------------------------------

    def take_turn(self) -> Turn:
        """What has been collected; a new turn begins."""
        turn, self.turn = self.turn, Turn()
        return turn

    def postpone(self, turn: Turn) -> None:
        """Write what a turn has released later, with what others change; a new turn has just begun."""
        self.turn.batch, turn.batch = turn.batch, self.turn.batch
        self.turn.released, turn.released = turn.released, self.turn.released

    def send_turn(self, turn: Turn) -> None:
        """Send what a turn has collected; what it changed is durable."""
        if turn.logged:
            self._durable = turn.logged[-1].seq
        for route, (ids, handles) in turn.acknowledged.items():
            turn.packets.setdefault(route, []).append(encode(Ack(tuple(ids), tuple(handles))))
        self.sending.send(turn.packets)
        self.sending.notify(turn.notifications)
        hungry, self._hungry = self._hungry, set()
        for session in hungry:
            self.feed(session)

    def refuse_turn(self, turn: Turn, reason: str) -> None:
        """What a turn changed could not be stored: nobody gets its events, and who sent them is told why."""
        for logged in turn.logged:
            self._remaining.pop(logged.seq, None)
            self._logged_at.pop(logged.seq, None)
            for client in {each.client for each in logged.recipients}:
                session = self._sessions.by_number.get(client)
                if session is not None and session.waiting.pop(logged.id, None) is not None:
                    self.waiting -= 1
        for session, number in turn.fleeting:
            session.waiting.pop(number, None)
        self.turn.batch.released(turn.released)
        self.turn.released += turn.released
        self.turn.batch.retry(turn.batch)
        for route, (ids, handles) in turn.acknowledged.items():
            if route in self.turn.acknowledged:  # sent twice, and taken once
                later = self.turn.acknowledged[route][0]
                later[:] = set(later).difference(ids)
            refusals = turn.packets.setdefault(route, [])
            refusals += [encode(Refused(reason, id=number)) for number in ids]
            refusals += [encode(Refused(reason, handle=handle)) for handle in handles]
        self.sending.send(turn.packets)

    def retract(self, turn: Turn, route: bytes) -> None:
        """Nothing that was to be sent on a route, in a turn or since, is sent."""
        for each in (turn, self.turn):
            for collected in (each.packets, each.notifications, each.acknowledged):
                collected.pop(route, None)

    # -- internals ----------------------------------------------------------------------------------------

    def _work(self, client: int) -> tuple[int, float]:
        """How many events a client has got, and how long it took to send so many."""
        received = self._sessions.by_number[client].received
        return received, received * self.sending.mean_s

    def _forward(self, publication: Publish) -> Forwarding:
        if self._forwarding is None or self._forwarding[0] != publication.id:
            number, raw = self._raw
            if number != publication.id:  # it has waited for something
                _, raw = decode_raw(encode(publication))
            forwarding = Forwarding(raw, publication.client, publication.scheme, publication.epoch, 0)
            self._forwarding = (publication.id, forwarding)
        return self._forwarding[1]

    def _notify(
        self, session: Session, number: int, handles: tuple[int, ...], unfiltered: bool, rest: bytes
    ) -> None:
        again = number in session.waiting  # for another of its subscriptions, which was found in another way
        self.deliveries += not again
        route = session.route
        room = route is not None and (again or (not session.backlog and session.has_room))
        if session.durable:
            self._recipients.append(session.recipient(handles, unfiltered))
            if not again:
                self._note(session, number, room)
        elif room:
            session.waiting[number] = 0
            self.turn.fleeting.append((session, number))
        else:
            session.missed += 1
            self.missed += 1
        if room and route is not None:
            size = HEAD_BYTES + len(rest)
            session.bytes += size
            self.turn.notifications[route].extend((preceding(size), session.head, rest))

    def _note(self, session: Session, number: int, sent: bool) -> None:
        """An event that is about to be logged waits for a client."""
        self._awaited += 1
        session.waiting[number] = self._seq + 1
        if not sent and session.route is not None:  # what waits for who is away is found when it comes back
            session.backlog.append((number, self._seq + 1))
            self._hungry.add(session)
        if len(session.waiting) > self._limits.pending_events:
            self._give_up(session, next(iter(session.waiting)))

    def _conclude(self, publication: Publish) -> None:
        """Log what was notified outside of `publishing` ... `published`."""
        if self._raw[0] != publication.id and self._awaited:
            self._log(publication)

    def _log(self, publication: Publish) -> None:
        number, raw = self._raw
        if number != publication.id:
            _, raw = decode_raw(encode(publication))
        self._seq += 1
        at = self._now()
        logged = Logged(
            self._seq,
            at,
            publication.id,
            publication.client,
            publication.scheme,
            publication.epoch,
            raw,
            tuple(self._recipients),
        )
        self.turn.batch.logged(logged)
        self.turn.logged.append(logged)
        self._remaining[self._seq] = self._awaited
        self._logged_at[self._seq] = at
        self.waiting += self._awaited
        self._recipients, self._awaited = [], 0

    def _from_log(self, logged: Logged, session: Session) -> list[bytes]:
        forwarding = Forwarding(logged.raw, logged.publisher, logged.scheme, logged.epoch, 0)
        return [
            session.head + forwarding.rest(each.handles, each.unfiltered)
            for each in logged.recipients
            if each.client == session.number
        ]

    def _done(self, seq: int) -> bool:
        """One client less waits for an event; whether that was the last one."""
        self.waiting -= 1
        left = self._remaining[seq] - 1
        if left:
            self._remaining[seq] = left
            return False
        del self._remaining[seq]
        del self._logged_at[seq]
        return True

    def _release(self, seqs: list[int]) -> None:
        if seqs:
            self.turn.batch.released(seqs)
            self.turn.released += seqs

    def _give_up(self, session: Session, number: int) -> None:
        seq = session.waiting.pop(number)
        if session.backlog and session.backlog[0][0] == number:
            session.backlog.popleft()
        session.missed += 1
        session.cursor_moved = True
        self.missed += 1
        if seq > self._seq:  # it is about to be logged, for one client less
            self._recipients = [each for each in self._recipients if each.client != session.number]
            self._awaited -= 1
        elif seq and self._done(seq):
            self._release([seq])

    def _expire(self) -> None:
        oldest = self._now() - self._limits.pending_age
        if not self._logged_at or next(iter(self._logged_at.values())) >= oldest:
            return
        last = max(seq for seq, at in self._logged_at.items() if at < oldest)
        for session in self._sessions:
            for number in [number for number, seq in session.waiting.items() if seq <= last]:
                self._give_up(session, number)
