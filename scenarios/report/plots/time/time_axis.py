"""Time axes of runs: where transitions happen, and which mechanism is in use between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from matplotlib.axes import Axes

from bypass.scenarios.figures.outcome import Run
from bypass.scenarios.report.plots.captions import told_by, used_in
from bypass.scenarios.report.plots.style import MUTED, mechanism_colour

LETTER = 0.0145  # a letter's share of the width of the axes
MARGIN = 0.03  # what the last label may stand out


def stretches(run: Run) -> list[tuple[float, float, str, str]]:
    """For each phase its start and end (s), label and mechanism. A label says which plan led there."""
    proxy = told_by(run)
    plans = ["", *(f"{step.plan.plan} " for step in run.scenario.timeline)]
    labels = told_apart(
        (plan + phase.name, phase.start_s) for plan, phase in zip(plans, run.phases, strict=True)
    )
    return [
        (phase.start_s, phase.end_s, label, used_in(phase, proxy))
        for label, phase in zip(labels, run.phases, strict=True)
    ]


def told_apart(labels: Iterable[tuple[str, float]]) -> list[str]:
    """Labels of what began at some time (s); those that would be the same say when."""
    known = list(labels)
    counts = Counter(label for label, _ in known)
    return [label if counts[label] == 1 else f"{label} at {at:g} s" for label, at in known]


def draw_marks(axes: Axes, run: Run) -> None:
    """Dashed lines at transitions; above the axes a strip in the mechanisms' colours with names."""
    axes.set_xlim(0, run.scenario.duration)
    axes.set_xlabel("time (s)")
    over = axes.get_xaxis_transform()
    for start, end, label, mechanism in stretches(run):
        if start > 0:
            axes.axvline(start, color=MUTED, linewidth=0.9, linestyle=(0, (4, 3)))
        axes.plot(
            [start, end],
            [1.02, 1.02],
            transform=over,
            color=mechanism_colour(mechanism),
            linewidth=3.5,
            solid_capstyle="butt",
            clip_on=False,
        )
        room = (end - start) / run.scenario.duration + (MARGIN if end == run.scenario.duration else 0)
        axes.annotate(
            _shortened(label, int(room / LETTER)),
            (start, 1.02),
            xycoords=over,
            xytext=(0, 4),
            textcoords="offset points",
            fontsize=8.5,
            annotation_clip=False,
        )


def _shortened(label: str, letters: int) -> str:
    """The label cut to a number of letters; empty if hardly anything of it would be left."""
    if len(label) <= letters:
        return label
    return label[: letters - 1].rstrip() + "…" if letters > 3 else ""
