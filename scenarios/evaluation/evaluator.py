"""Evaluations: from the arguments, over pieces of work on an engine, to the files."""

from __future__ import annotations

import json
import math
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from bypass.mechanisms import Registry
from bypass.mechanisms.filters.kernels.judge import BYTES_DOWN, BYTES_UP
from bypass.models.compute.engines import ComputeEngine
from bypass.models.request import check_request
from bypass.models.traces import Trace
from bypass.models.workloads import World
from bypass.scenarios.evaluation.carried_state import Block, follow
from bypass.scenarios.evaluation.events import EventSource, RecordedEvents, WorkloadEvents, make_workload
from bypass.scenarios.evaluation.job import EvaluationJob, check_lengths
from bypass.scenarios.evaluation.results.evaluation import Evaluation
from bypass.scenarios.evaluation.results.totals import (
    CORRECT,
    EVENTS,
    NOTIFIED,
    PRECISION,
    PRECISIONS,
    RECALL,
    RECALLS,
    SUBSCRIBERS,
    UNIT,
    Totals,
)
from bypass.scenarios.evaluation.schemes import InvalidEvaluation, Scheme, parse_schemes
from bypass.scenarios.evaluation.stretch import Stretch, judge
from bypass.scenarios.evaluation.subscribed_areas import SubscribedAreas
from bypass.transitions.mechanism import plan_name

EvaluationProgress = Callable[[int, int], None]

SMALLEST_CELL = 20.0
MOST_CELLS_A_SIDE = 100
PIECES_PER_WORKER = 2  # each looks back, so more would cost more than their balance gains
LONGEST_STRETCH_S = 60.0
MOST_POSITIONS = 30_000_000  # that one piece of work judges
TRAFFIC = ("messages_up", "bytes_up", "messages_down", "bytes_down")
OURS = ("events", "cells", "pieces.json", "summary.json", "_context")


def evaluate(
    trace: Trace,
    schemes: Sequence[str],
    *,
    out: Path,
    engine: ComputeEngine,
    workloads: Mapping[str, Mapping[str, Any]] | None = None,
    publications: Path | None = None,
    seed: int = 1,
    radius: float = 125.0,
    interval: float = 5.0,
    cell: float | None = None,
    pieces: int | None = None,
    progress: EvaluationProgress = lambda _done, _total: None,
    mechanisms: Sequence[str | type] = (),
    areas: Path | None = None,
) -> Evaluation:
    """Judge filter schemes, such as `grid:5`, on a trace: for each workload with its parameters, or for
    recorded publications. `mechanisms` are schemes of one's own, as references or classes. `areas` is a file
    of GeoJSON with what clients subscribe to instead of a circle around them (`SubscribedAreas.read`).

    `out` gets summary.json, pieces.json, cells/NAME.parquet and events/NAME/*.parquet. The figures do not
    depend on the engine or the number of pieces. Raises InvalidEvaluation; whatever is raised, nothing is
    left in `out`.
    """
    check_evaluation(schemes, workloads, radius=radius, interval=interval, cell=cell, mechanisms=mechanisms)
    out = out.absolute()  # workers may be at home in another folder
    path = trace.path.absolute()
    asked = parse_schemes(schemes, Registry(mechanisms))
    _check_trace(trace, path, asked, out)
    check_request(trace.clients, trace.duration, seed)
    sources = _sources(trace, workloads or {"ar": {}}, publications, seed, radius)
    size = cell if cell is not None else max(SMALLEST_CELL, max(trace.size) / MOST_CELLS_A_SIDE)
    subscribed = None if areas is None else SubscribedAreas.read(areas, trace)
    questions = [
        EvaluationJob(path, asked, source, seed, radius, interval, size, subscribed) for source in sources
    ]
    questions[0].cells(trace)
    if not questions[0].divisible:
        pieces = 1
    bounds = _stretches(trace, interval, engine.parallel, pieces)
    # A stretch that looks back to the very beginning needs nothing from there.
    back = questions[0].look_back(trace)
    begins = tuple(first for first, _ in bounds if first > back)
    follows = bool(questions[0].carried and begins)
    blocks = tuple(range(0, trace.clients, _block_size(trace, engine.parallel)))
    total = len(questions) * (len(bounds) + (len(blocks) if follows else 0))
    done = 0

    def advance(finished: int, _of: int) -> None:
        progress(done + finished, total)

    summaries, reports = {}, []
    with _kept_if_finished(out):
        for question in questions:
            began = time.perf_counter()
            name = question.events.name
            carry = out / "_context" / name if follows else None
            if carry is not None:
                carry.mkdir(parents=True)
                ends = (*blocks[1:], trace.clients)
                followed = [
                    Block(question, *bound, begins, carry) for bound in zip(blocks, ends, strict=True)
                ]
                engine.run(follow, followed, advance)
                done += len(blocks)
            files = [out / "events" / name / f"{n:05d}.parquet" for n in range(len(bounds))]
            stretches = [
                Stretch(question, *bound, carry if bound[0] in begins else None, blocks, file)
                for bound, file in zip(bounds, files, strict=True)
            ]
            columns, rows = question.cells(trace)
            totals = Totals.empty(len(asked), columns * rows)
            traffic = np.zeros((len(asked), 4), np.int64)
            for judged in engine.run(judge, stretches, advance):
                totals.add(judged.totals)
                traffic += judged.traffic
                reports.append({"workload": name, **judged.report})
            if missing := [file for file in files if not file.exists()]:
                raise InvalidEvaluation(
                    f"{missing[0]} is not there: expected a folder that all workers share"
                )
            done += len(bounds)
            _write_cells(question, totals, rows, out / "cells" / f"{name}.parquet")
            summaries[name] = _summary(question, trace, totals, traffic, engine, time.perf_counter() - began)
        result = Evaluation(summaries, tuple(reports), out)
        (out / "pieces.json").write_text(json.dumps(reports, indent=1) + "\n")
        (out / "summary.json").write_text(json.dumps(result.summary(), indent=1) + "\n")
    return result


