"""Reading the table of measurements: what is there, and what each later commit adds."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from deltalake import DeltaTable

from bypass.ingest.devices.registry import DeviceRegistry
from bypass.ingest.folder import IngestFolder
from bypass.ingest.queries.selection import Selection
from bypass.ingest.tables.rows import STANDARD, read
from bypass.ingest.tables.schema import MEASUREMENTS, MINUTE_MS, PARTITION

EMPTY = pa.table({name: pa.array([], MEASUREMENTS.field(name).type) for name in STANDARD})


class MeasurementReader:
    """Answers selections from one installation's table. A call sees one version of the table."""

    def __init__(self, folder: IngestFolder) -> None:
        self._folder = folder

    def version(self) -> int:
        """The version of the table as of now; -1 if there is none yet."""
        path = str(self._folder.measurements)
        return DeltaTable(path).version() if DeltaTable.is_deltatable(path) else -1

    def range(self, selection: Selection, version: int | None = None) -> pa.Table:
        """The measurements that are meant, in the order of their time, in rows of the standard model."""
        if self.version() < 0:
            return EMPTY
        table = DeltaTable(str(self._folder.measurements), version=version)
        with DeviceRegistry(self._folder.registry) as registry:
            devices = selection.chosen(registry)
        if not devices:
            return EMPTY
        wanted = (ds.field("tenant") == selection.tenant) & ds.field("device").isin(sorted(devices))
        if selection.since is not None:
            wanted &= ds.field("time") > selection.since - MINUTE_MS  # a batched row has the minute's begin
        if selection.until is not None:
            wanted &= ds.field("time") < selection.until
        if selection.metrics:
            wanted &= ds.field("metric").isin(sorted(selection.metrics))
        rows = table.to_pyarrow_table(filters=wanted)
        chosen = selection.filter(read(rows.cast(MEASUREMENTS)), devices)
        return chosen.sort_by([("time", "ascending"), ("device", "ascending"), ("sequence", "ascending")])

    def latest(self, selection: Selection) -> pa.Table:
        """The latest measurement of each metric of each device that is meant."""
        rows = self.range(selection)
        if not rows.num_rows:
            return rows
        numbered = rows.append_column("row", pa.array(range(rows.num_rows)))
        last = numbered.group_by(["device", "metric"]).aggregate([("row", "max")])["row_max"]
        return rows.take(last).sort_by([("device", "ascending"), ("metric", "ascending")])

    def added(self, selection: Selection, after: int, upto: int) -> list[pa.Table]:
        """The measurements that are meant and that commits behind one version, up to another, have added.

        Compaction adds nothing. Devices are chosen anew for each commit.
        """
        tables = []
        for version in range(after + 1, upto + 1):
            files = _added_files(self._folder.measurements, version)
            if not files:
                continue
            with DeviceRegistry(self._folder.registry) as registry:
                devices = selection.chosen(registry)
            for file, partition in files:
                rows = pq.read_table(self._folder.measurements / file, partitioning=None)
                for name in PARTITION:
                    rows = rows.append_column(name, pa.array([partition[name]] * rows.num_rows, pa.string()))
                chosen = selection.filter(read(rows.select(MEASUREMENTS.names).cast(MEASUREMENTS)), devices)
                if chosen.num_rows:
                    tables.append(chosen)
        return tables


def _added_files(table: Path, version: int) -> list[tuple[str, dict[str, str]]]:
    """The files with new rows of one commit, with their partitions."""
    commit = table / "_delta_log" / f"{version:020d}.json"
    actions = [
        json.loads(line)["add"] for line in commit.read_text().splitlines() if line.startswith('{"add"')
    ]
    return [(unquote(add["path"]), add["partitionValues"]) for add in actions if add["dataChange"]]
