"""The wires between live edges, on loopback: connecting again, who is admitted, what is dropped."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Self

import pytest
import zmq

from bypass.errors import BypassError
from bypass.live.edge import wire_listener
from bypass.live.edge.keys import create_edge_keys, load_edge_keys, load_known_edge
from bypass.live.edge.wires import MOST_WAITING_BYTES, LiveWires, OtherEnd
from bypass.protocol.datagrams import Beacon, Datagram, DatagramScope, NodeAddress
from bypass.protocol.edge import CreateWorld, Provision, WorldList
from bypass.protocol.storage import StorageMessage
from bypass.protocol.wire import MAX_PACKET_BYTES, encode, pack
from tests.live.edge_site import LIMIT, free_port, until
from tests.mechanisms.storage.infra.edge_world import item

NAMES = ("a", "b", "c")
HEARTBEAT_S = 0.1


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("keys")
    for name in (*NAMES, "stranger"):
        create_edge_keys(made, name)
    return made


class Receiver:
    """The edge behind a wire: what it was told."""

    def __init__(self) -> None:
        self.bodies: list[tuple[int, StorageMessage]] = []
        self.connections: list[tuple[str, int]] = []

    def from_edge(self, edge: int, body: StorageMessage) -> None:
        self.bodies.append((edge, body))

    def connected(self, edge: int) -> None:
        self.connections.append(("up", edge))

    def disconnected(self, edge: int) -> None:
        self.connections.append(("down", edge))


class Wired:
    """Edges 1 to 3, each with wires to the others; `via` are ports that lead to an edge in another way."""

    def __init__(self, folder: Path, via: dict[int, int] | None = None) -> None:
        self.ports = {number: free_port() for number in (1, 2, 3)}
        self.receivers = {number: Receiver() for number in self.ports}
        self.wires: dict[int, LiveWires] = {}
        self._folder = folder
        self._via = via or {}
        self.context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()

    def begin(self, number: int) -> LiveWires:
        name = NAMES[number - 1]
        peers = [
            OtherEnd(
                other,
                f"tcp://127.0.0.1:{self._via.get(other, self.ports[other])}",
                load_known_edge(self._folder / f"edges/{NAMES[other - 1]}.pub"),
            )
            for other in self.ports
            if other != number
        ]
        keys = load_edge_keys(self._folder / f"{name}.key")
        endpoint = f"tcp://127.0.0.1:{self.ports[number]}"
        self.receivers[number] = Receiver()
        self.wires[number] = made = LiveWires(endpoint, keys, number, peers, HEARTBEAT_S)
        made.open(self.receivers[number])
        return made

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.destroy(0)
        for each in self.wires.values():
            each.close()


def run(scenario: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(LIMIT):
            await scenario

    asyncio.run(limited())


def test_edges_connect_again_and_bodies_arrive_in_order(folder: Path) -> None:
    async def scenario() -> None:
        with Wired(folder) as wired:
            first = wired.begin(1)
            assert not first.send(2, CreateWorld(0, "nobody is there"))
            for number in (2, 3):
                wired.begin(number)
            await until(lambda: all(len(each.edges()) == 2 for each in wired.wires.values()))
            assert wired.receivers[1].connections[:1] in ([("up", 2)], [("up", 3)])
            bodies = [CreateWorld(n, "w") for n in range(500)]
            assert all(first.send(2, each) for each in bodies)
            assert wired.wires[3].send(2, CreateWorld(7, "of the third"))
            found = wired.receivers[2].bodies
            await until(lambda: len(found) == 501)
            assert [body for edge, body in found if edge == 1] == bodies
            assert (3, CreateWorld(7, "of the third")) in found

            wired.wires[2].close()
            await until(lambda: first.edges() == [3])
            assert wired.receivers[1].connections[-1] == ("down", 2)
            assert not first.send(2, bodies[0])
            wired.begin(2)
            await until(lambda: first.edges() == [2, 3])
            assert first.send(2, bodies[0])
            await until(lambda: wired.receivers[2].bodies == [(1, bodies[0])])
            assert first.dropped == 0

    run(scenario())


def test_an_edge_that_is_gone_without_a_word_is_noticed_after_four_heartbeats(folder: Path) -> None:
    async def scenario() -> None:
        port, cut = free_port(), asyncio.Event()

        async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while data := await reader.read(65_536):
                if not cut.is_set():
                    writer.write(data)

        tasks: list[asyncio.Future[None]] = []
        writers: list[asyncio.StreamWriter] = []

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", wired.ports[2])
            writers.extend((far_writer, writer))
            tasks.extend(
                asyncio.ensure_future(pass_on(*both)) for both in ((reader, far_writer), (far_reader, writer))
            )

        with Wired(folder, {2: port}) as wired:
            proxy = await asyncio.start_server(accept, "127.0.0.1", port)
            wired.begin(2)
            first = wired.begin(1)
            await until(lambda: first.edges() == [2])
            began = asyncio.get_running_loop().time()
            cut.set()
            await until(lambda: first.edges() == [])
            assert asyncio.get_running_loop().time() - began >= 2 * HEARTBEAT_S
            assert wired.receivers[1].connections == [("up", 2), ("down", 2)]
            cut.clear()
            await until(lambda: first.edges() == [2])
            proxy.close()
            for each in tasks:
                each.cancel()
            for writer in writers:
                writer.close()
            await asyncio.gather(*tasks, return_exceptions=True)

    run(scenario())


def test_what_waits_for_a_slow_edge_is_bounded(folder: Path) -> None:
    async def scenario() -> None:
        with Wired(folder) as wired:
            first = wired.begin(1)
            wired.begin(2)
            await until(lambda: first.edges() == [2])
            large = Provision((item("large", data=b"x" * 400_000),))
            sent = [
                first.send(2, large) for _ in range(200)
            ]  # in one turn of the loop: nothing is read meanwhile
            assert 0 < sum(sent) * 400_000 <= MOST_WAITING_BYTES
            assert first.dropped == sent.count(False)
            await until(lambda: len(wired.receivers[2].bodies) == sum(sent))
            assert not first.send(2, Provision((item("huge", data=b"x" * 400_000),) * 3))
            assert first.oversized == 1

    run(scenario())


def test_who_is_no_known_edge_is_not_heard_and_others_still_are(folder: Path) -> None:
    async def scenario() -> None:
        with Wired(folder) as wired:
            first, second = wired.begin(1), wired.begin(2)
            await until(lambda: (first.edges(), second.edges()) == ([2], [1]))
            listener, port = second.listener, wired.ports[2]

            with socket.create_connection(("127.0.0.1", port)) as raw:
                raw.sendall(bytes(range(256)) * 64)
                await until(lambda: listener.refused == 1)
            server = load_known_edge(folder / "edges/b.pub").public
            stranger = dealer(wired, folder / "stranger.key", server, port)
            stranger.send(pack([encode(said(CreateWorld(1, "x")))]))
            await until(lambda: listener.unknown == 1)
            assert listener.refused == 2
            assert wired.receivers[2].bodies == []
            assert first.send(2, CreateWorld(2, "y"))
            await until(lambda: wired.receivers[2].bodies == [(1, CreateWorld(2, "y"))])

    run(scenario())


def test_garbage_of_a_known_edge_is_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire_listener, "BURST", 1 << 20)
    monkeypatch.setattr(wire_listener, "RATE", 1)

    async def scenario() -> None:
        with Wired(folder) as wired:
            first, second = wired.begin(1), wired.begin(2)
            await until(lambda: (first.edges(), second.edges()) == ([2], [1]))
            listener, port = second.listener, wired.ports[2]
            server = load_known_edge(folder / "edges/b.pub").public
            third = dealer(wired, folder / "c.key", server, port)
            third.send(b"\xff" * 100)
            third.send_multipart([b"several", b"parts"])
            third.send(pack([b"no message"]))
            await until(lambda: listener.malformed == 3)
            third.send(pack([encode(said(Beacon(1)))]))
            await until(lambda: listener.unexpected == 1)
            third.send(pack([encode(said(WorldList(0, ())))]))
            await until(lambda: wired.receivers[2].bodies == [(3, WorldList(0, ()))])
            for _ in range(20):
                third.send(b"\xff" * (MAX_PACKET_BYTES // 8))
            await until(lambda: listener.over_rate + listener.malformed >= 23)
            assert listener.over_rate > 0
            third.send(pack([encode(said(CreateWorld(1, "too much")))]) + bytes(MAX_PACKET_BYTES // 8))
            assert first.send(2, CreateWorld(2, "y"))
            await until(lambda: (1, CreateWorld(2, "y")) in wired.receivers[2].bodies)

    run(scenario())


def test_an_address_that_cannot_be_had_is_named(folder: Path) -> None:
    async def scenario() -> None:
        with Wired(folder) as wired, socket.socket() as taken:
            taken.bind(("127.0.0.1", wired.ports[1]))
            taken.listen()
            with pytest.raises(BypassError, match=r"edges at 'tcp://127.0.0.1:.*expected a free address"):
                wired.begin(1)

    run(scenario())


def said(body: Any) -> Datagram:
    return Datagram(3 << 32, NodeAddress(3), (), DatagramScope.ROUTED, body, client=3)


def dealer(wired: Wired, path: Path, server: bytes, port: int) -> zmq.Socket[bytes]:
    keys = load_edge_keys(path)
    made = wired.context.socket(zmq.DEALER)
    made.curve_publickey, made.curve_secretkey, made.curve_serverkey = keys.public, keys.secret, server
    made.connect(f"tcp://127.0.0.1:{port}")
    return made
