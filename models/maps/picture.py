"""Pictures of maps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Circle, PathPatch
from matplotlib.path import Path as MplPath
from matplotlib.patheffects import withStroke

from bypass.models.maps.street_map import Polygon, StreetMap

LONGER_SIDE = 8.0  # inches
DPI = 150
MOST_NAMES = 40  # more would hide the map
STREET, PLACE, HOUSE, INK = "#555555", "#D55E00", "#dddddd", "#222222"


def draw(street_map: StreetMap, path: Path | str) -> None:
    """Draw the streets, the attraction points, the names of the largest, and a scale, into a PNG file."""
    width, height = street_map.width, street_map.height
    scale = LONGER_SIDE / max(width, height)
    figure = Figure(figsize=(max(scale * width, 2.0), max(scale * height, 2.0)))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    axes.set_axis_off()
    lines = list(street_map.nodes[street_map.edges])
    axes.add_collection(LineCollection(lines, colors=STREET, linewidths=0.7))
    places = sorted(street_map.attractions, key=lambda point: point.radius, reverse=True)
    outlines = [outline(polygon, facecolor=HOUSE, linewidth=0) for polygon in street_map.buildings]
    axes.add_collection(PatchCollection(outlines, match_original=True, zorder=0.5))
    for point in places:
        if not point.polygons:
            axes.add_patch(Circle((point.x, point.y), point.radius, color=PLACE, alpha=0.25, linewidth=0))
        for polygon in point.polygons:
            axes.add_patch(outline(polygon, color=PLACE, alpha=0.25, linewidth=0))
    for point in places[:MOST_NAMES]:
        _write(axes, point.x, point.y, point.name)
    _draw_scale(axes, width, height)
    figure.savefig(path, dpi=DPI, format="png")


def outline(polygon: Polygon, **style: Any) -> PathPatch:
    """A polygon with its holes, to be drawn."""
    rings = [MplPath(ring, closed=True) for ring in polygon]
    return PathPatch(MplPath.make_compound_path(*rings), **style)


def _draw_scale(axes: Axes, width: float, height: float) -> None:
    """A bar of a round length, about a fifth of the width, in the lower left corner."""
    power = 10.0 ** np.floor(np.log10(width / 5))
    length = power * max(factor for factor in (1, 2, 5) if factor * power <= width / 5)
    x, y, step = 0.03 * width, 0.03 * height, 0.008 * height
    label = f"{length / 1000:g} km" if length >= 1000 else f"{length:g} m"
    axes.plot([x, x, x + length, x + length], [y + step, y, y, y + step], color=INK, linewidth=1.5)
    _write(axes, x + length / 2, y + 2 * step, label)


def _write(axes: Axes, x: float, y: float, text: str) -> None:
    axes.text(
        x,
        y,
        text,
        ha="center",
        va="center",
        size=8,
        color=INK,
        path_effects=[withStroke(linewidth=2.5, foreground="white")],
        parse_math=False,
        clip_on=True,
    )
