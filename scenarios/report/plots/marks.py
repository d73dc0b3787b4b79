"""Marks: several figures of each run on one line, such as the success of each operation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from bypass.scenarios.report.plots.style import MUTED, WIDE, Picture, sheet, to_svg

_LOOKS = (
    *(("o", "#0072B2"), ("s", "#D55E00"), ("^", "#009E73"), ("D", "#CC79A7"), ("v", "#E69F00")),
    *(("P", "#56B4E9"), ("X", "#7F7FCF")),
)


def marks(
    title: str,
    unit: str,
    rows: Sequence[tuple[str, Mapping[str, float]]],
    *,
    share: bool = False,
    note: str = "",
) -> Picture | None:
    """A line for each (label, figures by name), the first on top; None if none is known.

    Shares go up to 1, from a little below the lowest; other figures are on a logarithmic axis, on which those
    that are 0 are left out.
    """
    if not share:
        rows = [(label, {name: value for name, value in own.items() if value > 0}) for label, own in rows]
    names = [name for name in dict.fromkeys(name for _, own in rows for name in own) if _known(rows, name)]
    if not names:
        return None
    with sheet(WIDE, 1.15 + 0.3 * len(rows)) as figure:
        axes = figure.subplots()
        for i in range(len(rows)):
            axes.axhline(i, color=MUTED, linewidth=0.4)
        for (marker, colour), name in zip(_LOOKS, names, strict=False):
            places = [(own[name], i) for i, (_, own) in enumerate(rows) if _is_known(own, name)]
            x, y = zip(*places, strict=True)
            axes.plot(
                x, y, linestyle="", marker=marker, color=colour, markersize=6, alpha=0.85, label=name,
                clip_on=False,
            )  # fmt: skip
        axes.set_yticks(range(len(rows)), [label for label, _ in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        if share:
            lowest = min(own[name] for _, own in rows for name in names if _is_known(own, name))
            axes.set_xlim(max(0.0, min(lowest - 0.03, 0.9)), 1.005)
        else:
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter("{x:g}")
        axes.set_xlabel(unit)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x")
        figure.legend(loc="outside lower center", ncols=4)
        return Picture(to_svg(figure, f"marks of {title}"), title, note)


def _known(rows: Sequence[tuple[str, Mapping[str, float]]], name: str) -> bool:
    return any(_is_known(own, name) for _, own in rows)


def _is_known(own: Mapping[str, float], name: str) -> bool:
    return name in own and not math.isnan(own[name])
