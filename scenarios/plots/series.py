"""Figures over the time of a run: percentiles of one run, means of several, traffic."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from bypass.scenarios.experiment import Run
from bypass.scenarios.plots.aggregate import Binned, Floats, bin_of, time_edges
from bypass.scenarios.plots.marks import draw_marks, stretches
from bypass.scenarios.plots.style import (
    INK,
    MUTED,
    WIDE,
    Picture,
    run_lines,
    scheme_colour,
    share_axis,
    sheet,
    to_svg,
)

HEIGHT = 2.6


def over_time(run: Run, metric: str, values: Floats) -> Picture | None:
    """Mean, median and percentile bands of one value an event; None if no event has the value."""
    edges = time_edges(run.scenario.duration)
    binned = Binned.of(values, bin_of(run.events["at_us"] / 1e6, edges), len(edges) - 1)
    if not binned.count.any():
        return None
    with sheet(WIDE, HEIGHT) as figure:
        axes = figure.subplots()
        for start, end, _, scheme in stretches(run):
            _draw_stretch(axes, edges, binned, (start, end), scheme_colour(scheme))
        share_axis(axes, f"{metric} of events")
        draw_marks(axes, run)
        return Picture(
            to_svg(figure, f"{metric} over time with percentile bands"),
            metric.capitalize(),
            f"By time of publication, bins of {edges[1] - edges[0]:g} s.",
        )


def _draw_stretch(
    axes: Axes, edges: Floats, binned: Binned, stretch: tuple[float, float], colour: str
) -> None:
    """The whole course in one colour, of which only the stretch shows: lines go on across its ends."""
    middle = (edges[:-1] + edges[1:]) / 2
    p5, p25, median, p75, p95 = binned.percentiles
    start, end = stretch
    window = Rectangle((start, -1), end - start, 3, transform=axes.transData)
    for artist in (
        axes.fill_between(middle, p5, p95, color=colour, alpha=0.18, linewidth=0),
        axes.fill_between(middle, p25, p75, color=colour, alpha=0.4, linewidth=0),
        *axes.plot(middle, median, color=colour, linewidth=0.7),
        *axes.plot(middle, binned.mean, color=colour, linewidth=1.8, marker="o", markersize=1.8, mew=0),
    ):
        artist.set_clip_path(window)


def means_over_time(runs: Mapping[str, Run], main: Run, metric: str, values: Mapping[str, Floats]) -> Picture:
    """The means of several runs in one plot, with the marks of the main one."""
    with sheet(WIDE, HEIGHT + 0.3) as figure:
        axes = figure.subplots()
        for (name, run), line in zip(runs.items(), run_lines(list(runs.values())), strict=True):
            edges = time_edges(run.scenario.duration)
            binned = Binned.of(values[name], bin_of(run.events["at_us"] / 1e6, edges), len(edges) - 1)
            axes.plot(
                (edges[:-1] + edges[1:]) / 2,
                binned.mean,
                label=name,
                color=line.color,
                linestyle=line.linestyle,
            )
        share_axis(axes, f"mean {metric}")
        draw_marks(axes, main)
        figure.legend(loc="outside lower center", ncols=3)
        return Picture(to_svg(figure, f"mean {metric} of the runs over time"), f"Mean {metric}")


def traffic_over_time(run: Run, kind: str) -> Picture | None:
    """What clients send and receive, of one kind ("context") or altogether ("all"); None if nothing."""
    edges = time_edges(run.scenario.duration)
    rates = {way: traffic_rate(run, kind, way, edges) for way in ("down", "up")}
    if not any(rate.any() for rate in rates.values()):
        return None
    title = "all traffic" if kind == "all" else f"{kind} traffic"
    with sheet(WIDE, HEIGHT + 0.2) as figure:
        axes = figure.subplots()
        for way, colour, dashes in (("down", INK, "-"), ("up", MUTED, (0, (4, 1.5)))):
            axes.stairs(
                rates[way],
                edges,
                baseline=None,
                color=colour,
                linestyle=dashes,
                linewidth=1.5,
                label=f"{way}load",
            )
        axes.set_ylim(0, 1.08 * max(rate.max() for rate in rates.values()))
        axes.grid(axis="y")
        axes.set_ylabel("kbit/s per client")
        draw_marks(axes, run)
        figure.legend(loc="outside lower center", ncols=2)
        return Picture(
            to_svg(figure, f"{title} over time"),
            title.capitalize(),
            f"Bins of {edges[1] - edges[0]:g} s.",
        )


def traffic_rate(run: Run, kind: str, way: str, edges: Floats) -> NDArray[np.float64]:
    """kbit/s per client in each bin."""
    names = [n for n in run.traffic if n.endswith(f"_{way}") and (kind == "all" or n == f"{kind}_{way}")]
    seconds = np.sum([run.traffic[name] for name in names], axis=0)
    number = bin_of(np.arange(len(seconds), dtype=float), edges)
    size = np.bincount(number, seconds, minlength=len(edges) - 1)
    rate: NDArray[np.float64] = size * 8 / 1000 / (np.diff(edges) * run.scenario.clients)
    return rate
