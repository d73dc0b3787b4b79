"""All that decides the figures of an evaluation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from bypass.core.client import LARGEST_RADIUS
from bypass.models.traces import Trace
from bypass.scenarios.evaluation.events import EventSource
from bypass.scenarios.evaluation.schemes import InvalidEvaluation, Scheme, SchemeCatalogue
from bypass.support.units import MICROSECONDS

LONGEST_INTERVAL = 86_400.0
MOST_CELLS = 1_000_000


def check_lengths(radius: float, interval: float, cell: float | None) -> None:
    """Raise InvalidEvaluation unless these are a radius (m), an interval (s) and a side of cells (m)."""
    if not 1.0 <= radius <= LARGEST_RADIUS:
        raise InvalidEvaluation(f"radius is {radius} m: expected 1 to {LARGEST_RADIUS}")
    if not 0.001 <= interval <= LONGEST_INTERVAL:
        raise InvalidEvaluation(f"interval is {interval} s: expected 0.001 to {LONGEST_INTERVAL:g}")
    if cell is not None and not (math.isfinite(cell) and cell > 0):
        raise InvalidEvaluation(f"cell is {cell} m: expected a finite length above 0")


@dataclass(frozen=True)
class Question:
    """How well do these schemes serve these events on this trace?

    Everybody subscribes within `radius` (m) and has a fix each `interval` (s), at phases that `seed` decides
    as in the simulator. Figures by place are for squares of `cell` m.
    """

    trace: Path
    schemes: tuple[Scheme, ...]
    events: EventSource
    seed: int
    radius: float
    interval: float
    cell: float

    @property
    def interval_us(self) -> int:
        """Microseconds between two fixes."""
        return round(self.interval * MICROSECONDS)

    def look_back(self, trace: Trace) -> int:
        """How many samples before a stretch everybody's last fix is found in."""
        return math.ceil(self.interval / trace.step) + 1

    def catalogue(self, trace: Trace) -> SchemeCatalogue:
        """The schemes, for the world of the trace."""
        return SchemeCatalogue.of(self.schemes, self.radius, trace.size, trace.attractions)

    def cells(self, trace: Trace) -> tuple[int, int]:
        """How many columns and rows of cells the world has. Raises InvalidEvaluation for too many."""
        columns, rows = (max(1.0, math.ceil(side / self.cell)) for side in trace.size)
        if columns * rows > MOST_CELLS:
            raise InvalidEvaluation(
                f"cell is {self.cell} m: expected at most {MOST_CELLS:,} cells in a world of"
                f" {trace.size[0]:g} by {trace.size[1]:g} m"
            )
        return int(columns), int(rows)
