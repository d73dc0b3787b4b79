"""Figures over the time of a run: percentiles of one run, means of several, traffic."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from bypass.scenarios.figures.outcome import Run
from bypass.scenarios.report.plots.aggregate import Binned, bin_of, time_edges
from bypass.scenarios.report.plots.captions import run_lines
from bypass.scenarios.report.plots.style import (
    INK,
    MUTED,
    WIDE,
    Picture,
    mechanism_colour,
    share_axis,
    sheet,
    to_svg,
)
from bypass.scenarios.report.plots.time.time_axis import draw_marks, stretches
from bypass.support.arrays import Floats

HEIGHT = 2.6


TRAFFIC = {
    "context": "Context traffic",
    "all": "All traffic",
    "cellular": "Cellular traffic",
    "adhoc": "Ad hoc traffic",
}


def over_time(run: Run, metric: str, values: Floats) -> Picture | None:
    """Mean, median and percentile bands of one share an event; None if no event has it."""
    return _bands(run, metric, f"{metric} of events", values, share_axis)


def delay_over_time(run: Run) -> Picture | None:
    """As `over_time`, of the mean delay (ms) of each event's correct deliveries."""
    return _bands(run, "delay", "delay of events (ms)", run.events["delay_us"] / 1000.0, _delay_axis)


def _bands(
    run: Run, metric: str, label: str, values: Floats, prepare: Callable[[Axes, str], None]
) -> Picture | None:
    edges = time_edges(run.scenario.duration)
    binned = Binned.of(values, bin_of(run.events["at_us"] / 1e6, edges), len(edges) - 1)
    if not binned.count.any():
        return None
    with sheet(WIDE, HEIGHT) as figure:
        axes = figure.subplots()
        for start, end, _, mechanism in stretches(run):
            _draw_stretch(axes, edges, binned, (start, end), mechanism_colour(mechanism))
        prepare(axes, label)
        draw_marks(axes, run)
        return Picture(
            to_svg(figure, f"{metric} over time with percentile bands"),
            metric.capitalize(),
            f"By time of publication, bins of {edges[1] - edges[0]:g} s.",
        )


def _delay_axis(axes: Axes, name: str) -> None:
    axes.set_ylabel(name)
    axes.set_ylim(bottom=0)
    axes.grid(axis="y")


def _draw_stretch(
    axes: Axes, edges: Floats, binned: Binned, stretch: tuple[float, float], colour: str
) -> None:
    """The course of a stretch in its colour; what is drawn beyond its ends, so that lines go on, is cut."""
    start, end = stretch
    first, last = bin_of(np.array([start, end]), edges)
    near = slice(max(first - 1, 0), last + 2)
    middle = ((edges[:-1] + edges[1:]) / 2)[near]
    p5, p25, median, p75, p95 = binned.percentiles[:, near]
    window = Rectangle((start, 0), end - start, 1, transform=axes.get_xaxis_transform())
    for artist in (
        axes.fill_between(middle, p5, p95, color=colour, alpha=0.18, linewidth=0),
        axes.fill_between(middle, p25, p75, color=colour, alpha=0.4, linewidth=0),
        *axes.plot(middle, median, color=colour, linewidth=0.7),
        *axes.plot(middle, binned.mean[near], color=colour, linewidth=1.8, marker="o", markersize=1.8, mew=0),
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
    """Bytes that clients send and receive, of one of the kinds of `TRAFFIC`; None if there are none."""
    edges = time_edges(run.scenario.duration)
    rates = {way: traffic_rate(run, kind, way, edges) for way in ("down", "up")}
    if not any(rate.any() for rate in rates.values()):
        return None
    title = TRAFFIC[kind]
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
            title,
            f"Bins of {edges[1] - edges[0]:g} s.",
        )


def traffic_rate(run: Run, kind: str, way: str, edges: Floats) -> NDArray[np.float64]:
    """kbit/s per client in each bin."""
    own = [name for name in run.traffic if name.endswith(f"_{way}")]
    radio = f"adhoc_{way}"
    names = {"all": own, "cellular": [name for name in own if name != radio]}.get(kind, [f"{kind}_{way}"])
    seconds = np.sum([run.traffic[name] for name in names], axis=0)
    number = bin_of(np.arange(len(seconds), dtype=float), edges)
    size = np.bincount(number, seconds, minlength=len(edges) - 1)
    rate: NDArray[np.float64] = size * 8 / 1000 / (np.diff(edges) * run.scenario.clients)
    return rate
