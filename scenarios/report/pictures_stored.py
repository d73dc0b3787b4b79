"""The part of a report that only runs with a store have: operations, notifications, traffic, loads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from markupsafe import Markup

from bypass.scenarios.figures.outcome import Run
from bypass.scenarios.figures.storage import StoreFigures
from bypass.scenarios.figures.storage_loads import energy_figures
from bypass.scenarios.report.page import Column, fixed, heading, number, paragraph, pictures, table
from bypass.scenarios.report.plots.bars import bars
from bypass.scenarios.report.plots.captions import run_colours
from bypass.scenarios.report.plots.maps.gateways import lorenz_curves
from bypass.scenarios.report.plots.maps.loads import load_map
from bypass.scenarios.report.plots.marks import marks
from bypass.scenarios.report.plots.stacks import stacks
from bypass.scenarios.report.plots.style import SMALL, WIDE
from bypass.scenarios.report.result import Result
from bypass.scenarios.report.tables import grouped

NOTHING = "Nobody stored anything."
SHOWN = ("insert", "subscribe", "retrieve", "delete", "unsubscribe")
FEW_MAPS = 4  # are drawn large
MEGABYTE = 1e6


def stores(result: Result) -> Iterator[Markup]:
    """Compare all runs with a store: a table, then pictures with a line for each."""
    runs = {name: (run, run.store) for name, run in result.runs.items() if run.store is not None}
    figures = {name: store for name, (_, store) in runs.items()}
    colours = run_colours([run for run, _ in runs.values()])
    coloured = list(zip(figures.items(), colours, strict=True))
    yield store_table(figures)
    yield operation_table(figures)
    yield paragraph(
        "Owed: what a store tells in which all operations succeed at once; recall is the share of it that was"
        " told. Times are means over operations that succeeded. Lost: acknowledged, held by somebody, and not"
        " found in the end. Energy is computed from counted operations and messages, with the constants of"
        " a device."
    )
    yield pictures(
        [
            marks(
                "Success of operations",
                "share",
                [(name, store.success) for name, store in figures.items()],
                share=True,
            ),
            marks(
                "Duration of operations, and until notification",
                "ms, mean",
                [(name, _durations(store)) for name, store in figures.items()],
            ),
            bars("Recall", "share of what is owed", _rows(coloured, lambda store: store.recall)),
            bars(
                "Longest until notification", "s", _rows(coloured, lambda store: store.longest_notification_s)
            ),
            stacks("Bytes on the air", "MB", [(name, layers(store)) for name, store in figures.items()]),
            bars("Frames sent again", "frames", _rows(coloured, lambda s: s.traffic["retransmissions"])),
        ],
        NOTHING,
    )
    yield heading(3, "Load of nodes")
    yield paragraph("Messages that a node has processed: requests, and those that keep copies the same.")
    yield from _loads(runs)


def switches(run: Run) -> Iterator[Markup]:
    """Show the phases of a store, and its switches from one design to another."""
    store = run.store
    if store is None or len(store.phases) < 2:
        return
    yield heading(3, "Phases")
    columns = [Column("phase"), *(Column(name, number=True) for name in ("from (s)", "owed", "recall"))]
    yield table(
        columns,
        [[p.name, f"{p.start_s:g}", grouped(p.owed), fixed(p.recall, 3)] for p in store.phases],
    )
    yield heading(3, "Switches")
    names = ("at (s)", "nodes", "within (s)", "MB", "MB before", "owed", "recall", "longest (s)")
    yield table(
        [Column("to"), *(Column(name, number=True) for name in names)],
        [
            [
                each.phase,
                f"{each.at_s:g}",
                grouped(each.clients),
                fixed(each.seconds, 2),
                fixed(each.bytes / MEGABYTE, 2),
                fixed(each.bytes_before / MEGABYTE, 2),
                grouped(each.owed),
                fixed(each.recall, 3),
                fixed(each.longest_s, 1),
            ]
            for each in store.switches
        ],
    )
    yield paragraph(
        "A switch: its first half minute, or until the next one; MB before: of as long before it."
    )


def store_table(figures: Mapping[str, StoreFigures]) -> Markup:
    """A row for each run: what was stored and owed, what came of it, and what it cost."""
    names = ("objects", "owed", "recall", "told after (ms)", "at most (s)", "lost", "twice", "MB", "J a node")
    columns = [Column("run"), *(Column(name, number=True) for name in names)]
    return table(
        columns,
        [
            [
                name,
                grouped(store.objects),
                grouped(store.owed),
                fixed(store.recall, 3),
                number(store.notification_ms.mean),
                number(store.longest_notification_s),
                grouped(store.lost),
                grouped(store.doubled),
                number(store.traffic["phy_bytes"] / MEGABYTE),
                number(energy_figures(store.layout.loads, store.layout.device)["mean_j"]),
            ]
            for name, store in figures.items()
        ],
    )


def operation_table(figures: Mapping[str, StoreFigures]) -> Markup:
    """A row for each run: the success of each operation, and how long it takes."""
    columns = [
        Column("run"),
        *(Column(name, number=True, group="success") for name in SHOWN),
        *(Column(name, number=True, group="mean (ms)") for name in SHOWN),
    ]
    return table(
        columns,
        [
            [
                name,
                *(fixed(store.success[operation], 3) for operation in SHOWN),
                *(number(store.latency_ms[operation].mean) for operation in SHOWN),
            ]
            for name, store in figures.items()
        ],
    )


def layers(store: StoreFigures) -> dict[str, float]:
    """The bytes on the air (MB), by what they are for."""
    traffic = store.traffic
    parts = {name: traffic[f"{name}_bytes"] / MEGABYTE for name in ("own", "forwarded", "control")}
    return parts | {"acknowledgements": traffic["phy_bytes"] / MEGABYTE - sum(parts.values())}


def _rows(
    coloured: Sequence[tuple[tuple[str, StoreFigures], str]], value: Callable[[StoreFigures], float]
) -> list[tuple[str, str, float]]:
    """The rows of bars; what is not known is 0."""
    return [(name, colour, float(np.nan_to_num(value(store)))) for (name, store), colour in coloured]


def _durations(store: StoreFigures) -> dict[str, float]:
    return {name: stats.mean for name, stats in store.latency_ms.items()} | {
        "notification": store.notification_ms.mean
    }


def _loads(runs: Mapping[str, tuple[Run, StoreFigures]]) -> Iterator[Markup]:
    served = {
        name: np.array([load.served for load in store.layout.loads]) for name, (_, store) in runs.items()
    }
    width, kind = (WIDE, "") if len(runs) <= FEW_MAPS else (SMALL, "small")
    yield pictures(
        [
            *(load_map(name, run.region, store.layout, width) for name, (run, store) in runs.items()),
            lorenz_curves("Load of nodes", [(name, own) for name, own in served.items() if len(own)]),
        ],
        NOTHING,
        kind,
    )
