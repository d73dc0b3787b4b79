"""Studies: many paths, each by formula and by simulation, on one engine or another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bypass.models.compute.engines import ComputeEngine, LocalEngine, WorkProgress, unwatched
from bypass.models.queueing.centre import Centre, Unstable
from bypass.models.queueing.simulation.simulation import Simulated, simulate

PIECES_PER_CORE = 8
"""Paths differ in what they cost: more pieces than cores share it out more evenly."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A path by both ways: `formula` is the sum over its centres (s), as if each had Poisson arrivals.

    If a centre is unstable, `formula` is infinite and nothing was simulated.
    """

    centres: tuple[Centre, ...]
    formula: float
    simulated: Simulated | None

    @property
    def deviation(self) -> float:
        """By which share of the simulated mean the formula differs from it; NaN if nothing was simulated."""
        if self.simulated is None:
            return math.nan
        return abs(self.simulated.mean - self.formula) / self.simulated.mean

    def row(self) -> dict[str, Any]:
        """The path's row in a table; `low` and `high` are the ends of the interval of confidence."""
        mean, half = (
            (math.nan, math.nan)
            if self.simulated is None
            else (self.simulated.mean, self.simulated.half_width)
        )
        return {
            "centres": [asdict(centre) for centre in self.centres],
            "formula": self.formula,
            "simulated": mean,
            "low": mean - half,
            "high": mean + half,
            "deviation": self.deviation,
        }


def sweep_paths(
    paths: Sequence[Sequence[Centre]],
    *,
    events: int,
    seed: int,
    engine: ComputeEngine | None = None,
    progress: WorkProgress = unwatched,
) -> list[Compared]:
    """Each path by formula and by simulation of `events` events, in their order.

    Path number n is simulated with the seed `seed` + n. Without an engine, threads of this process do it; the
    results are the same whoever does, to the last digit. Raises what `simulate` does, except Unstable.
    """
    engine = engine or LocalEngine()
    size = max(1, math.ceil(len(paths) / (PIECES_PER_CORE * engine.parallel)))
    pieces = [
        _Piece(tuple(map(tuple, paths[first : first + size])), events, seed + first)
        for first in range(0, len(paths), size)
    ]
    return [compared for piece in engine.run(_compare, pieces, progress) for compared in piece]


@dataclass(frozen=True, slots=True)
class _Piece:
    """Paths, the first of which has this seed."""

    paths: tuple[tuple[Centre, ...], ...]
    events: int
    seed: int


def _compare(piece: _Piece) -> list[Compared]:
    compared = []
    for number, centres in enumerate(piece.paths):
        try:
            formula = sum(centre.response() for centre in centres)
        except Unstable:
            compared.append(Compared(centres, math.inf, None))
            continue
        compared.append(Compared(centres, formula, simulate(centres, piece.events, piece.seed + number)))
    return compared
