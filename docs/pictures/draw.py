"""Draws the picture of the README from the files that `make run` has written."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bypass.scenarios.figures.measures import Around, Columns

HERE = Path(__file__).parent
RUN = HERE.parents[1] / "out" / "total-transitions-seed1"
WINDOW_S = 15
ZOOM_S = 1020.0
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#999999"


def columns(path: Path) -> Columns:
    table = pq.read_table(path)
    return {name: table[name].to_numpy() for name in table.column_names}


def draw_run(axes: Axes) -> None:
    """Means over some seconds of recall and precision, and the phases."""
    timeline = columns(RUN / "timeline.parquet")
    for metric, colour in (("recall", BLUE), ("precision", ORANGE)):
        means = np.convolve(timeline[metric], np.full(WINDOW_S, 1 / WINDOW_S), "valid")
        axes.plot(timeline["second"][WINDOW_S - 1 :] / 60, means, color=colour, label=metric)
    for phase in json.loads((RUN / "summary.json").read_text())["phases"]:
        axes.axvline(phase["start_s"] / 60, color=GREY, linewidth=0.8, linestyle=":")
        middle = (phase["start_s"] + phase["end_s"]) / 120
        axes.text(middle, 1.04, phase["name"].upper(), ha="center", fontsize=8)
    axes.set(xlabel="minutes", xlim=(0, 25))
    axes.legend(loc="lower left", frameon=False)


def draw_transition(axes: Axes) -> None:
    """Recall in tenths of a second around GRID to EGRID, with and without a grace period."""
    runs = {"with a grace period": (RUN, BLUE), "without": (RUN / "runs" / "no-grace", ORANGE)}
    for label, (directory, colour) in runs.items():
        view = Around.of(columns(directory / "events.parquet"), ZOOM_S, "egrid")
        axes.plot(view.start_s + view.width_s / 2, view.recall, color=colour, label=label)
    axes.axvline(0, color=GREY, linewidth=0.8, linestyle=":")
    axes.set(xlabel="seconds after GRID → EGRID", ylabel="recall", xlim=(-1, 3))
    axes.legend(loc="center right", frameon=False)


figure = Figure(figsize=(9.5, 3.2), layout="constrained")
left, right = figure.subplots(1, 2, width_ratios=(3, 2))
draw_run(left)
draw_transition(right)
for axes in (left, right):
    axes.set_ylim(-0.03, 1.1)
    axes.spines[["top", "right"]].set_visible(False)
figure.savefig(HERE / "total-transitions.png", dpi=160)
