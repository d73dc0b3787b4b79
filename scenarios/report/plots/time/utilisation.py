"""Which mechanism each client uses, over the time of a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from bypass.scenarios.report.plots.style import WIDE, Picture, mechanism_colour, sheet, to_svg
from bypass.support.arrays import Floats, Ints

UsageCourse = Sequence[tuple[float, str]]
"""The mechanisms of one client, each with its begin (s), in the order of time; none before the first."""

NOTHING = "nothing"
STEPS = 600  # of a run's time: a picture shows no more

_ORDER = ("unicast", "broadcast", "flooding", "gossip", "hyperg", "plan-b")  # of legends


class Usage:
    """The mechanism that each client uses, at the middles of even steps of a run's time.

    `names` are the mechanisms that are used then, known ones first, nothing last; `used` has a row for each
    client and a column for each step: the mechanism's number in `names`. Steps lie between `edges` (s).
    """

    def __init__(self, courses: Sequence[UsageCourse], duration_s: float) -> None:
        self.edges: Floats = np.linspace(0.0, duration_s, STEPS + 1)
        middle = (self.edges[:-1] + self.edges[1:]) / 2
        others = {name for course in courses for _, name in course} - {*_ORDER, NOTHING}
        names = [*_ORDER, *sorted(others), NOTHING]
        number = {name: i for i, name in enumerate(names)}
        used = np.empty((len(courses), STEPS), np.int64)
        for row, course in zip(used, courses, strict=True):
            begins = [at for at, _ in course]
            follows = np.array([number[NOTHING], *(number[name] for _, name in course)])
            row[:] = follows[np.searchsorted(begins, middle, side="right")]
        present, compact = np.unique(used, return_inverse=True)
        self.names: list[str] = [names[i] for i in present]
        self.used: Ints = compact.reshape(used.shape)

    @property
    def busy(self) -> NDArray[np.bool_]:
        """Whether a client (row) uses anything in a step (column)."""
        return np.array([name != NOTHING for name in self.names], dtype=bool)[self.used]

    def counts(self) -> Ints:
        """How many clients use each mechanism (row) in each step (column)."""
        return np.stack([(self.used == i).sum(axis=0) for i in range(len(self.names))])

    def legend(self) -> list[Patch]:
        """A patch for each mechanism."""
        return [Patch(color=mechanism_colour(name), label=name) for name in self.names]


def utilisation(title: str, courses: Sequence[UsageCourse], duration_s: float) -> Picture | None:
    """A line for each client in the colours of what it uses; None if no client uses anything.

    Those that use the same mechanism longest are together, the busiest on top.
    """
    usage = Usage(courses, duration_s)
    if not usage.busy.any():
        return None
    colours = np.array([to_rgba(mechanism_colour(name)) for name in usage.names])
    clients = len(courses)
    with sheet(WIDE, min(1.2 + 0.1 * clients, 3.4)) as figure:
        axes = figure.subplots()
        axes.imshow(
            colours[usage.used[_sorted(usage)]],
            aspect="auto",
            extent=(0, duration_s, clients, 0),
            interpolation="none",
        )
        axes.set_xlabel("time (s)")
        axes.set_ylabel("clients")
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        figure.legend(handles=usage.legend(), loc="outside lower center", ncols=4, handlelength=1)
        return Picture(
            to_svg(figure, f"mechanism of each client over time, {title}"),
            title,
            f"A line for each of {clients} clients, in steps of {duration_s / STEPS:.2g} s.",
        )


def _sorted(usage: Usage) -> NDArray[np.intp]:
    """The clients by what they use longest, and then by how long they use any; last those that do not."""
    mechanisms = [i for i, name in enumerate(usage.names) if name != NOTHING]
    steps = np.stack([(usage.used == i).sum(axis=1) for i in mechanisms])
    busy = usage.busy.sum(axis=1)
    return np.lexsort((-busy, np.where(busy > 0, steps.argmax(axis=0), len(mechanisms))))
