"""Damaged input for everything that listens: messages, operators' requests, datagrams and HTTP.

As a program (`python -m tests.live.fuzzing --seed N --seconds S`), each for so long.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import random
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bypass.live.adhoc.datagrams import DatagramGroup
from bypass.live.broker.operations.web import Web
from bypass.protocol.session import Control, Reply
from tests.live.brokers import config, peers, running
from tests.live.devices import KEY, devices, until
from tests.live.snapshots import quiet

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))  # they damage messages, too

from fuzz import DAMAGES, Run, corpus

PATIENCE = 20.0
TEXT = [DAMAGES[name] for name in ("flip", "cut", "splice", "blow up", "noise")]
COMMANDS = ("status", "execute", "log", "Status", "x" * 200)
KEYS = (
    "plan",
    "clients",
    "area",
    "dry_run",
    "limit",
    "before",
    "actions",
    "proxy",
    "to",
    "set",
    "members",
    "id",
)
WORDS = ("filter", "ste", "grid", "radial", "alpha", "p", "", "alice", "\ud7ff", "\x00", "9" * 400)
REQUESTS = (
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept-Encoding: gzip\r\n\r\n",
    b"HEAD /healthz HTTP/1.0\r\n\r\n",
    b"POST /events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbody",
)


@contextmanager
def no_errors() -> Iterator[None]:
    """Raises AssertionError if something is logged as an error meanwhile: input is no reason for one."""
    errors: list[str] = []
    handler = logging.Handler(logging.ERROR)
    handler.emit = lambda record: errors.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
    assert errors == []


def _while(seconds: float) -> Iterator[int]:
    """Numbers, for so long."""
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        number += 1
        yield number


def wire(seed: int, seconds: float) -> int:
    """Every message is understood or refused. Gives how many inputs there were, as the others do."""
    run = Run(seed)
    for number in _while(seconds):
        run.until(1000 * number)
    assert run.failures == []
    return run.packets.total()


def control(seed: int, seconds: float) -> int:
    """Every request of an operator is answered, whatever is in it, and the broker goes on."""
    rng, number = random.Random(seed), 0
    with tempfile.TemporaryDirectory() as folder, no_errors():
        settings = config(Path(folder), limits={"client_rate": 0.0})
        with running(settings) as service, peers() as make:
            operator = make(service.server.endpoints[0], "operator")
            for number in _while(seconds):
                content = json.dumps(_arguments(rng)).encode()
                if rng.random() < 0.2:
                    content = rng.choice(TEXT)(rng, [content, b"{}"])
                operator.send(Control(number, rng.choice(COMMANDS), content))
                assert operator.get(Reply, PATIENCE).request == number
            operator.send(Control(0, "status", b""))
            assert operator.get(Reply, PATIENCE).ok
    return number


def _arguments(rng: random.Random) -> Any:
    if rng.random() < 0.3:
        action = {"proxy": "filter", "to": _value(rng, 1), "set": {rng.choice(WORDS): _value(rng, 1)}}
        return {"plan": {"plan": "p", "actions": [action]}, rng.choice(KEYS): _value(rng, 2)}
    return {rng.choice(KEYS): _value(rng, 3) for _ in range(rng.randint(0, 3))}


def _value(rng: random.Random, depth: int) -> Any:
    kind = rng.randrange(8 if depth else 6)
    if kind == 6:
        return [_value(rng, depth - 1) for _ in range(rng.randint(0, 4))]
    if kind == 7:
        return {rng.choice(KEYS): _value(rng, depth - 1) for _ in range(rng.randint(0, 4))}
    numbers = (0, -1, 1, 2**31, 2**63, -(2**63) - 1, 2**64, 10**30, 1.5, 1e308, float("nan"), float("-inf"))
    return rng.choice(
        (None, True, rng.choice(WORDS), rng.choice(KEYS), rng.choice(numbers), rng.choice(numbers))
    )


def datagrams(seed: int, seconds: float) -> int:
    """Devices nearby refuse what strangers and broken members send, and go on hearing each other."""
    return asyncio.run(_datagrams(random.Random(seed), seconds))


async def _datagrams(rng: random.Random, seconds: float) -> int:
    raised: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: raised.append(context))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    frames, number = corpus(), 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger, no_errors():
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        stranger.bind(("127.0.0.99", 0))
        stranger.setblocking(False)
        member = DatagramGroup(KEY, 99)
        async with devices(2, "flooding", port=port) as (speaker, listener):
            for number in _while(seconds):
                content = rng.choice([*DAMAGES.values()])(rng, frames)[:1000]
                if rng.random() < 0.7:
                    content = member.seal(content)
                if rng.random() < 0.3:
                    content = DAMAGES["flip"](rng, [content or b"\0"])
                with suppress(BlockingIOError):
                    stranger.sendto(content, ("127.255.255.255", port))
                if number % 50 == 0:  # all of these have been looked at
                    speaker.publish(number)
                    await until(lambda: number in listener.heard)  # noqa: B023 - awaited at once
    assert raised == []
    return number


def http(seed: int, seconds: float) -> int:
    """Every connection ends, with an answer or without one, and the next request is answered."""
    rng, asked = random.Random(seed), 0
    web = Web("127.0.0.1:0", quiet, dashboard=True)
    web.start()
    host, _, port = web.address.rpartition(":")
    try:
        with no_errors():
            for asked in _while(seconds):  # noqa: B007 - the last one counts
                request = rng.choice(TEXT)(rng, list(REQUESTS))
                answer = _asked((host, int(port)), request)
                assert answer == b"" or answer.startswith((b"HTTP/1.", b"<!DOCTYPE")), (request, answer[:200])
            assert _asked((host, int(port)), REQUESTS[1]).startswith(b"HTTP/1.1 200 ")
    finally:
        web.close()
    return asked


def _asked(address: tuple[str, int], request: bytes) -> bytes:
    """The beginning of what is answered to a request after which nothing comes."""
    with socket.create_connection(address, PATIENCE) as connection, suppress(ConnectionError):
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        return connection.recv(1 << 16)
    return b""


INTERFACES: dict[str, Callable[[int, float], int]] = {
    each.__name__: each for each in (wire, control, datagrams, http)
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=300.0, help="for each interface")
    options = parser.parse_args()
    for name, fuzz in INTERFACES.items():
        print(f"{name}: {fuzz(options.seed, options.seconds):,} inputs, seed {options.seed}", flush=True)


if __name__ == "__main__":
    main()
