"""Bytes of a measurement in our tables: one row for each, or one for the measurements of a minute.

Beside them is what was published for Apache Ignite in memory, where each entry costs 200 bytes of its own. A
column of a Parquet file has no such cost: repeated keys are packed, so that batching saves another part.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from common import arguments, integer, print_table, write
from deltalake import DeltaTable

from bypass.ingest.sizing.entries import IGNITE
from bypass.ingest.tables.compaction import compact
from bypass.ingest.tables.delta import commit_batch
from bypass.ingest.tables.files import write_rows
from bypass.ingest.tables.rows import DataModel, RowBuilder
from bypass.ingest.tables.schema import MEASUREMENTS, PARTITION
from bypass.ports.measurements import Measurement, MessageOrigin

T = 1_763_459_000_000 // 60_000 * 60_000
PER_MINUTE = (1, 10, 60)
PUBLISHED = {1: -0.05, 10: 0.82, 60: 0.90}

OURS = ("standard", "compacted", "batched", "compacted", "saved", "compacted")
HEADER = ("a minute", *OURS, "Ignite", "batched", "saved", "published")


def builder(devices: int, minutes: int, per_minute: int, batch: int, batches: int) -> RowBuilder:
    """The rows of one batch of several: devices send one Double a message, at random times of the minute."""
    rows = RowBuilder()
    random = np.random.default_rng((per_minute, batch))
    sequence = 0
    for minute in range(batch * minutes // batches, (batch + 1) * minutes // batches):
        offsets = np.sort(random.integers(0, 60_000, (devices, per_minute)), axis=1)
        values = np.round(20 + np.cumsum(random.normal(0, 0.1, (devices, per_minute)), axis=1), 2)
        for device in range(devices):
            name = f"sensor-{device:05d}"
            for offset, value in zip(offsets[device].tolist(), values[device].tolist(), strict=True):
                time, sequence = T + minute * 60_000 + offset, sequence + 1
                origin = MessageOrigin("default", "tenant", name, time + 5, "connectors/1", sequence)
                rows.add(origin, [Measurement(time, "temperature", "Double", value, None)])
    return rows


def measure(model: DataModel, devices: int, minutes: int, per_minute: int, batches: int) -> dict[str, Any]:
    """Write batches of rows, then compact; gives the bytes of a measurement before and after."""
    with tempfile.TemporaryDirectory() as folder:
        path, count = Path(folder) / "table", 0
        for batch in range(batches):
            rows = builder(devices, minutes, per_minute, batch, batches)
            count += len(rows)
            files = write_rows(path, rows.table(model), PARTITION, str(batch))
            commit_batch(path, MEASUREMENTS, PARTITION, files, batch)
        written = _bytes(path)
        compact(path, fewest=1)
        return {"measurements": count, "written": written / count, "compacted": _bytes(path) / count}


def _bytes(path: Path) -> int:
    adds = pa.table(DeltaTable(str(path)).get_add_actions(flatten=True)).to_pylist()
    return sum(add["size_bytes"] for add in adds)


def main() -> None:
    parser = arguments(__doc__ or "", repetitions=None)
    integer(parser, "--devices", 200, "devices")
    integer(parser, "--measurements", 240_000, "measurements of each case, about")
    integer(parser, "--batches", 10, "batches that they come in")
    given = parser.parse_args()
    table, results = [], {}
    for per_minute in PER_MINUTE:
        minutes = max(given.batches, given.measurements // given.devices // per_minute)
        found = {
            model: measure(model, given.devices, minutes, per_minute, given.batches)
            for model in ("standard", "batched")
        }
        standard, batched = found["standard"], found["batched"]
        saved = {when: 1 - batched[when] / standard[when] for when in ("written", "compacted")}
        formula = {
            "standard": IGNITE.standard(),
            "batched": IGNITE.batched(per_minute, key_indexed=False),
            "saving": IGNITE.saving(per_minute, key_indexed=False),
        }
        published = PUBLISHED[per_minute]
        results[per_minute] = {**found, "saving": saved, "formula": formula, "published": published}
        table.append(
            [
                per_minute,
                *(row[when] for row in (standard, batched) for when in ("written", "compacted")),
                *(100 * part for part in (saved["written"], saved["compacted"])),
                *(formula["standard"], formula["batched"], 100 * formula["saving"], 100 * published),
            ]
        )
    print_table(
        "Bytes of a measurement, as written and after compaction; what batching saves (%)",
        HEADER,
        table,
    )
    write("ingest_rows", given.out, {"settings": vars(given) | {"out": str(given.out)}, "results": results})


if __name__ == "__main__":
    main()
