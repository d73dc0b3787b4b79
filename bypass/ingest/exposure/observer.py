"""The observer of an installation: looks at its folder each second, and knows rates, times and what was
before."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bypass import __version__
from bypass.ingest.exposure.histogram import TimeHistogram
from bypass.ingest.folder import IngestFolder
from bypass.ingest.log.catalogue import find_log
from bypass.ingest.log.lives import appended
from bypass.ingest.log.segment_files import SegmentFiles
from bypass.ingest.queries.commits import Commit, CommitLog
from bypass.ingest.queries.invalid import CursorExpired
from bypass.ingest.service.status import read_status
from bypass.ingest.stream.plans import latest_plan, plans_between
from bypass.ingest.stream.progress import read_batches

KEPT_S = 180
"""How many samples, one a second, are kept for charts."""

SHOWN_BATCHES = 12
SHOWN_PLANS = 8
MOST_COMMITS = 100
"""Commits that one look takes times from, so that none takes long."""

_RATES = ("received", "stored", "measurements", "bytes")
BATCH_BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)


@dataclass
class IngestObserver:
    """Looks at one installation. Times are of batches and commits since the first look."""

    folder: IngestFolder
    latency: TimeHistogram = field(default_factory=TimeHistogram)
    batch_time: TimeHistogram = field(default_factory=lambda: TimeHistogram(BATCH_BUCKETS))
    samples: deque[dict[str, float]] = field(default_factory=lambda: deque(maxlen=KEPT_S))

    def __post_init__(self) -> None:
        self._log = CommitLog(self.folder.measurements)
        self._version: int | None = None
        self._batch: int | None = None
        self._before: tuple[float, dict[str, float]] | None = None
        self.started = time.time()

    def look(self, subscribers: int = 0) -> dict[str, Any]:
        """The state of the installation now, as plain data. Raises whatever its log and its files do."""
        status = read_status(self.folder).to_dict()
        now = time.time()
        rates = self._rates(now, status)
        self.samples.append({"at": now, **rates, "lag": status["lag_messages"]})
        self._see_commits()
        batches = self._see_batches()
        return {
            "at": now,
            "started": self.started,
            "version": __version__,
            "folder": self.folder.path.name,
            "status": status,
            "rates": rates,
            "batches": batches,
            "plans": self._plans(),
            "writers": self._writers(),
            "latency": _quantiles(self.latency),
            "subscribers": subscribers,
        }

    def _rates(self, now: float, status: dict[str, Any]) -> dict[str, float]:
        counts = {name: float(status[name]) for name in _RATES}
        before, self._before = self._before, (now, counts)
        if before is None or now <= before[0]:
            return dict.fromkeys(_RATES, 0.0)
        return {name: max(0.0, counts[name] - before[1][name]) / (now - before[0]) for name in _RATES}

    def _see_commits(self) -> None:
        """Take the times from receipt to commit of what was added since the last look."""
        if self._version is None:
            self._version = self._log.latest()[1]
        for _ in range(MOST_COMMITS):
            try:
                commit = self._log.commit(self._version + 1)
            except CursorExpired:
                self._version = self._log.latest()[1]
                return
            if commit is None:
                return
            self._version += 1
            self._see_latency(commit)

    def _see_latency(self, commit: Commit) -> None:
        for file in commit.files:
            try:
                rows = pq.read_table(file.path, columns=["received", "offsets"], partitioning=None)
            except FileNotFoundError:  # joined with others, and removed
                continue
            weights = pc.fill_null(pc.list_value_length(rows["offsets"]), 1)
            counted = (
                pa.table({"received": rows["received"], "weight": weights})
                .group_by("received")
                .aggregate([("weight", "sum")])
            )
            times = np.maximum(0, commit.at - counted["received"].to_numpy()) / 1000
            self.latency.observe(times.tolist(), counted["weight_sum"].to_pylist())

    def _see_batches(self) -> list[dict[str, Any]]:
        """The latest batches, the newest first; their times are taken once."""
        batches = read_batches(self.folder.progress, SHOWN_BATCHES)
        if self._batch is not None:
            new = [each for each in batches if each.batch > (self._batch or 0)]
            self.batch_time.observe(each.seconds for each in new)
        self._batch = batches[0].batch if batches else -1
        return [{**each._asdict(), "seconds": each.seconds} for each in batches]

    def _plans(self) -> list[dict[str, Any]]:
        latest = latest_plan(self.folder.plans)
        found = plans_between(self.folder.plans, latest - SHOWN_PLANS, latest)
        return [
            {"number": number, "plan": plan.plan, "actions": [_action(each) for each in plan.actions]}
            for number, plan in reversed(found)
        ]

    def _writers(self) -> list[dict[str, Any]] | None:
        """The writers and what each has logged; None for a log that does not say so."""
        if not isinstance(find_log(self.folder), SegmentFiles):
            return None
        logs = self.folder.logs
        writers = sorted(path for path in logs.iterdir() if path.is_dir()) if logs.exists() else []
        return [{"name": path.name, "logged": appended(path)} for path in writers]


def _action(action: Any) -> dict[str, Any]:
    members = None if action.members is None else len(action.members)
    return {"proxy": action.proxy, "to": action.to or action.of, "set": dict(action.set), "members": members}


def _quantiles(histogram: TimeHistogram) -> dict[str, float | None]:
    """The ends of the buckets in which the median and the 99th hundredth are; None beyond the last."""
    return {"p50": histogram.quantile(0.5), "p99": histogram.quantile(0.99), "count": histogram.count}
