"""Draws the pictures of docs/mobility.md and docs/evaluation.md, and prints the former's table of figures.

Takes about a minute. All that is drawn is made here, with fixed seeds.
"""

from __future__ import annotations

import io
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.parquet as pq
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize, PowerNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Circle
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray
from PIL import Image

from bypass.models.compute.engines import LocalEngine
from bypass.models.maps import AttractionPoint, load_map
from bypass.models.mobility import MOBILITY
from bypass.models.traces import Trace, write_trace
from bypass.models.traces.statistics import Statistics, statistics
from bypass.scenarios.evaluation import Evaluation, draw, evaluate

HERE = Path(__file__).parent
CLIENTS, DURATION, SEED = 297, 1800.0, 1
CELL, MANY = 20.0, 200
DPI = 120
ENOUGH = 100  # events in a cell for the mean over them to say something
MODELS = {
    "darmstadt": "DA",
    "darmstadt-random": "DA-random",
    "mannheim": "MA",
    "mannheim-random": "MA-random",
    "rwp": "RWP",
}
COLOURS = ("#0072B2", "#56B4E9", "#D55E00", "#E69F00", "#999999")
SCHEMES = ("radial", "ste", "grid:2", "egrid:10", "attract", "multi")
STREET, PLACE, INK, NOTHING = "#888888", "#D55E00", "#222222", "#F4F4F4"


def draw_circles(axes: Axes, places: tuple[AttractionPoint, ...], colour: str = INK) -> None:
    for place in places:
        axes.add_patch(Circle((place.x, place.y), place.radius, fill=False, edgecolor=colour, linewidth=0.9))


def draw_maps() -> None:
    figure = Figure(figsize=(10.4, 5.3), layout="constrained")
    for axes, name in zip(figure.subplots(1, 2), ("darmstadt", "mannheim"), strict=True):
        town = load_map(name)
        axes.add_collection(LineCollection(list(town.nodes[town.edges]), colors=STREET, linewidths=0.7))
        for place in town.attractions:
            axes.add_patch(Circle((place.x, place.y), place.radius, color=PLACE, alpha=0.3, linewidth=0))
            # Names are kept inside of the map.
            detail = f"{place.radius:g} m, weight {place.weight:g}"
            half = 9.5 * max(len(place.name), len(detail))
            axes.text(
                min(max(place.x, half), town.width - half),
                place.y,
                f"{place.name}\n{detail}",
                ha="center",
                va="center",
                fontsize=7,
                color=INK,
                path_effects=[withStroke(linewidth=2.5, foreground="white")],
            )
        axes.set(xlim=(0, town.width), ylim=(0, town.height), aspect="equal", title=name)
        axes.set_xticks([0, 500, 1000, 1300], ["0", "500", "1000", "1300 m"])
        axes.set_yticks([500, 1000, 1300])
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=DPI)
    # Of thin grey lines, shades are most of the file: 64 are as good as all.
    Image.open(buffer).convert("RGB").quantize(64).save(HERE / "maps.png", optimize=True)


def draw_cells(axes: Axes, values: NDArray[np.float64], norm: Normalize, cmap: str) -> AxesImage:
    """A heat map of values by row and column of cells; NaN is nothing."""
    rows, columns = values.shape
    axes.set_facecolor(NOTHING)
    axes.set_xticks([])
    axes.set_yticks([])
    return axes.imshow(
        values,
        origin="lower",
        extent=(0, columns * CELL, 0, rows * CELL),
        norm=norm,
        cmap=cmap,
        interpolation="none",
    )


