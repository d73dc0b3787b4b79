"""Messages of earlier versions are understood, and their peers are sent nothing that they do not understand.

`VERSION.json` was recorded by `record.py`: messages, and a dialogue of real clients with a real broker. One
side of the dialogue is replayed here, byte by byte, to the other side of this version.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
import zmq

from bypass import Event, attr, connect
from bypass.live.operator import Operator
from bypass.places.geo import PlanarLocation
from bypass.protocol.messages import ContextUpdate, Message, OutcomeMessage, Publish, Subscribe
from bypass.protocol.session import Ack, Hello, Ping, Welcome
from bypass.protocol.wire import decode, encode, unpack
from tests.live.brokers import PATIENCE, config, running
from tests.live.scripted import Script, on_loop, together

Dialogue = list[dict[str, Any]]

RECORDED: dict[str, dict[str, Any]] = {
    path.stem: json.loads(path.read_text()) for path in sorted(Path(__file__).parent.glob("*.json"))
}
MESSAGES = [
    pytest.param(message, id=f"{version}-{message['kind']}")
    for version, recorded in RECORDED.items()
    for message in recorded["messages"]
]

of_each_version = pytest.mark.parametrize("version", RECORDED)


# -- messages ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recorded", MESSAGES)
def test_a_message_is_what_it_was(recorded: dict[str, Any]) -> None:
    data = bytes.fromhex(recorded["bytes"])
    message = decode(data)
    assert type(message).__name__ == recorded["kind"]
    assert {name: repr(getattr(message, name)) for name in recorded["fields"]} == recorded["fields"]
    assert encode(message) == data


# -- a dialogue -------------------------------------------------------------------------------------------


def parts(packets: list[bytes]) -> list[bytes]:
    """The messages of packets that do not depend on how long things take."""
    found = [data for packet in packets for data in unpack(packet)]
    return [data for data in found if not isinstance(decode(data), Ping)]


def number_of(client: str, dialogue: Dialogue) -> int:
    """The number that the recorded broker gave to a client."""
    said = parts([bytes.fromhex(entry["packet"]) for entry in dialogue if entry.get("client") == client])
    (welcome,) = [message for message in map(decode, said) if isinstance(message, Welcome)]
    return welcome.client


class Renumbered:
    """Bytes with other numbers for those that a broker or a client draws at random."""

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}

    def __call__(self, data: bytes) -> bytes:
        for theirs, ours in self.numbers.items():
            data = data.replace(theirs.to_bytes(4, "little"), ours.to_bytes(4, "little"))
        return data


def anonymous(data: bytes) -> bytes:
    """Without the name that an operator draws at random."""
    return re.sub(rb"operator-[0-9a-f]{16}", b"operator-" + 16 * b"0", data)


def as_known(welcome: Welcome, recorded: Message) -> Welcome:
    """A welcome as a client reads it that knows some names of forms, and skips the others."""
    assert isinstance(recorded, Welcome)
    if recorded.capabilities:  # a client that has named none is told none
        known = [name for name in welcome.capabilities if name in recorded.capabilities]
        welcome.capabilities = tuple(known)
    return welcome


class Client:
    """A client of an earlier version: it sends what was recorded, and is told what was recorded."""

    def __init__(self, name: str, dialogue: Dialogue, endpoint: str, renumbered: Renumbered) -> None:
        self._name = name
        self._number = number_of(name, dialogue)
        self._renumbered = renumbered
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context.instance()
        self._socket = context.socket(zmq.DEALER)
        self._socket.linger = 0
        self._socket.connect(endpoint)
        self._told: list[bytes] = []

    def send(self, packet: bytes) -> None:
        self._socket.send(self._renumbered(packet))

    def expect(self, packet: bytes) -> None:
        """Raises AssertionError unless the same messages come, in the same bytes."""
        expected = parts([packet])
        while len(self._told) < len(expected):
            assert self._socket.poll(int(1000 * PATIENCE)), f"{self._name} is told nothing"
            self._told += parts([self._socket.recv()])
        told, self._told = self._told[: len(expected)], self._told[len(expected) :]
        if isinstance(welcome := decode(told[0]), Welcome):
            self._renumbered.numbers[self._number] = welcome.client
            told[0] = encode(as_known(welcome, decode(expected[0])))
        assert [anonymous(data) for data in told] == [anonymous(self._renumbered(data)) for data in expected]

    def close(self) -> list[bytes]:
        """Close the connection; gives what arrived beyond what was expected."""
        self._socket.close()
        return self._told


@of_each_version
def test_an_earlier_client_is_served_by_our_broker(version: str, tmp_path: Path) -> None:
    dialogue = RECORDED[version]["dialogue"]
    renumbered = Renumbered()
    clients: dict[str, Client] = {}
    with running(config(tmp_path, region={"area": RECORDED[version]["area"]})) as service:
        (endpoint,) = service.server.endpoints
        for entry in in_order(dialogue):
            if "operator" in entry:
                with Operator(endpoint, None, patience=PATIENCE) as operator:
                    operator.ask("execute", plan=entry["operator"])
                continue
            name, packet = entry["client"], bytes.fromhex(entry["packet"])
            if name not in clients:
                clients[name] = Client(name, dialogue, endpoint, renumbered)
            if entry["from"] == "client":
                clients[name].send(packet)
            else:
                clients[name].expect(packet)
        assert {name: client.close() for name, client in clients.items()} == {"alice": [], "bob": []}
        assert service.server.counters["malformed"] == 0


def in_order(dialogue: Dialogue) -> Iterator[dict[str, Any]]:
    """An operator's order before what it leads to: it was noted when it was answered."""
    for _, group in groupby(dialogue, key=lambda entry: entry.get("from") == "client"):
        yield from sorted(group, key=lambda entry: "operator" not in entry)


