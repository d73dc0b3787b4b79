"""How many deliveries a broker makes for a second of processor time, where those near an event are to get it.

Ours beside the bare ROUTER of pyzmq, which is the limit of what it is made of, and beside brokers that know
nothing of places: mosquitto and nats-server with geohash cells as topics, and Redis, which is asked who is
near.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from operator import attrgetter
from os import sched_setaffinity
from pathlib import Path
from signal import SIGTERM, default_int_handler, signal
from typing import Any, NamedTuple

import common
import numpy as np
import servers
import zmq
from fanout_clients import BareLoad, BypassLoad, Keys, Load
from fanout_places import PRECISION, SIDE, Places
from fanout_streams import MqttLoad, NatsLoad, RedisLoad

from bypass.live.keys import create_broker_keys, create_client_keys, load_client_keys

PEERS = {"mosquitto": "mosquitto", "nats-server": "nats-server", "redis-server": "redis-server"}
"""Programs, and the packages of Debian that have them."""

GOAL_OF_BARE = 0.5
NO_GOAL = ("nats-server",)
WARM_UP_EVENTS = 200
SLACK = 0.01
"""So much of what is useful may be missing where a peer measures distances differently, on a sphere."""


class Given(NamedTuple):
    """What a system is measured with."""

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
    """Our broker: everything it promises is kept, only the limit of what a client may send is off."""
    folder, config = given.folder, {"open": not curve, "sync": sync}
    keys = None
    if curve:
        broker_keys = create_broker_keys(folder)
        keys = load_client_keys(create_client_keys(folder, "load")[0])
        config |= {"keys": str(broker_keys), "clients": str(folder / "clients")}
    config |= {"region": {"area": [0, 0, SIDE, SIDE]}, "limits": {"client_rate": 0}}
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


class Measured(NamedTuple):
    """One run of one system. Rates are of useful deliveries a second, and times are for each of them.

    `busy` is the share of the time in which the server had its core, `moderate_cpu_us` its time for a
    delivery where latency is measured, `load_cpu_us` that of the load where the rate is.
    """

    per_cpu_second: float
    per_second: float
    busy: float
    load_cpu_us: float
    wasted: float
    p50_ms: float
    p99_ms: float
    moderate_cpu_us: float
    mebibytes: float


COLUMNS = {
    "per CPU s": "per_cpu_second",
    "of bare": "of_bare",
    "per s": "per_second",
    "busy": "busy",
    "wasted": "wasted",
    "p50 ms": "p50_ms",
    "p99 ms": "p99_ms",
    "CPU µs": "moderate_cpu_us",
    "MiB": "mebibytes",
}


def measure(name: str, given: Given, seconds: float, rate: float, window: int) -> Measured:
    """Load a system as much as it takes, then moderately."""
    with ExitStack() as stack:
        server, load = stack.enter_context(SYSTEMS[name](given))
        stack.callback(load.close)
        tally = load.tally
        most = window * given.places.recipients
        push(load, most, lambda: tally.published >= WARM_UP_EVENTS)
        cpu, load_cpu, began = server.cpu(), time.process_time(), time.monotonic()
        useful, received = tally.useful, tally.received
        push(load, most, lambda: time.monotonic() - began >= seconds)
        took, cpu, load_cpu = time.monotonic() - began, server.cpu() - cpu, time.process_time() - load_cpu
        useful, received = tally.useful - useful, tally.received - received
        moderate_useful, moderate_cpu = tally.useful, server.cpu()
        tally.timing = True
        pace(load, rate, seconds)
        moderate_cpu, moderate_useful = server.cpu() - moderate_cpu, tally.useful - moderate_useful
        memory = server.resident()
        if tally.useful < tally.useful_expected * (1.0 - (SLACK if name == "redis-server" else 0.0)):
            raise AssertionError(f"{name}: {tally.useful} of {tally.useful_expected} useful deliveries came")
        p50, p99 = np.percentile(tally.latencies, (50, 99)) * 1000.0
    return Measured(
        useful / max(cpu, 1 / servers.TICKS),
        useful / took,
        cpu / took,
        load_cpu / useful * 1e6,
        1.0 - useful / received,
        float(p50),
        float(p99),
        moderate_cpu / moderate_useful * 1e6,
        memory / (1 << 20),
    )


def push(load: Load, most: int, done: Callable[[], bool]) -> None:
    """Publish so that `most` deliveries are on their way, until it is done and all have come."""
    tally = load.tally
    while not done():
        while tally.expected - tally.received < most:
            load.publish()
        load.read(0.01)
    load.read_until(lambda: tally.received >= tally.expected)
    load.settle()


def pace(load: Load, rate: float, seconds: float) -> None:
    """Publish so many events a second, and take all that comes of them."""
    tally, began = load.tally, time.monotonic()
    for i in range(max(int(rate * seconds), 1)):
        while (wait := began + i / rate - time.monotonic()) > 0.0:
            load.read(min(wait, 0.002))
        load.publish()
    load.read_until(lambda: tally.received >= tally.expected)
    load.settle()


def available() -> list[str]:
    """The systems that can be measured here; says how to get the others."""
    missing = [name for name in PEERS if servers.installed(name) is None]
    for name in missing:
        print(f"{name} is left out: it is not installed (Debian: apt-get install {PEERS[name]})")
    return [name for name in SYSTEMS if not any(name.startswith(each.partition("-")[0]) for each in missing)]


def table(recipients: int, runs: dict[str, list[Measured]]) -> dict[str, dict[str, float]]:
    """Medians of the runs of each system, printed; ratios are medians of the ratios of a round."""
    medians: dict[str, dict[str, float]] = {}
    for name, measured in runs.items():
        limit = runs.get(BARE_CURVE if "CURVE" in name else BARE, measured)
        pairs = list(zip(measured, limit, strict=True))
        medians[name] = {
            **{field: statistics.median(map(attrgetter(field), measured)) for field in Measured._fields},
            "of_bare": statistics.median(one.per_cpu_second / other.per_cpu_second for one, other in pairs),
        }
    rows: list[list[str | float]] = [
        [name, *(row[key] for key in COLUMNS.values())] for name, row in medians.items()
    ]
    common.print_table(f"{recipients} recipients an event: useful deliveries", ("system", *COLUMNS), rows)
    return medians


def print_goals(recipients: int, medians: dict[str, dict[str, float]]) -> None:
    """Ours in useful deliveries for a second of processor time: a share of the limit, multiples of peers."""
    own = [name for name in medians if name.startswith("bypass")]
    peers = [name for name in medians if not name.startswith(("bypass", "bare"))]
    if not own:
        return
    goals = [("goal", f"{GOAL_OF_BARE:g}", *("" if name in NO_GOAL else "more than 1" for name in peers))]
    rows = [
        (
            name,
            f"{medians[name]['of_bare']:.2f}",
            *(f"{medians[name]['per_cpu_second'] / medians[peer]['per_cpu_second']:.2f}" for peer in peers),
        )
        for name in own
    ]
    title = f"{recipients} recipients an event: times as many for a second of processor time"
    common.print_table(title, ("", "bare ROUTER", *peers), goals + rows)


def main() -> None:
    parser = common.arguments(__doc__ or "", repetitions=3)
    common.integer(parser, "--subscribers", 1000, "how many there are")
    parser.add_argument(
        "--recipients",
        type=int,
        nargs="+",
        default=[12, 40],
        metavar="N",
        help="of an event, on average (12 40)",
    )
    parser.add_argument("--seconds", type=float, default=4.0, metavar="S", help="of each of two phases (4)")
    common.integer(parser, "--rate", 200, "events a second where latency is measured")
    common.integer(parser, "--window", 400, "events that are on their way at a time where the rate is")
    common.integer(parser, "--events", 4000, "different places of events")
    parser.add_argument("--systems", nargs="+", metavar="TEXT", help="only those with this in their names")
    options = parser.parse_args()

    signal(SIGTERM, default_int_handler)  # servers are ended then, too
    cores = servers.cores()
    sched_setaffinity(0, {cores.server, cores.load})
    names = available()
    if options.systems:
        names = [name for name in names if any(text in name for text in options.systems)]
    if not names:
        sys.exit("no system of that name")
    result: dict[str, Any] = {}
    for recipients in options.recipients:
        places = Places(options.subscribers, recipients, options.events)
        runs: dict[str, list[Measured]] = {name: [] for name in names}
        for _ in range(options.repetitions):
            for name in names:
                with tempfile.TemporaryDirectory() as folder:
                    given = Given(places, Path(folder), cores.server)
                    sched_setaffinity(0, {cores.load})
                    measured = measure(name, given, options.seconds, options.rate, options.window)
                    sched_setaffinity(0, {cores.server, cores.load})
                runs[name].append(measured)
                print(f"  {recipients}: {name}: {measured.per_cpu_second:,.0f} per CPU s", file=sys.stderr)
        result[str(recipients)] = {"radius": places.radius, "medians": table(recipients, runs)}
        print_goals(recipients, result[str(recipients)]["medians"])
    common.write(
        "fanout",
        options.out,
        {
            "subscribers": options.subscribers,
            "side": SIDE,
            "precision": PRECISION,
            "window": options.window,
            "rate": options.rate,
            "repetitions": options.repetitions,
            "recipients": result,
        },
    )


if __name__ == "__main__":
    main()
