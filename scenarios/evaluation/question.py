"""All that decides the figures of an evaluation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from bypass.models.traces import Trace
from bypass.scenarios.evaluation.events import EventSource
from bypass.scenarios.evaluation.schemes import Catalogue, InvalidEvaluation, Scheme

MICROSECONDS = 1_000_000


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

    def __post_init__(self) -> None:
        for name, value in (("radius", self.radius), ("interval", self.interval), ("cell", self.cell)):
            if not (math.isfinite(value) and value > 0):
                raise InvalidEvaluation(f"{name} is {value}: expected a finite number above 0")
        if self.interval_us < 1000:
            raise InvalidEvaluation(f"interval is {self.interval} s: expected at least 0.001")

    @property
    def interval_us(self) -> int:
        """Microseconds between two fixes."""
        return round(self.interval * MICROSECONDS)

    def catalogue(self, trace: Trace) -> Catalogue:
        """The schemes, for the world of the trace."""
        return Catalogue.of(self.schemes, self.radius, trace.size, trace.attractions)

    def cells(self, trace: Trace) -> tuple[int, int]:
        """Into how many columns and rows of cells the world falls."""
        width, height = trace.size
        return max(1, math.ceil(width / self.cell)), max(1, math.ceil(height / self.cell))
