"""The result of a scenario: one run or several, the verdicts, and the files they are written to."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bypass.scenarios.experiments.checks import CheckVerdict, figure, judge
from bypass.scenarios.experiments.inputs import EXPERIMENT, experiment_text, origin, parameters
from bypass.scenarios.experiments.provenance import FILE as PROVENANCE
from bypass.scenarios.experiments.provenance import write_provenance
from bypass.scenarios.experiments.schema import Scenario
from bypass.scenarios.figures.measures import Phase, precision, recall
from bypass.scenarios.figures.outcome import Run
from bypass.scenarios.report.frames import events_frame, phases_frame
from bypass.support.units import MICROSECONDS

if TYPE_CHECKING:
    from pandas import DataFrame

FILES = (
    "summary.json",
    "events.parquet",
    "timeline.parquet",
    "transitions.jsonl",
    "rules.jsonl",
    "report.html",
    EXPERIMENT,
    PROVENANCE,
)


class Phases:
    """The phases of a run, by position or by name (the first of that name)."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def __getitem__(self, key: int | str) -> Phase:
        return self._run.phase(key) if isinstance(key, str) else self._run.phases[key]

    def __iter__(self) -> Iterator[Phase]:
        return iter(self._run.phases)

    def __len__(self) -> int:
        return len(self._run.phases)


@dataclass(frozen=True)
class Result:
    """Runs by name. `main` is the one whose figures stand at the top; `asked` is what was asked for."""

    scenario: Scenario
    runs: dict[str, Run]
    asked: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        others = f", the main one of {len(self.runs)} runs" if len(self.runs) > 1 else ""
        return f"Result({self.main!r}{others})"

    def _repr_html_(self) -> str:
        from bypass.scenarios.report.report import in_notebook

        return in_notebook(self)

    @property
    def main(self) -> Run:
        return self.runs[self.scenario.main or next(iter(self.runs))]

    @property
    def phases(self) -> Phases:
        """The main run's phases."""
        return Phases(self.main)

    def events_frame(self) -> DataFrame:
        """A data frame with a row for each event of each run."""
        return events_frame(self.runs)

    def phases_frame(self) -> DataFrame:
        """A data frame with a row for each phase of each run."""
        return phases_frame(self.runs)

    @cached_property
    def verdicts(self) -> tuple[CheckVerdict, ...]:
        """Our figures beside those that a source states."""
        return judge(self.scenario.checks, partial(figure, self._figures()))

    def summary(self) -> dict[str, Any]:
        """Everything that is a figure, ready for JSON: what is not a number there is null."""
        figures = self._figures()
        figures["checks"] = [verdict.to_dict() for verdict in self.verdicts]
        cleaned: dict[str, Any] = _without_nan(figures)
        return cleaned

    def _figures(self) -> dict[str, Any]:
        return assembled(self.scenario, {name: run.summary() for name, run in self.runs.items()})

    def write(self, directory: Path) -> None:
        """Write summary.json, events.parquet, timeline.parquet and transitions.jsonl of the main run, what it
        comes from (provenance.json), and the scenario as a file that gives the same again (experiment.yaml).

        Other runs get a directory of their own, named for them, with the same tables. Files of an earlier
        result in the directory are removed.
        """
        _clear(directory)
        directory.mkdir(parents=True, exist_ok=True)
        (directory / EXPERIMENT).write_text(experiment_text(self.scenario), encoding="utf-8")
        write_provenance(
            directory / PROVENANCE,
            {
                **origin(self.scenario),
                "asked": self.asked,
                "seeds": {name: run.seed for name, run in self.runs.items()},
                "parameters": parameters(self.scenario),
            },
        )
        (directory / "summary.json").write_text(json.dumps(self.summary(), indent=1) + "\n", encoding="utf-8")
        for name, run in self.runs.items():
            own = directory if run is self.main else directory / "runs" / name
            own.mkdir(parents=True, exist_ok=True)
            _write_tables(run, own)

    def report(self, directory: Path | str) -> Path:
        """Write all files and the report with its plots; gives the report's path."""
        from bypass.scenarios.report.report import write_report

        directory = Path(directory)
        self.write(directory)
        return write_report(self, directory)


def _clear(directory: Path) -> None:
    """Remove the files of an earlier result, and nothing else."""
    for folder in (directory, *directory.glob("runs/*/")):
        for name in FILES:
            (folder / name).unlink(missing_ok=True)
    for folder in (*directory.glob("runs/*/"), directory / "runs"):
        with suppress(OSError):  # there is something of somebody else's in it, or it is not there
            folder.rmdir()


def assembled(scenario: Scenario, runs: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """The summary of a scenario out of those of its runs, which may have been carried out at any time."""
    top = deepcopy(runs[scenario.main or next(iter(runs))]) | {"scenario": scenario.name}
    if len(runs) > 1:
        top["runs"] = {name: deepcopy(run) for name, run in runs.items()}
    if scenario.baseline:
        base = runs[scenario.baseline]
        for summary in (top, *top["runs"].values()):
            summary["extra"] |= _against(base, summary)
    return top


def _against(base: dict[str, Any], run: dict[str, Any]) -> dict[str, float]:
    """The share of the baseline's cellular download that a run saves, and the recall that it loses."""
    down = [each["extra"]["traffic"]["cellular_down"] for each in (base, run)]
    means = [math.nan if each["extra"]["recall"] is None else each["extra"]["recall"] for each in (base, run)]
    return {
        "cellular_download_saved": 1.0 - down[1] / down[0] if down[0] else 0.0,
        "recall_lost": means[0] - means[1],
    }


def _write_tables(run: Run, directory: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    events = dict(run.events)
    events["recall"], events["precision"] = recall(run.events), precision(run.events)
    for name, columns in (("events", events), ("timeline", timeline(run))):
        # What is not a number is null in the file: null equals null, so that equal runs have equal tables.
        table = pa.table({key: pa.array(column, from_pandas=True) for key, column in columns.items()})
        pq.write_table(table, directory / f"{name}.parquet", compression="zstd")
    with (directory / "transitions.jsonl").open("w", encoding="utf-8") as file:
        for execution in run.executions:
            data = execution.record.to_dict() | {"x": execution.x, "y": execution.y}
            file.write(json.dumps(_without_nan(data)) + "\n")
    if run.firings:
        with (directory / "rules.jsonl").open("w", encoding="utf-8") as file:
            for firing in run.firings:
                file.write(json.dumps(_without_nan(asdict(firing))) + "\n")


def timeline(run: Run) -> dict[str, Any]:
    """One row a second: events, their mean recall, precision and delay, and bytes of all clients together."""
    seconds = len(next(iter(run.traffic.values())))
    number = np.minimum(run.events["at_us"] // MICROSECONDS, seconds - 1).astype(np.int64)
    counts = np.bincount(number, minlength=seconds)

    def mean(values: Any) -> Any:
        valid = ~np.isnan(values)
        sums = np.bincount(number[valid], values[valid], minlength=seconds)
        n = np.bincount(number[valid], minlength=seconds)
        return np.divide(sums, n, out=np.full(seconds, np.nan), where=n > 0)

    return {
        "second": np.arange(seconds),
        "events": counts,
        "recall": mean(recall(run.events)),
        "precision": mean(precision(run.events)),
        "delay_ms": mean(run.events["delay_us"] / 1000.0),
        **run.traffic,
    }


def _without_nan(value: Any) -> Any:
    """The same data with null for NaN and infinity, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
