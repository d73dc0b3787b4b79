"""Do clients notice that the filter scheme is exchanged while they publish: is anything lost, twice, or late?

All clients are real ones, in a few processes, with encryption; they stand still, so that it is known whom an
event concerns. An operator takes all of them from RADIAL to STE to GRID to EGRID and back.
"""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from signal import SIGTERM, default_int_handler, signal
from typing import Any, NamedTuple

import common
import numpy as np
import numpy.typing as npt
import servers
from idle_clients import allow_descriptors

from bypass.live.keys import create_broker_keys, create_client_keys
from bypass.live.operator import Operator

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

CYCLE = ("ste", "grid", "egrid", "radial")
SIDE = 1000
RECIPIENTS = 3.5
PROCESSES = 2
AFTER_S = 1.0
"""A transition is noticed, if at all, until so long after the last client has answered."""

LONGEST_RATIO = 2.0
PERCENTILES = (50, 99)
WARM_UP_S = 3.0
PATIENCE = 60.0
FILES_A_CLIENT = 8


class Transition(NamedTuple):
    """When it was asked for, when the broker had done it, and the epoch it made."""

    to: str
    asked: float
    done: float
    epoch: int


class World(NamedTuple):
    """Where clients stand, in whole metres and a half: nobody is on the line between two cells."""

    places: Floats
    radius: int
    grid: int

    @classmethod
    def of(cls, clients: int, seed: int) -> World:
        """So many clients, with a radius for about RECIPIENTS; cells are about as wide as the radius."""
        rng = random.Random(seed)
        places = [[rng.randrange(SIDE) + 0.5, rng.randrange(SIDE) + 0.5] for _ in range(clients)]
        radius = round(math.sqrt(RECIPIENTS * SIDE * SIDE / (math.pi * clients)))
        return cls(np.array(places), radius, max(1, round(SIDE / radius)))

    def concerned(self) -> dict[str, Bools]:
        """By scheme: whom (column) an event of a client (row) must reach."""
        steps = self.places[:, None, :] - self.places[None, :, :]
        near = (steps**2).sum(axis=2) <= self.radius**2
        cells = np.floor(self.places * self.grid / SIDE)
        together = (cells[:, None, :] == cells[None, :, :]).all(axis=2)
        others = ~np.eye(len(near), dtype=bool)
        return {"grid": together & others} | dict.fromkeys(("radial", "ste", "egrid"), near & others)


class Seen(NamedTuple):
    """What all processes have noted: a row for each publication, and for each event that was handed over."""

    published: dict[str, Any]
    received: dict[str, Any]
    disconnections: int
    cpu: float

    @classmethod
    def of(cls, files: list[Path]) -> Seen:
        parts = [np.load(file) for file in files]

        def joined(*names: str) -> dict[str, Any]:
            return {name: np.concatenate([part[name] for part in parts]) for name in names}

        return cls(
            joined("who", "serial", "due", "published", "acknowledged"),
            joined("to", "of", "number", "at"),
            sum(int(part["disconnections"]) for part in parts),
            sum(float(part["cpu"]) for part in parts),
        )


# -- the run ----------------------------------------------------------------------------------------------


