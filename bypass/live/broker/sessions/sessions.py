"""Sessions: what a live broker remembers of each client, connected or not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from heapq import heappop, heappush

from bypass.live.broker.loop.sender import NOBODY
from bypass.live.broker.sessions.quotas import Account, Quotas
from bypass.live.broker.sessions.shared_waits import SharedWaits
from bypass.live.broker.sessions.unacknowledged import NO_CLIENT, Unacknowledged
from bypass.live.broker.store.store import StoredClient
from bypass.protocol.messages import Subscribe
from bypass.protocol.session import AREAS, RICH_EVENTS
from bypass.protocol.wire import Codec
from bypass.support.arrays import Ints

MOST_REFUSED = 10_000
"""Events of a client that are known to be refused; it does not have more without an answer at a time."""

NOWHERE = -1
"""The slot of a client that has no session."""


class Numbers:
    """Numbers that come and go. That, and which is the smallest, takes logarithmic time."""

    __slots__ = ("_heap", "_members")

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        self._heap = sorted(numbers)
        self._members = set(self._heap)

    def __contains__(self, number: int) -> bool:
        return number in self._members

    def __len__(self) -> int:
        return len(self._members)

    def add(self, number: int) -> None:
        if number not in self._members:
            self._members.add(number)
            heappush(self._heap, number)
            if len(self._heap) > 2 * len(self._members) + MOST_REFUSED:  # most of it is gone already
                self._heap = sorted(self._members)

    def discard(self, number: int) -> None:
        self._members.discard(number)

    def smallest(self) -> int | None:
        """The smallest number; None if there is none."""
        heap = self._heap
        while heap and heap[0] not in self._members:
            heappop(heap)
        return heap[0] if heap else None


class Session:
    """One client. `route` is how it is reached now, None while it is away.

    `slot` is where it is in `Unacknowledged`, `lanes` are other slots, of subscriptions whose events wait
    apart, `spread` are events that wait there; `divided`: there are lanes, or may have to be. `published`
    is the number of the client's latest event, `refused` those before it that its present life may not know
    to be refused. `handles` are its subscriptions, `sizes` how many bytes each has, `own` those of them
    that were subscribed in the client's present life, `untold` those that did not fit into what it was told
    of them. `missed` is by reason. `account` is that of whom it belongs to.
    """

    __slots__ = (
        "account",
        "capabilities",
        "divided",
        "durable",
        "handles",
        "heard",
        "lanes",
        "life",
        "missed",
        "name",
        "number",
        "own",
        "published",
        "refused",
        "restored",
        "rights",
        "route",
        "scheme",
        "seen",
        "sender",
        "sizes",
        "slot",
        "spread",
        "takes_part",
        "torn",
        "unclaimed_since",
        "untold",
    )

    account: Account

    def __init__(self, number: int, name: str, life: int, durable: bool) -> None:
        self.number = number
        self.name = name
        self.life = life
        self.durable = durable
        self.route: bytes | None = None
        self.sender = NOBODY  # whoever is connected, or was last
        self.rights: frozenset[str] = frozenset()
        self.capabilities: frozenset[str] = frozenset()  # forms that its present connection understands
        self.handles: dict[int, Subscribe] = {}
        self.sizes: dict[int, int] = {}
        self.own: set[int] = set()
        self.untold: frozenset[int] = frozenset()
        self.restored = False  # out of the store, and nobody has come since: `own` is not known
        self.scheme = 0  # the flag of the filter scheme that it runs, as it said last
        self.takes_part = False  # whether it has published since the broker began
        self.published = 0
        self.refused = Numbers()
        self.slot = NOWHERE
        self.lanes: dict[int, int] = {}
        self.spread = SharedWaits()
        self.divided = False
        self.torn = 0  # up to here, when it connected, all that did not wait any more was done
        self.missed: Counter[str] = Counter()
        self.unclaimed_since: float | None = None  # if the broker looks after what nobody has claimed
        self.seen = 0.0  # when it was last connected, in seconds for which brokers have served the store
        self.heard = 0.0  # when it last said something

    @property
    def rich(self) -> bool:
        """Whether its present connection understands all that notifications can say."""
        return RICH_EVENTS in self.capabilities

    @property
    def unclaimed(self) -> AbstractSet[int]:
        """Subscriptions of earlier lives, which the present one has neither claimed nor withdrawn."""
        return self.handles.keys() - self.own

    @property
    def known_up_to(self) -> int:
        """The client's events up to this one need not be sent again on a new connection."""
        first = self.refused.smallest()
        return self.published if first is None else first - 1

    def doubt(self, known: int) -> None:
        """Of the client's events after this one, some may have been refused."""
        first = max(known + 1, self.published + 1 - MOST_REFUSED)
        self.refused = Numbers(range(first, self.published + 1))

    def refuse(self, number: int) -> None:
        """An event was not taken; should the client ask again, it still can be."""
        self.refused.add(number)
        if len(self.refused) > MOST_REFUSED:
            self.refused.discard(self.refused.smallest() or 0)

    @property
    def filters(self) -> int:
        """How many filters its subscriptions have together."""
        return sum(message.subscription.size for message in self.handles.values())

    def subscribe(self, handle: int, message: Subscribe, size: int) -> None:
        """Have a subscription of so many bytes, instead of what has the handle, and charge the account."""
        self.unsubscribe(handle)
        self.handles[handle], self.sizes[handle] = message, size
        self.account.filters += message.subscription.size
        self.account.subscription_bytes += size

    def unsubscribe(self, handle: int) -> Subscribe | None:
        """Have a subscription no more: gives it, None if there is none."""
        message = self.handles.pop(handle, None)
        if message is not None:
            self.account.filters -= message.subscription.size
            self.account.subscription_bytes -= self.sizes.pop(handle)
        return message

    def knows(self, number: int) -> bool:
        """Whether an event was taken already."""
        count = number - (self.number << 32)
        return 0 < count <= self.published and count not in self.refused


