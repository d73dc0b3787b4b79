"""Deliveries: from what the broker selects to packets, in turns.

What happens in a turn is sent when what it changed is durable: nobody hears of an event that could still be
forgotten. While one turn's changes are written, the next ones' are collected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from bypass.live.broker.delivery.feeder import Feeding
from bypass.live.broker.delivery.missed import NOT_TAKEN, TOO_MANY
from bypass.live.broker.delivery.retention import Keeping, RetentionLimits
from bypass.live.broker.delivery.sender import Sending
from bypass.live.broker.delivery.turn import Turn
from bypass.live.broker.operations.plan_pacing import Pacing
from bypass.live.broker.sessions.notifications import HEAD_BYTES
from bypass.live.broker.sessions.sessions import Session, Sessions
from bypass.live.broker.sessions.unacknowledged import NO_NUMBERS
from bypass.live.broker.sessions.unacknowledged_kernels import NONE, RECEIVED
from bypass.live.broker.store.batch import pack_groups
from bypass.live.broker.store.reader import Reader
from bypass.live.broker.store.store import Logged, Store
from bypass.models.queueing import DelayEstimator
from bypass.protocol.messages import Message, Publish
from bypass.protocol.session import Ack, Refused
from bypass.protocol.wire import Forwarding, decode_raw, encode
from bypass.support.arrays import Ints


class Deliveries:
    """The broker's way to its clients. `send_packet(route, packet)` gives whether it was taken, `after` calls
    something some seconds later; `grace` is the broker's.

    An event that is for a client with a durable session is in the log before it is sent, and until the client
    has acknowledged it, unless it is given up (see `Keeping`); `now` is its. `soon` calls something in this
    thread.
    """

    def __init__(
        self,
        sessions: Sessions,
        store: Store,
        send_packet: Callable[[bytes, bytes | memoryview], bool],
        now: Callable[[], float],
        limits: RetentionLimits,
        last_seq: int,
        after: Callable[..., Any],
        soon: Callable[..., None],
        grace: float,
    ) -> None:
        self.turn = Turn()
        self.acknowledged = 0
        self.kept = Keeping(sessions, limits, last_seq, lambda: self.turn, self.to_route, now)
        self.sending = Sending(send_packet, sessions)
        self.delays = DelayEstimator(self._work, durable=True)
        self._sessions = sessions
        self._awaited = sessions.awaited
        self._quotas = sessions.quotas
        self._pending = limits.pending_events
        self._pacing = Pacing(self.to_route, after, grace)
        self.feeding = Feeding(
            Reader(store, soon),
            sessions,
            self.kept.lanes,
            self.kept.missing,
            self._send_now,
            after,
            last_seq,
        )
        self.feed = self.feeding.feed
        self._raw: tuple[int, bytes] = (0, b"")
        self._repeated = False  # whether what is published may have been published before
        self._forwarding: tuple[int, Forwarding] | None = None
        # Of the publication that clients are being told of:
        self._event = NONE  # where it is in what is awaited
        self._recipients: list[tuple[Ints, list[tuple[int, ...]], bool]] = []  # clients, handles, unfiltered
        self._waiting = 0  # how many clients wait for it
        self._not_taken: set[Session] = set()  # who could not take it

    @property
    def deliveries(self) -> int:
        """Events that were for somebody, counted for each of them."""
        return self.kept.deliveries

    @property
    def waiting(self) -> int:
        """Deliveries that wait for an acknowledgement."""
        return self.kept.waiting

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
            self.kept.last + 1,
            clients,
            self._pending,
            size,
            self._may_wait(number),
            notifications,
            which,
            own,
        )
        self.kept.deliveries += added
        self._waiting += added
        self._recipients.append((clients, handles, unfiltered))
        for i in special:
            session = self._sessions.by_number[int(clients[i])]
            if open_handles := self._divide(session, number, handles[i]):
                self._notify(session, number, forwarding.rest(open_handles, unfiltered, session.rich))
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
            self.feeding.durable = turn.logged[-1].seq
        for route, (ids, handles) in turn.acknowledged.items():
            turn.packets.setdefault(route, []).append(encode(Ack(tuple(ids), tuple(handles))))
        self.sending.send(turn.packets)
        self.sending.notify(turn.notifications)
        self.feeding.feed_hungry()

    def refuse_turn(self, turn: Turn, reason: str) -> None:
        """What a turn changed could not be stored: nobody gets its events, and who sent them is told why."""
        self.kept.refused(turn)
        self.turn.batch.released(turn.released)
        self.turn.released += turn.released
        self.turn.batch.retry(turn.batch)
        changed = {(session.route, handle) for session, handle, _, _ in turn.changes}
        for route, (ids, handles) in turn.acknowledged.items():
            refused = turn.taken.intersection(ids)
            if route in self.turn.acknowledged:  # sent twice, and taken once
                later = self.turn.acknowledged[route][0]
                later[:] = set(later) - refused
            answers = turn.packets.setdefault(route, [])
            answers += [encode(Refused(reason, id=number)) for number in ids if number in refused]
            answers += [encode(Refused(reason, handle=each)) for each in handles if (route, each) in changed]
            # What is of an earlier turn holds: a subscription that was claimed anew is what it was.
            known = tuple(number for number in ids if number not in refused)
            claimed = tuple(handle for handle in handles if (route, handle) not in changed)
            if known or claimed:
                answers.append(encode(Ack(known, claimed)))
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

    def _divide(self, session: Session, number: int, handles: tuple[int, ...]) -> tuple[int, ...]:
        """Those of a client's subscriptions that an event is for whose events do not wait in lanes; in the
        lanes of the others it waits now."""
        if not session.divided or session.route is None or self._awaited.unsent(session.slot):
            return handles  # it is divided when it is read from the log, if that is necessary
        rest = []
        unclaimed = session.unclaimed
        for handle in handles:
            if handle not in session.lanes and handle not in unclaimed:
                rest.append(handle)
                continue
            self._event, added = self.kept.lanes.hold(
                session, handle, self._event, number, self.kept.last + 1, self._may_wait(number)
            )
            self._waiting += added
            self.kept.deliveries += added
            self.feeding.hungry.add(session)
        return tuple(rest)

    def _notify(self, session: Session, number: int, rest: bytes) -> None:
        """Notify one client, whatever is special about it."""
        if session in self._not_taken:  # it is for another of its subscriptions as well
            return
        awaited, slot, seq = self._awaited, session.slot, self.kept.last + 1
        earlier = self._may_wait(number)
        # It may wait for it already, for another of its subscriptions, which was found in another way. If
        # that is now, and others are to be sent first, it gets both out of the log.
        again = awaited.waits(slot, number, earlier)
        self.kept.deliveries += not again
        size = HEAD_BYTES + len(rest)
        next_in_turn = not awaited.unsent(slot) or (again and earlier)
        room = session.route is not None and next_in_turn and (again or awaited.room(slot) > 0)
        if session.durable:
            if not again:
                self._event = awaited.add(self._event, number, seq, slot, size if room else None)
                self._waiting += 1
                if session.route is not None and not room:
                    self.feeding.hungry.add(session)
                if number in session.spread:
                    session.spread.waits(number)
                excess = awaited.fresh(slot) - self._pending
                if excess > 0:
                    gone = awaited.give_up(slot, most=excess, fresh=True)
                    self.kept.missing.give_up(session, slot, TOO_MANY, gone)
        elif room:
            if not again:
                awaited.add(NONE, number, 0, slot, size)
                self.kept.waiting += 1
                self.turn.fleeting.append((session, number))
        else:
            self._not_taken.add(session)
            self.kept.missing.count(session, NOT_TAKEN, [number])
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
        self._not_taken.clear()
        if not waiting:
            return
        number, raw = self._raw
        if number != publication.id:
            _, raw = decode_raw(encode(publication))
        at = self.kept.logged(waiting)
        publisher = self._sessions.by_number.get(publication.client)
        logged = Logged(
            self.kept.last,
            at,
            publication.id,
            publication.client,
            publication.scheme,
            publication.epoch,
            raw,
            pack_groups(recipients),
            "" if publisher is None else publisher.account.name,
        )
        self.turn.batch.logged(logged)
        self.turn.logged.append(logged)
        if publisher is not None:
            self._quotas.stored(logged.seq, publisher.account, len(raw))
