"""Do cost formulas of stores agree with counted messages, and does the planner find the cheapest design?"""

from __future__ import annotations

import time
from dataclasses import asdict
from statistics import fmean
from typing import Any, NamedTuple

from common import arguments, integer, print_table, write

from bypass.models.storage.costs import Demand, Design, DesignCost, Extent, cost
from bypass.protocol.storage import NodeCounts
from bypass.scenarios.experiments.schema import Scenario
from bypass.scenarios.experiments.variants import validated
from bypass.scenarios.runs.stored import StorageExperiment
from bypass.testing.store_messages import APART, OPERATIONS, StoreMessages
from bypass.transitions import RuleBook

SIDE = 40.0
FIELDS = {16: (160, 80), 36: (240, 120), 64: (320, 160), 100: (400, 200), 196: (560, 280)}
"""Width and height by the number of nodes, two for each cell, as published."""

MIXES: dict[str, tuple[float, float, int, float]] = {
    "quiet": (0.5, 0.5, 200, 0.1),
    "inserting": (8.0, 0.3, 200, 0.1),
    "asking": (0.3, 4.0, 200, 0.1),
    "both": (3.0, 3.0, 200, 0.5),
    "matching": (2.0, 1.0, 20, 0.3),
}
"""Insertions and subscriptions of all nodes in a second, different tags, and the share of matches that are
fetched. Half as much is deleted and withdrawn in the second half."""

WAYS = {
    "local": ("local", {}),
    "server": ("server", {}),
    "cells, as published": ("cells", {"as_published": True}),
    "cells": ("cells", {}),
}
"""The design of each row, and its parameters."""

PLANNED = ("local", "server", "cells")
NEAR = 1.1
"""A case is near break-even if the second design needs at most so many times as much as the first."""

TAIL_S = 15


class Trial(NamedTuple):
    """A run of one design: what was done, how long ways were, and what was counted."""

    nodes: int
    mix: str
    way: str
    seed: int
    demand: Demand
    extent: Extent
    counted: StoreMessages
    total: int  # transmissions while clients did something, all kinds but the planner's questions
    total_bytes: int
    planned: str  # the design that a planner in this run holds for the cheapest
    cpu_s: float

    @property
    def predicted(self) -> DesignCost:
        """The formula, with measured ways."""
        return self._cost(self.extent)

    @property
    def plain(self) -> DesignCost:
        """The formula as it was published."""
        return self._cost(Extent.plain(self.nodes, self.extent.population, self.extent.neighbours))

    def sent(self) -> int:
        """The transmissions of operations."""
        return sum(self.counted.sent[each] for each in OPERATIONS)

    def received(self) -> int:
        """Their receptions."""
        return sum(self.counted.received[each] for each in OPERATIONS)

    def _cost(self, extent: Extent) -> DesignCost:
        return cost(Design(WAYS[self.way][0]), self.demand, extent, confirmed=self.way == "cells")


class CountedExperiment(StorageExperiment):
    """An experiment whose messages are counted, and that ends with its duration."""

    def _begin_attendance(self) -> None:
        super()._begin_attendance()
        clients, world = self.system.clients, self.scenario.world
        self.counted = StoreMessages(lambda number: clients[number].node.routing.own_cell())
        self.system.monitor.register(self.counted)
        self._counted_from(0)
        self.system.clock.at(
            round(self._settings.operations_from * 1e6), self._counted_from, self._settings.operations_from
        )
        self.planner = self._settings.planner.adaptation(
            clients[self._middle], RuleBook(rules=()), world.width, world.height
        )

    def _counted_from(self, _: float) -> None:
        self._before = self._sum(self.counted.sent), self._sum(self.counted.bytes)

    def _drain(self) -> None:
        now = self._sum(self.counted.sent), self._sum(self.counted.bytes)
        self.totals = now[0] - self._before[0], now[1] - self._before[1]
        self.counts = [client.node.counts() for client in self.system.clients]

    @staticmethod
    def _sum(counts: Any) -> int:
        return sum(number for kind, number in counts.items() if kind != "survey")