def check_evaluation(
    schemes: Sequence[str],
    workloads: Mapping[str, Mapping[str, Any]] | None,
    *,
    radius: float,
    interval: float,
    cell: float | None,
    mechanisms: Sequence[str | type] = (),
) -> None:
    """Raise InvalidEvaluation, or UnusableMechanism, for what is wrong whichever trace it is."""
    parse_schemes(schemes, Registry(mechanisms))
    check_lengths(radius, interval, cell)
    if workloads is not None and not workloads:
        raise InvalidEvaluation("no workload is asked for: expected at least one")
    for name, parameters in (workloads or {}).items():
        make_workload(name, parameters)


def _check_trace(trace: Trace, path: Path, schemes: tuple[Scheme, ...], out: Path) -> None:
    if trace.samples < 2:
        raise InvalidEvaluation(f"{path} has {trace.samples} sample: expected at least 2")
    needy = [scheme.kind for scheme in schemes if scheme.scheme.Broker.channels_by_place]
    if needy and not trace.attractions:
        raise InvalidEvaluation(f"{path} has no attraction points: expected some for {needy[0]}")
    if path in (out, *out.parents):
        raise InvalidEvaluation(f"{out} is in the trace {path}: expected another folder")
    for name in OURS:
        if (out / name).exists():
            raise InvalidEvaluation(
                f"{out} has {name}, maybe of another evaluation: expected a folder without it"
            )


@contextmanager
def _kept_if_finished(out: Path) -> Iterator[None]:
    """Remove everything that was written to `out`, which was empty before, if an error is raised."""
    made = [path for path in (out, *out.parents) if not path.exists()]
    try:
        yield
    except BaseException:
        for name in OURS:
            shutil.rmtree(out / name, ignore_errors=True)
            (out / name).unlink(missing_ok=True)
        for path in made:
            with suppress(OSError):  # somebody else may use it by now
                path.rmdir()
        raise
    finally:
        shutil.rmtree(out / "_context", ignore_errors=True)


