"""Bars: one figure of several runs side by side."""

from __future__ import annotations

from collections.abc import Sequence

from bypass.scenarios.report.plots.style import WIDE, Picture, sheet, to_svg


def bars(title: str, unit: str, rows: Sequence[tuple[str, str, float]]) -> Picture | None:
    """One bar for each (label, colour, value), the first on top, with its value; None if all are 0."""
    if not any(value for _, _, value in rows):
        return None
    with sheet(WIDE, 0.75 + 0.3 * len(rows)) as figure:
        axes = figure.subplots()
        values = [value for _, _, value in rows]
        drawn = axes.barh(range(len(rows)), values, height=0.6, color=[c for _, c, _ in rows])
        axes.bar_label(drawn, [_short(value) for value in values], padding=4, fontsize=9)
        axes.set_yticks(range(len(rows)), [label for label, _, _ in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlim(0, 1.15 * max(values))
        axes.set_xlabel(unit)
        axes.locator_params(axis="x", nbins=5)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")
        return Picture(to_svg(figure, f"bars of {title}"), title)


def _short(value: float) -> str:
    """Three significant digits."""
    return f"{value:#.3g}".rstrip(".") if value else "0"