def scenario(nodes: int, mix: str, way: str, duration: int) -> Scenario:
    """A mix of operations among nodes that stand still, in one design."""
    inserts, subscriptions, vocabulary, retrieve = MIXES[mix]
    design, parameters = WAYS[way]
    width, height = FIELDS[nodes]
    routing: dict[str, Any] = {"proxy": "routing", "to": "dsdv"}
    if design == "cells":
        routing = {"proxy": "routing", "to": "cells", "set": {"area": [0, 0, width, height], "side": SIDE}}
    each = 3600 / nodes  # rates are for an hour and a node
    return validated(
        "storage_costs",
        {
            "name": "storage_costs",
            "about": "Counted messages of a store.",
            "clients": nodes,
            "duration": 60 + duration + TAIL_S,
            "world": {"width": width, "height": height},
            "mobility": {"model": "visitors", "width": width, "height": height},
            "wifi": {"reach": 113, "interference": 250, "broadcast_rate": 6, "unicast_rate": 6, "rts": False},
            "begin": [{"proxy": "transport", "to": "wifi"}, {"proxy": "mode", "to": "ad-hoc"}, routing],
            "objects": {
                "storage": design,
                "set": parameters,
                "retrieve": retrieve,
                "posts": {
                    "duration": duration, "rate": inserts * each, "vocabulary": vocabulary,
                    "spikes": 0, "void_share": 0,
                },
                "operations": {
                    "compression": 1, "first_half": subscriptions * each, "second_half": subscriptions * each,
                    "deletes": inserts * each / 2, "withdrawals": subscriptions * each / 2,
                },
                "planner": {"window_s": 10, "windows": 100, "side": SIDE},
            },
        },
    )  # fmt: skip


def run(nodes: int, mix: str, way: str, duration: int, seed: int) -> Trial:
    """Run one design, and count."""
    chosen = scenario(nodes, mix, way, duration)
    assert chosen.objects is not None
    began = time.process_time()
    experiment = CountedExperiment(chosen, chosen.objects, seed)
    experiment.run()
    latest = experiment.planner.latest
    assert latest is not None
    total, total_bytes = experiment.totals
    return Trial(
        nodes, mix, way, seed, demand(experiment.counts), extent(experiment.counts, WAYS[way][0]),
        experiment.counted, total, total_bytes, latest.cheapest.value, time.process_time() - began,
    )  # fmt: skip


def demand(counts: list[NodeCounts]) -> Demand:
    """The operations that all nodes have counted."""
    done = {name: sum(getattr(each, name) for each in counts) for name in NodeCounts.__slots__}
    return Demand(
        done["inserts"], done["retrieves"], done["subscriptions"], done["notifications"], done["deletes"],
        done["withdrawals"], done["tags"] / max(done["inserts"], 1),
        done["keys"] / max(done["subscriptions"], 1), done["pages"], done["answers"],
    )  # fmt: skip


def extent(counts: list[NodeCounts], design: str) -> Extent:
    """The network as nodes have measured it."""
    nodes = len(counts)
    done = {name: sum(getattr(each, name) for each in counts) for name in NodeCounts.__slots__}
    hops = done["hops"] / max(done["ways"], 1)
    cells = sum(1 / (each.mates + 1) for each in counts)
    alone = sum(not each.mates for each in counts)
    return Extent(
        nodes, nodes / cells, hops, done["cell_hops"] / max(done["cell_ways"], 1), hops,
        done["neighbours"] / nodes, 1 - alone / cells if design == "cells" else 1.0,
    )  # fmt: skip


def ratio(one: float, other: float) -> float:
    """One over the other, to the per mille; 1 if both are nothing."""
    return round(one / other, 3) if other else float(one == other)