def draw_visits(traces: dict[str, Trace], measured: dict[str, Statistics]) -> None:
    figure = Figure(figsize=(10.4, 6.6), layout="constrained")
    panels = figure.subplots(2, 3).ravel()
    norm = PowerNorm(0.5, 0, MANY, clip=True)
    for axes, (name, label) in zip(panels, MODELS.items(), strict=False):
        visits = measured[name].visits.astype(np.float64)
        image = draw_cells(axes, np.where(visits > 0, visits, np.nan), norm, "viridis_r")
        draw_circles(axes, traces[name].attractions)
        axes.set_title(f"{label}: at most {visits.max():.0f} visits", fontsize=10)
    bar = figure.colorbar(image, ax=panels[[0, 3]], location="left", aspect=40, extend="max")
    bar.set_ticks([1, 10, 50, 100, 150, MANY])
    bar.set_label("visits of a cell in 30 min")
    ranks = panels[-1]
    for (name, label), colour in zip(MODELS.items(), COLOURS, strict=True):
        ordered = np.sort(measured[name].visits, axis=None)[::-1]
        ordered = ordered[ordered > 0]
        ranks.plot(np.arange(1, len(ordered) + 1), ordered, color=colour, label=label)
    ranks.axhline(MANY, color=INK, linewidth=0.8, linestyle=":")
    ranks.set(xscale="log", yscale="log", xlim=(1, 4225), ylim=(1, 500))
    ranks.set_xlabel("cells, the most visited first", fontsize=9)
    ranks.set_yticks([1, 10, 100, MANY], ["1", "10", "100", str(MANY)])
    ranks.set_xticks([1, 10, 100, 1000], ["1", "10", "100", "1000"])
    ranks.set_title("visits by rank", fontsize=10)
    ranks.legend(frameon=False, fontsize=8, loc="lower left")
    ranks.spines[["top", "right"]].set_visible(False)
    figure.savefig(HERE / "visits.png", dpi=DPI)


