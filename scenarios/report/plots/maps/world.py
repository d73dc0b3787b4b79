"""Maps of the world: a figure by the place of events, and where clients changed their mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Circle

from bypass.core.plans.plan_areas import area_of
from bypass.models.maps.picture import outline
from bypass.places.areas import Area
from bypass.places.region import Region
from bypass.scenarios.figures.outcome import Run
from bypass.scenarios.report.plots.aggregate import cell_means, cells
from bypass.scenarios.report.plots.captions import PROXIES
from bypass.scenarios.report.plots.executions import single_executions
from bypass.scenarios.report.plots.style import INK, MUTED, WIDE, Picture, mechanism_colour, sheet, to_svg
from bypass.support.arrays import Floats

METRIC_CELL_M = 20.0
TRANSITION_CELL_M = 10.0
NO_DATA = "#80808038"


def metric_map(
    title: str, region: Region, x: Floats, y: Floats, values: Floats, width: float
) -> Picture | None:
    """Means of one share an event by the event's place; None if no event has the value."""
    if np.isnan(values).all():
        return None
    means = cell_means(x, y, values, region.area, METRIC_CELL_M)
    return Picture(means_map(title, region, means, width, 1.0, [0, 0.5, 1]), title)


def means_map(title: str, region: Region, means: Floats, width: float, most: float, ticks: Any) -> str:
    """Means in cells of METRIC_CELL_M, in colours from 0 to `most`, as SVG."""
    rows, columns = means.shape
    x0, y0, _, _ = region.area
    with sheet(width, 0.85 * width) as figure:
        figure.set_layout_engine("compressed")  # square axes would float in too much space
        axes = figure.subplots()
        image = axes.imshow(
            means,
            origin="lower",
            extent=(x0, x0 + columns * METRIC_CELL_M, y0, y0 + rows * METRIC_CELL_M),
            vmin=0,
            vmax=most,
            cmap="viridis",
            interpolation="none",
        )
        draw_world(axes, region)
        bar = figure.colorbar(image, ax=axes, aspect=25, ticks=ticks, format="{x:g}")
        bar.outline.set_visible(False)
        return to_svg(figure, f"map of mean {title}")


def transition_map(run: Run, proxy: str) -> Picture | None:
    """Where clients changed what is behind a proxy one by one, and to what; None if none did."""
    executions = [each for each in single_executions(run) if each.record.proxy == proxy]
    region = run.region
    if not executions:
        return None
    interval = run.scenario.location.interval
    early = sum(execution.record.at <= interval for execution in executions)
    targets = sorted({execution.record.target for execution in executions})
    x0, y0, _, _ = region.area
    with sheet(WIDE, WIDE) as figure:
        axes = figure.subplots()
        for target in targets:
            own = [e for e in executions if e.record.target == target]
            x, y = np.array([e.x for e in own]), np.array([e.y for e in own])
            number, (_, columns) = cells(x, y, region.area, TRANSITION_CELL_M)
            cell, count = np.unique(number, return_counts=True)
            axes.scatter(
                x0 + (cell % columns + 0.5) * TRANSITION_CELL_M,
                y0 + (cell // columns + 0.5) * TRANSITION_CELL_M,
                s=_dot_area(count),
                color=_colour(target),
                alpha=0.65,
                linewidths=0,
            )
        draw_world(axes, region)
        for area in _areas_of_plans(run, proxy):
            draw_area(axes, area, fill=False, edgecolor=MUTED, linewidth=0.9, linestyle=":")
        columns = len(targets) + 3 if len(targets) < 3 else 3
        figure.legend(handles=_legend(targets), loc="outside lower center", ncols=columns)
        return Picture(
            to_svg(figure, f"map of the places where clients executed transitions of the {PROXIES[proxy]}"),
            f"{PROXIES[proxy].capitalize()}: {len(executions)} transitions",
            f"In cells of {TRANSITION_CELL_M:g} m. {early} of them happened in the first {interval:g} s, when"
            " clients first said where they were.",
        )


def _areas_of_plans(run: Run, proxy: str) -> list[Area]:
    """The distinct areas of the actions in the timeline that are about a proxy."""
    actions = [action for step in run.scenario.timeline for action in step.plan.actions]
    given = [action.area for action in actions if action.proxy == proxy and action.area is not None]
    return list(dict.fromkeys(area_of(each, run.region.places, run.scenario.projection) for each in given))


def _dot_area(count: int | np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    return np.asarray(6.0 * np.asarray(count, dtype=float))


def _colour(target: str) -> str:
    return INK if target == "nothing" else mechanism_colour(target)


def _legend(targets: Sequence[str]) -> list[Line2D]:
    def dot(label: str, colour: str, count: int) -> Line2D:
        size = float(np.sqrt(_dot_area(count)))
        return Line2D([], [], linestyle="", marker="o", markersize=size, color=colour, label=label)

    kinds = [dot(f"to {target}", _colour(target), 6) for target in targets]
    return [*kinds, *(dot(f"{count}×", MUTED, count) for count in (1, 5, 20))]


def draw_world(axes: Axes, region: Region) -> None:
    """Axes for a map of the region, with its attraction points."""
    for place in region.places:
        style: dict[str, Any] = {"fill": False, "edgecolor": INK, "linewidth": 0.9}
        if place.area is None:
            axes.add_patch(Circle((place.x, place.y), place.radius, **style))
        else:
            draw_area(axes, place.area, **style)
    x0, y0, x1, y1 = region.area
    axes.set_facecolor(NO_DATA)
    axes.locator_params(nbins=4)
    axes.set(xlim=(x0, x1), ylim=(y0, y1), aspect="equal", xlabel="x (m)", ylabel="y (m)")


def draw_area(axes: Axes, area: Area, **style: Any) -> None:
    """Draw an area in metres, with its holes."""
    shape = area.geometry().__geo_interface__
    polygons = [shape["coordinates"]] if shape["type"] == "Polygon" else shape["coordinates"]
    for polygon in polygons:
        axes.add_patch(outline(polygon, **style))
