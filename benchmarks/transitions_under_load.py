"""Do clients notice that the filter scheme is exchanged while they publish: is anything lost, twice, or late?

All clients have encrypted connections of their own; they stand still, so that it is known whom an event
concerns. An operator takes all of them from RADIAL to STE to GRID to EGRID and back.
"""

from __future__ import annotations

import json
import math
import os
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
import servers

from bypass.live.keys import create_broker_keys, create_client_keys
from bypass.live.operator import Operator
from bypass.support.arrays import Bools, Floats, Ints

CYCLE = ("ste", "grid", "egrid", "radial")
SIDE = 1000
RECIPIENTS = 3.5
AFTER_S = 1.0
"""A transition is noticed, if at all, until so long after the last client has answered."""

GOAL_RATIO = 2.0
LOSSES = ("silent", "stalled", "unreachable", "expelled", "misled")
NOTHING = {
    "lost": "acknowledged and not delivered",
    "twice": "delivered twice to a client",
    "unanswered": "publications never acknowledged",
    "failed": "clients that failed a transition",
    "isolated": "clients that were isolated",
    "lost_connections": "connections that were lost",
    "given_up": "deliveries given up by the broker",
}
"""Of these there must be none."""

WARM_UP_S = 2.0
PATIENCE = 60.0


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
    grids: dict[str, int]  # by scheme

    @classmethod
    def of(cls, clients: int, seed: int) -> World:
        """So many clients, with about RECIPIENTS near each, and as many in a cell of GRID.

        Who listens to all cells of EGRID that its circle touches gets more: cells are half as wide as it.
        """
        rng = random.Random(seed)
        places = [[rng.randrange(SIDE) + 0.5, rng.randrange(SIDE) + 0.5] for _ in range(clients)]
        radius = round(math.sqrt(RECIPIENTS * SIDE * SIDE / (math.pi * clients)))
        grids = {"grid": max(1, round(math.sqrt(clients / RECIPIENTS))), "egrid": round(2 * SIDE / radius)}
        return cls(np.array(places), radius, grids)

    def concerned(self) -> dict[str, Bools]:
        """By scheme: whom (column) an event of a client (row) must reach."""
        steps = self.places[:, None, :] - self.places[None, :, :]
        near = (steps**2).sum(axis=2) <= self.radius**2
        cells = np.floor(self.places * self.grids["grid"] / SIDE)
        together = (cells[:, None, :] == cells[None, :, :]).all(axis=2)
        others = ~np.eye(len(near), dtype=bool)
        return {"grid": together & others} | dict.fromkeys(("radial", "ste", "egrid"), near & others)


# -- the run ----------------------------------------------------------------------------------------------


