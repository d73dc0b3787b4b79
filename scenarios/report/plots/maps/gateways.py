"""Pictures of gateways: deliveries and gateways an event by place, and how fairly clients take turns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.ticker import MaxNLocator

from bypass.places.region import Region
from bypass.scenarios.figures.fairness import jain
from bypass.scenarios.report.plots.aggregate import cell_means
from bypass.scenarios.report.plots.maps.world import METRIC_CELL_M, means_map
from bypass.scenarios.report.plots.style import MUTED, SMALL, Picture, sheet, to_svg
from bypass.support.arrays import Floats, Ints

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_DASHES: tuple[str | tuple[int, tuple[float, ...]], ...] = ("-", (0, (4, 1.5)), (0, (1.2, 1.2)), (0, (8, 2)))


def count_map(
    title: str, region: Region, x: Floats, y: Floats, values: Floats, width: float
) -> Picture | None:
    """Means of one count an event by the event's place; None if no event has the count.

    As `metric_map`, but the colours go from 0 to the highest mean.
    """
    if np.isnan(values).all():
        return None
    means = cell_means(x, y, values, region.area, METRIC_CELL_M)
    most = float(np.nanmax(means))
    drawn = means_map(title, region, means, width, most or 1.0, MaxNLocator(4, steps=(1, 2, 5, 10)))
    return Picture(drawn, title, f"At most {most:.3g} in a cell.")


def lorenz_curves(title: str, rows: Sequence[tuple[str, Ints]]) -> Picture | None:
    """For each (label, how often each client served), what share of all service the least busy clients give.

    None if nobody ever served. Rows without any service are left out.
    """
    known = [(label, counts, jain(counts)) for label, counts in rows if counts.any()]
    if not known:
        return None
    with sheet(SMALL, SMALL + 0.2 * len(known)) as figure:
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1], color=MUTED, linewidth=0.9, linestyle=(0, (4, 3)))
        for i, (label, counts, index) in enumerate(known):
            served = np.append(0, np.cumsum(np.sort(counts)))
            axes.plot(
                np.linspace(0, 1, len(served)),
                served / served[-1],
                color=_COLOURS[i % len(_COLOURS)],
                linestyle=_DASHES[i % len(_DASHES)],
                label=f"{label} ({index:.2f})",
            )
        ticks = [0, 0.25, 0.5, 0.75, 1]
        names = ["0", "", "0.5", "", "1"]
        axes.set_xticks(ticks, names)
        axes.set_yticks(ticks, names)
        axes.set(xlim=(0, 1), ylim=(0, 1.02), aspect="equal")
        axes.set_xlabel("share of clients, least busy first")
        axes.set_ylabel("share of service")
        axes.grid()
        figure.legend(loc="outside lower center", ncols=1)
        lowest, highest = min(row[2] for row in known), max(row[2] for row in known)
        span = f"{lowest:.2f}" if len(known) == 1 else f"{lowest:.2f} to {highest:.2f}"
        return Picture(
            to_svg(figure, f"Lorenz curves, {title}"),
            f"{title}, Jain's index {span}",
            "Dashed: all clients serve equally often.",
        )
