"""A map of a store: its nodes, what each has processed for others, and the sums of their cells."""

from __future__ import annotations

import numpy as np

from bypass.places.region import Region
from bypass.scenarios.figures.storage import StoreLayout
from bypass.scenarios.figures.storage_loads import load_of_cells
from bypass.scenarios.report.plots.maps.world import draw_world
from bypass.scenarios.report.plots.style import INK, MUTED, Picture, sheet, to_svg

MOST_AREA = 220.0  # of a dot, in square points
EDGE_COLOUR = "#D55E00"


def load_map(title: str, region: Region, layout: StoreLayout, width: float) -> Picture | None:
    """Dots for nodes, as large as what they have processed, and triangles for edges; cells, if there are any,
    in the colour of their sum. None if nobody has processed anything."""
    served = np.array([load.served for load in layout.loads])
    if not served.any():
        return None
    x0, y0, x1, y1 = region.area
    with sheet(width, width * (y1 - y0) / (x1 - x0) + 0.35) as figure:
        figure.set_layout_engine("compressed")
        axes = figure.subplots()
        draw_world(axes, region)
        axes.set_facecolor("none")
        if layout.grid is not None:
            grid = layout.grid
            sums = load_of_cells(layout.loads, grid)
            x, y = (first + grid.side * np.arange(n + 1) for first, n in
                    ((grid.x0, grid.columns), (grid.y0, grid.rows)))  # fmt: skip
            mesh = axes.pcolormesh(x, y, np.ma.masked_invalid(sums), cmap="viridis", vmin=0, linewidth=0.4,
                                   edgecolors=MUTED)  # fmt: skip
            bar = figure.colorbar(mesh, ax=axes, aspect=15, shrink=0.8, label="of the cell")
            bar.outline.set_visible(False)
        places = np.array([load.place for load in layout.loads])
        axes.scatter(
            places[:, 0],
            places[:, 1],
            s=3.0 + MOST_AREA * served / served.max(),
            facecolors="#FFFFFF90",
            edgecolors=INK,
            linewidths=0.8,
            zorder=3,
        )
        if layout.edges:
            x, y = np.array(layout.edges).T
            axes.scatter(x, y, s=70.0, marker="^", color=EDGE_COLOUR, zorder=4)
        most, mean = (f"{value:,.0f}".replace(",", "\u202f") for value in (served.max(), served.mean()))
        note = f"The largest dot: {most} messages; a node on average: {mean}."
        return Picture(to_svg(figure, f"map of the load of nodes, {title}"), title, note)
