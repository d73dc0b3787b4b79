"""How many deliveries a broker makes for a second of processor time, where those near an event are to get it.

Ours beside the bare ROUTER of pyzmq, which is the limit of what it is made of, and beside brokers that know
nothing of places: mosquitto and nats-server with geohash cells as topics, and Redis, which is asked who is
near.
"""

from __future__ import annotations

import sys
from os import sched_setaffinity
from signal import SIGTERM, default_int_handler, signal
from typing import Any, NamedTuple

import common
import numpy as np
import servers
from fanout_clients import PUBLISHERS
from fanout_places import PRECISION, SIDE, Places
from fanout_systems import BARE, BARE_CURVE, available
from fanout_turns import PAUSE_S, Slice, System, at_rest, in_turn, pace, saturate, started, total

GOAL_OF_BARE = 0.5
NO_GOAL = ("nats-server",)
SLACK = 0.01
"""So much of what is useful may be missing where a peer measures distances differently, on a sphere."""

SATURATED_S, MODERATE_S = 1.0, 1.0
"""How long a slice is, about."""


class Measured(NamedTuple):
    """A system, over all slices. Rates are of useful deliveries a second, and times are for each of them.

    `busy` is the share of the time in which the server had its core, `event_cpu_us` its time for an event,
    `moderate_cpu_us` that for a delivery where latency is measured, `load_cpu_us` that of the load where the
    rate is. `idle` is the share of a core that the server takes while nothing is published, `disturbed` the
    share that other servers took when it was its turn.
    """

    per_cpu_second: float
    per_second: float
    busy: float
    event_cpu_us: float
    load_cpu_us: float
    wasted: float
    p50_ms: float
    p99_ms: float
    moderate_cpu_us: float
    mebibytes: float
    idle: float
    disturbed: float


COLUMNS = {
    "per CPU s": "per_cpu_second",
    "of bare": "of_bare",
    "per s": "per_second",
    "busy": "busy",
    "event µs": "event_cpu_us",
    "wasted": "wasted",
    "p50 ms": "p50_ms",
    "p99 ms": "p99_ms",
    "CPU µs": "moderate_cpu_us",
    "MiB": "mebibytes",
}


class Ratio(NamedTuple):
    """Of deliveries for a second of processor time: the quartiles of the rounds.

    Sums would not do: in a slice in which others have the core a server needs more time for the same.
    """

    low: float
    median: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f}-{self.high:.2f})"


def ratio(ours: list[Slice], theirs: list[Slice]) -> Ratio:
    """How many times as many the one delivers as the other."""
    rounds = [_per_cpu_second(one) / _per_cpu_second(other) for one, other in zip(ours, theirs, strict=True)]
    return Ratio(*np.percentile(rounds, (25, 50, 75)).tolist())


def _per_cpu_second(one: Slice) -> float:
    return one.useful / one.cpu


def measure(
    systems: list[System], seconds: float, rate: float, window: int
) -> tuple[dict[str, list[Slice]], dict[str, Measured]]:
    """Load each as much as it takes, and then moderately. Gives the slices of the former, too."""
    idle = at_rest(systems)
    rounds = _rounds(seconds, SATURATED_S)
    saturated = in_turn(systems, rounds, "rate", lambda load: saturate(load, window, seconds / rounds))
    for system in systems:
        system.load.tally.timing = True
    rounds = _rounds(seconds, MODERATE_S)
    moderate = in_turn(systems, rounds, "latency", lambda load: pace(load, rate, seconds / rounds))
    for system in systems:
        _check(system)
    measured = {
        system.name: _measured(
            system, total(saturated[system.name]), total(moderate[system.name]), idle[system.name]
        )
        for system in systems
    }
    return saturated, measured


def _rounds(seconds: float, slice_s: float) -> int:
    return max(round(seconds / slice_s), 1)


def _check(system: System) -> None:
    tally = system.load.tally
    if tally.useful < tally.useful_expected * (1.0 - (SLACK if system.name == "redis-server" else 0.0)):
        raise AssertionError(
            f"{system.name}: {tally.useful} of {tally.useful_expected} useful deliveries came"
        )


def _measured(system: System, most: Slice, moderate: Slice, idle: float) -> Measured:
    p50, p99 = np.percentile(system.load.tally.latencies, (50, 99)) * 1000.0
    return Measured(
        per_cpu_second=_per_cpu_second(most),
        per_second=most.useful / most.took,
        busy=most.cpu_meanwhile / most.took,
        event_cpu_us=most.cpu / most.events * 1e6,
        load_cpu_us=most.load_cpu / most.useful * 1e6,
        wasted=round(1.0 - most.useful / most.received, 3),
        p50_ms=float(p50),
        p99_ms=float(p99),
        moderate_cpu_us=moderate.cpu / moderate.useful * 1e6,
        mebibytes=system.server.resident() / (1 << 20),
        idle=idle,
        disturbed=(most.others_cpu + moderate.others_cpu) / (most.took + moderate.took),
    )