def subscribers(evaluation: Evaluation, workload: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """For each cell, the mean number of clients that an event there concerns (NaN: none), and its events."""
    cells = pq.read_table(evaluation.out / "cells" / f"{workload}.parquet").to_pydict()
    first = [k for k, scheme in enumerate(cells["scheme"]) if scheme == cells["scheme"][0]]
    row, column, events, sums = (
        np.array([cells[name][k] for k in first]) for name in ("y", "x", "events", "subscribers")
    )
    side = round(1300 / CELL)
    means, counts = np.full((side, side), np.nan), np.zeros((side, side), np.int64)
    at = np.rint(row / CELL).astype(int), np.rint(column / CELL).astype(int)
    means[at], counts[at] = sums / events, events
    return means, counts


def draw_subscribers(traces: dict[str, Trace], judged: dict[str, Evaluation]) -> None:
    figure = Figure(figsize=(10.4, 4.9), layout="constrained")
    panels = figure.subplots(1, 2)
    for axes, (name, evaluation) in zip(panels, judged.items(), strict=True):
        means, counts = subscribers(evaluation, "ar")
        enough = np.where(counts >= ENOUGH / 10, means, np.nan)
        image = draw_cells(axes, enough, Normalize(0, 45), "viridis_r")
        draw_circles(axes, traces[name].attractions)
        axes.set_title(f"{MODELS[name]}, workload ar", fontsize=10)
    bar = figure.colorbar(image, ax=panels, aspect=30, extend="max", pad=0.01)
    bar.set_label("subscribers of an event")
    figure.savefig(HERE / "subscribers.png", dpi=DPI)


def in_circles(
    x: NDArray[np.floating], y: NDArray[np.floating], places: tuple[AttractionPoint, ...]
) -> float:
    """The share of positions that are in an attraction point's circle."""
    inside = np.zeros(x.shape, np.bool_)
    for place in places:
        inside |= (x - place.x) ** 2 + (y - place.y) ** 2 <= place.radius**2
    return float(inside.mean())


def targets_inside(name: str) -> float:
    """The share of places where clients pause that are in a circle."""
    model = MOBILITY[name]()
    moved = model.generate(20_000, DURATION, SEED)
    paused = (np.diff(moved.x) == 0) & (np.diff(moved.y) == 0)
    paused[moved.offsets[1:-1] - 1] = False
    return in_circles(moved.x[:-1][paused], moved.y[:-1][paused], model.attractions)


def print_figures(
    traces: dict[str, Trace], measured: dict[str, Statistics], judged: dict[str, Evaluation]
) -> None:
    """The rows of the table in docs/mobility.md."""

    def row(what: str, stated: str, ours: dict[str, str]) -> None:
        print(f"| {what} | {stated} | {', '.join(f'{MODELS[name]} {text}' for name, text in ours.items())} |")

    def hot_and_cold(name: str) -> str:
        means, counts = subscribers(judged[name], "ar")
        known = np.sort(means[counts >= ENOUGH])
        return f"{known[-1]:.1f} ({100 * known[-1] / CLIENTS:.0f} %); {known[len(known) // 10]:.1f}"

    def concerned(name: str) -> str:
        each = judged[name].summaries
        return " / ".join(f"{each[workload]['subscribers_mean']:.1f}" for workload in ("lbs", "ar", "rnd"))

    def nobody(name: str) -> str:
        events = pq.read_table(judged[name].out / "events" / "rnd", columns=["subscribers"])
        return percent(float((events["subscribers"].to_numpy() == 0).mean()))

    def percent(share: float, digits: int = 1) -> str:
        return f"{100 * share:.{digits}f} %"

    row(
        f"cells with more than {MANY} visits, and the most visits of a cell (Figures 27–29)",
        "none under RWP, some on maps",
        {n: f"{(each.visits > MANY).sum()} ({each.visits.max()})" for n, each in measured.items()},
    )
    row(
        "share of cells that are visited at all (Figure 27)",
        "fewer with attraction points than with random targets",
        {n: percent(each.visited) for n, each in measured.items()},
    )
    row(
        "Gini coefficient of the visits (Figures 27, 28)",
        "attraction points make visits less even; MA more even than DA",
        {n: f"{each.gini:.3f}" for n, each in measured.items()},
    )
    row(
        "targets within the radius of an attraction point (§6.1.1)",
        "more than 99 %",
        {n: percent(targets_inside(n), 2) for n in judged},
    )
    inside = {n: in_circles(*traces[n].read(0, traces[n].samples), traces[n].attractions) for n in judged}
    row("clients in an attraction point (Figure 61)", "about 35 %", {n: percent(inside[n]) for n in judged})
    row(
        "mean subscribers of an AR event by place: the most; the least tenth has at most (Figure 30)",
        "up to 40, about 13 % of the clients",
        {n: hot_and_cold(n) for n in judged},
    )
    row(
        "mean subscribers of an event, LBS / AR / RND (§6.1.2)",
        "many under LBS",
        {n: concerned(n) for n in judged},
    )
    row("RND events that concern nobody (§6.1.2)", "some", {n: nobody(n) for n in judged})


def main() -> None:
    draw_maps()
    with TemporaryDirectory() as folder:
        traces, measured, judged = {}, {}, {}
        for name in MODELS:
            traces[name] = write_trace(
                MOBILITY[name](),
                name,
                Path(folder, name),
                clients=CLIENTS,
                duration=DURATION,
                seed=SEED,
                engine=LocalEngine(),
            )
            x, y = traces[name].read(0, traces[name].samples)
            measured[name] = statistics(x, y, traces[name].step, cell=CELL, size=traces[name].size)
        for name in ("darmstadt", "mannheim"):
            judged[name] = evaluate(
                traces[name],
                SCHEMES,
                out=Path(folder, f"{name}-schemes"),
                engine=LocalEngine(),
                workloads={"ar": {}, "lbs": {}, "rnd": {}},
                seed=SEED,
                cell=CELL,
            )
        draw_visits(traces, measured)
        draw_subscribers(traces, judged)
        draw(judged["darmstadt"], HERE / "schemes.png")
        print_figures(traces, measured, judged)


if __name__ == "__main__":
    main()
