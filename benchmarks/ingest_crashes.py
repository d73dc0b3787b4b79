"""Messages over MQTT and events of a live broker, taken in while connectors and Spark are killed: what is in
the table."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
from common import arguments, integer, print_table, write
from deltalake import DeltaTable
from ingest_senders import WARM, Load, device_of
from ingest_service import VICTIMS, IngestService, StatusWatch, service
from servers import bypass_broker, mosquitto

from bypass.ingest.devices.device import Device
from bypass.ingest.devices.registry import DeviceRegistry
from bypass.ingest.folder import IngestFolder

MANY = 10_000_000
"""Of everything that a broker may keep for somebody who is away: it must not give up anything here."""

BROKER_LIMITS = {
    "client_rate": 0,
    "client_byte_rate": 0,
    "pending_events": MANY,
    "stored_bytes_per_key": 1 << 40,
}
LATEST = 0.98
"""The share of messages after which nobody is killed any more."""

SENDERS = Path(__file__).with_name("ingest_senders.py")


def register(folder: IngestFolder, devices: int, sessions: int) -> None:
    """Register the devices of both kinds."""
    names = [WARM, *(device_of(number, devices) for number in range(devices))]
    publishers = [WARM, *(device_of(number, sessions) for number in range(sessions))]
    with DeviceRegistry(folder.registry) as registry:
        registry.register(*(Device(id=name) for name in (*names, *(f"broker:{each}" for each in publishers))))


def send(kind: str, load: Load) -> subprocess.Popen[bytes]:
    """Start a process that sends messages of a kind."""
    return subprocess.Popen([sys.executable, str(SENDERS), kind, json.dumps(load)])


def warm_up(running: IngestService, loads: dict[str, Load]) -> int:
    """Return when messages of each kind are stored, and how many: from then on brokers keep what comes for
    the connectors. Raises TimeoutError."""

    def came(kind: str, load: Load) -> bool:
        before = running.status().received
        if send(kind, load._replace(messages=1, devices=0, connections=1)).wait():
            raise RuntimeError(f"{kind}: expected an acknowledgement")
        end = time.monotonic() + 3
        while time.monotonic() < end and running.status().received == before:
            time.sleep(0.1)
        return running.status().received > before

    conditions: list[Callable[[], object]] = [partial(came, *each) for each in loads.items()]
    conditions.append(lambda: running.status().stored > 0 and running.status().lag_messages == 0)
    for condition in conditions:
        if not running.wait_for(condition):
            raise TimeoutError("the installation takes nothing in")
    return running.status().stored


def kill_at_random(
    running: IngestService, kills: int, total: int, choose: random.Random
) -> list[dict[str, Any]]:
    """Kill so often while `total` messages come: each time when a random number of them has been received.
    Each of `VICTIMS` has its turn, in random order.

    Three times of four the stream has committed a batch since the last kill, or everything is stored: else
    all would meet it while it starts, on a machine where that takes long.
    """
    done: list[dict[str, Any]] = []
    began, batch = time.monotonic(), running.status().batch
    turn: list[str] = []

    def at_work() -> bool:
        now = running.status()
        return now.batch > batch or (now.received >= total and now.lag_messages == 0)

    for due in sorted(choose.uniform(0, LATEST * total) for _ in range(kills)):
        turn = turn or choose.sample(VICTIMS, len(VICTIMS))
        victim = turn.pop()
        running.wait_for(lambda due=due: running.status().received >= due)  # type: ignore[misc]
        if len(done) % 4:
            running.wait_for(at_work)
        running.wait_for(lambda victim=victim: running.kill(victim, choose))  # type: ignore[misc]
        at, status = time.monotonic() - began, running.status()
        found = {"victim": victim, "at_s": round(at, 3), "received": status.received}
        done.append({**found, "lag": status.lag_messages, "batches_since": status.batch - batch})
        batch = status.batch
        print(f"{len(done):>3}. {done[-1]}", flush=True)
    return done


def count_rows(folder: IngestFolder, kind: str) -> dict[str, int]:
    """Count the measurements of a kind: each message has its number in one, and its label in the other."""
    connection = duckdb.connect()
    connection.register("measurements", DeltaTable(str(folder.measurements)).to_pyarrow_dataset())
    device = f"device {'' if kind == 'broker' else 'NOT'} LIKE 'broker:%' AND device NOT LIKE '%{WARM}'"
    counts: dict[str, int] = {}
    for column, metric in (("long", "number"), ("label", "label")):
        rows = connection.execute(
            f"SELECT count(*), count(DISTINCT {column}) FROM measurements "
            f"WHERE metric = '{metric}' AND {device}"
        ).fetchall()
        counts[f"{metric} rows"], counts[f"{metric} distinct"] = rows[0]
    return counts


def differences(kind: str, counts: dict[str, int], sent: int) -> list[str]:
    """Say what is missing or there twice."""
    wrong = []
    for metric in ("number", "label"):
        rows, distinct = counts[f"{metric} rows"], counts[f"{metric} distinct"]
        if distinct != sent:
            wrong.append(f"{kind}: {metric}: {sent - distinct} of {sent} are missing")
        if rows != distinct:
            wrong.append(f"{kind}: {metric}: {rows - distinct} rows are there again")
    return wrong


def run(folder: Path, options: Any) -> dict[str, Any]:
    """Start everything, send and kill, wait until all is stored, and look into the table."""
    installation = IngestFolder(folder / "ingest")
    register(installation, options.devices, options.sessions)
    first, last = min(os.sched_getaffinity(0)), max(os.sched_getaffinity(0))
    for name in ("mosquitto", "broker"):
        (folder / name).mkdir()
    duration = options.messages / options.rate
    began = time.monotonic()
    with (
        mosquitto(folder / "mosquitto", first, keeps=True) as mqtt,
        bypass_broker(folder / "broker", last, open=True, sync="normal", limits=BROKER_LIMITS) as broker,
        service(
            installation,
            [f"--mqtt=127.0.0.1:{mqtt.port}", f"--broker={broker.endpoint}"],
            folder / "service.log",
        ) as running,
        StatusWatch(installation) as watch,
    ):
        address, sessions = f"127.0.0.1:{mqtt.port}", options.sessions
        loads = {
            "mqtt": Load(address, options.messages, options.devices, options.connections, options.rate),
            "broker": Load(broker.endpoint, options.events, sessions, sessions, options.events / duration),
        }
        warm = warm_up(running, loads)
        print(f"all run after {time.monotonic() - began:.0f} s", flush=True)
        senders = [send(kind, load) for kind, load in loads.items()]
        total = options.messages + options.events
        kills = kill_at_random(running, options.kills, total, random.Random(options.seed))
        codes = [sender.wait() for sender in senders]
        print(f"all was sent after {time.monotonic() - began:.0f} s", flush=True)
        wanted = warm + total
        complete = running.wait_for(
            lambda: running.status().stored >= wanted and running.status().lag_messages == 0
        )
        end, seconds = running.status(), time.monotonic() - began
    tables = {kind: count_rows(installation, kind) for kind in loads}
    violations = [f"status: {each}" for each in watch.violations]
    violations += [
        f"{kind}: the sender ended with {code}" for kind, code in zip(loads, codes, strict=True) if code
    ]
    for kind, load in loads.items():
        violations += differences(kind, tables[kind], load.messages)
    if not complete or end.stored != wanted:
        violations.append(f"status: {end.stored} stored: expected {wanted}")
    if end.dead_letters or end.filtered:
        violations.append(f"status: dead letters {end.dead_letters}, {end.filtered} filtered: expected none")
    return {
        "messages": options.messages,
        "events": options.events,
        "seconds": seconds,
        "kills": kills,
        "samples": watch.samples,
        "status": end.to_dict(),
        "tables": tables,
        "violations": violations,
    }


def main() -> None:
    parser = arguments(__doc__, repetitions=None)
    integer(parser, "--messages", 1_000_000, "messages over MQTT")
    integer(parser, "--events", 200_000, "events of the live broker")
    integer(parser, "--devices", 10_000, "devices over MQTT")
    integer(parser, "--connections", 100, "connections of these")
    integer(parser, "--sessions", 8, "sessions that publish events")
    integer(parser, "--rate", 1500, "messages over MQTT a second")
    integer(parser, "--kills", 24, "processes that are killed")
    integer(parser, "--seed", 1, "of who is killed when")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="a folder to work in, which is kept")
    options = parser.parse_args()
    if options.keep is None:
        with tempfile.TemporaryDirectory() as folder:
            result = run(Path(folder), options)
    else:
        options.keep.mkdir(parents=True)
        result = run(options.keep, options)
    times = Counter(each["victim"] for each in result["kills"])
    print_table(
        f"{len(result['kills'])} kills, seed {options.seed}, in {result['seconds']:,.0f} s",
        ("killed", "times"),
        [[victim, times[victim]] for victim in VICTIMS],
    )
    working = sum(each["batches_since"] > 0 for each in result["kills"])
    print(f"\n  {working} of them after a batch since the one before, the others while processes start")
    status = result["status"]
    print_table(
        "What became of messages",
        ("", "number"),
        [
            ["acknowledged over MQTT", result["messages"]],
            ["... in the table, each once", result["tables"]["mqtt"]["number distinct"]],
            ["acknowledged by the live broker", result["events"]],
            ["... in the table, each once", result["tables"]["broker"]["number distinct"]],
            ["received in all", status["received"]],
            ["refused", sum(status["refused"].values())],
            ["recognised as copies", status["duplicates"]],
            ["batches", status["batch"] + 1],
            ["times that the status was read and added up", result["samples"]],
        ],
    )
    print(f"\n{len(result['violations'])} violations")
    for violation in result["violations"][:20]:
        print(f"  {violation}")
    write("ingest_crashes", options.out, {"seed": options.seed, "load": os.getloadavg()[0], **result})
    if result["violations"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
