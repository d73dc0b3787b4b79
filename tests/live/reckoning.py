"""An oracle for what sessions receive and miss, beside a real broker on a real file.

For each session it knows which acknowledged events concern a subscription of it, and which of these its
client has acknowledged. Those that do not wait either are missed, and as many the broker must have counted.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bypass import Event, Subscription, attr
from bypass.live.broker.delivery.missed import ENDED
from bypass.live.broker.service import Service
from bypass.live.broker.sessions.sessions import Session
from bypass.live.broker.store.batch import Batch
from bypass.live.broker.store.store import StoreFailed
from bypass.protocol.messages import ContextUpdate, Kind, Message, Notify, Publish, Subscribe, Unsubscribe
from bypass.protocol.session import (
    KEPT_PARTS,
    MISSED,
    RETRY,
    Ack,
    Bye,
    Hello,
    Kept,
    Missed,
    Ping,
    Refused,
    Welcome,
)
from tests.live.brokers import Peer, config, in_loop, running, until

HERE = (10.0, 10.0)
WANTED: dict[int, tuple[str, int | None]] = {1: ("xy", 100), 2: ("x", None), 3: ("y", 100), 4: ("xy", None)}
"""By handle: the kinds of events that a subscription wants, and its radius."""

LIMITS = {"pending_events": 3, "client_rate": 0.0, "sessions_per_key": 1000}

Make = Callable[..., Peer]


@dataclass
class Client:
    """A session and its client. `subscribed` is what the broker has, `own` what the present life has claimed
    or subscribed, `kept` what it was told of earlier ones; `held` are events that it has not acknowledged.

    `concerned` are events for the session, `received` those of them that were acknowledged. `said` is what
    the broker has said of those that are missed.
    """

    name: str
    durable: bool
    life: int = 1
    peer: Peer | None = None
    subscribed: set[int] = field(default_factory=set)
    own: set[int] = field(default_factory=set)
    kept: set[int] = field(default_factory=set)
    held: set[int] = field(default_factory=set)
    concerned: set[int] = field(default_factory=set)
    received: set[int] = field(default_factory=set)
    missed: frozenset[int] = frozenset()
    said: dict[str, int] = field(default_factory=dict)
    before: int = 0  # that it had missed when this broker began

    @property
    def exists(self) -> bool:
        """Whether the broker has a session of it."""
        return self.durable or self.peer is not None


@dataclass
class Picture:
    """What a broker has at one moment: for each session, events that wait, those of them that it does not
    know to be received for another subscription, and how many are missed."""

    waiting: dict[str, set[int]]
    lacking: dict[str, set[int]]
    missed: dict[str, Counter[str]]
    by_reason: Counter[str]
    agrees: bool


class World:
    """A broker, a publisher, and clients that do as they are told."""

    def __init__(self, make: Make, folder: Path, limits: dict[str, Any] | None = None) -> None:
        self.clients = [Client(f"s{i}", durable=i < 3) for i in range(4)]
        self._make = make
        self._folder = folder
        self._limits = LIMITS | (limits or {})
        self._brokers = ExitStack()
        self._copies = 0
        self._published = 0
        self.reasons = Counter[str]()  # of all that was missed, at all brokers
        self._ended = Counter[str]()  # what sessions that are no more have missed, since this broker began
        self._begin(folder)
        for client in self.clients:
            self.connect(client, new_life=False)

    def do(self, step: Step) -> None:
        """Do one of the steps."""
        match step:
            case "publish", kinds:
                self.publish(kinds)
            case "take", who, share, seed:
                self.take(self.clients[who], share, random.Random(seed).random)
            case "subscribe", who, handle:
                self.subscribe(self.clients[who], handle)
            case "unsubscribe", who, handle:
                self.unsubscribe(self.clients[who], handle)
            case "connect", who, new_life, names:
                self.connect(self.clients[who], new_life, names)
            case "leave", who, forget:
                self.leave(self.clients[who], forget)
            case "unclaimed", who:
                self.withdraw_unclaimed(self.clients[who])
            case "restart", killed:
                self.restart(killed)
            case ("note",):
                self.note_cursors()
            case ("old",):
                self.grow_old()
            case ("fail",):
                self.fail_next()

    # -- the broker ---------------------------------------------------------------------------------------

    def _begin(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self._store_folder = folder
        self._service: Service = self._brokers.enter_context(
            running(config(folder, limits=self._limits, heartbeat=600.0))
        )
        self._endpoint = self._service.server.endpoints[0]
        self._ended.clear()
        self._publisher = self._make(self._endpoint, "p")
        self._publisher.published = self._published  # whatever was refused, no number is used again
        for client in self.clients:
            if not client.durable:
                self._ends(client, counted=False)
            elif client.name in self._service.server.sessions.by_name:
                client.before = self._session(client).missed.total()

    def restart(self, killed: bool) -> None:
        """Another broker goes on with what this one has stored: all, or what there is in the middle of it."""
        folder = self._store_folder
        if killed:
            self._copies += 1
            folder = self._folder / f"copy{self._copies}"
            folder.mkdir()
            until(lambda: in_loop(self._service, lambda: self._copy(folder)))
        self.reasons += self._now().by_reason
        for client in self.clients:
            self._loses_connection(client)
        self._publisher.close()
        self._brokers.close()
        self._begin(folder)

    def _copy(self, folder: Path) -> bool:
        if self._service.server.turns.writing:
            return False
        for path in self._store_folder.glob("store.db*"):
            if not path.name.endswith(("-shm", "-lock")):
                shutil.copy(path, folder)
        return True

    def close(self) -> None:
        self._brokers.close()

    def _quiet(self) -> None:
        """Wait until the broker has nothing to do."""
        server = self._service.server

        def idle() -> bool:
            feeding, turn = server.deliveries.feeding, server.deliveries.turn
            return not (
                feeding._reading or feeding.hungry or server.turns.writing or turn.sends or turn.is_pressing
            )

        until(lambda: in_loop(self._service, idle))

    def note_cursors(self) -> None:
        """Have the broker store how far all have got, as it does every half second."""
        in_loop(self._service, self._service.server.deliveries.kept.note_cursors)

    def grow_old(self) -> None:
        """What waits has waited for days."""

        def act() -> None:
            kept = self._service.server.deliveries.kept
            for seq in kept._logged_at:
                kept._logged_at[seq] -= 10 * kept._limits.pending_age
            kept.note_cursors()

        in_loop(self._service, act)

    def withdraw_unclaimed(self, client: Client) -> None:
        """Nobody has claimed what is kept for a client, for too long."""
        if client.peer is None:
            return

        def act() -> None:
            session, attendance = self._session(client), self._service.server.attendance
            since = session.unclaimed_since
            if since is not None:
                session.unclaimed_since = -1e9
            attendance.look_after()
            session.unclaimed_since = since  # what could not be stored is not tried again at some moment

        in_loop(self._service, act)
        self._quiet()
        self._read(client)

    def fail_next(self) -> None:
        """The next write fails; nothing is written before that is known."""
        store = self._service.server.store

        def fails(batch: Batch) -> None:
            del store.__dict__["write"]
            raise StoreFailed("store.db: the disk is full")

        store.__dict__["write"] = fails

    def _session(self, client: Client) -> Session:
        return self._service.server.sessions.by_name[client.name]

    def _picture(self) -> Picture:
        server = self._service.server
        awaited, deliveries = server.sessions.awaited, server.deliveries
        waiting = {
            session.name: {
                number
                for slot in (session.slot, *session.lanes.values())
                for number, _ in awaited.waiting(slot)
            }
            for session in server.sessions
        }
        missing = deliveries.kept.missing
        return Picture(
            waiting,
            {session.name: waiting[session.name] - session.spread.had for session in server.sessions},
            {session.name: Counter(session.missed) for session in server.sessions},
            Counter(missing.by_reason),
            deliveries.deliveries == deliveries.acknowledged + deliveries.waiting + missing.total,
        )

    # -- clients ------------------------------------------------------------------------------------------

    def publish(self, kinds: Iterable[str]) -> None:
        """Publish events, and wait until the broker has taken or refused each."""
        publisher = self._publisher
        numbers = {}
        for kind in kinds:
            publisher.published += 1
            number = publisher.number << 32 | publisher.published
            publisher.send(Publish(number, Event(kind=kind), Kind.PLACED, 0, HERE))
            numbers[number] = kind
        self._published = publisher.published
        answered: set[int] = set()
        taken: set[int] = set()
        while numbers.keys() - answered:
            answer = publisher.get(Message)
            if isinstance(answer, Ack):
                taken.update(answer.ids)
                answered.update(answer.ids)
            elif isinstance(answer, Refused) and answer.id is not None:
                answered.add(answer.id)
        for client in self.clients:
            for number in taken & numbers.keys():
                if client.exists and any(numbers[number] in WANTED[each][0] for each in client.subscribed):
                    client.concerned.add(number)

    def connect(self, client: Client, new_life: bool, names: frozenset[int] = frozenset(WANTED)) -> None:
        """Connect, or connect again beside a connection that was not ended; the same life names those of its
        handles that are in `names`."""
        if not client.durable:
            self._end(client)
            new_life = True
        elif client.peer is not None:
            client.peer.close()
        if new_life:
            client.life += 1
            # Acknowledgements that a killed broker had not stored are void in a new life.
            client.received -= self._now().lacking.get(client.name, set())
            client.own, client.kept = set(), set()
        else:
            client.own &= names
            client.kept &= names
            if client.subscribed - names:  # what it does not name is withdrawn
                client.subscribed &= names
        client.held.clear()
        peer = client.peer = self._greeted(client, () if new_life else tuple(client.own | client.kept))
        peer.number, peer.scheme = peer.welcome.client, peer.welcome.scheme
        kept = [each for _ in range(peer.welcome.kept_parts) for each in peer.get(Kept).kept]
        client.kept |= {each.handle for each in kept} - client.own
        client.said = {each.reason: each.count for each in peer.welcome.missed_by}
        for handle in sorted(client.own):  # as a client does on each connection
            self.subscribe(client, handle)
        self._read(client)

    def _greeted(self, client: Client, handles: tuple[int, ...]) -> Peer:
        """A connection that the broker has welcomed; if it could not store that, it wants another one."""
        hello = Hello(
            client.name, client.life, handles, client.durable, capabilities=(MISSED, KEPT_PARTS, RETRY)
        )
        while True:
            peer = self._make(self._endpoint)
            peer.send(hello)
            while not isinstance(answer := peer.get(Message), Bye):
                if isinstance(answer, Welcome):
                    peer.welcome = answer
                    return peer

    def subscribe(self, client: Client, handle: int) -> None:
        peer = client.peer
        if peer is None:
            return
        kinds, radius = WANTED[handle]
        wanted = Subscription.of(attr("kind").in_([*kinds]))
        peer.send(Subscribe(handle, wanted, radius, ContextUpdate(HERE)))
        if self._answered(client, handle):
            client.own.add(handle)
            client.kept.discard(handle)
            client.subscribed.add(handle)

    def unsubscribe(self, client: Client, handle: int) -> None:
        peer = client.peer
        if peer is None or handle not in client.own | client.kept:
            return
        peer.send(Unsubscribe(handle))
        if self._answered(client, handle):
            client.own.discard(handle)
            client.kept.discard(handle)
            client.subscribed.discard(handle)

    def _answered(self, client: Client, handle: int) -> bool:
        """Whether the broker has done what it was asked about a handle; else it has refused it."""
        assert client.peer is not None
        while True:
            messages = client.peer.settle()
            self._heard(client, messages)
            for message in messages:
                if isinstance(message, Ack) and handle in message.handles:
                    return True
                if isinstance(message, Refused) and message.handle == handle:
                    assert message.retry, message  # nothing is asked for that is refused for good
                    return False

    def take(self, client: Client, share: float, draw: Callable[[], float]) -> None:
        """Read what is there, and acknowledge a share of it."""
        if client.peer is None:
            return
        self._quiet()
        self._read(client)
        known = {number for number in sorted(client.held) if draw() < share}
        client.held -= known
        client.peer.send(Ack(tuple(sorted(known, key=lambda number: (draw(), number)))))
        client.received |= known & client.concerned
        self._read(client)

    def _read(self, client: Client) -> None:
        """Take all that is on its way. Who could not store a withdrawal wants to be greeted anew."""
        peer = client.peer
        assert peer is not None
        peer.send(Ping(asks=True))
        messages: list[Message] = []
        while not isinstance(message := peer.get(Message), Ping):
            if isinstance(message, Bye):
                self.connect(client, new_life=False)
                return
            messages.append(message)
        self._heard(client, messages)

    def _heard(self, client: Client, messages: list[Message]) -> None:
        for message in messages:
            if isinstance(message, Notify):
                number = message.publication.id
                assert number in client.concerned, f"{client.name} gets {number}, which is not for it"
                assert number not in client.missed, f"{client.name} gets {number}, which it has missed"
                client.held.add(number)
            elif isinstance(message, Missed):
                client.said[message.reason] = message.count
            elif isinstance(message, Refused) and message.handle in client.kept and not message.retry:
                # Withdrawn by the broker. With `retry`, a change was not stored: all is as before.
                client.kept.discard(message.handle)
                client.subscribed.discard(message.handle)
            else:
                assert isinstance(message, Ack | Refused | Notify), message

    def leave(self, client: Client, forget: bool = False) -> None:
        """Say goodbye."""
        if client.peer is None:
            return
        self._quiet()
        self._read(client)
        lacking = self._now().lacking[client.name]  # what it has for another subscription it does not miss
        client.peer.send(Bye(forget))
        client.peer.get(Bye)
        self._loses_connection(client)
        if forget or not client.durable:
            self._ends(client, lacking=lacking)

    def _end(self, client: Client) -> None:
        if client.peer is not None:
            self.leave(client)

    def _loses_connection(self, client: Client) -> None:
        if client.peer is not None:
            client.peer.close()
            client.peer = None
        client.held.clear()

    def _ends(self, client: Client, counted: bool = True, lacking: set[int] = frozenset()) -> None:  # type: ignore[assignment]
        """The broker has no session of a client any more."""
        if counted:
            self._ended[ENDED] += len(lacking)
            self._ended["before"] += len(client.missed) - client.before
        client.subscribed, client.own, client.kept = set(), set(), set()
        client.concerned, client.received, client.missed = set(), set(), frozenset()
        client.said, client.before = {}, 0

    # -- what must hold -----------------------------------------------------------------------------------

    def _now(self) -> Picture:
        picture: Picture = in_loop(self._service, self._picture)
        return picture

    def check(self) -> None:
        """Every event that concerns a session is received, waits, or is missed: as many as are counted."""
        self._quiet()
        for client in self.clients:
            if client.peer is not None:
                self._read(client)
        self._quiet()
        picture = self._now()
        assert picture.agrees
        total = self._ended.total()
        for client in self.clients:
            if client.name not in picture.waiting:
                assert not client.concerned
                continue
            waiting, counted = picture.waiting[client.name], picture.missed[client.name]
            assert waiting <= client.concerned, client
            assert waiting - picture.lacking[client.name] <= client.received, client
            missed = client.concerned - client.received - waiting
            assert counted.total() == len(missed), (
                f"{client.name}: counted {counted}, but it has missed {_short(missed)} of "
                f"{_short(client.concerned)}: {_short(waiting)} wait, {_short(client.received)} are received"
            )
            client.missed = frozenset(missed)
            total += len(missed) - client.before
        assert picture.by_reason.total() == total, (picture.by_reason, total, self._ended)

    def check_end(self) -> None:
        """All sessions get what waits for them, and are told what they have missed."""
        for client in self.clients:
            if not client.exists:
                continue
            self.connect(client, new_life=False)
            for handle in sorted(client.kept):
                self.subscribe(client, handle)
        self.check()
        for client in self.clients:
            if client.peer is None:
                continue

            def drained(client: Client = client) -> bool:
                self.take(client, 1.0, lambda: 0.5)
                return not self._now().waiting[client.name]

            until(drained)
        self.check()
        for client in self.clients:
            if client.peer is not None:
                assert client.concerned == client.received | client.missed
                until(lambda client=client: self._is_told(client))  # type: ignore[misc]
        self.reasons += self._now().by_reason

    def _is_told(self, client: Client) -> bool:
        self.note_cursors()
        self._read(client)
        counted = +self._now().missed[client.name]
        return +Counter(client.said) == counted


def _short(numbers: Iterable[int]) -> list[int]:
    return sorted(number & 0xFFFFFFFF for number in numbers)


Step = tuple[Any, ...]
"""What happens, who does it, and how."""

STEPS: dict[str, int] = {
    "publish": 30,
    "take": 20,
    "subscribe": 12,
    "unsubscribe": 5,
    "connect": 10,
    "leave": 6,
    "unclaimed": 2,
    "note": 4,
    "old": 2,
    "fail": 2,
    "restart": 4,
}
"""How often each is done, beside the others."""


def steps(seed: int, count: int) -> list[Step]:
    """What happens in one world: the same for the same seed."""
    draw = random.Random(seed)
    handles = [*WANTED]
    made: list[Step] = [("subscribe", who, draw.choice(handles)) for who in (0, 1, 2, 3, 0, 1, 2, 3)]
    for what in draw.choices([*STEPS], [*STEPS.values()], k=count):
        who = draw.randrange(4)
        match what:
            case "publish":
                made.append((what, "".join(draw.choices("xyz", (4, 4, 1), k=draw.randrange(1, 6)))))
            case "take":
                made.append((what, who, draw.choice((0.3, 0.6, 1.0)), draw.randrange(1000)))
            case "subscribe" | "unsubscribe":
                made.append((what, who, draw.choice(handles)))
            case "connect":
                names = frozenset(draw.sample(handles, draw.choice((2, 3, 4, 4, 4))))
                made.append((what, who, draw.random() < 0.5, names))
            case "leave":
                made.append((what, who, draw.random() < 0.15))
            case "unclaimed":
                made.append((what, who))
            case "restart":
                made.append((what, draw.random() < 0.6))
            case _:
                made.append((what,))
    return made


def play(make: Make, folder: Path, script: Iterable[Step]) -> Counter[str]:
    """Do all that, and see after each step that nothing is missing; gives what was missed, by reason."""
    world = World(make, folder)
    try:
        for step in script:
            world.do(step)
            world.check()
        world.check_end()
        return world.reasons
    finally:
        world.close()
