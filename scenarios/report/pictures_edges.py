"""The part of a report that only runs with infrastructure have: where data came from, caches, outages."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from markupsafe import Markup

from bypass.scenarios.figures.infrastructure import CACHES, SOURCES, UNNAMED, InfrastructureFigures
from bypass.scenarios.figures.outcome import Run
from bypass.scenarios.report.page import Column, fixed, heading, number, paragraph, pictures, table
from bypass.scenarios.report.plots.stacks import stacks
from bypass.scenarios.report.plots.time.entries import entries_over_time
from bypass.scenarios.report.result import Result
from bypass.scenarios.report.tables import grouped

NOTHING = "No edge had anything."
COUNTED = {
    "requested": "asked clients for",
    "provided": "sent to edges",
    "notices": "notices",
    "relayed": "relayed",
    "cycles": "cell cycles",
    "lost_cycles": "lost",
}


def edges(result: Result) -> Iterator[Markup]:
    """Compare all runs with infrastructure, then show the caches of the main run, if it has some."""
    runs = {name: run.infrastructure for name, run in result.runs.items() if run.infrastructure is not None}
    if not runs:
        return
    summaries = {name: figures.summary() for name, figures in runs.items()}
    yield heading(2, "Edges")
    heads = ("served", *SOURCES, *COUNTED.values(), "J an edge")
    yield table(
        [Column("run"), *(Column(head, number=True) for head in heads)],
        [
            [
                name,
                fixed(summary["hit_ratio"], 3),
                *(fixed(summary["sources"][source], 3) for source in SOURCES),
                *(grouped(summary["counts"][each]) for each in COUNTED),
                number(summary["edge_j"]),
            ]
            for name, summary in summaries.items()
        ],
    )
    yield paragraph(
        "Served: the share of the downloads that edges were asked for which their caches had. Then the shares"
        " of all data that came to clients: from the caches of their edge, from a client in its area, or from"
        " elsewhere through the edge; items that edges asked clients for and sent to each other; messages"
        " that stable clients passed on; cycles of cell data. The energy of an edge is as the scenario says."
    )
    yield pictures(
        [
            stacks(
                "Where data came from",
                "share",
                [(name, _known(summary["sources"])) for name, summary in summaries.items()],
            ),
            stacks(
                "Worlds in the caches of own areas at the end",
                "share",
                [(name, _known(summary["worlds"])) for name, summary in summaries.items()],
            ),
        ],
        NOTHING,
    )
    yield from _of_run(result.main)


def _of_run(run: Run) -> Iterator[Markup]:
    figures = run.infrastructure
    if figures is None:
        return
    yield heading(3, "Caches over time")
    failures = tuple(switch.at for switch in figures.settings.switches())
    times, by_world = figures.course("local")
    yield pictures(
        [
            entries_over_time("Caches of all edges", times, _by_cache(figures), failures),
            entries_over_time(
                "Worlds in the caches of own areas",
                times,
                {world or UNNAMED: entries for world, entries in by_world.items()},
                failures,
            ),
        ],
        NOTHING,
    )
    if figures.changes:
        yield heading(3, "Outages")
        heads = (
            "failed", "returned", "clients", "first (s)", "last (s)", "notified (s)", "owed", "recall",
            "longest (s)",
        )  # fmt: skip
        yield table(
            [Column("at (s)"), *(Column(head, number=True) for head in heads)],
            [
                [
                    f"{each.at_s:g}",
                    grouped(each.failed),
                    grouped(each.returned),
                    grouped(each.clients),
                    *(fixed(value, 2) for value in (each.first_s, each.last_s, each.notified_s)),
                    grouped(each.owed),
                    fixed(each.recall, 3),
                    fixed(each.longest_s, 1),
                ]
                for each in figures.changes
            ],
        )
        yield paragraph(
            "Clients that had another design of store afterwards, how much later the first and the last of"
            " them had it, and how much later than that the first notification came; of notifications that"
            " were due until the next change."
        )


def _by_cache(figures: InfrastructureFigures) -> dict[str, np.ndarray]:
    found = {}
    for name in CACHES:
        times, by_world = figures.course(name)
        found[name] = np.sum([*by_world.values()], axis=0, dtype=float) if by_world else 0.0 * times
    return found


def _known(shares: dict[str, float]) -> dict[str, float]:
    return {name: share for name, share in shares.items() if not np.isnan(share)}
