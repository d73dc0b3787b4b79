"""Rows of measurements: from measurements to columns, and back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bypass.ingest.tables.schema import MEASUREMENTS, MINUTE_MS, PLURAL, SINGLE, TYPES
from bypass.ports.measurements import Measurement, MessageOrigin

DataModel = Literal["standard", "batched"]

STANDARD = [name for name in MEASUREMENTS.names if name not in ("offsets", *PLURAL)]
"""The columns of the standard model, which `read` gives."""


def day_of(received: int) -> str:
    """The day on which something was received, in UTC."""
    return datetime.fromtimestamp(received / 1000, UTC).strftime("%Y-%m-%d")


@dataclass(slots=True)
class RowBuilder:
    """Collects measurements as they come, and gives them as a table."""

    origins: list[MessageOrigin] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    measurements: list[Measurement] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.measurements)

    def add(self, origin: MessageOrigin, measurements: list[Measurement]) -> None:
        """Take the measurements of one message."""
        self.origins.append(origin)
        self.counts.append(len(measurements))
        self.measurements += measurements

    def table(self, model: DataModel) -> pa.Table:
        """All that was taken, in the rows of a data model."""
        single = self._single()
        return single if model == "standard" else batched(single)

    def _single(self) -> pa.Table:
        count = len(self.measurements)
        times, metrics, types, values, units = zip(*self.measurements, strict=True) if count else ((),) * 5
        kinds = np.fromiter(map(TYPES.index, types), np.int8, count)
        columns: dict[str, pa.Array] = {
            "metric": pa.array(metrics, pa.string()),
            "type": pa.array(types, pa.string()),
            "uom": pa.array(units, pa.string()),
            "time": pa.array(times, pa.int64()),
        }
        for kind, name in enumerate(SINGLE):
            of = MEASUREMENTS.field(name).type
            there = kinds == kind
            if there.all():
                columns[name] = pa.array(values, of)
            elif not there.any():
                columns[name] = pa.nulls(count, of)
            else:
                columns[name] = pa.array(
                    [value if mine else None for value, mine in zip(values, there, strict=True)], of
                )
        regions, tenants, devices, received, logs, sequences = (
            zip(*self.origins, strict=True) if self.origins else ((),) * 6
        )
        message = pa.array(np.repeat(np.arange(len(self.counts)), self.counts))
        days = {at: day_of(at) for at in {time // 86_400_000 * 86_400_000 for time in received}}
        for name, of_message in {
            "region": regions,
            "day": [days[time // 86_400_000 * 86_400_000] for time in received],
            "tenant": tenants,
            "device": devices,
            "received": received,
            "log": logs,
            "sequence": sequences,
        }.items():
            columns[name] = pa.array(of_message, MEASUREMENTS.field(name).type).take(message)
        for name in ("offsets", *PLURAL):
            columns[name] = pa.nulls(count, MEASUREMENTS.field(name).type)
        return pa.table([columns[name] for name in MEASUREMENTS.names], schema=MEASUREMENTS)


def batched(single: pa.Table) -> pa.Table:
    """Rows of the standard model as rows of the batched one: one for each device, metric, type, unit and
    minute.

    Measurements keep their order within a row, so that what was received first comes first among equal times.
    """
    if not single.num_rows:
        return single
    minutes = pc.multiply(pc.floor(pc.divide(pc.cast(single["time"], pa.float64()), MINUTE_MS)), MINUTE_MS)
    minute = pc.cast(minutes, pa.int64())
    keyed = single.append_column("minute", minute)
    names = ["region", "day", "tenant", "device", "metric", "type", "uom", "minute"]
    group = _groups(keyed, names)
    order = np.lexsort((single["time"].to_numpy(), group))
    group = group[order]
    keyed = keyed.take(pa.array(order))
    starts = np.flatnonzero(np.concatenate([[True], group[1:] != group[:-1]]))
    first = keyed.take(pa.array(starts))
    ends = pa.array(np.append(starts, len(group)).astype(np.int32))
    offsets = pc.cast(pc.subtract(keyed["time"], keyed["minute"]), pa.int32()).combine_chunks()
    columns: dict[str, Any] = {name: first[name] for name in MEASUREMENTS.names}
    columns["time"] = first["minute"]
    columns["offsets"] = pa.ListArray.from_arrays(ends, offsets)
    types = first["type"]
    for of, one, many in zip(TYPES, SINGLE, PLURAL, strict=True):
        columns[one] = pa.nulls(len(starts), MEASUREMENTS.field(one).type)
        lists = pa.ListArray.from_arrays(ends, keyed[one].combine_chunks())
        columns[many] = pc.if_else(pc.equal(types, of), lists, pa.scalar(None, lists.type))
    return pa.table([columns[name] for name in MEASUREMENTS.names], schema=MEASUREMENTS)


def read(rows: pa.Table) -> pa.Table:
    """Rows of either model as rows of the standard one."""
    many = rows.filter(pc.is_valid(rows["offsets"]))
    single = rows.filter(pc.is_null(rows["offsets"])).select(STANDARD)
    if not many.num_rows:
        return single
    offsets = many["offsets"].combine_chunks()
    parents = pc.list_parent_indices(offsets)
    exploded = many.select(STANDARD).take(parents)
    columns = {name: exploded[name] for name in STANDARD}
    columns["time"] = pc.add(columns["time"], pc.cast(pc.list_flatten(offsets), pa.int64()))
    for of, one, plural in zip(TYPES, SINGLE, PLURAL, strict=True):
        here = pc.equal(many["type"], of)
        values = many[plural].combine_chunks()
        flat = pc.list_flatten(values)
        at = pc.cumulative_sum(pc.cast(pc.equal(exploded["type"], of), pa.int64())).combine_chunks()
        index = pc.if_else(pc.equal(exploded["type"], of), pc.subtract(at, 1), pa.scalar(None, pa.int64()))
        columns[one] = flat.take(index) if pc.any(here).as_py() else pa.nulls(len(parents), flat.type)
    return pa.concat_tables([single, pa.table(columns, schema=single.schema)])


def _groups(table: pa.Table, names: Iterable[str]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """A number for each row, the same for rows that agree in all these columns."""
    number = np.zeros(table.num_rows, np.int64)
    for name in names:
        column = table[name].combine_chunks()
        codes = column.dictionary_encode(null_encoding="encode").indices.to_numpy(zero_copy_only=False)
        _, number = np.unique(number * (int(codes.max()) + 1) + codes, return_inverse=True)
    return number
