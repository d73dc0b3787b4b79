"""The entries of caches over the time of a run, on top of each other."""

from __future__ import annotations

from collections.abc import Mapping

from bypass.scenarios.report.plots.stacks import COLOURS
from bypass.scenarios.report.plots.style import WIDE, Picture, sheet, to_svg
from bypass.support.arrays import Floats


def entries_over_time(
    title: str, times: Floats, parts: Mapping[str, Floats], failures: tuple[float, ...] = ()
) -> Picture | None:
    """The entries of each part at these times (s), and dashed lines at failures; None if there are none."""
    shown = {name: values for name, values in parts.items() if values.any()}
    if not shown:
        return None
    with sheet(WIDE, 2.8) as figure:
        axes = figure.subplots()
        axes.stackplot(
            times, *shown.values(), labels=[*shown], colors=[*COLOURS, "#D55E00"][: len(shown)], linewidth=0
        )
        for at in failures:
            axes.axvline(at, linestyle="--", linewidth=0.8, color="#808080")
        axes.set_xlim(0, max(times))
        axes.set_ylim(0)
        axes.set_xlabel("time (s)")
        axes.set_ylabel("entries")
        figure.legend(loc="outside lower center", ncols=4, handlelength=1)
        return Picture(to_svg(figure, f"entries over time, {title}"), title)