@contextmanager
def load(settings: dict[str, Any], folder: Path, core: int) -> Iterator[subprocess.Popen[str]]:
    """A process with all clients, who are subscribed; it is gone when the block ends."""
    file = folder / "load.json"
    file.write_text(json.dumps(settings), encoding="utf-8")
    command = [sys.executable, str(servers.FOLDER / "load_clients.py"), str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        os.sched_setaffinity(process.pid, {core})
        try:
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                raise RuntimeError("clients did not get ready")
            yield process
        finally:
            process.kill()


def transitions(
    operator: Callable[[], Operator], world: World, rounds: int, seconds: float
) -> Iterator[Transition]:
    """One after the other, `seconds` apart. An operator connects each time: silent ones are not kept."""
    for to in CYCLE * rounds:
        action: dict[str, Any] = {"proxy": "filter", "to": to}
        if to in world.grids:
            action["set"] = {"grid": world.grids[to]}
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
    config = {
        "keys": str(keys),
        "clients": str(folder / "clients"),
        "region": {"area": [0, 0, SIDE, SIDE]},
        "limits": servers.UNLIMITED,
    }
    cores = servers.cores()
    with servers.bypass_broker(folder, cores.server, **config) as server:
        operator = partial(Operator, server.endpoint, admin, patience=PATIENCE)
        settings = {
            "endpoint": server.endpoint,
            "keys": str(client),
            "radius": world.radius,
            "places": world.places.tolist(),
            "rate": options.rate,
            "out": str(folder / "load.npz"),
        }
        with load(settings, folder, cores.load) as clients:
            assert clients.stdin is not None
            begin = time.monotonic() + 0.1
            cpu, busy, waited = server.cpu(), busy_s(), waited_s(server)
            clients.stdin.write(f"{begin}\n")
            clients.stdin.flush()
            executed = list(transitions(operator, world, 1, WARM_UP_S))  # kernels are loaded
            since = time.monotonic()
            time.sleep(options.seconds)
            executed += transitions(operator, world, options.rounds, options.seconds)
            end = time.monotonic()
            cpu, busy = server.cpu() - cpu, busy_s() - busy
            waited = waited_s(server) - waited
            clients.stdin.close()
            if clients.wait(3 * PATIENCE):
                raise RuntimeError("clients have failed")
        with operator() as asking:
            status = asking.ask("status")
            records = asking.ask("log", limit=1000)
    seen: dict[str, Any] = dict(np.load(folder / "load.npz"))
    plans = {each["epoch"]: each for each in records if each["type"] == "plan"}
    found = judge(world, seen, executed, [plans[each.epoch] for each in executed], since, end)
    clients_cpu = float(seen["cpu"])
    share = 1.0 / (end - begin)
    return found | {
        "given_up": status["counters"]["missed"],
        "lost_connections": sum(status["counters"].get(why, 0) for why in LOSSES),
        "broker_cpu": share * cpu,
        "broker_waited": share * waited,
        "clients_cpu": share * clients_cpu,
        "others_cpu": share * (busy - cpu - clients_cpu),
        "cores": os.cpu_count(),
        "commit_ms": status["store"]["commit_ms"],
    }


def waited_s(server: servers.Server) -> float:
    """Seconds that its threads were ready to run and the core was not free."""
    threads = Path(f"/proc/{server.process.pid}/task").glob("*/schedstat")
    return sum(int(each.read_text(encoding="utf-8").split()[1]) for each in threads) / 1e9


def busy_s() -> float:
    """Seconds of processor time of all processes of the machine."""
    fields = Path("/proc/stat").read_text(encoding="utf-8").split()[1:9]
    user, nice, system, _idle, _wait, *rest = map(int, fields)
    return (user + nice + system + sum(rest)) / servers.TICKS


# -- what came of it --------------------------------------------------------------------------------------


def judge(
    world: World,
    seen: dict[str, Any],
    executed: list[Transition],
    plans: list[dict[str, Any]],
    since: float,
    end: float,
) -> dict[str, Any]:
    """Was all that was acknowledged received, once, and how soon."""
    at, acknowledged = seen["published"], seen["acknowledged"]
    row = rows_of(seen)
    copies = row * len(world.places) + seen["to"]
    distinct = np.unique(copies)
    expected, lost = missing(world, seen, distinct, executed)

    measured = (at >= since) & (at < end)
    starts = [each.asked for each in executed]
    stops = [start + plan["took_ms"] / 1000 + AFTER_S for start, plan in zip(starts, plans, strict=True)]
    during = np.zeros(len(at), dtype=bool)
    for start, stop in zip(starts, stops, strict=True):
        during |= (at >= start) & (at < stop)
    periods = {"outside": measured & ~during, "during": measured & during}
    delays, answers = 1000 * (seen["at"] - at[row]), 1000 * (acknowledged - at)
    safe = acknowledged > 0
    delivery = {name: percentiles(delays[period[row]]) for name, period in periods.items()}
    return {
        "seconds": end - since,
        "rate": float(measured.sum()) / (end - since),
        "acknowledged": int(safe.sum()),
        "unanswered": int((~safe).sum()),
        "received": len(copies),
        "expected": expected,
        "lost": lost,
        "twice": len(copies) - len(distinct),
        "transitions": len(executed),
        "took_ms": [plan["took_ms"] for plan in plans[len(CYCLE) :]],
        "clients_that_followed": [plan["done"] for plan in plans],
        "failed": sum(plan["failed"] + plan["pending"] for plan in plans),
        "isolated": sum(len(plan["isolated"]) for plan in plans),
        "delivery_ms": delivery,
        "ratio": delivery["during"][1] / delivery["outside"][1],
        "paired_ratio": paired_ratio([*starts, end], [since, *stops], at, row, delays),
        "acknowledgement_ms": {name: percentiles(answers[p & safe]) for name, p in periods.items()},
        "late_ms": {name: percentiles(1000 * (at - seen["due"])[p]) for name, p in periods.items()},
        "by_scheme": [by_scheme(to, executed, plans, [*starts, end], stops, at, row, delays) for to in CYCLE],
    }


def rows_of(seen: dict[str, Any]) -> Ints:
    """Which publication it is that was received, for each that was."""
    width = 1 + int(seen["serial"].max())
    key = seen["who"] * width + seen["serial"]
    order = np.argsort(key)
    found: Ints = order[np.searchsorted(key, seen["of"] * width + seen["number"], sorter=order)]
    return found


def missing(
    world: World, seen: dict[str, Any], distinct: Ints, executed: list[Transition]
) -> tuple[int, int]:
    """How many deliveries there must be of what was acknowledged, and how many there were not."""
    who, acknowledged = seen["who"], seen["acknowledged"]
    everybody = np.arange(len(world.places))
    expected = lost = 0
    for some, must in by_rule(seen["published"], acknowledged, executed, world.concerned()):
        rows = np.flatnonzero(some & (acknowledged > 0))
        wanted = (rows[:, None] * len(everybody) + everybody)[must[who[rows]]]
        expected += len(wanted)
        lost += int((~np.isin(wanted, distinct, assume_unique=True)).sum())
    return expected, lost


def paired_ratio(starts: list[float], stops: list[float], at: Floats, row: Ints, delays: Floats) -> float:
    """The median, over transitions, of the 99th percentile during one to that right before and after it."""
    ratios = []
    for i in range(len(CYCLE), len(starts) - 1):
        during = (at >= starts[i]) & (at < stops[i + 1])
        before = (at >= max(stops[0], stops[i])) & (at < starts[i])
        after = (at >= stops[i + 1]) & (at < starts[i + 1])
        ratios.append(percentiles(delays[during[row]])[1] / percentiles(delays[(before | after)[row]])[1])
    return float(np.median(ratios))


def by_scheme(
    to: str,
    executed: list[Transition],
    plans: list[dict[str, Any]],
    starts: list[float],
    stops: list[float],
    at: Floats,
    row: Ints,
    delays: Floats,
) -> dict[str, Any]:
    """Of all transitions to one scheme: how long they took, and how late events were until and after that."""
    turns = [i for i, each in enumerate(executed) if each.to == to and i >= len(CYCLE)]
    during, after = np.zeros(len(at), dtype=bool), np.zeros(len(at), dtype=bool)
    for i in turns:
        during |= (at >= starts[i]) & (at < stops[i])
        after |= (at >= stops[i]) & (at < starts[i + 1])
    return {
        "to": to,
        "took_ms": float(np.median([plans[i]["took_ms"] for i in turns])),
        "recipients": float(after[row].sum() / max(1, after.sum())),
        "outside_ms": percentiles(delays[after[row]]),
        "during_ms": percentiles(delays[during[row]]),
    }


def percentiles(values: Floats) -> list[float]:
    """Median and 99th percentile; not a number if a transition took all the time there was."""
    return [float(each) for each in np.percentile(values, (50, 99))] if len(values) else [math.nan, math.nan]


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


def show(clients: int, found: dict[str, Any]) -> None:
    """The tables."""
    rows: list[list[str]] = [
        ["events acknowledged", f"{found['acknowledged']:,}", ""],
        ["deliveries that must be", f"{found['expected']:,}", ""],
        ["deliveries, by all schemes", f"{found['received']:,}", ""],
        ["transitions", f"{found['transitions']:,}", ""],
        *([text, f"{found[name]:,}", "0"] for name, text in NOTHING.items()),
    ]
    for name, text in (("delivery_ms", "delivery"), ("acknowledgement_ms", "acknowledgement")):
        for period, values in found[name].items():
            rows.append([f"{text}, {period}, p50 / p99 (ms)", " / ".join(f"{v:.1f}" for v in values), ""])
    rows.append(["delivery p99, during / outside", f"{found['ratio']:.2f}", f"<= {GOAL_RATIO:g}"])
    rows.append(["... median over transitions, of neighbours", f"{found['paired_ratio']:.2f}", ""])
    common.print_table(
        f"{clients:,} clients, {found['rate']:,.0f} publications a second, {found['seconds']:.0f} s",
        ("", "measured", "goal"),
        rows,
    )
    common.print_table(
        "Delivery by scheme (ms), and until all clients had followed",
        ("to", "recipients", "p50", "p99", "p50 during", "p99 during", "took ms"),
        [
            [each["to"], each["recipients"], *each["outside_ms"], *each["during_ms"], each["took_ms"]]
            for each in found["by_scheme"]
        ],
    )
    late = {name: f"{values[1]:.1f}" for name, values in found["late_ms"].items()}
    print(
        f"\n  processors busy: broker {found['broker_cpu']:.2f} (its threads waited for "
        f"{found['broker_waited']:.2f}), clients {found['clients_cpu']:.2f}, "
        f"others {found['others_cpu']:.2f} of {found['cores']}; publications were late by "
        f"{late['outside']} ms outside and {late['during']} ms during transitions (p99); "
        f"a commit took {found['commit_ms']:.1f} ms"
    )


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
    servers.allow_descriptors(options.clients)
    world = World.of(options.clients, options.seed)
    with tempfile.TemporaryDirectory() as folder:
        found = run(world, options, Path(folder))
    show(options.clients, found)
    common.write("transitions_under_load", options.out, {"clients": options.clients, **found})
    if any(found[name] for name in NOTHING):
        sys.exit(1)


if __name__ == "__main__":
    main()
