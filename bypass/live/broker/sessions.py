"""Sessions: what a live broker remembers of each client, connected or not."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from bypass.live.broker.batch import Recipient
from bypass.messages import Message, Publish, Subscribe
from bypass.wire import recipient

MOST_REFUSED = 10_000
"""Events of a client that are known to be refused; it does not have more without an answer at a time."""

WINDOW = 2000
WINDOW_BYTES = 1 << 20
"""Events, and bytes of them, that may be on their way to a client at a time; others wait in the store."""


class Session:
    """One client. `route` is how it is reached now, None while it is away.

    `waiting` holds the ids of events that the client has not acknowledged, in their order, and where they are
    in the log (0: not there, the session is not durable); `backlog` those of them that have not been sent on
    this connection. `published` is the number of the client's latest event, `refused` those before it that
    its present life may not know to be refused. `handles` are its subscriptions, `own` those of them that
    were subscribed in the client's present life. `cursor_moved`: acknowledgements have not been noted in the
    store yet.
    """

    __slots__ = (
        "_refilled",
        "_tokens",
        "backlog",
        "bytes",
        "cursor_moved",
        "durable",
        "handles",
        "head",
        "heard",
        "latest",
        "life",
        "missed",
        "name",
        "number",
        "own",
        "published",
        "received",
        "refused",
        "rights",
        "route",
        "scheme",
        "seen",
        "takes_part",
        "user",
        "waiting",
    )

    def __init__(self, number: int, name: str, life: int, durable: bool) -> None:
        self.number = number
        self.name = name
        self.life = life
        self.durable = durable
        self.route: bytes | None = None
        self.user = ""  # what the authenticator calls it
        self.rights: frozenset[str] = frozenset()
        self.handles: dict[int, Subscribe] = {}
        self.own: set[int] = set()
        self.scheme = 0  # the flag of the filter scheme that it runs, as it said last
        self.takes_part = False  # whether it has published since the broker began
        self.published = 0
        self.refused: set[int] = set()
        self.waiting: dict[int, int] = {}
        self.backlog: deque[tuple[int, int]] = deque()
        self.missed = 0
        self.received = 0  # events that it has acknowledged to this broker
        self.cursor_moved = False
        self.seen = 0.0  # when it was last connected
        self.heard = 0.0  # when it last said something
        self.head = recipient(number)  # how all notifications for it begin
        self.latest = Recipient(number, (), False)
        self.bytes = 0.0
        self._tokens = 0.0
        self._refilled = 0.0

    @property
    def has_room(self) -> bool:
        """Whether the client is connected and one more event may be on its way to it."""
        in_flight = len(self.waiting) - len(self.backlog)
        return self.route is not None and in_flight < WINDOW and self.bytes < WINDOW_BYTES

    @property
    def room(self) -> int:
        """About how many more events may be on their way, if they are like those that are."""
        if not self.has_room:
            return 0
        in_flight = len(self.waiting) - len(self.backlog)
        if in_flight <= 0 or not self.bytes:
            return WINDOW
        fitting = int((WINDOW_BYTES - self.bytes) * in_flight / self.bytes)
        return max(1, min(WINDOW - in_flight, fitting))

    @property
    def known_up_to(self) -> int:
        """The client's events up to this one need not be sent again on a new connection."""
        return min(self.refused, default=self.published + 1) - 1

    def refuse(self, number: int) -> None:
        """An event was not taken; should the client ask again, it still can be."""
        self.refused.add(number)
        if len(self.refused) > MOST_REFUSED:
            self.refused.remove(min(self.refused))

    def recipient(self, handles: tuple[int, ...], unfiltered: bool) -> Recipient:
        """The client as one of those that an event is for; nearly always the same object as the last time."""
        latest = self.latest
        if latest.handles != handles or latest.unfiltered != unfiltered:
            latest = self.latest = Recipient(self.number, handles, unfiltered)
        return latest

    def acknowledged(self, ids: Iterable[int]) -> list[int]:
        """The client has these events: where they are in the log, without those that were not waited for.

        Sizes are not kept for each event: those that are acknowledged count as so many average ones.
        """
        pop = self.waiting.pop
        places = [place for number in ids if (place := pop(number, None)) is not None]
        if places:
            left = len(self.waiting) - len(self.backlog)
            self.bytes = self.bytes * left / (left + len(places)) if left > 0 else 0.0
            self.cursor_moved = True
            self.received += len(places)
        return places

    @property
    def cursor_before(self) -> int | None:
        """Where the oldest event that the client has not acknowledged is in the log; None if it has all."""
        return next(iter(self.waiting.values()), None)

    def may_send(self, now: float, rate: float) -> bool:
        """Whether one more message is within `rate` a second, with bursts of twice as many; 0: no limit."""
        if not rate:
            return True
        tokens = min(self._tokens + (now - self._refilled) * rate, 2.0 * rate)
        self._refilled = now
        self._tokens = tokens - 1.0 if tokens >= 1.0 else tokens
        return tokens >= 1.0

    def knows(self, message: Message) -> bool:
        """Whether a message is a publication that was taken already, sent again."""
        return isinstance(message, Publish) and message.id - (self.number << 32) <= self.published

    def rewind(self) -> None:
        """A new connection: whatever was not acknowledged has to be sent again."""
        self.backlog = deque(self.waiting.items())
        self.bytes = 0.0


class Sessions:
    """All sessions: by number, by name and by the route on which they are connected."""

    def __init__(self, first: int = 1) -> None:
        self.by_number: dict[int, Session] = {}
        self.by_name: dict[str, Session] = {}
        self.by_route: dict[bytes, Session] = {}
        self._next = first

    @property
    def last_number(self) -> int:
        """The largest number that was given so far."""
        return self._next - 1

    def __iter__(self) -> Iterator[Session]:
        return iter(self.by_number.values())

    def __len__(self) -> int:
        return len(self.by_number)

    def add(self, session: Session) -> None:
        """Take up a session that the store had."""
        self.by_number[session.number] = self.by_name[session.name] = session
        self._next = max(self._next, session.number + 1)

    def create(self, name: str, life: int, durable: bool) -> Session:
        """A new session under a number that none has had."""
        session = Session(self._next, name, life, durable)
        self.add(session)
        return session

    def connect(self, session: Session, route: bytes, now: float) -> None:
        """From now on the session is reached by this route."""
        if session.route != route:
            session.rewind()
        session.route = route
        session.heard = session.seen = now
        self.by_route[route] = session

    def disconnect(self, session: Session, now: float) -> None:
        """The session's connection is gone; no effect if it has none."""
        if session.route is not None:
            self.by_route.pop(session.route, None)
            session.route = None
            session.seen = now

    def forget(self, session: Session) -> None:
        """Remove a session for good."""
        if session.route is not None:
            self.by_route.pop(session.route, None)
            session.route = None
        del self.by_number[session.number]
        del self.by_name[session.name]
