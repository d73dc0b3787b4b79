"""A piece of an evaluation: the events of one stretch of a trace, judged and written down."""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bypass.models.traces import Trace
from bypass.scenarios.evaluation.carried_state import carried
from bypass.scenarios.evaluation.job import EvaluationJob
from bypass.scenarios.evaluation.judging.judges import Counted, Judges
from bypass.scenarios.evaluation.judging.sensors import sensor_phases
from bypass.scenarios.evaluation.judging.windows import windows
from bypass.scenarios.evaluation.results.event_table import EventTable
from bypass.scenarios.evaluation.results.totals import Totals
from bypass.support.arrays import Ints


@dataclass(frozen=True)
class Stretch:
    """A piece of work: the legs from sample `first` to sample `last`.

    `carry` is the folder with what is known from before, in files by blocks of clients, if that is needed.
    The events go to the file `events`.
    """

    question: EvaluationJob
    first: int
    last: int
    carry: Path | None
    blocks: tuple[int, ...]
    events: Path


@dataclass(frozen=True, eq=False)
class Judged:
    """The result of a stretch: sums over events, and context messages and bytes of each scheme.

    `report` says what it took: clients tested one by one, counted in bulk, boxes passed over; events;
    seconds; the worker's memory so far (MiB).
    """

    totals: Totals
    traffic: Ints
    report: dict[str, Any]


def judge(stretch: Stretch) -> Judged:
    """Judge all events of a stretch. Writes their table, gives their sums."""
    began = time.perf_counter()
    q = stretch.question
    trace = Trace.open(q.trace)
    start = max(0, stretch.first - q.look_back(trace))
    x, y = trace.read(start, stretch.last + 1)
    phases = sensor_phases(q.seed, 0, trace.clients, q.interval_us)
    published = partial(q.events.between, 0, trace.clients)
    columns, rows = q.cells(trace)
    totals = Totals.empty(len(q.schemes), columns * rows)
    jury: Judges | None = None
    begun = False
    with EventTable.writing(stretch.events, q.schemes) as table:
        for window in windows(x, y, start, trace.step, phases, q.interval_us, published):
            if jury is None:
                jury = q.jury(q.schemes, trace, window.leg, phases)
            if round(window.leg.t / trace.step) < stretch.first:
                jury.pass_window(window)
                continue
            if not begun:
                begun = True
                known = {} if stretch.carry is None else carried(stretch.carry, stretch.first, stretch.blocks)
                jury.begin(known)
            counted = jury.count(window)
            cell = _cells(counted, q.cell, columns, rows)
            totals.add_events(cell, counted.subscribers, counted.notified, counted.correct)
            table.add(counted)
    assert jury is not None
    tested, in_bulk, passed = jury.work.tolist()
    report = {
        "start_s": stretch.first * trace.step,
        "end_s": stretch.last * trace.step,
        "events": int(totals.overall[0]),
        "candidates": tested + in_bulk,
        "tested": tested,
        "in_bulk": in_bulk,
        "boxes_passed": passed,
        "results": int(totals.overall[1]),
        "wall_s": time.perf_counter() - began,
        "process": os.getpid(),
        "memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    return Judged(totals, jury.traffic(), report)


def _cells(counted: Counted, cell: float, columns: int, rows: int) -> Ints:
    """The cell of each event; events outside the world belong to the outermost ones."""
    column = np.clip((counted.events.x / cell).astype(np.int64), 0, columns - 1)
    row = np.clip((counted.events.y / cell).astype(np.int64), 0, rows - 1)
    return np.asarray(column * rows + row, np.int64)
