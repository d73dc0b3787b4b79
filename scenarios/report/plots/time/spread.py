"""How a total transition spreads: when each client executes it, after the broker has."""

from __future__ import annotations

import numpy as np
from matplotlib.ticker import MaxNLocator

from bypass.scenarios.report.plots.executions import TransitionSpread
from bypass.scenarios.report.plots.style import SMALL, Picture, mechanism_colour, sheet, to_svg


def spread(title: str, of: TransitionSpread, clients: int) -> Picture | None:
    """A histogram of the clients' delays; None if no client executed the transition."""
    if not len(of.delays_s):
        return None
    delays_ms = 1000 * of.delays_s
    with sheet(SMALL, 2.3) as figure:
        axes = figure.subplots()
        axes.hist(delays_ms, bins=20, histtype="stepfilled", color=mechanism_colour(of.broker.record.target))
        axes.set_xlabel("delay after the broker (ms)")
        axes.set_ylabel("clients")
        axes.grid(axis="y")
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        return Picture(
            to_svg(figure, f"histogram of delays, {title}"),
            title,
            f"{len(delays_ms)} of {clients} clients followed, half of them within"
            f" {np.median(delays_ms):.0f} ms, the last after {delays_ms.max():.0f} ms.",
        )
