"""The moments around one transition: recall and precision of events, tenth by tenth of a second."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bypass.scenarios.figures.measures import Around
from bypass.scenarios.report.plots.captions import Line
from bypass.scenarios.report.plots.style import MUTED, SMALL, Picture, share_axis, sheet, to_svg

FROM_S, TO_S = -1.0, 3.0


def around_transition(title: str, views: Mapping[str, Around], lines: Mapping[str, Line]) -> Picture | None:
    """One transition in one or several runs; None if no recall or precision is known around it."""
    shown = {
        run: (view.start_s > FROM_S - 1e-9) & (view.start_s < TO_S - 1e-9) for run, view in views.items()
    }
    known = (getattr(v, metric)[shown[run]] for run, v in views.items() for metric in ("recall", "precision"))
    if all(np.isnan(values).all() for values in known):
        return None
    with sheet(SMALL, 3.0 + 0.22 * ((len(views) + 1) // 2) * (len(views) > 1)) as figure:
        both = figure.subplots(2, 1, sharex=True)
        for axes, metric in zip(both, ("recall", "precision"), strict=True):
            axes.axvline(0, color=MUTED, linewidth=0.9, linestyle=(0, (4, 3)))
            for run, view in views.items():
                axes.plot(
                    view.start_s[shown[run]] + view.width_s / 2,
                    getattr(view, metric)[shown[run]],
                    color=lines[run].color,
                    linestyle=lines[run].linestyle,
                    marker="o" if len(views) == 1 else "",
                    markersize=2.5,
                    label=run if metric == "recall" else None,
                )
            share_axis(axes, metric)
        both[1].set_xlim(FROM_S, TO_S)
        both[1].set_xticks(np.arange(FROM_S, TO_S + 0.5))
        both[1].set_xlabel("time after the transition (s)")
        if len(views) > 1:
            figure.legend(loc="outside lower center", ncols=2)
        return Picture(to_svg(figure, f"recall and precision around {title}"), title, _words(views))


def _words(views: Mapping[str, Around]) -> str:
    lowest = {run: view.summary()["recall_lowest"] for run, view in views.items()}
    if len(lowest) == 1:
        return f"Lowest recall {next(iter(lowest.values())):.2f}."
    return "Lowest recall: " + ", ".join(f"{run} {value:.2f}" for run, value in lowest.items()) + "."
