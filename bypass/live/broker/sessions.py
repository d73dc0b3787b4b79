"""Sessions: what a live broker remembers of each client, connected or not."""

from __future__ import annotations

from collections.abc import Iterator

from bypass.live.broker.awaited import Awaited
from bypass.messages import Message, Publish, Subscribe

MOST_REFUSED = 10_000
"""Events of a client that are known to be refused; it does not have more without an answer at a time."""

NOWHERE = -1
"""The slot of a client that has no session."""


class Session:
    """One client. `route` is how it is reached now, None while it is away.

    `slot` is where it is in `Awaited`. `published` is the number of the client's latest event, `refused`
    those before it that its present life may not know to be refused. `handles` are its subscriptions, `sizes`
    how many bytes each has, `own` those of them that were subscribed in the client's present life, `untold`
    those that did not fit into what it was told of them.
    """

    __slots__ = (
        "_refilled",
        "_tokens",
        "capabilities",
        "durable",
        "handles",
        "heard",
        "life",
        "missed",
        "name",
        "number",
        "own",
        "published",
        "refused",
        "rights",
        "route",
        "scheme",
        "seen",
        "sizes",
        "slot",
        "takes_part",
        "untold",
        "user",
    )

    def __init__(self, number: int, name: str, life: int, durable: bool) -> None:
        self.number = number
        self.name = name
        self.life = life
        self.durable = durable
        self.route: bytes | None = None
        self.user = ""  # what the authenticator calls it
        self.rights: frozenset[str] = frozenset()
        self.capabilities: frozenset[str] = frozenset()  # forms that its present connection understands
        self.handles: dict[int, Subscribe] = {}
        self.sizes: dict[int, int] = {}
        self.own: set[int] = set()
        self.untold: frozenset[int] = frozenset()
        self.scheme = 0  # the flag of the filter scheme that it runs, as it said last
        self.takes_part = False  # whether it has published since the broker began
        self.published = 0
        self.refused: set[int] = set()
        self.slot = NOWHERE
        self.missed = 0
        self.seen = 0.0  # when it was last connected
        self.heard = 0.0  # when it last said something
        self._tokens = 0.0
        self._refilled = 0.0

    @property
    def known_up_to(self) -> int:
        """The client's events up to this one need not be sent again on a new connection."""
        return min(self.refused, default=self.published + 1) - 1

    def doubt(self, known: int) -> None:
        """Of the client's events after this one, some may have been refused."""
        first = max(known + 1, self.published + 1 - MOST_REFUSED)
        self.refused = set(range(first, self.published + 1))

    def refuse(self, number: int) -> None:
        """An event was not taken; should the client ask again, it still can be."""
        self.refused.add(number)
        if len(self.refused) > MOST_REFUSED:
            self.refused.remove(min(self.refused))

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


class Sessions:
    """All sessions: by number, by name, by the route on which they are connected and by slot; and what is
    `awaited` by their clients."""

    def __init__(self, first: int = 1) -> None:
        self.awaited = Awaited()
        self.by_slot: dict[int, Session] = {}
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
        number = session.number
        self.by_number[number] = self.by_name[session.name] = session
        session.slot = self.awaited.occupy(number)
        self.by_slot[session.slot] = session
        self.awaited.disconnected(session.slot, session.durable)
        self._next = max(self._next, session.number + 1)

    def create(self, name: str, life: int, durable: bool) -> Session:
        """A new session under a number that none has had."""
        session = Session(self._next, name, life, durable)
        self.add(session)
        return session

    def connect(self, session: Session, route: bytes, now: float) -> None:
        """From now on the session is reached by this route."""
        if session.route != route:
            self.awaited.connected(session.slot, session.durable)
        session.route = route
        session.heard = session.seen = now
        self.by_route[route] = session

    def disconnect(self, session: Session, now: float) -> None:
        """The session's connection is gone; no effect if it has none."""
        if session.route is not None:
            self.by_route.pop(session.route, None)
            session.route = None
            session.seen = now
            self.awaited.disconnected(session.slot, session.durable)

    def forget(self, session: Session) -> None:
        """Remove a session for good; its client waits for nothing any more."""
        if session.route is not None:
            self.by_route.pop(session.route, None)
            session.route = None
        del self.by_number[session.number]
        del self.by_name[session.name]
        del self.by_slot[session.slot]
        self.awaited.vacate(session.slot)
