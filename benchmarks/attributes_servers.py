"""The live part of `attributes.py`: our broker with many different subscriptions, and servers with a topic
for each identifier."""

from __future__ import annotations

import asyncio
import socket
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import servers

from bypass.events.event import Event
from bypass.events.filters import attr
from bypass.live.client.connection import Connection, connect
from bypass.live.operator import Operator
from bypass.places.geo import PlanarLocation

PLACE = (500.0, 500.0)
PROGRAMS = [name for name in ("redis-server", "nats-server") if servers.installed(name)]
TOGETHER = 250
"""Subscriptions that are asked for before their answers are awaited."""

READ_BYTES = 1 << 16
PING = b"PING\r\n"
PAYLOAD = "x" * 40  # a level and a kind, about


async def _subscribe(me: Connection, number: int, count: dict[str, int]) -> None:
    """Ask for events with `n` from 0 to `number`, one subscription for each."""

    def told(*_: object) -> None:
        count["told"] += 1

    for first in range(0, number, TOGETHER):
        some = range(first, min(first + TOGETHER, number))
        await asyncio.gather(*[me.subscribe(attr("n") == n, radius=100, callback=told) for n in some])


async def _publish(me: Connection, number: int, events: int, count: dict[str, int]) -> None:
    """Publish events, each for one subscription, and wait until all have arrived."""
    wanted = count["told"] + events
    for first in range(0, events, TOGETHER):
        some = range(first, min(first + TOGETHER, events))
        await asyncio.gather(*[me.publish(Event(n=n % number), PlanarLocation(*PLACE)) for n in some])
    while count["told"] < wanted:
        await asyncio.sleep(0.005)


async def _measure_ours(
    endpoint: str, server: servers.Server, number: int, events: int, repetitions: int
) -> list[dict[str, Any]]:
    count = {"told": 0}
    results = []
    async with (
        connect(endpoint, open=True, name="subscriber", location=lambda: PLACE) as subscriber,
        connect(endpoint, open=True, name="publisher") as publisher,
    ):
        began, cpu = time.monotonic(), server.cpu()
        await _subscribe(subscriber, number, count)
        subscribed = {"subscribing_s": time.monotonic() - began, "subscribing_cpu_s": server.cpu() - cpu}
        for mechanism in ("linear", "counting"):
            plan = {"plan": mechanism, "actions": [{"proxy": "matching", "to": mechanism}]}
            with Operator(endpoint, None) as operator:
                operator.ask("execute", plan=plan, dry_run=False)
            some = events if mechanism == "counting" else max(1, events // 10)
            await _publish(publisher, number, some, count)  # so that it knows the load
            taken = []
            for _ in range(repetitions):
                cpu = server.cpu()
                await _publish(publisher, number, some, count)
                taken.append((server.cpu() - cpu) / some)
            us = statistics.median(taken) * 1e6
            results.append({"matching": mechanism, "subscriptions": number, "us": us, **subscribed})
    return results


def measure_live(number: int, events: int, repetitions: int) -> list[dict[str, Any]]:
    """The processor time of our broker for an event that concerns one of so many subscriptions of a client,
    and of one."""
    limits = servers.UNLIMITED | {
        "subscriptions_per_client": 1_000_000, "filters_per_key": 10_000_000, "session_bytes": 1 << 30,
        "subscription_bytes_per_key": 1 << 30,
    }  # fmt: skip
    results = []
    for size in (1, number):
        with tempfile.TemporaryDirectory() as folder:
            config = {
                "open": True,
                "sync": "normal",
                "region": {"area": [0, 0, 1000, 1000]},
                "limits": limits,
            }
            with servers.bypass_broker(Path(folder), servers.cores().server, **config) as server:
                results += asyncio.run(_measure_ours(server.endpoint, server, size, events, repetitions))
    return results


class Topics:
    """Subscribers of a server that knows topics: each subscribes to all, and would test the rest itself.

    An event goes to all who want its identifier, whatever else they want of it.
    """

    def __init__(self, port: int, subscribers: int, keys: int, dialect: str) -> None:
        self.keys, self.dialect = keys, dialect
        self.sockets = [socket.create_connection(("127.0.0.1", port)) for _ in range(subscribers + 1)]
        self.received = 0  # bytes
        for each in self.sockets[:-1]:
            each.sendall(b"".join(self._subscribe(key) for key in range(keys)) + self._ping())
            _read_until(each, b"PONG")
        self.sockets[-1].sendall(self._ping())
        _read_until(self.sockets[-1], b"PONG")

    def publish(self, events: int) -> None:
        """Publish events, and return when every subscriber has been told."""
        publisher = self.sockets[-1]
        expected = events * len(self._message(0))
        for first in range(0, events, TOGETHER):
            some = range(first, min(first + TOGETHER, events))
            publisher.sendall(b"".join(self._event(number % self.keys) for number in some))
        for each in self.sockets[:-1]:
            left = expected
            while left > 0:
                data = each.recv(READ_BYTES)
                left -= len(data) - len(PING) * data.count(PING)  # by which NATS asks who is there
        if self.dialect == "redis-server":
            left = events * len(f":{len(self.sockets) - 1}\r\n")
            while left > 0:
                left -= len(publisher.recv(READ_BYTES))

    def close(self) -> None:
        for each in self.sockets:
            each.close()

    def _subscribe(self, key: int) -> bytes:
        if self.dialect == "redis-server":
            return f"SUBSCRIBE id.{key:04}\r\n".encode()
        return f"SUB id.{key:04} {1000 + key:04}\r\n".encode()

    def _ping(self) -> bytes:
        return b"PING\r\n" if self.dialect == "redis-server" else b'CONNECT {"verbose":false}\r\nPING\r\n'

    def _event(self, key: int) -> bytes:
        if self.dialect == "redis-server":
            return f"PUBLISH id.{key:04} {PAYLOAD}\r\n".encode()
        return f"PUB id.{key:04} {len(PAYLOAD)}\r\n{PAYLOAD}\r\n".encode()

    def _message(self, key: int) -> bytes:
        if self.dialect == "redis-server":
            return f"*3\r\n$7\r\nmessage\r\n$7\r\nid.{key:04}\r\n${len(PAYLOAD)}\r\n{PAYLOAD}\r\n".encode()
        return f"MSG id.{key:04} {1000 + key:04} {len(PAYLOAD)}\r\n{PAYLOAD}\r\n".encode()


def _read_until(connection: socket.socket, word: bytes) -> None:
    seen = b""
    while word not in seen[-READ_BYTES:].upper():
        seen += connection.recv(READ_BYTES)


def measure_topics(
    dialect: str, subscriptions: int, keys: int, events: int, repetitions: int
) -> dict[str, Any]:
    """The processor time of a server with a topic for each identifier, for an event."""
    start = servers.redis if dialect == "redis-server" else servers.nats
    with tempfile.TemporaryDirectory() as folder, start(Path(folder), servers.cores().server) as server:
        topics = Topics(server.port, max(1, subscriptions // keys), keys, dialect)
        topics.publish(events)
        taken = []
        for _ in range(repetitions):
            cpu = server.cpu()
            topics.publish(events)
            taken.append((server.cpu() - cpu) / events)
        topics.close()
    return {"us": statistics.median(taken) * 1e6, "told": max(1, subscriptions // keys)}
