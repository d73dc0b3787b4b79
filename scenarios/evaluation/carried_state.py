"""State that is carried from the start of a trace to the begin of each stretch.

Most of what clients know is no older than their last fix and the memory of their scheme, so a stretch looks
back that far. State without such a bound is followed from the start of the trace, in blocks of clients, and
kept in files for the begin of each stretch.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bypass.models.traces import Trace
from bypass.models.workloads import Publications
from bypass.scenarios.evaluation.job import EvaluationJob
from bypass.scenarios.evaluation.judging.judges import Judges
from bypass.scenarios.evaluation.judging.sensors import sensor_phases
from bypass.scenarios.evaluation.judging.windows import windows
from bypass.support.arrays import Ints


@dataclass(frozen=True)
class Block:
    """A piece of work: clients `first` to `last` - 1, followed to the begins (samples) of stretches."""

    question: EvaluationJob
    first: int
    last: int
    begins: tuple[int, ...]
    folder: Path

    def published(self, start_us: int, end_us: int) -> Publications:
        """The publications of the block's clients, numbered from 0 on, from `start_us` on and before
        `end_us`."""
        p = self.question.events.between(self.first, self.last, start_us, end_us)
        return Publications(p.at_us, p.client - np.int32(self.first), p.x, p.y)


def follow(block: Block) -> None:
    """Write the carried state of a block's clients at the begin of each stretch."""
    q, end = block.question, max(block.begins) + 1
    trace = Trace.open(q.trace)
    x, y = trace.read_clients(block.first, block.last)
    phases = sensor_phases(q.seed, block.first, block.last, q.interval_us)
    jury: Judges | None = None
    begins = list(block.begins)
    for window in windows(x[:end], y[:end], 0, trace.step, phases, q.interval_us, block.published):
        if jury is None:
            jury = q.jury(q.carried, trace, window.leg, phases)
        if begins and round(window.leg.t / trace.step) == begins[0]:
            _keep(jury, block, begins.pop(0))
        jury.pass_window(window)
    assert jury is not None
    for begin in begins:  # the last begin is where the windows end
        _keep(jury, block, begin)


def _keep(jury: Judges, block: Block, begin: int) -> None:
    kept: dict[str, Any] = {**jury.carried()}
    np.savez(block.folder / f"{begin}-{block.first}.npz", **kept)


def carried(folder: Path, begin: int, blocks: tuple[int, ...]) -> dict[str, Ints]:
    """Read the carried state of all clients, which was followed in these blocks, at the begin of a
    stretch."""
    parts = []
    for first in blocks:
        with np.load(folder / f"{begin}-{first}.npz") as kept:
            parts.append(dict(kept))
    return {name: np.concatenate([part[name] for part in parts], axis=-1) for name in parts[0]}
