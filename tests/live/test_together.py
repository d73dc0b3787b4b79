"""Messages that a broker reads in one turn do what they do one by one, whoever they come from."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bypass import Event
from bypass.live.broker.reception import publications
from bypass.live.broker.service import Service
from bypass.protocol.messages import ContextUpdate, Kind, Message, Notify, Publish, Subscribe, Unsubscribe
from bypass.protocol.session import Ack, Bye, Ping, Refused
from bypass.protocol.wire import encode, pack
from tests.live.brokers import ANYTHING, PATIENCE, Peer, config, in_loop, peers, running

pytestmark = pytest.mark.slow

NAMES = ("ann", "bob", "sue", "tom")
COUNTERS = ("publications", "understood", "refused", "malformed", "oversized", "over_stored")
LIMITS = {"client_rate": 0.0, "message_bytes": 2000, "stored_bytes_per_key": 700}
STEPS = 120
NUMBER = re.compile(r"(event|client) \d+")


class Step(NamedTuple):
    """A message of a client, or bytes that are none, once its number is known."""

    who: str
    say: Callable[[Peer], Message | bytes]


def script(seed: int) -> list[Step]:
    """Mostly publications, some of which come again, move their publisher or cannot be taken."""
    chance = random.Random(seed)
    published = dict.fromkeys(NAMES, 0)

    def place() -> tuple[float, float]:
        return chance.uniform(0.0, 300.0), chance.uniform(0.0, 300.0)

    def publication(who: str, count: int, size: int = 0, stranger: int = 0) -> Step:
        kind = chance.choice([Kind.PLAIN, Kind.PLACED, Kind.PLACED, Kind.LOCAL])
        where = None if kind is Kind.PLAIN else place()
        riding = ContextUpdate(place()) if chance.random() < 0.2 else None
        event = Event(kind="x", payload=bytes(size))

        def say(peer: Peer) -> Publish:
            number = peer.number + stranger << 32 | count
            return Publish(number, event, kind, 0, where, piggyback=riding)

        return Step(who, say)

    def step() -> Step:
        who = chance.choice(NAMES)
        what = chance.random()
        if what < 0.7:
            published[who] += 1
            return publication(who, published[who], chance.choice([0, 0, 0, 200, 3000]))
        if what < 0.75:
            return publication(who, max(1, published[who] - chance.randrange(3)))
        if what < 0.78:
            return publication(who, 1, stranger=1)
        if what < 0.81:
            return Step(who, lambda _: b"\xff\xff")
        handle, radius, where = chance.randrange(1, 4), chance.choice([None, 100, 200]), place()
        if what < 0.87:
            return Step(who, lambda _: Subscribe(handle, ANYTHING, radius, ContextUpdate(where)))
        if what < 0.90:
            return Step(who, lambda _: Unsubscribe(handle))
        if what < 0.95:
            return Step(who, lambda _: ContextUpdate(where))
        whose, count = chance.choice(NAMES), max(1, published[who])
        return Step(who, lambda peer: Ack((numbers(peer)[whose] << 32 | count,)))

    return [step() for _ in range(STEPS)]


def numbers(peer: Peer) -> dict[str, int]:
    found: dict[str, int] = peer.others  # type: ignore[attr-defined]
    return found


class Told(NamedTuple):
    """All that a client heard, without the numbers that differ from broker to broker."""

    events: list[tuple[str, int, tuple[int, ...], bool]]
    acknowledged: list[tuple[str, int]]
    handles: list[int]
    refused: list[tuple[str, int | None, int | None]]


class Site:
    """A broker, its clients, and one that is away and waits for everything near it."""

    def __init__(self, service: Service, make: Callable[..., Peer]) -> None:
        self.service = service
        endpoint = service.server.endpoints[0]
        away = make(endpoint, "away")
        away.subscribe(radius=150, at=(100.0, 100.0))
        away.send(Bye())
        away.get(Bye)
        self.peers = {name: make(endpoint, name, durable=name != "tom") for name in NAMES}
        found = {name: peer.number for name, peer in self.peers.items()}
        for peer in self.peers.values():
            peer.subscribe(at=(150.0, 150.0))
            peer.others = found  # type: ignore[attr-defined]
        self._names = {number: name for name, number in found.items()}

    def say(self, who: str, steps: list[Step]) -> None:
        """Say all of these in one packet."""
        peer = self.peers[who]
        said = []
        for message in (step.say(peer) for step in steps):
            if isinstance(message, Message):
                message.client, message.scheme = peer.number, peer.scheme
                said.append(encode(message))
            else:
                said.append(message)
        peer.socket.send(pack(said))

    def together(self, steps: list[Step]) -> None:
        """Have the broker read everything in one turn."""
        in_loop(self.service, lambda: self._in_one_turn(steps))

    def _in_one_turn(self, steps: list[Step]) -> None:
        server = self.service.server
        server.intake.paused = True
        packets = groupby(steps, lambda step: step.who)
        for count, (who, own) in enumerate(packets, 1):
            self.say(who, list(own))
            while len(server.intake._backlog) < count:
                assert server.socket.poll(int(1000 * PATIENCE))
                server.intake.read()
        server.intake.paused = False
        server.intake.read()
        assert not server.intake._backlog

    def one_by_one(self, steps: list[Step]) -> None:
        for step in steps:
            self.say(step.who, [step])
            self.peers[step.who].send(Ping(asks=True))
            self.peers[step.who].get(Ping)

    def told(self, who: str) -> Told:
        heard = self.peers[who].settle()
        events = [
            (*self._named(each.publication.id), each.handles, each.unfiltered)
            for each in heard
            if isinstance(each, Notify)
        ]
        acks = [each for each in heard if isinstance(each, Ack)]
        refused = [
            (NUMBER.sub(r"\1 N", each.reason), each.id and each.id & 0xFFFFFFFF, each.handle)
            for each in heard
            if isinstance(each, Refused)
        ]
        acknowledged = [self._named(number) for ack in acks for number in ack.ids]
        return Told(events, acknowledged, [handle for ack in acks for handle in ack.handles], refused)

    def _named(self, number: int) -> tuple[str, int]:
        return self._names.get(number >> 32, "?"), number & 0xFFFFFFFF

    def state(self) -> dict[str, Any]:
        server = self.service.server
        return {
            **{name: server.counters[name] for name in COUNTERS},
            "deliveries": server.deliveries.deliveries,
            "waiting": server.deliveries.waiting,
            "last": server.deliveries.last,
            "missed": dict(server.deliveries.kept.missing.by_reason),
            "sessions": {
                each.name: (each.published, len(each.refused), each.account.stored, sorted(each.handles))
                for each in server.sessions
            },
            "places": [server.broker.table.place(p.number)[:2] for p in self.peers.values()],  # type: ignore[index]
        }


@pytest.mark.parametrize("seed", range(4))
def test_a_turn_of_many_packets_is_its_messages(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publications, "MOST_TOGETHER", (128, 128, 5, 128)[seed])
    monkeypatch.setattr(publications, "MOST_BYTES_TOGETHER", (1 << 17, 1 << 17, 1 << 17, 400)[seed])
    steps = script(seed)
    sites = []
    with peers() as make:
        for name in ("together", "single"):
            (tmp_path / name).mkdir()
            with running(config(tmp_path / name, heartbeat=600.0, limits=LIMITS)) as service:
                site = Site(service, make)
                (site.together if name == "together" else site.one_by_one)(steps)
                told = {who: site.told(who) for who in NAMES}
                sites.append((told, in_loop(service, site.state)))
    (told, state), (expected, expected_state) = sites
    for who in NAMES:
        assert told[who] == expected[who], who
    pings = STEPS  # which those have said that said one message after the other
    expected_state["understood"] -= pings
    assert state == expected_state
    assert state["over_stored"]
    assert state["refused"]