def show_formulas(trials: list[Trial]) -> None:
    """Print formulas beside counted messages."""
    rows: list[list[str | float]] = [
        [
            trial.nodes, trial.mix, trial.way, trial.sent(),
            ratio(trial.predicted.transmissions(), trial.sent()),
            ratio(trial.plain.transmissions(), trial.sent()), trial.received(),
            ratio(trial.predicted.receptions(), trial.received()),
            ratio(trial.plain.receptions(), trial.received()),
            *(trial.counted.sent[each] for each in ("repeated", "upkeep", "reports", "routing")),
        ]
        for trial in trials
    ]  # fmt: skip
    print_table(
        "Messages of operations, counted; formulas over that; what no formula has",
        (
            "nodes", "mix", "design", "sent", "formula", "plain", "received", "formula", "plain",
            "repeated", "upkeep", "reports", "routing",
        ),
        rows,
    )  # fmt: skip


def cases(trials: list[Trial]) -> list[dict[str, Any]]:
    """Each workload under all designs, and what planners in them say."""
    found = []
    for nodes, mix, seed in dict.fromkeys((each.nodes, each.mix, each.seed) for each in trials):
        own = {
            each.way: each
            for each in trials
            if (each.nodes, each.mix, each.seed) == (nodes, mix, seed) and each.way in PLANNED
        }
        totals = {way: trial.total for way, trial in own.items()}
        first, second, *_ = sorted(totals.values())
        best = min(totals, key=lambda way: totals[way])
        by_bytes = min(own, key=lambda way: own[way].total_bytes)
        found.append(
            {
                "nodes": nodes, "mix": mix, "seed": seed, "totals": totals, "best": best,
                "by_bytes": by_bytes, "near": second <= NEAR * first,
                "planned": {way: each.planned for way, each in own.items()},
            }
        )  # fmt: skip
    return found


def main() -> None:
    parser = arguments(__doc__ or "", repetitions=None)
    integer(parser, "--duration", 60, "seconds in which nodes do something")
    integer(parser, "--seeds", 1, "seeds from 1 to so many")
    parser.add_argument("--sizes", type=int, nargs="+", default=[*FIELDS][:-1], choices=FIELDS, metavar="N")
    parser.add_argument("--mixes", nargs="+", default=[*MIXES], choices=MIXES, metavar="MIX")
    options = parser.parse_args()
    trials = [
        run(nodes, mix, way, options.duration, seed)
        for nodes in options.sizes
        for mix in options.mixes
        for seed in range(1, options.seeds + 1)
        for way in WAYS
    ]
    show_formulas(trials)
    found = cases(trials)
    print_table(
        "The planner: transmissions of all kinds, and the design that it finds in each",
        ("nodes", "mix", *PLANNED, "best", "by bytes", "near", *(f"in {way}" for way in PLANNED)),
        [
            [
                each["nodes"], each["mix"], *(each["totals"][way] for way in PLANNED), each["best"],
                each["by_bytes"], each["near"], *(each["planned"][way] for way in PLANNED),
            ]
            for each in found
        ],
    )  # fmt: skip
    far = [(each["best"], said) for each in found if not each["near"] for said in each["planned"].values()]
    right = fmean(best == said for best, said in far) if far else float("nan")
    print(f"\nThe planner is right in {right:.0%} of {len(far)} cases more than 10 % away from break-even.")
    rows = [
        {
            "nodes": each.nodes, "mix": each.mix, "design": each.way, "seed": each.seed, "cpu_s": each.cpu_s,
            "demand": asdict(each.demand), "extent": asdict(each.extent), "total": each.total,
            "total_bytes": each.total_bytes, "planned": each.planned,
            "operations": {
                name: {
                    "sent": each.counted.sent[name], "formula": each.predicted.transmissions(name),
                    "plain": each.plain.transmissions(name), "received": each.counted.received[name],
                    "formula_received": each.predicted.receptions(name),
                }
                for name in OPERATIONS
            },
            "apart": {
                name: [each.counted.sent[name], each.counted.received[name], each.counted.bytes[name]]
                for name in APART
            },
            "sent_ratio": ratio(each.predicted.transmissions(), each.sent()),
            "received_ratio": ratio(each.predicted.receptions(), each.received()),
        }
        for each in trials
    ]  # fmt: skip
    write(
        "storage_costs",
        options.out,
        {"duration": options.duration, "right": right, "rows": rows, "cases": found},
    )


if __name__ == "__main__":
    main()