@contextmanager
def loads(settings: list[dict[str, Any]], folder: Path) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes with clients, who are all subscribed; they are gone when the block ends."""
    running: list[subprocess.Popen[str]] = []
    try:
        for i, each in enumerate(settings):
            file = folder / f"load-{i}.json"
            file.write_text(json.dumps(each), encoding="utf-8")
            command = [sys.executable, str(servers.FOLDER / "load_clients.py"), str(file)]
            running.append(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            )
        for process in running:
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                raise RuntimeError("clients did not get ready")
        yield running
    finally:
        for process in running:
            if process.poll() is None:
                process.kill()
            process.wait()


def tell(process: subprocess.Popen[str], line: str | None) -> None:
    """A line, or that there are no more."""
    assert process.stdin is not None
    if line is None:
        process.stdin.close()
    else:
        process.stdin.write(line + "\n")
        process.stdin.flush()


def transitions(
    operator: Callable[[], Operator], world: World, rounds: int, seconds: float
) -> Iterator[Transition]:
    """One after the other, `seconds` apart. An operator connects each time: silent ones are not kept."""
    for to in CYCLE * rounds:
        action: dict[str, Any] = {"proxy": "filter", "to": to}
        if to in ("grid", "egrid"):
            action["set"] = {"grid": world.grid}
        with operator() as connected:
            asked = time.monotonic()
            reply = connected.ask("execute", plan={"plan": f"to-{to}", "actions": [action]})
            yield Transition(to, asked, time.monotonic(), reply["epoch"])
        time.sleep(max(asked + seconds - time.monotonic(), 0.0))


def run(world: World, options: Any, folder: Path) -> dict[str, Any]:
    """Everything, and what came of it."""
    keys = create_broker_keys(folder)
    client = create_client_keys(folder, "load")[0]
    admin = create_client_keys(folder, "admin", ["admin"])[0]
    config = {"keys": str(keys), "clients": str(folder / "clients"), "region": {"area": [0, 0, SIDE, SIDE]}}
    clients = [[i, x, y] for i, (x, y) in enumerate(world.places.tolist())]
    with servers.bypass_broker(folder, servers.cores().server, **config) as server:
        settings = [
            {
                "endpoint": server.endpoint,
                "keys": str(client),
                "radius": world.radius,
                "clients": clients[i::PROCESSES],
                "rate": options.rate * len(clients[i::PROCESSES]) / len(clients),
                "out": str(folder / f"load-{i}.npz"),
            }
            for i in range(PROCESSES)
        ]
        operator = partial(Operator, server.endpoint, admin, patience=PATIENCE)
        with loads(settings, folder) as processes:
            begin = time.monotonic() + 0.1
            cpu = server.cpu()
            for process in processes:
                tell(process, str(begin))
            time.sleep(WARM_UP_S + options.seconds)
            executed = list(transitions(operator, world, options.rounds, options.seconds))
            end = time.monotonic()
            cpu = server.cpu() - cpu
            for process in processes:
                tell(process, None)
            for process in processes:
                if process.wait(3 * PATIENCE):
                    raise RuntimeError("clients have failed")
        with operator() as asking:
            status = asking.ask("status")
            records = asking.ask("log", limit=1000)
    seen = Seen.of([Path(each["out"]) for each in settings])
    plans = {each["epoch"]: each for each in records if each["type"] == "plan"}
    found = judge(world, seen, executed, [plans[each.epoch] for each in executed], begin, end)
    counters = status["counters"]
    return found | {
        "broker_cpu": cpu / (end - begin),
        "clients_cpu": seen.cpu / (end - begin),
        "commit_ms": status["store"]["commit_ms"],
        "given_up": counters["missed"],
        "limited": counters["limited"],
        "refused": counters["refused"],
    }


# -- what came of it --------------------------------------------------------------------------------------


def judge(
    world: World,
    seen: Seen,
    executed: list[Transition],
    plans: list[dict[str, Any]],
    begin: float,
    end: float,
) -> dict[str, Any]:
    """Was all that was acknowledged received, once, and how soon."""
    published, received = seen.published, seen.received
    who, at, acknowledged = published["who"], published["published"], published["acknowledged"]
    safe = acknowledged > 0
    # Numbers are unique within a client; a look-up finds the row of each publication.
    width = 1 + max(published["serial"].max(), received["number"].max(initial=0))
    key = who * width + published["serial"]
    order = np.argsort(key)
    row = order[np.searchsorted(key, received["of"] * width + received["number"], sorter=order)]
    pairs = row * len(world.places) + received["to"]
    distinct = np.unique(pairs)

    lost = expected = 0
    rules = world.concerned()
    for some, must in by_rule(at, np.where(safe, acknowledged, np.inf), executed, rules):
        rows = np.flatnonzero(some & safe)
        wanted = rows[:, None] * len(world.places) + np.arange(len(world.places))
        wanted = wanted[must[who[rows]]]
        expected += len(wanted)
        lost += int((~np.isin(wanted, distinct, assume_unique=True)).sum())

    measured = (at >= begin + WARM_UP_S) & (at < end)
    during = np.zeros(len(at), dtype=bool)
    steps = []
    starts = [each.asked for each in executed]
    stops = [
        each.asked + plan["took_ms"] / 1000 + AFTER_S for each, plan in zip(executed, plans, strict=True)
    ]
    for start, stop in zip(starts, stops, strict=True):
        during |= (at >= start) & (at < stop)
    delays = 1000 * (received["at"] - at[row])
    acks = 1000 * (acknowledged - at)
    for to in CYCLE:
        inside, after = np.zeros(len(at), dtype=bool), np.zeros(len(at), dtype=bool)
        for i, each in enumerate(executed):
            if each.to == to:
                inside |= (at >= starts[i]) & (at < stops[i])
                after |= (at >= stops[i]) & (at < (starts[i + 1] if i + 1 < len(starts) else end))
        took = [plan["took_ms"] for each, plan in zip(executed, plans, strict=True) if each.to == to]
        steps.append(
            {
                "to": to,
                "took_ms": float(np.median(took)),
                "recipients": float(after[row].sum() / max(1, after.sum())),
                "outside": percentiles(delays[after[row]]),
                "during": percentiles(delays[inside[row]]),
            }
        )
    outside, inside = measured & ~during, measured & during
    result = {
        "seconds": end - begin,
        "rate": float((measured.sum()) / (end - begin - WARM_UP_S)),
        "published": len(at),
        "acknowledged": int(safe.sum()),
        "received": len(pairs),
        "expected": expected,
        "lost": lost,
        "twice": len(pairs) - len(distinct),
        "transitions": len(executed),
        "took_ms": [plan["took_ms"] for plan in plans],
        "failed": sum(plan["failed"] + plan["pending"] for plan in plans),
        "isolated": sum(len(plan["isolated"]) for plan in plans),
        "asked": sum(plan["clients"] for plan in plans),
        "done": sum(plan["done"] for plan in plans),
        "disconnections": seen.disconnections,
        "delivery_ms": {
            "outside": percentiles(delays[outside[row]]),
            "during": percentiles(delays[inside[row]]),
        },
        "ack_ms": {
            "outside": percentiles(acks[outside & safe]),
            "during": percentiles(acks[inside & safe]),
        },
        "late_ms": {
            "outside": percentiles(1000 * (at - published["due"])[outside]),
            "during": percentiles(1000 * (at - published["due"])[inside]),
        },
        "by_scheme": steps,
    }
    result["ratio"] = result["delivery_ms"]["during"][1] / result["delivery_ms"]["outside"][1]
    return result


def percentiles(values: Floats) -> list[float]:
    return [float(each) for each in np.percentile(values, PERCENTILES)] if len(values) else [math.nan] * 2


def by_rule(
    at: Floats, acknowledged: Floats, executed: list[Transition], rules: dict[str, Bools]
) -> Iterator[tuple[Bools, Bools]]:
    """Which publications the broker has matched by which scheme; either of two while it was exchanged."""
    now, since = rules["radial"], np.ones(len(at), dtype=bool)
    for each in executed:
        before = since & (acknowledged < each.asked)
        after = since & (at > each.done)
        yield before, now
        yield since & ~before & ~after, now & rules[each.to]
        now, since = rules[each.to], after
    yield since, now


def main() -> None:
    parser = common.arguments(__doc__ or "", repetitions=None)
    common.integer(parser, "--clients", 500, "how many are connected")
    common.integer(parser, "--rate", 2000, "publications a second, of all together")
    common.integer(parser, "--rounds", 3, "times that each of the four schemes gets its turn")
    parser.add_argument(
        "--seconds", type=float, default=6.0, metavar="S", help="from one transition to the next (6)"
    )
    common.integer(parser, "--seed", 1, "of where clients stand")
    options = parser.parse_args()

    signal(SIGTERM, default_int_handler)  # processes are ended then, too
    allow_descriptors(FILES_A_CLIENT * options.clients)
    world = World.of(options.clients, options.seed)
    with tempfile.TemporaryDirectory() as folder:
        found = run(world, options, Path(folder))
    print(json.dumps(found, indent=1))
    common.write("transitions_under_load", options.out, {"clients": options.clients, **found})


if __name__ == "__main__":
    main()
