"""Records what a released version says: `PYTHONPATH=CHECKOUT python tests/compat/record.py > TAG.json`.

CHECKOUT is a work tree of the tag. Everything that speaks here is of that version: the messages, a broker in
a process of its own, and two clients, whose packets pass through a relay that keeps them.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml
import zmq

from bypass import Event, attr, connect
from bypass.live.operator import Operator
from bypass.places.geo import PlanarLocation
from bypass.protocol.messages import Message, OutcomeMessage
from bypass.protocol.session import Hello
from bypass.protocol.wire import decode, encode, unpack
from tests.protocol.test_wire_golden import GOLDEN

PLAN = {"plan": "look ahead", "actions": [{"proxy": "filter", "to": "ste", "set": {"alpha": 1.5}}]}
AREA = [0, 0, 1000, 1000]


def messages() -> list[dict[str, Any]]:
    """One message of each kind, as bytes and as those of its fields that are plain values."""
    return [
        {
            "kind": type(message).__name__,
            "bytes": encode(message).hex(),
            "fields": {
                each.name: repr(value)
                for each in fields(message)
                if isinstance(value := getattr(message, each.name), int | str | bytes | None)
            },
        }
        for message, _ in GOLDEN
    ]


class Relay(threading.Thread):
    """Stands between clients and a broker, passes packets on and notes them."""

    def __init__(self, front: str, broker: str) -> None:
        super().__init__(daemon=True)
        self.entries: list[dict[str, Any]] = []
        self.outcomes = threading.Semaphore(0)
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context.instance()
        self._broker = broker
        self._front = self._context.socket(zmq.ROUTER)
        self._front.bind(front)
        self._names: dict[bytes, str] = {}
        self._backs: dict[bytes, zmq.Socket[bytes]] = {}

    def run(self) -> None:
        poller = zmq.Poller()
        poller.register(self._front, zmq.POLLIN)
        while True:
            for socket, _ in poller.poll():
                if socket is self._front:
                    route, packet = self._front.recv_multipart()
                    if route not in self._backs:
                        self._backs[route] = self._context.socket(zmq.DEALER)
                        self._backs[route].connect(self._broker)
                        poller.register(self._backs[route], zmq.POLLIN)
                    self._note(route, "client", packet)
                    self._backs[route].send(packet)
                else:
                    (route,) = [route for route, back in self._backs.items() if back is socket]
                    packet = socket.recv()
                    self._note(route, "broker", packet)
                    self._front.send_multipart([route, packet])

    def _note(self, route: bytes, side: str, packet: bytes) -> None:
        said: list[Message] = [decode(data) for data in unpack(packet)]
        for message in said:
            if isinstance(message, Hello):
                self._names[route] = message.name
            elif isinstance(message, OutcomeMessage):
                self.outcomes.release()
        self.entries.append({"client": self._names[route], "from": side, "packet": packet.hex()})


@contextmanager
def broker(folder: Path) -> Iterator[str]:
    endpoint = f"ipc://{folder}/broker.sock"
    settings: dict[str, Any] = {"listen": [endpoint], "open": True, "store": str(folder / "store.db")}
    settings["region"] = {"area": AREA}
    (folder / "broker.yaml").write_text(yaml.safe_dump(settings))
    main = "from bypass.cli import main; main()"
    command = [sys.executable, "-c", main, "broker", "--config", str(folder / "broker.yaml")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        for line in process.stdout:
            if "listens on" in line:
                break
        yield endpoint
    finally:
        process.terminate()
        process.communicate()


async def converse(relay: Relay, front: str, endpoint: str) -> None:
    """All that clients do: subscribe, publish, hear, follow a plan, withdraw, leave."""
    at: dict[str, Any] = {"open": True, "patience": 60.0, "location": lambda: (100.0, 100.0)}
    alice = await connect(front, name="alice", **at).open()
    near = await alice.subscribe(attr("kind") == "news", radius=50)
    everything = await alice.subscribe(attr("n") >= 0)
    bob = await connect(front, name="bob", **at).open()
    await bob.publish(Event(kind="news", n=1))
    await bob.publish_local(Event(kind="news", n=2))
    await bob.publish(Event(kind="news", n=3), PlanarLocation(120.0, 100.0))
    for subscription in (near, everything):
        assert [(await anext(subscription))["n"] for _ in range(3)] == [1, 2, 3]
    with Operator(endpoint, None, patience=60.0) as operator:
        operator.ask("execute", plan=PLAN)
    relay.entries.append({"operator": PLAN})
    for _ in range(2):
        await asyncio.to_thread(relay.outcomes.acquire)
    await bob.publish_local(Event(kind="news", n=4))
    for subscription in (near, everything):
        assert (await anext(subscription))["n"] == 4
    await alice.unsubscribe(near)
    await bob.close()
    await alice.close()


def dialogue() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder, broker(Path(folder)) as endpoint:
        front = f"ipc://{folder}/front.sock"
        relay = Relay(front, endpoint)
        relay.start()
        asyncio.run(converse(relay, front, endpoint))
        return relay.entries


if __name__ == "__main__":
    json.dump({"area": AREA, "messages": messages(), "dialogue": dialogue()}, sys.stdout, indent=1)
    print()
