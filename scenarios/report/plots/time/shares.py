"""How many of the clients use which mechanism, over the time of a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bypass.scenarios.report.plots.style import WIDE, Picture, mechanism_colour, share_axis, sheet, to_svg
from bypass.scenarios.report.plots.time.utilisation import Usage, UsageCourse


def shares(title: str, courses: Sequence[UsageCourse], duration_s: float) -> Picture | None:
    """The mechanisms' shares of all clients, on top of each other; None if no client uses anything.

    Steps stay steps: where many clients change together, a share jumps.
    """
    usage = Usage(courses, duration_s)
    if not usage.busy.any():
        return None
    tops = np.cumsum(usage.counts(), axis=0) / len(courses)
    with sheet(WIDE, 2.8) as figure:
        axes = figure.subplots()
        # From the highest to the lowest, each down to 0: the lower ones cover what is not its own.
        for name, top in reversed(list(zip(usage.names, tops, strict=True))):
            begins = np.flatnonzero(np.diff(top, prepend=-1.0))  # what does not change needs no corner
            axes.stairs(
                top[begins],
                np.append(usage.edges[begins], duration_s),
                fill=True,
                color=mechanism_colour(name),
                linewidth=0,
            )
        axes.set_xlim(0, duration_s)
        axes.set_xlabel("time (s)")
        share_axis(axes, "share of clients")
        axes.set_ylim(0, 1)
        figure.legend(handles=usage.legend(), loc="outside lower center", ncols=4, handlelength=1)
        return Picture(
            to_svg(figure, f"shares of the mechanisms over time, {title}"),
            title,
            f"In the mean {100 * usage.busy.mean():.0f} % of {len(courses)} clients.",
        )
