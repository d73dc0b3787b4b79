"""Deliveries: from what the broker selects to packets, in turns.

What happens in a turn is sent when what it changed is durable: nobody hears of an event that could still be
forgotten. While one turn's changes are written, the next ones' are collected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from bypass.live.broker.awaited import LAST_PLACE, NO_NUMBERS
from bypass.live.broker.awaited_columns import NONE, RECEIVED
from bypass.live.broker.batch import pack_groups, unpack_recipients
from bypass.live.broker.composing import HEAD_BYTES
from bypass.live.broker.feeding import Feeding
from bypass.live.broker.pacing import Pacing
from bypass.live.broker.sending import Sending
from bypass.live.broker.sessions import Session, Sessions
from bypass.live.broker.store import Logged, Store, Waiting
from bypass.live.broker.turns import Turn
from bypass.mechanisms.filters.buckets import Ints
from bypass.messages import Message, Publish
from bypass.models.queueing import DelayEstimator
from bypass.session import Ack, Refused
from bypass.wire import Forwarding, decode_raw, encode


class Limits(NamedTuple):
    """What is kept for a client at most: events, and seconds."""

    pending_events: int
    pending_age: float


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
        send_packet: Callable[[bytes, bytes | memoryview], bool],
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
        self.sending = Sending(send_packet, sessions)
        self.delays = DelayEstimator(self._work, durable=True)
        self._sessions = sessions
        self._awaited = sessions.awaited
        self._quotas = sessions.quotas
        self._now = now
        self._limits = limits
        self._pacing = Pacing(self.to_route, after, grace)
        self._seq = last_seq
        self._feeding = Feeding(store, sessions, self._send_now, self._give_up, last_seq)
        self.feed = self._feeding.feed
        self._logged_at: dict[int, float] = {}  # of events that are waited for, in the order of the log
        self._raw: tuple[int, bytes] = (0, b"")
        self._repeated = False  # whether what is published may have been published before
        self._forwarding: tuple[int, Forwarding] | None = None
        # Of the publication that clients are being told of:
        self._event = NONE  # where it is in what is awaited
        self._recipients: list[tuple[Ints, list[tuple[int, ...]], bool]] = []  # clients, handles, unfiltered
        self._waiting = 0  # how many clients wait for it

    # -- what the broker asks for -------------------------------------------------------------------------

    def publishing(self, publication: Publish, raw: bytes, repeated: bool) -> None:
        """The broker is about to look at a publication that came as these bytes; some may have it already
        if it is `repeated`."""
        self._raw = (publication.id, raw)
        self._repeated = repeated
        self._forwarding = None

    def published(self, publication: Publish) -> None:
        """The broker has told all whom the publication concerns, but for those who have to wait."""
        self._log(publication)
        self._raw, self._repeated = (0, b""), False

    def send(self, client: int, message: Message) -> None:
        """A message for one client, if it is connected."""
        session = self._sessions.by_number.get(client)
        if session is not None:
            self._pacing.send(session, message)

    def multicast(
        self, publication: Publish, clients: Ints, handles: list[tuple[int, ...]], unfiltered: bool
    ) -> None:
        """Notify many distinct clients of one event, each with its own handles."""
        forwarding, notifications = self._forward(publication), self.turn.notifications
        number, which, own, first = publication.id, len(notifications.rests), NO_NUMBERS, handles[0]
        rich = self._sessions.rich(clients)
        if rich is not None:
            forms = [*zip(handles, rich, strict=True)]
            places = {each: which + i for i, each in enumerate({*forms})}
            own = np.array([places[each] for each in forms])
            notifications.rests += [forwarding.rest(each, unfiltered, form) for each, form in places]
        elif handles.count(first) == len(handles):  # nearly all have one subscription, their first
            notifications.rests.append(forwarding.rest(first, unfiltered, True))
        else:
            rests = {each: which + i for i, each in enumerate({*handles})}
            own = np.array([rests[each] for each in handles])
            notifications.rests += [forwarding.rest(each, unfiltered, True) for each in rests]
        size = HEAD_BYTES + max(map(len, notifications.rests[which:]))
        self._event, added, special = self._awaited.deliver(
            self._event,
            number,
            self._seq + 1,
            clients,
            self._limits.pending_events,
            size,
            self._may_wait(number),
            notifications,
            which,
            own,
        )
        self.deliveries += added
        self._waiting += added
        self._recipients.append((clients, handles, unfiltered))
        for i in special:
            session = self._sessions.by_number[int(clients[i])]
            self._notify(session, number, forwarding.rest(handles[i], unfiltered, session.rich))
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
        rests = [
            forwarding.relayed(own, others, session is not None and session.rich)
            for own, others, session in zip(
                handles, targets, map(self._sessions.by_number.get, clients), strict=True
            )
        ]
        for client, own, rest in zip(clients, handles, rests, strict=True):
            session = self._sessions.by_number.get(client)
            if session is not None:
                self._notify(session, publication.id, rest)
                self._recipients.append((np.array([client]), [own], False))
        self._conclude(publication)

    # -- what the server asks for -------------------------------------------------------------------------

    def to_route(self, route: bytes, message: Message) -> None:
        """A message for whoever is behind a route. Raises MalformedMessage if it cannot travel."""
        data = encode(message)
        self.turn.packets.setdefault(route, []).append(data)

    def _send_now(self, route: bytes, messages: list[bytes]) -> None:
        self.turn.packets.setdefault(route, []).extend(messages)

    def confirm(self, route: bytes, publication: int | None = None, handle: int | None = None) -> None:
        """Acknowledge a publication, or a change of subscriptions, when this turn is durable."""
        confirmed = self.turn.acknowledged.get(route)
        if confirmed is None:
            confirmed = self.turn.acknowledged[route] = ([], [])
        if publication is not None:
            confirmed[0].append(publication)
        if handle is not None:
            confirmed[1].append(handle)

    def acknowledge(self, session: Session, ids: Iterable[int]) -> bool:
        """A client has these events; gives whether it was sent any of them."""
        slot = session.slot
        numbers = np.array(ids, np.uint64).view(np.int64)
        count, done = self._awaited.acknowledge(slot, numbers)
        self.acknowledged += count
        self._release(session, count, done)
        if self._awaited.unsent(slot):
            self.feed(session)
        return count > 0

    @property
    def last(self) -> int:
        """Where the latest event is in the log."""
        return self._seq

    def outstanding(self, first: int, last: int) -> tuple[int, int]:
        """How many deliveries of a part of the log are not acknowledged: by clients that are connected, by
        clients that are away."""
        return self._awaited.between(first, last)

    def forget(self, session: Session) -> None:
        """A session has ended: nothing waits for it any more."""
        self._release(session, *self._awaited.give_up(session.slot, LAST_PLACE))

    def restore(self, waiting: Waiting, again: bool) -> None:
        """An event of the log waits for clients who are away; in the order of the log. `again`: it was there
        before, at another place."""
        # A client that it is for in several ways waits for it once.
        clients = np.array([*{each.client for each in waiting.recipients}])
        _, added, _ = self._awaited.deliver(
            NONE, waiting.id, waiting.seq, clients, LAST_PLACE, 0, again, self.turn.notifications
        )
        if added:
            self._logged_at[waiting.seq] = waiting.at
            publisher = self._sessions.by_number.get(waiting.id >> 32)
            if publisher is not None:
                self._quotas.stored(waiting.seq, publisher.account, waiting.size)
            self.waiting += added

    def note_cursors(self, part: int = 0, parts: int = 1) -> None:
        """Have the store know how far clients have got, one of so many parts of them, and give up what has
        become too old."""
        self._expire()
        for slot, before in self._awaited.moved(part, parts):
            session = self._sessions.by_slot[slot]
            cursor = before - 1 if before else self._seq
            self.turn.batch.cursor(session.number, cursor, session.missed)

    # -- turns --------------------------------------------------------------------------------------------

    def take_turn(self) -> Turn:
        """What has been collected; a new turn begins."""
        turn = self.turn
        self.turn = Turn(turn.notifications.count)
        return turn

    def postpone(self, turn: Turn) -> None:
        """Write what a turn has released later, with what others change; a new turn has just begun."""
        self.turn.batch, turn.batch = turn.batch, self.turn.batch
        self.turn.released, turn.released = turn.released, self.turn.released

    def send_turn(self, turn: Turn) -> None:
        """Send what a turn has collected; what it changed is durable."""
        if turn.logged:
            self._feeding.durable = turn.logged[-1].seq
        for route, (ids, handles) in turn.acknowledged.items():
            turn.packets.setdefault(route, []).append(encode(Ack(tuple(ids), tuple(handles))))
        self.sending.send(turn.packets)
        self.sending.notify(turn.notifications)
        self._feeding.feed_hungry()

    def refuse_turn(self, turn: Turn, reason: str) -> None:
        """What a turn changed could not be stored: nobody gets its events, and who sent them is told why."""
        for logged in turn.logged:
            self._logged_at.pop(logged.seq, None)
            self._quotas.released(logged.seq)
            for client in {each.client for each in unpack_recipients(logged.recipients)}:
                session = self._sessions.by_number.get(client)
                if session is not None and session.durable:
                    self.waiting -= self._awaited.withdraw(session.slot, logged.id, logged.seq)[0]
        for session, number in turn.fleeting:
            if self._sessions.by_slot.get(session.slot) is session:
                self._awaited.withdraw(session.slot, number)
        self.turn.batch.released(turn.released)
        self.turn.released += turn.released
        self.turn.batch.retry(turn.batch)
        for route, (ids, handles) in turn.acknowledged.items():
            refused = turn.taken.intersection(ids)
            if route in self.turn.acknowledged:  # sent twice, and taken once
                later = self.turn.acknowledged[route][0]
                later[:] = set(later) - refused
            answers = turn.packets.setdefault(route, [])
            answers += [encode(Refused(reason, id=number)) for number in ids if number in refused]
            answers += [encode(Refused(reason, handle=handle)) for handle in handles]
            if known := tuple(number for number in ids if number not in refused):  # from an earlier turn
                answers.append(encode(Ack(known)))
        self.sending.send(turn.packets)

    def retract(self, turn: Turn, route: bytes) -> None:
        """Nothing that was to be sent on a route, in a turn or since, is sent."""
        for each in (turn, self.turn):
            each.packets.pop(route, None)
            each.acknowledged.pop(route, None)

    # -- internals ----------------------------------------------------------------------------------------

    def _work(self, client: int) -> tuple[int, float]:
        """How many events a client has got, and how long it took to send so many."""
        slot = self._sessions.by_number[client].slot
        received = int(self._awaited.slots[slot, RECEIVED])
        return received, received * self.sending.mean_s

    def _forward(self, publication: Publish) -> Forwarding:
        if self._forwarding is None or self._forwarding[0] != publication.id:
            number, raw = self._raw
            if number != publication.id:  # it has waited for something
                _, raw = decode_raw(encode(publication))
            name = self._sessions.name(publication.client)
            forwarding = Forwarding(raw, publication.client, publication.scheme, publication.epoch, 0, name)
            self._forwarding = (publication.id, forwarding)
        return self._forwarding[1]

    def _may_wait(self, number: int) -> bool:
        """Whether somebody may have waited for an event before clients are told of it now."""
        return self._repeated or self._raw[0] != number

    def _notify(self, session: Session, number: int, rest: bytes) -> None:
        """Notify one client, whatever is special about it."""
        awaited, slot, seq = self._awaited, session.slot, self._seq + 1
        earlier = self._may_wait(number)
        # It may wait for it already, for another of its subscriptions, which was found in another way. If
        # that is now, and others are to be sent first, it gets both out of the log.
        again = awaited.waits(slot, number, earlier)
        self.deliveries += not again
        size = HEAD_BYTES + len(rest)
        next_in_turn = not awaited.unsent(slot) or (again and earlier)
        room = session.route is not None and next_in_turn and (again or awaited.room(slot) > 0)
        if session.durable:
            if not again:
                self._event = awaited.add(self._event, number, seq, slot, size if room else None)
                self._waiting += 1
                if session.route is not None and not room:
                    self._feeding.hungry.add(session)
                if awaited.count(slot) > self._limits.pending_events:
                    self._give_up(session, awaited.oldest(slot))
        elif room:
            if not again:
                awaited.add(NONE, number, 0, slot, size)
                self.turn.fleeting.append((session, number))
        else:
            session.missed += 1
            self.missed += 1
        if room:
            self.turn.notifications.add(awaited.slots, slot, rest)

    def _conclude(self, publication: Publish) -> None:
        """Log what was notified outside of `publishing` ... `published`."""
        if self._raw[0] != publication.id:
            self._log(publication)

    def _log(self, publication: Publish) -> None:
        """Keep an event if somebody waits for it."""
        recipients, self._recipients = self._recipients, []
        waiting, self._waiting = self._waiting, 0
        self._event = NONE
        if not waiting:
            return
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
            pack_groups(recipients),
        )
        self.turn.batch.logged(logged)
        self.turn.logged.append(logged)
        self._logged_at[self._seq] = at
        publisher = self._sessions.by_number.get(publication.client)
        if publisher is not None:
            self._quotas.stored(self._seq, publisher.account, len(raw))
        self.waiting += waiting

    def _release(self, session: Session, count: int, done: list[int]) -> None:
        """A client does not wait for so many events any more, nobody for those at these places in the log."""
        if session.durable:
            self.waiting -= count
        if done:
            for seq in done:
                self._logged_at.pop(seq, None)
                self._quotas.released(seq)
            self.turn.batch.released(done)
            self.turn.released += done

    def _give_up(self, session: Session, number: int) -> None:
        session.missed += 1
        self.missed += 1
        self._release(session, *self._awaited.withdraw(session.slot, number))

    def _expire(self) -> None:
        oldest = self._now() - self._limits.pending_age
        if not self._logged_at or next(iter(self._logged_at.values())) >= oldest:
            return
        last = max(seq for seq, at in self._logged_at.items() if at < oldest)
        for session in self._sessions:
            if session.durable:
                count, done = self._awaited.give_up(session.slot, last)
                session.missed += count
                self.missed += count
                self._release(session, count, done)
