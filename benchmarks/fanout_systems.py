"""The systems that `fanout.py` measures: each a server, and the clients that load it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

import servers
import zmq
from fanout_clients import BareLoad, BypassLoad, Keys, Load
from fanout_places import SIDE, Places
from fanout_streams import MqttLoad, NatsLoad, RedisLoad

from bypass.live.keys import create_broker_keys, create_client_keys, load_client_keys

PEERS = {"mosquitto": "mosquitto", "nats-server": "nats-server", "redis-server": "redis-server"}
"""Programs, and the packages of Debian that have them."""


class Given(NamedTuple):
    """The input of a measurement: places, a folder, and the server's core."""

    places: Places
    folder: Path
    core: int


Running = tuple[servers.Server, Load]


@contextmanager
def bare(given: Given, curve: bool) -> Iterator[Running]:
    """pyzmq without a broker, who is told beforehand who gets which event."""
    public, secret = zmq.curve_keypair()
    pair = Keys(*zmq.curve_keypair(), public) if curve else None
    lists = given.places.recipients_of
    with servers.bare_router(given.folder, given.core, secret.decode() if curve else "-", lists) as server:
        yield server, BareLoad(server.endpoint, given.places, pair)


@contextmanager
def ours(given: Given, curve: bool, sync: str) -> Iterator[Running]:
    """Our broker: everything it promises is kept, only the limit of what a client may send is off.

    Heartbeats are rare: they go on while other systems have their turn, and would count several times.
    """
    folder, config = given.folder, {"open": not curve, "sync": sync, "heartbeat": 60}
    keys = None
    if curve:
        broker_keys = create_broker_keys(folder)
        keys = load_client_keys(create_client_keys(folder, "load")[0])
        config |= {"keys": str(broker_keys), "clients": str(folder / "clients")}
    config |= {"region": {"area": [0, 0, SIDE, SIDE]}, "limits": servers.UNLIMITED}
    with servers.bypass_broker(folder, given.core, **config) as server:
        yield server, BypassLoad(server.endpoint, given.places, keys)


@contextmanager
def mosquitto(given: Given, qos: int) -> Iterator[Running]:
    with servers.mosquitto(given.folder, given.core, keeps=qos > 0) as server:
        yield server, MqttLoad(server.port, given.places, qos)


@contextmanager
def nats(given: Given) -> Iterator[Running]:
    with servers.nats(given.folder, given.core) as server:
        yield server, NatsLoad(server.port, given.places)


@contextmanager
def redis(given: Given) -> Iterator[Running]:
    with servers.redis(given.folder, given.core) as server:
        yield server, RedisLoad(server.port, given.places)


BARE, BARE_CURVE = "bare ROUTER", "bare ROUTER, CURVE"
SYSTEMS: dict[str, Callable[[Given], AbstractContextManager[Running]]] = {
    BARE: lambda given: bare(given, curve=False),
    BARE_CURVE: lambda given: bare(given, curve=True),
    "bypass, open, normal": lambda given: ours(given, curve=False, sync="normal"),
    "bypass, open, full": lambda given: ours(given, curve=False, sync="full"),
    "bypass, CURVE, normal": lambda given: ours(given, curve=True, sync="normal"),
    "bypass, CURVE, full": lambda given: ours(given, curve=True, sync="full"),
    "mosquitto, QoS 0": lambda given: mosquitto(given, qos=0),
    "mosquitto, QoS 1": lambda given: mosquitto(given, qos=1),
    "nats-server": nats,
    "redis-server": redis,
}


def available() -> list[str]:
    """The systems that can be measured here; says how to get the others."""
    missing = [name for name in PEERS if servers.installed(name) is None]
    for name in missing:
        print(f"{name} is left out: it is not installed (Debian: apt-get install {PEERS[name]})")
    return [name for name in SYSTEMS if not any(name.startswith(each.partition("-")[0]) for each in missing)]
