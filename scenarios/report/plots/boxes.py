"""Box plots from percentiles that are known already."""

from __future__ import annotations

from collections.abc import Sequence

from bypass.scenarios.figures.measures import Stats
from bypass.scenarios.report.plots.style import INK, MUTED, WIDE, Picture, sheet, to_svg


def boxes(metric: str, rows: Sequence[tuple[str, str, Stats]]) -> Picture | None:
    """One box for each (label, colour, values), the first on top; None if none has values.

    Box: 25th to 75th percentile with the median; whiskers: 2.5 and 97.5; circle: mean.
    """
    if not any(stats.count for _, _, stats in rows):
        return None
    with sheet(WIDE, 0.75 + 0.3 * len(rows)) as figure:
        axes = figure.subplots()
        known = [(i, colour, stats) for i, (_, colour, stats) in enumerate(rows) if stats.count]
        drawn = axes.bxp(
            [
                {
                    "mean": stats.mean,
                    "med": stats.percentile(50),
                    "q1": stats.percentile(25),
                    "q3": stats.percentile(75),
                    "whislo": stats.percentile(2.5),
                    "whishi": stats.percentile(97.5),
                }
                for _, _, stats in known
            ],
            positions=[i for i, _, _ in known],
            orientation="horizontal",
            widths=0.55,
            showmeans=True,
            showfliers=False,
            patch_artist=True,
            capprops={"color": MUTED},
            whiskerprops={"color": MUTED},
            medianprops={"color": INK, "linewidth": 1.6},
            meanprops={"marker": "o", "markerfacecolor": "white", "markeredgecolor": INK, "markersize": 5},
        )
        for box, (_, colour, _) in zip(drawn["boxes"], known, strict=True):
            box.set(facecolor=(colour, 0.4), edgecolor=colour)
        for i, (_, _, stats) in enumerate(rows):
            if not stats.count:
                axes.text(0.5, i, "no values", ha="center", va="center", color=MUTED)
        axes.set_yticks(range(len(rows)), [label for label, _, _ in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlim(-0.02, 1.03)
        axes.set_xlabel(f"{metric} of events")
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")
        return Picture(to_svg(figure, f"box plots of {metric}"), metric.capitalize())
