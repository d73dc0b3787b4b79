"""What a stretch must know from before it begins.

Most of a client's context is as old as its last fix, so a stretch looks back that far. Cells that a client
listens to in EGRID may be older: it keeps them as long as they cover its area. They are followed from the
beginning of the trace, in blocks of clients, and kept for the begin of each stretch.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bypass.models.traces import Trace
from bypass.models.workloads import Publications
from bypass.scenarios.evaluation.job import Question
from bypass.scenarios.evaluation.stretch import Context, sensor_phases, windows
from bypass.support.arrays import Ints


@dataclass(frozen=True)
class Block:
    """A piece of work: clients `first` to `last` - 1, followed to the begins (samples) of stretches."""

    question: Question
    first: int
    last: int
    begins: tuple[int, ...]
    folder: Path


def follow(block: Block) -> None:
    """Write what the clients of a block listen to at the begin of each stretch."""
    q, first, last = block.question, block.first, block.last
    trace = Trace.open(q.trace)
    x, y = trace.read_clients(first, last)
    phases = sensor_phases(q.seed, first, last, q.interval_us)
    catalogue = q.catalogue(trace).wide_grids()
    context: Context | None = None
    begins = set(block.begins)
    kept = []
    for window in windows(x[: max(begins) + 1], y[: max(begins) + 1], 0, trace.step, q.interval_us):
        if context is None:
            context = Context(catalogue, q.radius, phases, q.interval_us, window.leg)
        if (sample := round(window.leg.t / trace.step)) in begins:
            begins.remove(sample)
            kept.append(context.spans.copy())
        p = q.events.between(first, last, window.start_us, window.end_us)
        context.pass_window(window, Publications(p.at_us, p.client - np.int32(first), p.x, p.y))
    assert context is not None
    if begins:  # the last begin is where the windows end
        kept.append(context.spans.copy())
    for begin, spans in zip(block.begins, kept, strict=True):
        np.save(block.folder / f"{begin}-{first}.npy", spans)


def carried(folder: Path, begin: int, blocks: tuple[int, ...]) -> Ints:
    """What all clients listen to in the wide grids at the begin of a stretch, a row for each grid."""
    return np.concatenate([np.load(folder / f"{begin}-{first}.npy") for first in blocks], axis=1)
