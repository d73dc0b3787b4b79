"""A piece of an evaluation: the events of one stretch of a trace, judged and written down."""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from bypass.models.traces import Trace
from bypass.models.traces.files import replacing
from bypass.scenarios.evaluation.egrid_carry import carried
from bypass.scenarios.evaluation.job import Question
from bypass.scenarios.evaluation.stretch import Context, Counted, Counter, sensor_phases, windows
from bypass.scenarios.evaluation.totals import Totals
from bypass.scenarios.evaluation.traffic import ContextMessages


@dataclass(frozen=True)
class Stretch:
    """A piece of work: the legs from sample `first` to sample `last`.

    `carry` is the folder with what is known from before, in files by blocks of clients, if that is needed.
    The events go to the file `events`.
    """

    question: Question
    first: int
    last: int
    carry: Path | None
    blocks: tuple[int, ...]
    events: Path


@dataclass(frozen=True, eq=False)
class Judged:
    """What a stretch adds to the figures, and what it took: clients tested one by one, counted in bulk, boxes
    passed over; events; seconds; the worker's memory so far (MiB)."""

    totals: Totals
    messages: ContextMessages
    work: NDArray[np.int64]
    report: dict[str, Any]


def judge(stretch: Stretch) -> Judged:
    """Judge all events of a stretch. Writes their table, gives their sums."""
    began = time.perf_counter()
    q = stretch.question
    trace = Trace.open(q.trace)
    catalogue = q.catalogue(trace)
    start = max(0, stretch.first - q.look_back(trace))
    x, y = trace.read(start, stretch.last + 1)
    phases = sensor_phases(q.seed, 0, trace.clients, q.interval_us)
    columns, rows = q.cells(trace)
    totals = Totals.empty(len(q.schemes), columns * rows)
    messages = ContextMessages.none(len(catalogue.grid))
    context: Context | None = None
    counter: Counter | None = None
    stretch.events.parent.mkdir(parents=True, exist_ok=True)
    with (
        replacing(stretch.events) as unfinished,
        pq.ParquetWriter(unfinished, _schema(q), **_encoding(q)) as writer,
    ):
        for window in windows(x, y, start, trace.step, q.interval_us):
            if context is None:
                context = Context(catalogue, q.radius, phases, q.interval_us, window.leg)
            publications = q.events.between(0, trace.clients, window.start_us, window.end_us)
            if round(window.leg.t / trace.step) < stretch.first:
                context.pass_window(window, publications)
                continue
            if counter is None:
                if stretch.carry is not None:
                    context.spans[catalogue.wide] = carried(stretch.carry, stretch.first, stretch.blocks)
                context.sent[:] = 0
                context.fixes = 0
                counter = Counter(context, q.radius)
            counted, changes = counter.pass_window(window, publications)
            messages.assign(changes, context.set_sizes())
            cell = _cells(counted, q.cell, columns, rows)
            by_request = np.argsort(catalogue.order)
            notified, correct = counted.notified[:, by_request], counted.correct[:, by_request]
            totals.add_events(cell, counted.subscribers, notified, correct)
            writer.write_table(_table(q, counted, notified, correct))
    assert context is not None
    assert counter is not None
    messages.fixes += context.fixes
    messages.sent += context.sent
    tested, in_bulk, passed = counter.work.tolist()
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
    return Judged(totals, messages, counter.work, report)


def _cells(counted: Counted, cell: float, columns: int, rows: int) -> NDArray[np.int64]:
    """The cell of each event; events outside the world belong to the outermost ones."""
    column = np.clip((counted.x / cell).astype(np.int64), 0, columns - 1)
    row = np.clip((counted.y / cell).astype(np.int64), 0, rows - 1)
    return np.asarray(column * rows + row, np.int64)


def _schema(question: Question) -> pa.Schema:
    columns = [
        ("at_us", pa.int64()),
        ("publisher", pa.int32()),
        ("x", pa.float64()),
        ("y", pa.float64()),
        ("subscribers", pa.int32()),
    ]
    for scheme in question.schemes:
        columns += [(f"{scheme}/notified", pa.int32()), (f"{scheme}/correct", pa.int32())]
    return pa.schema(columns)


def _encoding(question: Question) -> dict[str, Any]:
    """Counts repeat, times and places do not: half the time and two thirds of the room of the defaults."""
    counts = [field.name for field in _schema(question) if field.name not in ("at_us", "publisher", "x", "y")]
    return {
        "compression": "zstd",
        "compression_level": 1,
        "use_dictionary": counts,
        "column_encoding": {
            "at_us": "DELTA_BINARY_PACKED",
            "publisher": "PLAIN",
            "x": "BYTE_STREAM_SPLIT",
            "y": "BYTE_STREAM_SPLIT",
        },
    }


def _table(
    question: Question, counted: Counted, notified: NDArray[np.int64], correct: NDArray[np.int64]
) -> pa.Table:
    columns = [counted.at_us, counted.client, counted.x, counted.y, counted.subscribers]
    for number in range(len(question.schemes)):
        columns += [notified[:, number], correct[:, number]]
    schema = _schema(question)
    return pa.Table.from_arrays(
        [pa.array(column).cast(field.type) for column, field in zip(columns, schema, strict=True)],
        schema=schema,
    )
