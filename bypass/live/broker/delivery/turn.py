"""A turn of a live broker: all that is to be written together, and all that is to be sent once it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from bypass.core.borders.announcer import ToldEvent
from bypass.live.broker.sessions.notifications import Notifications
from bypass.live.broker.sessions.sessions import Session
from bypass.live.broker.store.batch import Batch, Logged, Mark
from bypass.live.broker.store.writer import Writer
from bypass.protocol.messages import Subscribe
from bypass.protocol.session import Ack, Refused
from bypass.protocol.wire import encode


class SubscriptionChange(NamedTuple):
    """A handle that was subscribed (`before` is None), changed or withdrawn, and what was behind it then;
    `own`: it was one of the present life's."""

    session: Session
    handle: int
    before: Subscribe | None
    own: bool


class Turn:
    """Collects what happens; `notifications` are those of events, with room for about so many.

    Nothing that it collects is known to anybody before it is durable. If it cannot be stored, it says what
    there is to undo.
    """

    def __init__(self, room: int = 0) -> None:
        self.notifications = Notifications(room)
        self._batch = Batch()
        self._messages: dict[bytes, list[bytes]] = {}  # by route
        self._confirmed: dict[bytes, tuple[list[int], list[int]]] = {}  # by route: publications, handles
        self._taken: set[int] = set()
        self._logged: list[Logged] = []
        self._released: list[int] = []
        self._changes: list[SubscriptionChange] = []
        self._unlogged: list[tuple[Session, int]] = []
        self.borders_changed: set[int] = set()
        """The watched clients whose states it stores."""
        self.border_events: list[ToldEvent] = []
        """The border events that it tells."""
        self._missed: list[tuple[Session, str, int]] = []

    # -- publications -------------------------------------------------------------------------------------

    def took(self, publication: int) -> None:
        """An event came for the first time: others are acknowledged once more."""
        self._taken.add(publication)

    def log(self, logged: Logged) -> None:
        """Somebody waits for an event: keep it until it is released."""
        self._batch.logged(logged)
        self._logged.append(logged)

    def left_unlogged(self, session: Session, publication: int) -> None:
        """A client whose session is not durable is sent an event: nothing of that is kept."""
        self._unlogged.append((session, publication))

    def release(self, places: Sequence[int]) -> None:
        """Nobody waits for what is at these places in the log any more."""
        self._batch.released(places)
        self._released += places

    def missed(self, session: Session, reason: str, publications: Iterable[int]) -> None:
        """A session will never get these events."""
        self._missed += [(session, reason, number) for number in publications]

    # -- clients ------------------------------------------------------------------------------------------

    def met(self, session: Session) -> None:
        """A durable session is new, or was connected since the store heard of it."""
        self._batch.client(session.number, session.name, session.life, session.seen)

    def published(self, session: Session) -> None:
        """A durable session's client has published."""
        self._batch.published(session.number, session.published, session.known_up_to)

    def located(self, session: Session, place: tuple[float, float, float, float, float]) -> None:
        """A durable session's client was at a place (x, y, vx, vy, when)."""
        self._batch.located(session.number, *place)

    def subscribed(self, session: Session, handle: int, data: bytes, before: Subscribe | None = None) -> None:
        """A handle that was free, or had `before`, has this subscription now."""
        self._changes.append(SubscriptionChange(session, handle, before, True))
        if session.durable:
            self._batch.subscribed(session.number, handle, data)

    def withdrew(self, session: Session, handle: int, before: Subscribe, own: bool) -> None:
        """A handle is free that had this subscription; `own`: one of the client's present life."""
        self._changes.append(SubscriptionChange(session, handle, before, own))
        if session.durable:
            self._batch.unsubscribed(session.number, handle)

    def forgot(self, session: Session) -> None:
        """A session has ended."""
        if session.durable:
            self._batch.forgotten(session.number)

    def reached(self, session: Session, mark: Mark) -> None:
        """A client has got so far in the log, but for what is in its lanes."""
        self._batch.cursor(session.number, mark)

    def reached_in_lane(self, session: Session, handle: int, mark: Mark | None) -> None:
        """A client has got so far in the lane of a subscription; None: there is no such lane any more."""
        self._batch.lane(session.number, handle, mark)

    def counted(self, session: Session, reason: str) -> None:
        """A session has missed more events for this reason than the store knows of."""
        self._batch.misses(session.number, reason, session.missed[reason])

    def owes(self, session: Session, publication: int, owed: bool) -> None:
        """An event was given up for some of a session's subscriptions, waits for others, and its client does
        not have it; or that is so no longer."""
        self._batch.owes(session.number, publication, owed)

    def at_borders(self, client: int, data: str | None) -> None:
        """Store the state of a watched client, which may have no session; None: there is none any more."""
        self._batch.at_borders(client, data)

    # -- the broker as a whole ----------------------------------------------------------------------------

    def setting(self, key: str, value: str) -> None:
        """A setting has another value."""
        self._batch.setting(key, value)

    def record(self, at: float, kind: str, content: str) -> None:
        """Something has happened that belongs into the history."""
        self._batch.record(at, kind, content)

    # -- answers ------------------------------------------------------------------------------------------

    def send(self, route: bytes, *messages: bytes) -> None:
        """Encoded messages are for the client behind a route."""
        self._messages.setdefault(route, []).extend(messages)

    def confirm(self, route: bytes, publication: int | None = None, handle: int | None = None) -> None:
        """A publication was taken, or a change of subscriptions: acknowledge it."""
        confirmed = self._confirmed.get(route)
        if confirmed is None:
            confirmed = self._confirmed[route] = ([], [])
        if publication is not None:
            confirmed[0].append(publication)
        if handle is not None:
            confirmed[1].append(handle)

    def confirms(self, route: bytes, handle: int) -> bool:
        """Whether a change of a subscription is acknowledged on this route."""
        return route in self._confirmed and handle in self._confirmed[route][1]

    def retract(self, route: bytes) -> None:
        """Send and acknowledge nothing on a route that this turn has collected so far."""
        self._messages.pop(route, None)
        self._confirmed.pop(route, None)

    # -- its end ------------------------------------------------------------------------------------------

    @property
    def is_pressing(self) -> bool:
        """Whether there is something to write that cannot wait for a later turn."""
        return self._batch.pressing

    @property
    def writes(self) -> bool:
        """Whether there is anything to write."""
        return bool(self._batch)

    @property
    def sends(self) -> bool:
        """Whether there is anything to send."""
        return bool(self._messages or self._confirmed or self.notifications.count)

    @property
    def logged(self) -> Sequence[Logged]:
        """The events that it keeps, in the order of the log."""
        return self._logged

    def write(self, writer: Writer) -> None:
        """Begin to write what there is to write; only if the writer is not busy."""
        writer.write(self._batch)

    def postpone(self, turn: Turn) -> None:
        """Write with this turn, which has just begun, what an earlier one has released."""
        self._batch, turn._batch = turn._batch, self._batch
        self._released, turn._released = turn._released, self._released

    def answers(self) -> dict[bytes, list[bytes]]:
        """Give the messages to be sent beside notifications, by route, acknowledgements last."""
        for route, (publications, handles) in self._confirmed.items():
            self.send(route, encode(Ack(tuple(publications), tuple(handles))))
        return self._messages

    # -- its failure --------------------------------------------------------------------------------------

    @property
    def unlogged(self) -> Sequence[tuple[Session, int]]:
        """The events for clients whose sessions are not durable."""
        return self._unlogged

    @property
    def changes(self) -> Sequence[SubscriptionChange]:
        """The changes of subscriptions, in their order."""
        return self._changes

    def taken(self) -> Iterator[tuple[bytes, int]]:
        """Give the events that came first in this turn, with the route on which each is acknowledged."""
        for route, (publications, _) in self._confirmed.items():
            for number in self._taken.intersection(publications):
                yield route, number

    def take_back_missed(self, failed: Turn) -> list[tuple[Session, str]]:
        """Forget what was missed here of the events that came in a failed turn; give who has, and why."""
        back = [(session, reason) for session, reason, number in self._missed if number in failed._taken]
        self._missed = [missed for missed in self._missed if missed[2] not in failed._taken]
        return back

    def retry(self, failed: Turn) -> None:
        """Take over what is still true of a turn that could not be written."""
        self.release(failed._released)
        self._batch.retry(failed._batch)
        for route, (publications, _) in failed._confirmed.items():
            if route in self._confirmed:  # sent twice, and taken once
                later = self._confirmed[route][0]
                later[:] = set(later) - failed._taken.intersection(publications)

    def refusals(self, reason: str, retry: Callable[[bytes], float]) -> dict[bytes, list[bytes]]:
        """Give the messages to be sent, by route, if this turn could not be written.

        Its events and changes of subscriptions are refused, for a `reason`; `retry` gives after how many
        seconds the client on a route is to ask again. An event or subscription of an earlier turn, which came
        again, is acknowledged.
        """
        changed = {(each.session.route, each.handle) for each in self._changes}
        for route, (publications, handles) in self._confirmed.items():
            refused = self._taken.intersection(publications)
            later = retry(route)
            lost = [Refused(reason, id=n, retry=later) for n in publications if n in refused]
            lost += [Refused(reason, handle=h, retry=later) for h in handles if (route, h) in changed]
            self.send(route, *map(encode, lost))
            known = tuple(number for number in publications if number not in refused)
            claimed = tuple(handle for handle in handles if (route, handle) not in changed)
            if known or claimed:
                self.send(route, encode(Ack(known, claimed)))
        return self._messages