def restored(stored: StoredClient, codec: Codec) -> Session:
    """A durable session as the store had it. Raises MalformedMessage for what the codec cannot read."""
    session = Session(stored.number, stored.name, stored.life, durable=True)
    session.published, session.seen = stored.published, stored.seen
    session.missed.update(stored.missed)
    session.restored = True
    session.doubt(stored.known)
    for handle, data in stored.subscriptions.items():
        message = codec.decode(data)
        assert isinstance(message, Subscribe)
        session.handles[handle], session.sizes[handle] = message, len(data)
    return session


class Sessions:
    """All sessions: by number, by name, by the route on which they are connected and by slot; what is
    `awaited` by their clients, and the `quotas` of those whom they belong to."""

    def __init__(self, quotas: Quotas, first: int = 1) -> None:
        self.awaited = Unacknowledged()
        self.quotas = quotas
        self._poor: set[int] = set()  # clients that are connected and not rich
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

    def add(self, session: Session, account: Account, done: int = 0) -> None:
        """Take up a session that the store had; it waits for nothing up to the place `done` in the log."""
        number = session.number
        self._charge(session, account)
        self.by_number[number] = self.by_name[session.name] = session
        session.slot = self.awaited.occupy(number, done)
        self.by_slot[session.slot] = session
        self.awaited.disconnected(session.slot, session.durable)
        self._next = max(self._next, session.number + 1)

    def create(self, name: str, life: int, durable: bool, account: Account) -> Session:
        """A new session under a number that none has had."""
        session = Session(self._next, name, life, durable)
        self.add(session, account)
        return session

    def assign(self, session: Session, account: Account) -> None:
        """From now on the session belongs to another account, or to the same."""
        self._release(session)
        self._charge(session, account)

    def _charge(self, session: Session, account: Account) -> None:
        session.account = account
        account.sessions += 1
        account.filters += session.filters
        account.subscription_bytes += sum(session.sizes.values())

    def _release(self, session: Session) -> None:
        account = session.account
        account.sessions -= 1
        account.filters -= session.filters
        account.subscription_bytes -= sum(session.sizes.values())

    def rich(self, clients: Ints) -> list[bool] | None:
        """Whether each of these clients, as far as they are connected, is rich; None if all are."""
        if not self._poor:
            return None
        rich = [client not in self._poor for client in clients.tolist()]
        return None if all(rich) else rich

    def name(self, client: int) -> str:
        """The name of a client's session; empty if it has ended."""
        session = self.by_number.get(client)
        return "" if session is None else session.name

    def scheme(self, client: int) -> int:
        """Give the flag of the filter scheme that a client last said it has; 0 if its session has ended."""
        session = self.by_number.get(client)
        return 0 if session is None else session.scheme

    def knows_areas(self, client: int) -> bool:
        """Whether a client reads areas; while it is away, nobody knows whether it will."""
        session = self.by_number.get(client)
        return session is None or session.route is None or AREAS in session.capabilities

    def connect(self, session: Session, route: bytes, now: float, served: float) -> None:
        """From now on the session is reached by this route."""
        if session.route != route:
            self.awaited.connected(session.slot, session.durable)
            session.torn = self.awaited.done(session.slot)
            for lane in session.lanes.values():
                self.awaited.connected_lane(lane)
        session.route = route
        session.heard, session.seen = now, served
        self.by_route[route] = session
        if not session.rich:
            self._poor.add(session.number)

    def disconnect(self, session: Session, served: float) -> None:
        """The session's connection is gone; no effect if it has none."""
        if session.route is not None:
            self.by_route.pop(session.route, None)
            self._poor.discard(session.number)
            session.route = None
            session.seen = served
            for slot in (session.slot, *session.lanes.values()):
                self.awaited.disconnected(slot, session.durable)

    def add_lane(self, session: Session, handle: int, done: int) -> int:
        """A slot for what waits for one of a session's subscriptions, from after this place in the log on."""
        lane = session.lanes[handle] = self.awaited.occupy(NO_CLIENT, done)
        self.by_slot[lane] = session
        if session.route is None:
            self.awaited.disconnected(lane, True)
        else:
            self.awaited.connected_lane(lane)
        return lane

    def remove_lane(self, session: Session, handle: int) -> None:
        """Give the slot of a lane back, in which nothing waits."""
        lane = session.lanes.pop(handle)
        del self.by_slot[lane]
        self.awaited.vacate(lane)

    def forget(self, session: Session) -> None:
        """Remove a session for good; its client waits for nothing any more."""
        if session.route is not None:
            self.by_route.pop(session.route, None)
            self._poor.discard(session.number)
            session.route = None
        self._release(session)
        for handle in [*session.lanes]:
            self.remove_lane(session, handle)
        del self.by_number[session.number]
        del self.by_name[session.name]
        del self.by_slot[session.slot]
        self.awaited.vacate(session.slot)