class Broker(Script):
    """A broker of an earlier version: it answers as recorded when the client has said what was said."""

    def __init__(self, name: str, dialogue: Dialogue) -> None:
        super().__init__()
        self.followed = asyncio.Event()  # the client has told of the plan
        self._handles = Renumbered()
        mine = [entry for entry in dialogue if entry.get("client") == name]
        self._turns = [
            (side, [bytes.fromhex(entry["packet"]) for entry in group])
            for side, group in groupby(mine, key=lambda entry: str(entry["from"]))
        ]

    async def converse(self) -> None:
        """Raises AssertionError if the client says something else, beyond what it draws or measures."""
        for side, packets in self._turns:
            if side == "broker":
                for packet in packets:
                    self.send_bytes(self._handles(packet))
                continue
            for expected in map(decode, parts(packets)):
                if isinstance(expected, Ack | ContextUpdate):
                    continue  # they come when there is time
                said = await self.expect(type(expected))
                if isinstance(said, Subscribe) and isinstance(expected, Subscribe):
                    self._handles.numbers[expected.handle] = said.handle
                elif isinstance(said, OutcomeMessage):
                    self.followed.set()
                assert timeless(said).hex() == self._handles(timeless(expected)).hex()


def timeless(message: Message) -> bytes:
    """A message without what a client draws or measures, and without what earlier versions skip."""
    if isinstance(message, Hello):
        message.life, message.capabilities = 0, ()
    elif isinstance(message, Publish):
        message.at_us = 0
    elif isinstance(message, OutcomeMessage):
        outcome = json.loads(message.outcome)
        message.outcome = json.dumps([outcome["plan"], outcome["ok"]]).encode()
    return encode(message)


@of_each_version
@on_loop
async def test_our_subscriber_is_served_by_an_earlier_broker(version: str) -> None:
    broker = Broker("alice", RECORDED[version]["dialogue"])
    heard: list[list[int]] = []

    async def use() -> None:
        async with connect(broker.endpoint, open=True, name="alice", location=lambda: (100.0, 100.0)) as me:
            near = await me.subscribe(attr("kind") == "news", radius=50)
            everything = await me.subscribe(attr("n") >= 0)
            heard.extend([[(await anext(each))["n"] for _ in range(4)] for each in (near, everything)])
            await me.unsubscribe(near)

    await together(use(), broker.converse())
    broker.close()
    assert heard == [[1, 2, 3, 4]] * 2


@of_each_version
@on_loop
async def test_our_publisher_is_served_by_an_earlier_broker(version: str) -> None:
    broker = Broker("bob", RECORDED[version]["dialogue"])

    async def use() -> None:
        async with connect(broker.endpoint, open=True, name="bob", location=lambda: (100.0, 100.0)) as me:
            await me.publish(Event(kind="news", n=1))
            await me.publish_local(Event(kind="news", n=2))
            await me.publish(Event(kind="news", n=3), PlanarLocation(120.0, 100.0))
            await broker.followed.wait()
            await me.publish_local(Event(kind="news", n=4))

    await together(use(), broker.converse())
    broker.close()