def of_bare(slices: dict[str, list[Slice]]) -> dict[str, Ratio]:
    """Of the limit of each system, where that was measured too."""
    limits = {name: BARE_CURVE if "CURVE" in name else BARE for name in slices}
    return {name: ratio(slices[name], slices[limit]) for name, limit in limits.items() if limit in slices}


def print_figures(recipients: int, measured: dict[str, Measured], shares: dict[str, Ratio]) -> None:
    figures = {
        name: row._asdict() | {"of_bare": f"{shares[name].median:.2f}" if name in shares else ""}
        for name, row in measured.items()
    }
    rows = [[name, *(row[key] for key in COLUMNS.values())] for name, row in figures.items()]
    common.print_table(f"{recipients} recipients an event: useful deliveries", ("system", *COLUMNS), rows)
    idle = sum(row.idle for row in measured.values())
    disturbed = max(row.disturbed for row in measured.values())
    print(
        f"\n  All servers together take {idle:.1%} of a core while nothing is published,"
        f"\n  and no more than {disturbed:.2%} of one during a slice of another server."
    )


def print_goals(recipients: int, slices: dict[str, list[Slice]], shares: dict[str, Ratio]) -> None:
    """Ours in useful deliveries for a second of processor time: a share of the limit, multiples of peers."""
    own = [name for name in slices if name.startswith("bypass")]
    peers = [name for name in slices if not name.startswith(("bypass", "bare"))]
    if not own:
        return
    goals = [("goal", f"{GOAL_OF_BARE:g}", *("" if name in NO_GOAL else "more than 1" for name in peers))]
    rows = [
        (name, str(shares.get(name, "")), *(str(ratio(slices[name], slices[peer])) for peer in peers))
        for name in own
    ]
    title = f"{recipients} recipients an event: times as many for a second of processor time (quartiles)"
    common.print_table(title, ("", "bare ROUTER", *peers), goals + rows)


def main() -> None:
    parser = common.arguments(__doc__ or "", repetitions=None)
    common.integer(parser, "--subscribers", 1000, "how many there are")
    parser.add_argument(
        "--recipients",
        type=int,
        nargs="+",
        default=[12, 40],
        metavar="N",
        help="of an event, on average (12 40)",
    )
    parser.add_argument(
        "--seconds", type=float, default=6.0, metavar="S", help="of each of two phases, in slices (6)"
    )
    common.integer(parser, "--rate", 200, "events a second where latency is measured")
    common.integer(parser, "--window", 400, "events that are on their way at a time where the rate is")
    common.integer(parser, "--events", 4000, "different places of events")
    parser.add_argument("--systems", nargs="+", metavar="TEXT", help="only those with this in their names")
    options = parser.parse_args()

    signal(SIGTERM, default_int_handler)  # servers are ended then, too
    names = available()
    if options.systems:
        names = [name for name in names if any(text in name for text in options.systems)]
    if not names:
        sys.exit("no system of that name")
    try:
        servers.allow_descriptors(len(names) * (options.subscribers + PUBLISHERS))
    except ValueError as error:
        sys.exit(f"{error}; try fewer --systems or --subscribers")
    cores = servers.cores()
    sched_setaffinity(0, {cores.load})
    result: dict[str, Any] = {}
    for recipients in options.recipients:
        places = Places(options.subscribers, recipients, options.events)
        with started(names, places, cores.server) as systems:
            slices, measured = measure(systems, options.seconds, options.rate, options.window)
        shares = of_bare(slices)
        print_figures(recipients, measured, shares)
        print_goals(recipients, slices, shares)
        result[str(recipients)] = {
            "radius": places.radius,
            "systems": {name: row._asdict() for name, row in measured.items()},
            "of_bare": {name: share._asdict() for name, share in shares.items()},
            "slices": {name: [each._asdict() for each in some] for name, some in slices.items()},
        }
    common.write(
        "fanout",
        options.out,
        {
            "subscribers": options.subscribers,
            "side": SIDE,
            "precision": PRECISION,
            "window": options.window,
            "rate": options.rate,
            "seconds": options.seconds,
            "pause_s": PAUSE_S,
            "recipients": result,
        },
    )


if __name__ == "__main__":
    main()
