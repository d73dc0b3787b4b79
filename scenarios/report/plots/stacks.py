"""Stacks: what a figure of each run is made up of, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bypass.scenarios.report.plots.style import WIDE, Picture, sheet, to_svg

COLOURS = ("#0072B2", "#56B4E9", "#E69F00", "#80808080", "#009E73", "#CC79A7")


def stacks(title: str, unit: str, rows: Sequence[tuple[str, Mapping[str, float]]]) -> Picture | None:
    """One bar for each (label, parts by name), the first on top, with its sum; None if all are 0."""
    sums = [sum(parts.values()) for _, parts in rows]
    if not any(sums):
        return None
    names = list(dict.fromkeys(name for _, parts in rows for name in parts))
    with sheet(WIDE, 1.1 + 0.3 * len(rows)) as figure:
        axes = figure.subplots()
        left = [0.0] * len(rows)
        for colour, name in zip(COLOURS, names, strict=False):
            widths = [parts.get(name, 0.0) for _, parts in rows]
            axes.barh(range(len(rows)), widths, left=left, height=0.6, color=colour, label=name)
            left = [a + b for a, b in zip(left, widths, strict=True)]
        for i, value in enumerate(sums):
            axes.annotate(f"{value:.3g}", (value, i), (4, 0), textcoords="offset points", va="center")
        axes.set_yticks(range(len(rows)), [label for label, _ in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlim(0, 1.15 * max(sums))
        axes.set_xlabel(unit)
        axes.locator_params(axis="x", nbins=5)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")
        figure.legend(loc="outside lower center", ncols=4)
        return Picture(to_svg(figure, f"stacked bars of {title}"), title)
