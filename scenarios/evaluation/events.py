"""The sources of an evaluation's events: a workload, or a table of recorded publications."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pydantic import ValidationError

from bypass.errors import UnusableMechanism
from bypass.models.catalogue import INSTALLED_WORKLOADS, find_model
from bypass.models.traces import Trace
from bypass.models.traces.layout import CLIENTS
from bypass.models.workloads import WORKLOADS, Publications, Rhythm, Workload, World
from bypass.scenarios.evaluation.schemes import InvalidEvaluation
from bypass.support.units import MICROSECONDS
from bypass.support.validation import first_misfit

CHUNK_US = 60 * MICROSECONDS
COLUMNS = ("t", "client", "x", "y")


class EventSource(Protocol):
    """Gives publications of a stretch of time, the same ones whoever asks; small enough to be sent around."""

    @property
    def name(self) -> str:
        """The name under which the figures are filed."""

    @property
    def late(self) -> int:
        """How many events come after the end of the trace, and are not judged."""

    def between(self, first: int, last: int, start_us: int, end_us: int) -> Publications:
        """The publications of clients `first` to `last` - 1 from `start_us` on and before `end_us`."""


@dataclass(frozen=True)
class WorkloadEvents:
    """The events of a workload model."""

    name: str
    workload: Workload
    seed: int
    world: World
    late: int = 0

    def between(self, first: int, last: int, start_us: int, end_us: int) -> Publications:
        rhythm = _rhythm(self.workload.rate, first, last, self.seed)
        return self.workload.between(rhythm, start_us, end_us, self.seed, self.world)


def make_workload(name: str, parameters: Mapping[str, Any]) -> Workload:
    """A workload by its name, or by a reference, with parameters. Raises InvalidEvaluation."""
    try:
        model = find_model(name, WORKLOADS, Workload, INSTALLED_WORKLOADS)
    except UnusableMechanism as error:
        raise InvalidEvaluation(f"workload {error}") from None
    if model is None:
        raise InvalidEvaluation(f"workload {name!r} is unknown: expected one of {', '.join(WORKLOADS)}")
    try:
        return model.model_validate(dict(parameters))
    except ValidationError as error:
        misfit = first_misfit(error, lambda _: model.model_fields)
        raise InvalidEvaluation(f"workload {name}: {misfit}") from None


_rhythm = lru_cache(maxsize=4)(Rhythm.of)


@dataclass(frozen=True)
class RecordedEvents:
    """Publications out of Parquet, a file or a folder of files: columns `t` (s), `client`, `x`, `y` (m).

    A row without x and y is an event at its publisher's place. Row groups that are in the order of time make
    reading a stretch cheap. Where the trace was laid out from other data, times, places and clients are those
    of that data: `offset` (s, m, m) is taken off, and the file `ids` says which number each client has got.
    """

    name: str
    path: Path
    clients: int
    offset: tuple[float, float, float]
    ids: Path | None
    late: int = 0

    @classmethod
    def of(cls, path: Path, trace: Trace) -> RecordedEvents:
        """Publications for a trace; those from its end on are late.

        Raises InvalidEvaluation unless all of them make sense and some are in time.
        """
        ids = trace.path.absolute() / CLIENTS
        events = cls("recorded", path.absolute(), trace.clients, trace.offset, ids if ids.exists() else None)
        return events._counted(round((trace.samples - 1) * trace.step * MICROSECONDS))

    def _counted(self, end_us: int) -> RecordedEvents:
        in_time = late = 0
        for table in self._tables():
            at_us = self._read(table).at_us
            in_time += int(np.count_nonzero(at_us < end_us))
            late += int(np.count_nonzero(at_us >= end_us))
        if not in_time:
            found = f"{late} publications, all of them later" if late else "no publications"
            raise InvalidEvaluation(
                f"{self.path} has {found}: expected some before {end_us / MICROSECONDS:g} s, the trace's end"
            )
        return replace(self, late=late)

    def between(self, first: int, last: int, start_us: int, end_us: int) -> Publications:
        parts = []
        for chunk in range(start_us // CHUNK_US, -(-end_us // CHUNK_US)):
            p = _chunk(self, chunk)
            low, high = np.searchsorted(p.at_us, (start_us, end_us))
            mine = np.flatnonzero((p.client[low:high] >= first) & (p.client[low:high] < last)) + low
            parts.append(Publications(p.at_us[mine], p.client[mine], p.x[mine], p.y[mine]))
        return _joined(parts)

    def _tables(self, bounds: tuple[float, float] | None = None) -> Iterator[pa.Table]:
        """The four columns, table by table; with bounds, of times from the first on and before the second."""
        import pyarrow.dataset as ds  # not above: pandas comes with it, in half a second

        try:
            source = ds.dataset(self.path, format="parquet")
            if missing := [name for name in COLUMNS if name not in source.schema.names]:
                raise InvalidEvaluation(f"{self.path} has no column {missing[0]}: expected t, client, x, y")
            chosen = None if bounds is None else (ds.field("t") >= bounds[0]) & (ds.field("t") < bounds[1])
            for batch in source.to_batches(columns=list(COLUMNS), filter=chosen):
                yield pa.Table.from_batches([batch])
        except FileNotFoundError:
            raise InvalidEvaluation(f"{self.path} does not exist: expected Parquet of publications") from None
        except (OSError, pa.ArrowException) as error:
            reason = " ".join(str(error).split())
            raise InvalidEvaluation(f"{self.path}: {reason}: expected Parquet of publications") from None

    def _read(self, table: pa.Table) -> Publications:
        client = self._numbers(table["client"])
        for name in ("t", "x", "y"):
            kind = table[name].type
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)):
                raise self._wrong(name, f"of type {kind}", "numbers")
        t, x, y = (pc.fill_null(pc.cast(table[n], pa.float64()), np.nan).to_numpy() for n in ("t", "x", "y"))
        if len(wrong := t[~((t >= self.offset[0]) & np.isfinite(t))]):
            raise self._wrong("t", str(wrong[0]), f"seconds from {self.offset[0]:g} on, as in the trace")
        if (np.isnan(x) != np.isnan(y)).any():
            raise self._wrong("x or y", "missing", "both, or none of them")
        if len(wrong := np.concatenate([x, y])[np.isinf(np.concatenate([x, y]))]):
            raise self._wrong("x or y", str(wrong[0]), "finite numbers")
        at_us = np.rint((t - self.offset[0]) * MICROSECONDS).astype(np.int64)
        return Publications(at_us, client, x - self.offset[1], y - self.offset[2])

    def _numbers(self, column: pa.ChunkedArray) -> NDArray[np.int32]:
        """The numbers of clients in the trace."""
        if column.null_count:
            raise self._wrong("client", "null", "a client of the trace")
        ids = None if self.ids is None else _ids(self.ids)
        if ids is not None and pa.types.is_string(ids.type) and not pa.types.is_integer(column.type):
            number = pc.index_in(self._cast(column, pa.string()), value_set=ids)
        elif not pa.types.is_integer(column.type):
            raise self._wrong("client", f"of type {column.type}", "whole numbers")
        elif ids is not None:
            number = pc.index_in(self._cast(column, ids.type), value_set=ids)
        else:
            inside = pc.and_(pc.greater_equal(column, 0), pc.less(column, self.clients))
            number = pc.if_else(inside, column, pa.scalar(None, column.type))
        if number.null_count:
            stranger = column.filter(pc.is_null(number))[0]
            raise self._wrong("client", str(stranger), "a client of the trace")
        return np.asarray(number.to_numpy(), np.int32)

    def _cast(self, column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
        try:
            return column.cast(kind)
        except pa.ArrowException:
            raise self._wrong("client", f"of type {column.type}", f"{kind} as in the trace") from None

    def _wrong(self, column: str, found: str, expected: str) -> InvalidEvaluation:
        return InvalidEvaluation(f"{self.path}: {column} is {found}: expected {expected}")


def _joined(parts: list[Publications]) -> Publications:
    """Publications that follow each other."""
    if len(parts) == 1:
        return parts[0]
    return Publications(
        np.concatenate([np.empty(0, np.int64), *(p.at_us for p in parts)]),
        np.concatenate([np.empty(0, np.int32), *(p.client for p in parts)]),
        np.concatenate([np.empty(0), *(p.x for p in parts)]),
        np.concatenate([np.empty(0), *(p.y for p in parts)]),
    )


@lru_cache(maxsize=2)
def _ids(path: Path) -> pa.ChunkedArray:
    return pq.read_table(path, columns=["id"])["id"]


@lru_cache(maxsize=4)
def _chunk(events: RecordedEvents, number: int) -> Publications:
    """A minute of recorded events in the order of time: windows are too short to look into files for each."""
    start_us, end_us = number * CHUNK_US, (number + 1) * CHUNK_US
    # A little more than asked for: times are rounded to microseconds only afterwards.
    bounds = tuple(edge / MICROSECONDS + events.offset[0] for edge in (start_us - 1000, end_us + 1000))
    p = _joined([events._read(table) for table in events._tables((bounds[0], bounds[1]))])
    chosen = np.flatnonzero((p.at_us >= start_us) & (p.at_us < end_us))
    chosen = chosen[np.lexsort((p.client[chosen], p.at_us[chosen]))]
    return Publications(p.at_us[chosen], p.client[chosen], p.x[chosen], p.y[chosen])
