"""How long do events take if their publisher, their subscriber or both are connected only now and then?

Side by side: what queueing theory predicts, what the simulator finds, and what is measured at a live broker
whose clients' connections are cut and refused by turns. All pairs of a publisher and a subscriber are alike.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import common
import numpy as np
import servers
from connectivity_pairs import PATIENCE, Live, measure, simulate

from bypass.models.churn import OnOff
from bypass.models.queueing import Centre

GOAL = 0.15
WAYS: dict[str, tuple[int, ...]] = {"nobody": (), "subscriber": (1,), "publisher": (0,), "both": (0, 1)}
"""The clients of each pair that are switched: its publisher has number 0, its subscriber 1."""


@dataclass(frozen=True)
class Periods:
    """Means of ON and OFF times (s), how many there were, and how much OFF times vary (exponential: 1)."""

    on: float
    off: float
    count: int
    off_variation: float

    @classmethod
    def of(cls, found: Live, who: int) -> Periods:
        """Of the publishers (0) or the subscribers (1) of all pairs."""
        times = [found.periods(client) for client in found.states if client % 2 == who]
        on, off = (np.concatenate([each[n] for each in times]) for n in (0, 1))
        return cls(float(on.mean()), float(off.mean()), len(off), float(off.std() / off.mean()))


def predicted(rate: float, service: float, base: float, periods: Sequence[tuple[float, float]]) -> float:
    """The mean response: what it takes in any case, and a centre for each who is switched."""
    return base + sum(Centre("peer", rate, service, on, off).response() for on, off in periods)


def simulated_nominal(options: Any, who: tuple[int, ...], service: float, base: float) -> float:
    """The simulator with the nominal means, for longer and with other luck than the live system."""
    seconds = options.simulated / options.rate / options.pairs
    schedule = OnOff(on=options.on, off=options.off).schedule(2 * options.pairs, seconds, options.seed + 1000)
    moments, clients, joins = (each.tolist() for each in schedule.changes())
    switches = [(at / 1e6, client, on) for at, client, on in zip(moments, clients, joins, strict=True)]
    began = [(0.0, c, False) for c in range(2 * options.pairs) if not schedule.active(c, 0.0)]
    chosen = [each for each in (*began, *switches) if each[1] % 2 in who]
    luck = random.Random(options.seed + 1000)
    arrivals = [poisson(luck, options.rate, seconds) for _ in range(options.pairs)]
    return float(np.mean(simulate(arrivals, chosen, service, base)))


def poisson(luck: random.Random, rate: float, seconds: float) -> list[float]:
    """Moments of a Poisson process."""
    found = [luck.expovariate(rate)]
    while found[-1] < seconds:
        found.append(found[-1] + luck.expovariate(rate))
    return found[:-1]


def live(options: Any, who: tuple[int, ...], endpoint: str) -> Live:
    """Measure one way with the broker at `endpoint`."""
    seconds = options.events / options.rate
    schedule = OnOff(on=options.on, off=options.off).schedule(
        2 * options.pairs, seconds + PATIENCE, options.seed
    )
    luck = random.Random(options.seed)
    arrivals = [poisson(luck, options.rate, seconds) for _ in range(options.pairs)]
    return asyncio.run(measure(endpoint, arrivals, who, schedule, options.refusing))


def compare(options: Any, found: Mapping[str, Live]) -> dict[str, dict[str, Any]]:
    """Each way: predicted, simulated and measured (s)."""
    base = float(np.mean(found["nobody"].delays))
    service = max(found[way].service() for way in ("subscriber", "publisher"))
    rows: dict[str, dict[str, Any]] = {}
    for way, who in WAYS.items():
        each = found[way]
        occurred = {n: Periods.of(each, n) for n in who}
        rows[way] = {
            "events": len(each.delays),
            "service": service,
            "predicted_nominal": predicted(
                options.rate, service, base, [(options.on, options.off)] * len(who)
            ),
            "simulated_nominal": simulated_nominal(options, who, service, base),
            "predicted": predicted(options.rate, service, base, [(p.on, p.off) for p in occurred.values()]),
            "simulated": float(np.mean(simulate(each.published, each.switches(), service, base))),
            "measured": float(np.mean(each.delays)),
            "occurred": {("publisher", "subscriber")[n]: asdict(p) for n, p in occurred.items()},
            "reconnect_mean": each.reconnect()[0],
            "reconnect_median": each.reconnect()[1],
            "reconnect_missed": each.reconnect()[2],
        }
        rows[way]["difference"] = rows[way]["measured"] / rows[way]["predicted"] - 1.0
    return rows


def show(options: Any, rows: Mapping[str, Mapping[str, Any]]) -> None:
    ms = 1000.0
    means = ("predicted_nominal", "simulated_nominal", "predicted", "simulated", "measured")
    common.print_table(
        f"Mean response (ms): {options.rate:g} events/s a pair, {options.pairs} pairs, ON {options.on:g} s,"
        f" OFF {options.off:g} s, seed {options.seed}",
        ("switched", "events", "predicted", "simulated", "predicted*", "simulated*", "measured", "beyond* %"),
        [
            [way, row["events"], *(ms * row[key] for key in means), 100 * row["difference"]]
            for way, row in rows.items()
        ],
    )
    print("\n  * with the times that clients were really connected and disconnected")
    common.print_table(
        "Connections (ms)",
        (
            "switched",
            "who",
            "OFF times",
            "ON",
            "OFF",
            "variation",
            "reconnect",
            "median",
            "missed",
            "service",
        ),
        [
            [
                *(way, who, p["count"], ms * p["on"], ms * p["off"], p["off_variation"]),
                *(ms * row["reconnect_mean"], ms * row["reconnect_median"], row["reconnect_missed"]),
                ms * row["service"],
            ]
            for way, row in rows.items()
            for who, p in row["occurred"].items()
        ],
    )
    print("\n  reconnect: from when a network is ON until its client is connected")
    print("  missed: ON times that were over before; service: between two events that have waited")


def main() -> None:
    parser = common.arguments(__doc__, repetitions=None)
    common.integer(parser, "--events", 2000, "events of each pair")
    common.integer(parser, "--pairs", 8, "publishers, and subscribers")
    common.integer(parser, "--simulated", 100_000, "events in the simulator, all pairs together")
    common.integer(parser, "--seed", 1, "of periods and publications")
    parser.add_argument(
        "--rate", type=float, default=25.0, metavar="R", help="events a second of each pair (25)"
    )
    parser.add_argument("--on", type=float, default=0.5, metavar="S", help="mean ON time (0.5)")
    parser.add_argument("--off", type=float, default=0.5, metavar="S", help="mean OFF time (0.5)")
    parser.add_argument(
        "--refusing", action="store_true", help="who is OFF is refused instead of getting no answer"
    )
    options = parser.parse_args()
    found: dict[str, Live] = {}
    settings = {"open": True, "sync": "normal", "limits": {"client_rate": 0}}
    with (
        tempfile.TemporaryDirectory() as folder,
        servers.bypass_broker(Path(folder), servers.cores().server, **settings) as broker,
    ):
        for way, who in WAYS.items():
            found[way] = live(options, who, broker.endpoint)
            print(f"{way} switched: {len(found[way].delays):,} events measured", flush=True)
    rows = compare(options, found)
    show(options, rows)
    parameters = {
        name: getattr(options, name) for name in ("events", "pairs", "rate", "on", "off", "seed", "refusing")
    }
    common.write("connectivity", options.out, {"parameters": parameters, "goal": GOAL, "ways": rows})
    beyond = [way for way in WAYS if way != "nobody" and abs(rows[way]["difference"]) > GOAL]
    print(f"beyond {GOAL:.0%} of the prediction: {', '.join(beyond) or 'none'}")


if __name__ == "__main__":
    main()
