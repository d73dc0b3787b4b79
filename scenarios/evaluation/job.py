"""The job of an evaluation: everything that decides its figures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bypass.core.areas.arguments import LARGEST_RADIUS
from bypass.mechanisms.filters.kernels.window import Leg
from bypass.models.traces import Trace
from bypass.places.region import Region
from bypass.scenarios.evaluation.events import EventSource
from bypass.scenarios.evaluation.judging.judges import Judges
from bypass.scenarios.evaluation.schemes import InvalidEvaluation, Scheme
from bypass.scenarios.evaluation.subscribed_areas import SubscribedAreas
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
class EvaluationJob:
    """A trace, the events on it, and the filter schemes to judge.

    Everybody subscribes within `radius` (m) and has a fix each `interval` (s), at phases that `seed` decides
    as in the simulator. Figures by place are for squares of `cell` m. With `areas`, clients subscribe to
    these instead.
    """

    trace: Path
    schemes: tuple[Scheme, ...]
    events: EventSource
    seed: int
    radius: float
    interval: float
    cell: float
    areas: SubscribedAreas | None = None

    @property
    def interval_us(self) -> int:
        """Microseconds between two fixes."""
        return round(self.interval * MICROSECONDS)

    @property
    def carried(self) -> tuple[Scheme, ...]:
        """The schemes that have to be followed from the start of the trace to each stretch: none with areas,
        for which schemes are run."""
        if self.areas is not None:
            return ()
        return tuple(scheme for scheme in self.schemes if scheme.is_carried)

    @property
    def divisible(self) -> bool:
        """Whether stretches can be judged independently: no scheme has state of unbounded age that cannot be
        carried."""
        return all(scheme.memory is not None or scheme in self.carried for scheme in self.schemes)

    def look_back(self, trace: Trace) -> int:
        """The number of samples before a stretch that decide what is known when it begins."""
        memory = max((scheme.memory for scheme in self.schemes if scheme.memory is not None), default=0.0)
        return math.ceil((self.interval + memory) / trace.step) + 1

    def jury(
        self, schemes: tuple[Scheme, ...], trace: Trace, leg: Leg, phase_us: NDArray[np.int64]
    ) -> Judges:
        """Judges of these schemes, for clients with these phases, from a leg on."""
        region = Region((0.0, 0.0, *trace.size), tuple(p.place() for p in trace.attractions))
        return Judges(schemes, region, self.radius, leg, phase_us, self.interval_us, self.seed, self.areas)

    def cells(self, trace: Trace) -> tuple[int, int]:
        """How many columns and rows of cells the world has. Raises InvalidEvaluation for too many."""
        columns, rows = (max(1.0, math.ceil(side / self.cell)) for side in trace.size)
        if columns * rows > MOST_CELLS:
            raise InvalidEvaluation(
                f"cell is {self.cell} m: expected at most {MOST_CELLS:,} cells in a world of"
                f" {trace.size[0]:g} by {trace.size[1]:g} m"
            )
        return int(columns), int(rows)