def _sources(
    trace: Trace,
    workloads: Mapping[str, Mapping[str, Any]],
    publications: Path | None,
    seed: int,
    radius: float,
) -> list[EventSource]:
    if publications is not None:
        return [RecordedEvents.of(publications, trace)]
    world = World(trace.attractions, *trace.size)
    sources: list[EventSource] = []
    for name, parameters in workloads.items():
        if name == "lbs" and not trace.attractions:
            raise InvalidEvaluation(
                f"{trace.path} has no attraction points: expected some for the workload lbs"
            )
        label = plan_name(name.rpartition(":")[2]) if ":" in name else name  # files are called so
        sources.append(
            WorkloadEvents(label, make_workload(name, {"radius": radius, **parameters}), seed, world)
        )
    return sources


def _stretches(trace: Trace, interval: float, parallel: int, pieces: int | None) -> list[tuple[int, int]]:
    """First and last samples of stretches: none too large and, if that allows it, none that looks back
    farther than it goes, and enough for everybody."""
    legs = trace.samples - 1
    if pieces is None:
        most = min(LONGEST_STRETCH_S / trace.step, MOST_POSITIONS / trace.clients)
        least = math.ceil(interval / trace.step)
        length = max(1, min(math.floor(most), max(least, math.ceil(legs / (PIECES_PER_WORKER * parallel)))))
        pieces = math.ceil(legs / length)
    cuts = [legs * k // min(pieces, legs) for k in range(min(pieces, legs) + 1)]
    return list(pairwise(cuts))


def _block_size(trace: Trace, parallel: int) -> int:
    return max(1, min(math.ceil(trace.clients / parallel), MOST_POSITIONS // trace.samples))


def _summary(
    question: EvaluationJob,
    trace: Trace,
    totals: Totals,
    traffic: NDArray[np.int64],
    engine: ComputeEngine,
    wall_s: float,
) -> dict[str, Any]:
    seconds = (trace.samples - 1) * trace.step
    kilobits = 8 / 1000 / trace.clients / seconds
    return {
        "trace": str(trace.path),
        "workload": question.events.name,
        "clients": trace.clients,
        "duration_s": seconds,
        "seed": question.seed,
        "radius_m": question.radius,
        "interval_s": question.interval,
        **({} if question.areas is None else {"areas": question.areas.count}),
        "events": int(totals.overall[EVENTS]),
        "late": question.events.late,
        "subscribers_mean": int(totals.overall[SUBSCRIBERS]) / max(1, int(totals.overall[EVENTS])),
        "schemes": {
            str(scheme): {
                **totals.figures(number),
                "context": {
                    **dict(zip(TRAFFIC, traffic[number].tolist(), strict=True)),
                    "kbit_s_up": int(traffic[number, BYTES_UP]) * kilobits,
                    "kbit_s_down": int(traffic[number, BYTES_DOWN]) * kilobits,
                },
            }
            for number, scheme in enumerate(question.schemes)
        },
        "engine": engine.name,
        "wall_s": wall_s,
    }


def _write_cells(question: EvaluationJob, totals: Totals, rows: int, path: Path) -> None:
    """One row for each cell and scheme that has events."""
    path.parent.mkdir(parents=True, exist_ok=True)
    used = np.flatnonzero(totals.by_cell[:, EVENTS])
    tables = []
    for number, scheme in enumerate(question.schemes):
        sums = totals.by_cell_and_scheme[used, number]
        columns = {
            "scheme": [str(scheme)] * len(used),
            "x": used // rows * question.cell,
            "y": used % rows * question.cell,
            "events": totals.by_cell[used, EVENTS],
            "subscribers": totals.by_cell[used, SUBSCRIBERS],
            "notified": sums[:, NOTIFIED],
            "correct": sums[:, CORRECT],
        }
        for name, total, count in (("recall", RECALL, RECALLS), ("precision", PRECISION, PRECISIONS)):
            with np.errstate(invalid="ignore"):
                means = sums[:, total] / UNIT / sums[:, count]
            columns[name] = pa.array(means, from_pandas=True)
        tables.append(pa.table(columns))
    pq.write_table(pa.concat_tables(tables), path, compression="zstd")
