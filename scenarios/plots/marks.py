"""What the time axes of a run share: where transitions happen, and which scheme serves between them."""

from __future__ import annotations

from matplotlib.axes import Axes

from bypass.scenarios.experiment import Run
from bypass.scenarios.plots.style import MUTED, scheme_colour

ROW_PT = 11.0  # height of a row of labels above the axes
LETTER = 0.018  # a letter's share of the width of the axes


def stretches(run: Run) -> list[tuple[float, float, str, str]]:
    """For each phase its start and end (s), label and scheme. A label says which plan led there."""
    plans = ["", *(f"{step.plan.plan} " for step in run.scenario.timeline)]
    return [
        (phase.start_s, phase.end_s, plan + phase.name, str(phase.mechanisms["filter"]["name"]))
        for plan, phase in zip(plans, run.phases, strict=True)
    ]


def draw_marks(axes: Axes, run: Run) -> None:
    """Dashed lines at transitions; above the axes a strip in the schemes' colours with the phases' names."""
    axes.set_xlim(0, run.scenario.duration)
    axes.set_xlabel("time (s)")
    over = axes.get_xaxis_transform()
    free: list[float] = []  # from where on each row of labels is free, as a share of the width
    for start, end, label, scheme in stretches(run):
        if start > 0:
            axes.axvline(start, color=MUTED, linewidth=0.9, linestyle=(0, (4, 3)))
        axes.plot(
            [start, end],
            [1.02, 1.02],
            transform=over,
            color=scheme_colour(scheme),
            linewidth=3.5,
            solid_capstyle="butt",
            clip_on=False,
        )
        place = start / run.scenario.duration
        row = next((i for i, end_of_last in enumerate(free) if end_of_last <= place), len(free))
        free[row : row + 1] = [place + (len(label) + 1.5) * LETTER]
        axes.annotate(
            label,
            (start, 1.02),
            xycoords=over,
            xytext=(0, 4 + row * ROW_PT),
            textcoords="offset points",
            fontsize=8.5,
            annotation_clip=False,
        )
