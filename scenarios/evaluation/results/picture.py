"""Recall and precision of the schemes side by side, as the thesis draws them: a box is half of all events."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from bypass.scenarios.evaluation.results.evaluation import Evaluation


def draw(evaluation: Evaluation, path: Path) -> None:
    """Write a picture: a row for each workload; boxes from 25 to 75 %, whiskers from 2.5 to 97.5 %, a dot
    for the mean."""
    summaries = evaluation.summaries
    schemes = list(next(iter(summaries.values()))["schemes"])
    figure = Figure(figsize=(3.0 + 0.9 * len(schemes), 0.6 + 2.6 * len(summaries)), layout="constrained")
    axes = figure.subplots(len(summaries), 2, squeeze=False, sharey=True)
    for row, (workload, summary) in zip(axes, summaries.items(), strict=True):
        for axis, what in zip(row, ("recall", "precision"), strict=True):
            figures = summary["schemes"].items()
            boxes = [_box(name, each, what) for name, each in figures if each[what] is not None]
            axis.set_title(f"{workload}: {what}", fontsize=10)
            if not boxes:
                axis.text(0.5, 0.5, "no event has one", ha="center", transform=axis.transAxes)
                continue
            axis.bxp(
                boxes,
                showfliers=False,
                showmeans=True,
                widths=0.6,
                patch_artist=True,
                boxprops={"facecolor": "#cfe3f3", "edgecolor": "#33658a"},
                medianprops={"color": "#33658a", "linewidth": 2},
                whiskerprops={"color": "#33658a"},
                capprops={"color": "#33658a"},
                meanprops={
                    "marker": "o",
                    "markerfacecolor": "#f26419",
                    "markeredgecolor": "#f26419",
                    "markersize": 5,
                },
            )
            axis.set_ylim(-0.03, 1.03)
            axis.grid(axis="y", alpha=0.3)
            axis.tick_params(axis="x", labelrotation=30)
    figure.savefig(path, dpi=120)


def _box(name: str, figures: dict[str, Any], what: str) -> dict[str, Any]:
    percentiles = figures["percentiles"][what]
    return {
        "label": name,
        "whislo": percentiles["p2.5"],
        "q1": percentiles["p25"],
        "med": percentiles["p50"],
        "q3": percentiles["p75"],
        "whishi": percentiles["p97.5"],
        "mean": figures[what],
    }
