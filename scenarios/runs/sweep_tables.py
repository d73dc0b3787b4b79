"""From the outcomes of a sweep's runs to tables: a row for each phase of each run, and means over seeds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bypass.support.durable_files import replace_file, replacing

Rows = list[dict[str, Any]]

FIGURES: dict[str, pa.DataType] = {
    "recall": pa.float64(),
    "precision": pa.float64(),
    "delay_ms_mean": pa.float64(),
    "delay_ms_p50": pa.float64(),
    "delay_ms_p95": pa.float64(),
    "events": pa.int64(),
    "deliveries": pa.int64(),
    "traffic_cellular_up": pa.float64(),
    "traffic_cellular_down": pa.float64(),
    "traffic_adhoc_up": pa.float64(),
    "traffic_adhoc_down": pa.float64(),
    "traffic_context_up": pa.float64(),
    "traffic_context_down": pa.float64(),
    "traffic_coordination": pa.float64(),
}
"""The figures of a phase. Where a summary has a group of them, such as `delay_ms`, its name comes first."""

RESULTS: dict[str, pa.DataType] = {
    "variant": pa.string(),
    "seed": pa.uint64(),
    "number": pa.int64(),
    "phase": pa.string(),
    "outcome": pa.string(),
    "error": pa.string(),
    "start_s": pa.float64(),
    "end_s": pa.float64(),
    **FIGURES,
}
MEANS: dict[str, pa.DataType] = {
    "variant": pa.string(),
    "number": pa.int64(),
    "phase": pa.string(),
    "runs": pa.int64(),
    "failed": pa.int64(),
    **{name: pa.float64() for figure in FIGURES for name in (figure, f"{figure}_std")},
}


def results(outcomes: Iterable[Mapping[str, Any]]) -> Rows:
    """A row for each phase of each run; a run that failed has one row, without a phase."""
    rows = []
    for outcome in outcomes:
        error = outcome["error"]
        run = outcome["grid"] | {
            "variant": outcome["variant"],
            "seed": outcome["seed"],
            "outcome": outcome["outcome"],
            "error": error and " ".join(f"{error['type']}: {error['message']}".split()),
        }
        phases = outcome["summary"]["phases"] if outcome["summary"] else [{}]
        rows += [run | _flat(number, phase) for number, phase in enumerate(phases)]
    return rows


def _flat(number: int, phase: Mapping[str, Any]) -> dict[str, Any]:
    if not phase:
        return dict.fromkeys(("number", "phase", "start_s", "end_s", *FIGURES))
    groups = {key: value for key, value in phase.items() if key in ("delay_ms", "traffic")}
    grouped = {f"{key}_{name}": value for key, group in groups.items() for name, value in group.items()}
    flat = {"number": number, "phase": phase["name"], **phase, **grouped}
    return {name: flat[name] for name in ("number", "phase", "start_s", "end_s", *FIGURES)}


def means(rows: Rows, grid: Sequence[str]) -> Rows:
    """For each phase at each point of the grid and in each variant, the mean of the runs' figures and their
    standard deviation (of a sample, so None for a single run). What a run has no figure for does not count.

    A variant that failed with all seeds has a row without a phase.
    """
    groups: dict[str, Rows] = {}
    for row in rows:
        groups.setdefault(_text([row[key] for key in (*grid, "variant")]), []).append(row)
    found = []
    for group in groups.values():
        failed = sum(row["outcome"] == "failed" for row in group)
        numbers = sorted({row["number"] for row in group if row["number"] is not None})
        for number in numbers or [None]:
            own = [row for row in group if row["number"] == number]
            about = {key: own[0][key] for key in (*grid, "variant", "number", "phase")}
            about |= {"runs": sum(row["outcome"] == "done" for row in own), "failed": failed}
            found.append(about | _spread(own))
    return found


def _spread(rows: Rows) -> dict[str, float | None]:
    spread: dict[str, float | None] = {}
    for figure in FIGURES:
        values = [row[figure] for row in rows if row[figure] is not None]
        spread[figure] = float(np.mean(values)) if values else None
        spread[f"{figure}_std"] = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return spread


def write(folder: Path, grid: Sequence[str], result_rows: Rows, mean_rows: Rows) -> None:
    """Write results.parquet, means.parquet and means.json, each whole or not at all."""
    for name, rows, columns in (("results", result_rows, RESULTS), ("means", mean_rows, MEANS)):
        table = {key: _column([row[key] for row in rows]) for key in grid}
        table |= {key: pa.array([row[key] for row in rows], kind) for key, kind in columns.items()}
        with replacing(folder / f"{name}.parquet") as draft:
            pq.write_table(pa.table(table), draft, compression="zstd")
    means = json.dumps(mean_rows, indent=1, default=str) + "\n"
    replace_file(folder / "means.json", means, synced=False)


def _column(values: list[Any]) -> pa.Array:
    """Values of a key of the grid; as JSON unless they are numbers, or texts, or truth values throughout."""
    if not any(isinstance(value, list | dict) for value in values):
        try:
            return pa.array(values)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            pass
    return pa.array(map(_text, values), pa.string())


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)
