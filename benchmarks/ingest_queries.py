"""The cost of queries of the data pipeline, by the complexity of their predicates, whole and page by page."""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from common import arguments, integer, print_table, ratio, rounds, write

from bypass.ingest.devices.device import Device
from bypass.ingest.devices.registry import DeviceRegistry
from bypass.ingest.folder import IngestFolder
from bypass.ingest.queries.reader import MeasurementReader
from bypass.ingest.queries.selection import Selection
from bypass.ingest.tables.delta import commit_batch
from bypass.ingest.tables.files import write_rows
from bypass.ingest.tables.schema import MEASUREMENTS, PARTITION

DEVICES = 1000
BATCH = 100_000
BEGIN = 1_763_459_000_000
DAY = "2025-11-18"
ALTERNATIVES = " or ".join(f"metric = m{n} and value > {0.9 + n / 1000}" for n in range(8))
PREDICATES = {
    "everything": ("", ""),
    "one device": ("id = d7", ""),
    "a tenth of the devices": ("kind = k3", ""),
    "one comparison": ("", "value > 0.99"),
    "two comparisons": ("", "metric = m3 and value > 0.9"),
    "eight alternatives of two": ("", ALTERNATIVES),
    "eight alternatives, negated": ("", f"not ({ALTERNATIVES}) and value < 0.01"),
}


def fill(folder: IngestFolder, measurements: int) -> None:
    """Make a table, a commit for each batch."""
    with DeviceRegistry(folder.registry) as registry:
        registry.register(*(Device(id=f"d{n}", metadata={"kind": f"k{n % 10}"}) for n in range(DEVICES)))
    generator = np.random.default_rng(1)
    for batch, start in enumerate(range(0, measurements, BATCH)):
        number = np.arange(start, min(start + BATCH, measurements))
        count = len(number)
        columns = {field.name: pa.nulls(count, field.type) for field in MEASUREMENTS}
        columns |= {name: pa.array(["default"] * count) for name in ("region", "tenant", "log")}
        columns |= {
            "day": pa.array([DAY] * count),
            "device": pa.array([f"d{n % DEVICES}" for n in number]),
            "metric": pa.array([f"m{n // DEVICES % 16}" for n in number]),
            "type": pa.array(["Double"] * count),
            "double": pa.array(generator.random(count)),
            "time": pa.array(BEGIN + number),
            "received": pa.array(BEGIN + number),
            "sequence": pa.array(number),
        }
        rows = pa.table([columns[name] for name in MEASUREMENTS.names], schema=MEASUREMENTS)
        files = write_rows(folder.measurements, rows, PARTITION, str(batch))
        commit_batch(folder.measurements, MEASUREMENTS, PARTITION, files, batch)


def main() -> None:
    """Ask each query in turn, whole and for its first page."""
    parser = arguments(__doc__ or "", repetitions=3)
    integer(parser, "--measurements", 1_000_000, "so many are in the table")
    integer(parser, "--page", 1000, "rows of a page")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as path:
        folder = IngestFolder(Path(path))
        fill(folder, given.measurements)
        reader = MeasurementReader(folder)
        selections = {name: Selection("default", *both) for name, both in PREDICATES.items()}
        found = {name: reader.range(each).num_rows for name, each in selections.items()}
        actions: dict[str, Callable[[], object]] = {}
        for name, each in selections.items():
            actions[name] = partial(reader.range, each)
            actions[f"page: {name}"] = partial(reader.page, each, reader.begin(), given.page)
        taken = rounds(actions, given.repetitions)
    rows = [
        {
            "query": name,
            "rows": found[name],
            "range_s": statistics.median(taken[name]),
            "page_s": statistics.median(taken[f"page: {name}"]),
            "of_everything": ratio(taken[name], taken["everything"]),
        }
        for name in PREDICATES
    ]
    print_table(
        f"{given.measurements:,} measurements of {DEVICES:,} devices: processor time (s)",
        ("query", "rows", "all of it", f"a page of {given.page:,}", "of everything"),
        [tuple(row.values()) for row in rows],
    )
    write("ingest_queries", given.out, {"measurements": given.measurements, "rows": rows})


if __name__ == "__main__":
    main()
