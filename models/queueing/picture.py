"""Pictures of response times: where they come from, and how many events take longer than others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bypass.models.queueing.network.routing import Route
from bypass.models.queueing.sojourn import Sojourn

MOST = 12
"""More ways cannot be told apart: of more, the slowest are drawn."""
POINTS = 300
LEAST = 1e-3  # the share of events where curves end
ON, OFF = "#33658a", "#f26419"
LINES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")


def draw(routes: Sequence[Route], path: Path, lifetime: float | None = None) -> None:
    """Draw mean responses, by centre if there is one way only, and the shares of events that take longer.

    The OFF periods of a centre are what it would take less if it were always ON.
    """
    slowest = sorted(routes, key=lambda route: route.breakdown.total, reverse=True)[:MOST]
    if len(slowest) == 1:
        rows = [(part.centre.name, [part]) for part in slowest[0].breakdown.parts]
    else:
        rows = [(_name(route), list(route.breakdown.parts)) for route in slowest]
    figure = Figure(figsize=(11.0, max(2.8, 1.2 + 0.35 * len(rows))), layout="constrained")
    bars, curves = figure.subplots(1, 2)
    for number, (_, parts) in enumerate(rows):
        total = sum(part.response for part in parts)
        busy = sum(part.centre.always_on().response() for part in parts)
        bars.barh(number, busy, color=ON, label=None if number else "queues and services")
        bars.barh(number, total - busy, left=busy, color=OFF, label=None if number else "OFF periods")
        bars.text(total, number, f" {total:.3g} s", va="center", size=9)
    bars.set_yticks(range(len(rows)), [name for name, _ in rows], parse_math=False)
    bars.invert_yaxis()
    bars.margins(x=0.15)
    bars.set_xlabel("mean response (s)")
    bars.legend(frameon=False, fontsize=9)
    _draw_curves(curves, slowest, lifetime)
    figure.savefig(path, dpi=120)


def _draw_curves(axes: Axes, routes: Sequence[Route], lifetime: float | None) -> None:
    """The share of events that take longer than each time, on a logarithmic scale."""
    ways = [
        (route, Sojourn.along(part.centre for part in route.breakdown.parts), style, colour)
        for number, route in enumerate(routes)
        for style, colour in [(("-", "--")[number // len(LINES) % 2], LINES[number % len(LINES)])]
    ]
    end = max(route.breakdown.total for route, *_ in ways)
    while max(way.later(end) for _, way, *_ in ways) > LEAST:
        end *= 1.3
    times = np.linspace(0.0, end, POINTS)
    for route, way, style, colour in ways:
        axes.plot(times, way.curve(end / (POINTS - 1), POINTS), style, color=colour, label=_name(route))
    if lifetime is not None and lifetime < end:
        axes.axvline(lifetime, color="#555555", linewidth=1, label="lifetime")
    axes.set_yscale("log")
    axes.set_ylim(LEAST, 1.1)
    axes.set_xlim(0.0, end)
    axes.set_xlabel("time (s)")
    axes.set_ylabel("share of events that take longer")
    axes.grid(alpha=0.3)
    legend = axes.legend(frameon=False, fontsize=9)
    for text in legend.get_texts():
        text.set_parse_math(False)


def _name(route: Route) -> str:
    return f"{route.publisher} to {route.subscriber}"
