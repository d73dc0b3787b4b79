"""How one transition spreads: where clients execute it, and how much later than the first."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import LogNorm, Normalize
from matplotlib.ticker import NullFormatter

from bypass.places.region import Region
from bypass.scenarios.report.plots.maps.world import draw_world
from bypass.scenarios.report.plots.style import INK, WIDE, Picture, share_axis, sheet, to_svg
from bypass.support.arrays import Floats

MANY = 2000  # dots that are drawn one by one; more make up an image, or the page would be heavy
LOG_FROM = 30.0  # how many times the 10th percentile the 90th is where even steps would hide the early ones


def spread_map(
    title: str, region: Region, x: Floats, y: Floats, delay_s: Floats, clients: int
) -> Picture | None:
    """The clients at the places (m) where they execute a transition, in the colours of their delays, and
    beside it the share of all `clients` that has done so; None if none has."""
    if not len(delay_s):
        return None
    factor, unit = (1000.0, "ms") if delay_s.max() < 1 else (1.0, "s")
    order = np.argsort(delay_s, kind="stable")
    delay = factor * delay_s[order]
    logarithmic = _differ_much(delay)
    drawn = np.maximum(delay, delay[delay > 0][0]) if logarithmic else delay
    norm = (LogNorm if logarithmic else Normalize)(drawn[0], drawn[-1])
    with sheet(WIDE, 2.6) as figure:
        world, course = figure.subplots(1, 2, width_ratios=(1.25, 1))
        # The latest first: where there is a crowd, one sees who began.
        late = order[::-1]
        look = {"cmap": "viridis", "norm": norm, "linewidths": 0}
        world.scatter(x[late], y[late], 11, drawn[::-1], rasterized=len(drawn) > MANY, **look)
        draw_world(world, region)
        share = np.arange(1, len(delay) + 1) / clients
        few = np.unique(np.linspace(0, len(drawn) - 1, MANY // 4, dtype=np.int64))
        course.step(drawn[few], share[few], where="post", color=INK, linewidth=0.6)
        course.scatter(drawn[few], share[few], 9, drawn[few], zorder=3, **look)
        if logarithmic:
            course.set_xscale("log")
            course.xaxis.set_major_formatter("{x:g}")
            course.xaxis.set_minor_formatter(NullFormatter())
        else:
            course.set_xlim(0, 1.05 * delay[-1] or 1.0)
        course.set_xlabel(f"delay ({unit})")
        share_axis(course, "share of clients")
        return Picture(
            to_svg(figure, f"map and course of a transition, {title}"),
            title,
            f"{len(delay)} of {clients} clients followed, half of them within {np.median(delay):.3g} {unit},"
            f" the last after {delay[-1]:.3g} {unit}. Colours: the delay, as in the curve.",
        )


def _differ_much(delay: Floats) -> bool:
    """Whether delays, in ascending order, need a logarithmic scale, from the first one above 0 on."""
    early, late = np.percentile(delay, (10, 90))
    return bool(late > 0 and late > LOG_FROM * max(early, delay[delay > 0][0]))
