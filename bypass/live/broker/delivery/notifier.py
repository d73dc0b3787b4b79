"""From an event and those whom it is for to their notifications, and to the log if somebody waits for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from bypass.core.downlink import Delivery, Gateways, Recipients
from bypass.live.broker.delivery.log_feeder import LogFeeder
from bypass.live.broker.delivery.missed import NOT_TAKEN, TOO_MANY
from bypass.live.broker.delivery.retention import Retention
from bypass.live.broker.delivery.turn import Turn
from bypass.live.broker.sessions.notifications import HEAD_BYTES
from bypass.live.broker.sessions.sessions import Session, Sessions
from bypass.live.broker.sessions.unacknowledged import NO_NUMBERS
from bypass.live.broker.sessions.unacknowledged_kernels import NONE
from bypass.live.broker.store.batch import Logged
from bypass.live.broker.store.recipients import pack_groups
from bypass.protocol.messages import Publish
from bypass.protocol.wire import Forwarding


@dataclass(slots=True)
class Progress:
    """One event while clients are told of it.

    `earlier`: somebody may have waited for it before. `place` is where it will be in the log, `event` where
    it is in what is awaited, `told` are those who were notified, `waiting` is how many wait for it, and
    `not_taken` are clients that could not take it.
    """

    publication: Publish
    forwarding: Forwarding
    earlier: bool
    place: int
    event: int = NONE
    told: list[Recipients] = field(default_factory=list)
    waiting: int = 0
    not_taken: set[Session] = field(default_factory=set)


class Notifier:
    """Notifies clients with the present turn, which `turn` gives. A client has `pending` events at most that
    it cannot have got yet."""

    def __init__(
        self,
        sessions: Sessions,
        kept: Retention,
        feeding: LogFeeder,
        turn: Callable[[], Turn],
        pending: int,
    ) -> None:
        self._sessions = sessions
        self._awaited = sessions.awaited
        self._kept = kept
        self._feeding = feeding
        self._turn = turn
        self._pending = pending

    def notify(self, delivery: Delivery) -> None:
        """Notify all whom an event is for, and log it, also if some of them cannot be.

        Raises MalformedMessage for a notification that is too large.
        """
        publication = delivery.publication
        forwarding = Forwarding(
            publication.raw,
            publication.client,
            publication.scheme,
            publication.epoch,
            0,
            self._sessions.name(publication.client),
        )
        earlier = publication.repeated or delivery.late
        progress = Progress(publication, forwarding, earlier, self._kept.last + 1)
        try:
            if delivery.gateways is not None:
                self._relay(progress, delivery.gateways)
            for group in delivery.groups:
                self._multicast(progress, group)
        finally:
            if progress.waiting:
                self._log(progress)

    def _relay(self, progress: Progress, gateways: Gateways) -> None:
        forwarding, by_number = progress.forwarding, self._sessions.by_number
        rests = [
            forwarding.relayed(own, others, session is not None and session.rich)
            for own, others, session in zip(
                gateways.handles, gateways.targets, map(by_number.get, gateways.clients), strict=True
            )
        ]
        for client, own, rest in zip(gateways.clients, gateways.handles, rests, strict=True):
            session = by_number.get(client)
            if session is not None:
                self._notify(progress, session, rest)
                progress.told.append(Recipients(np.array([client]), [own], False))

    def _multicast(self, progress: Progress, group: Recipients) -> None:
        clients, handles, unfiltered = group
        forwarding, notifications = progress.forwarding, self._turn().notifications
        which, own, first = len(notifications.rests), NO_NUMBERS, handles[0]
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
        progress.event, added, special = self._awaited.deliver(
            progress.event,
            progress.publication.id,
            progress.place,
            clients,
            self._pending,
            size,
            progress.earlier,
            notifications,
            which,
            own,
        )
        self._kept.deliveries += added
        progress.waiting += added
        progress.told.append(group)
        for i in special:
            session = self._sessions.by_number[int(clients[i])]
            if open_handles := self._divide(progress, session, handles[i]):
                self._notify(progress, session, forwarding.rest(open_handles, unfiltered, session.rich))

    def _divide(self, progress: Progress, session: Session, handles: tuple[int, ...]) -> tuple[int, ...]:
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
            progress.event, added = self._kept.lanes.hold(
                session, handle, progress.event, progress.publication.id, progress.place, progress.earlier
            )
            progress.waiting += added
            self._kept.deliveries += added
            self._feeding.hungry.add(session)
        return tuple(rest)

    def _notify(self, progress: Progress, session: Session, rest: bytes) -> None:
        """Notify one client, whatever is special about it."""
        if session in progress.not_taken:  # it is for another of its subscriptions as well
            return
        awaited, slot, number = self._awaited, session.slot, progress.publication.id
        # It may wait for it already, for another of its subscriptions, which was found in another way. If
        # that is now, and others are to be sent first, it gets both out of the log.
        again = awaited.waits(slot, number, progress.earlier)
        self._kept.deliveries += not again
        size = HEAD_BYTES + len(rest)
        next_in_turn = not awaited.unsent(slot) or (again and progress.earlier)
        room = session.route is not None and next_in_turn and (again or awaited.room(slot) > 0)
        if session.durable:
            if not again:
                progress.event = awaited.add(
                    progress.event, number, progress.place, slot, size if room else None
                )
                progress.waiting += 1
                if session.route is not None and not room:
                    self._feeding.hungry.add(session)
                if number in session.spread:
                    session.spread.waits(number)
                excess = awaited.fresh(slot) - self._pending
                if excess > 0:
                    gone = awaited.give_up(slot, most=excess, fresh=True)
                    self._kept.missing.give_up(session, slot, TOO_MANY, gone)
        elif room:
            if not again:
                awaited.add(NONE, number, 0, slot, size)
                self._kept.waiting += 1
                self._turn().left_unlogged(session, number)
        else:
            progress.not_taken.add(session)
            self._kept.missing.count(session, NOT_TAKEN, [number])
        if room:
            self._turn().notifications.add(awaited.slots, slot, rest)

    def _log(self, progress: Progress) -> None:
        """Keep an event that somebody waits for."""
        publication = progress.publication
        at = self._kept.logged(progress.waiting)
        if publication.lifetime is not None:
            clients = [*{client for group in progress.told for client in group.clients.tolist()}]
            self._kept.limited(progress.place, publication.id, at + publication.lifetime / 1e6, clients)
        publisher = self._sessions.by_number.get(publication.client)
        logged = Logged(
            progress.place,
            at,
            publication.id,
            publication.client,
            publication.scheme,
            publication.epoch,
            publication.raw,
            pack_groups(progress.told),
            "" if publisher is None else publisher.account.name,
        )
        self._turn().log(logged)
        if publisher is not None:
            self._sessions.quotas.stored(logged.seq, publisher.account, len(publication.raw))
