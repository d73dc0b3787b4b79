"""How much memory a client takes that is connected, known by its key, subscribed, and silent.

Beside the broker is a bare ROUTER with as many connections, encrypted in the same way: what libzmq takes for
a connection. What lies between is ours: the session, its subscription and place, the key that is admitted.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from signal import SIGTERM, default_int_handler, signal
from typing import NamedTuple

import common
import servers
import zmq
from fanout_clients import PATIENCE, RADIAL, Connections, Keys

from bypass import Subscription, attr
from bypass.live.keys import create_broker_keys, load_broker_keys
from bypass.protocol.messages import ContextUpdate, Message, Subscribe
from bypass.protocol.session import Ack, Hello, Ping, Welcome
from bypass.protocol.wire import decode, encode, unpack

GOAL_KIB = 100
TOGETHER = 200
"""Clients that connect at a time."""

RADIUS = 100
SIDE = 10_000.0


class Taken(NamedTuple):
    """Bytes that a server has in memory, with a few clients and with `more` than these."""

    before: int
    after: int
    more: int

    @property
    def kib(self) -> float:
        """For each client."""
        return (self.after - self.before) / self.more / 1024


Answer = Callable[[int, bytes], list[bytes] | None]
"""Gives a client's answer to a packet, by the client's number; None if it has said all."""


def crowd(server: servers.Server, pairs: list[Keys], greet: Callable[[int], bytes], answer: Answer) -> Taken:
    """Connect clients, each with its own key, a few first: what is loaded once is not what each takes."""
    connections = Connections()
    few = min(TOGETHER, len(pairs) // 2)
    before = 0
    for first in (0, *range(few, len(pairs), TOGETHER)):
        some = range(first, min(first + TOGETHER, len(pairs)) if first else few)
        for number in some:
            connections.connect(server.endpoint, number, pairs[number])
            connections.send(number, greet(number))
        _read(connections, len(some), answer)
        before = before or server.resident()
    taken = Taken(before, server.resident(), len(pairs) - few)
    connections.close()
    return taken


def _read(connections: Connections, clients: int, answer: Answer) -> None:
    """Until so many have said all."""
    deadline = time.monotonic() + PATIENCE
    while clients:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{clients} clients are not connected yet")
        if not connections.socket.poll(100):
            continue
        route, packet = connections.socket.recv_multipart()
        said = answer(int(route), packet)
        clients -= said is None
        for each in said or ():
            connections.send(int(route), each)


def bare(pairs: list[Keys], secret: bytes, core: int, folder: Path) -> Taken:
    """Connections that say one word, and nothing behind them."""
    with servers.bare_router(folder, core, secret.decode(), [[]]) as server:
        return crowd(server, pairs, lambda number: b"%d" % number, lambda _number, _packet: None)


def ours(pairs: list[Keys], core: int, folder: Path) -> Taken:
    """Clients with one subscription each, all of which are stored."""
    config = {
        "sync": "normal",
        "heartbeat": 60,
        "keys": str(folder / "broker.key"),
        "clients": str(folder / "clients"),
    }
    region = {"area": [0, 0, SIDE, SIDE]}
    limits = {"clients": len(pairs) + 1}
    with servers.bypass_broker(folder, core, **config, region=region, limits=limits) as server:
        return crowd(server, pairs, _hello, _answer)


def _hello(number: int) -> bytes:
    return encode(Hello("", number + 1))


def _answer(number: int, packet: bytes) -> list[bytes] | None:
    answers: list[Message] = []
    for message in map(decode, unpack(packet)):
        if isinstance(message, Ack):
            return None
        if isinstance(message, Welcome):
            wanted = Subscription.of(attr("kind") == "x")
            place = ContextUpdate((number * 37.0 % SIDE, number * 91.0 % SIDE))
            answers.append(Subscribe(1, wanted, RADIUS, place, client=message.client, scheme=RADIAL))
        elif isinstance(message, Ping):
            answers.append(Ping())
        else:
            raise TypeError(f"from the broker: {message}")
    return [encode(each) for each in answers]


def admit(clients: int, folder: Path) -> list[Keys]:
    """Keys for so many clients, whom the broker admits; files as `bypass keygen` makes them."""
    server = load_broker_keys(create_broker_keys(folder)).public
    listed = folder / "clients"
    listed.mkdir(exist_ok=True)
    pairs = []
    for number in range(clients):
        public, secret = zmq.curve_keypair()
        pairs.append(Keys(public, secret, server))
        content = f"name: client-{number}\npublic: '{public.decode()}'\nrights: []\n"
        (listed / f"client-{number}.pub").write_text(content, encoding="utf-8")
    return pairs


def main() -> None:
    parser = common.arguments(__doc__ or "", repetitions=3)
    common.integer(parser, "--clients", 2000, "how many are connected")
    options = parser.parse_args()

    signal(SIGTERM, default_int_handler)  # servers are ended then, too
    servers.allow_descriptors(options.clients)
    cores = servers.cores()
    taken: dict[str, list[Taken]] = {"bare ROUTER": [], "bypass": []}
    for _ in range(options.repetitions):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            pairs = admit(options.clients, folder)
            secret = load_broker_keys(folder / "broker.key").secret
            taken["bare ROUTER"].append(bare(pairs, secret, cores.server, folder))
            taken["bypass"].append(ours(pairs, cores.server, folder))
    each = {name: statistics.median(run.kib for run in runs) for name, runs in taken.items()}
    rows: list[list[str | float]] = [
        [
            name,
            statistics.median(run.before for run in runs) / (1 << 20),
            statistics.median(run.after for run in runs) / (1 << 20),
            each[name],
        ]
        for name, runs in taken.items()
    ]
    common.print_table(
        f"{options.clients:,} idle clients", ("server", "MiB with few", "MiB with all", "KiB each"), rows
    )
    share = each["bypass"] - each["bare ROUTER"]
    verdict = "met" if each["bypass"] <= GOAL_KIB else "not met"
    print(f"\n  {share:.1f} KiB of a client's are ours; goal: at most {GOAL_KIB} KiB all told: {verdict}")
    common.write(
        "idle_clients",
        options.out,
        {"clients": options.clients, "kib_each": each, "kib_ours": share, "goal_kib": GOAL_KIB},
    )


if __name__ == "__main__":
    main()
