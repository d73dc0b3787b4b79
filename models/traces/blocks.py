"""The positions of one block of clients, as Parquet files."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bypass.models.request import InvalidRequest
from bypass.models.traces.manifest import Manifest, block_file
from bypass.models.waypoints import Waypoints
from bypass.support.durable_files import replacing

SCHEMA = pa.schema(
    [
        pa.field("t", pa.float64(), nullable=False),
        pa.field("client", pa.int32(), nullable=False),
        pa.field("x", pa.float32(), nullable=False),
        pa.field("y", pa.float32(), nullable=False),
    ]
)
# Times repeat, client numbers count up. Of positions only the high bytes repeat. With the bytes of a kind
# together, positions of people who walk anywhere take 6 % less room and are read in half the time, but take a
# sixth longer to write; positions on streets take as much room, and a fifth less time to write.
ENCODING = {
    "compression": "zstd",
    "compression_level": 1,
    "use_dictionary": ["t"],
    "column_encoding": {"client": "DELTA_BINARY_PACKED", "x": "BYTE_STREAM_SPLIT", "y": "BYTE_STREAM_SPLIT"},
    "write_statistics": ["t", "client"],
}
ROWS_PER_GROUP = 1_000_000
CLIENTS_PER_BLOCK = 25_000


def first_clients(clients: int, rows: int, parallel: int, blocks: int | None = None) -> tuple[int, ...]:
    """Where blocks of about equal size begin.

    Without a number for them, as many as can run at a time, unless they would be tiny. Raises InvalidRequest.
    """
    if blocks is None:
        at_once = min(parallel, math.ceil(rows / ROWS_PER_GROUP))
        turns = math.ceil(clients / CLIENTS_PER_BLOCK / at_once)
        blocks = min(turns * at_once, clients)
    if not 1 <= blocks <= clients:
        raise InvalidRequest(f"blocks is {blocks}: expected 1 to {clients}, the number of clients")
    return tuple(clients * i // blocks for i in range(blocks))


def write_block(folder: Path, manifest: Manifest, first: int, waypoints: Waypoints) -> None:
    """Write where the clients `first`, `first` + 1, ... are: a file for each slab.

    A row group has whole samples, so that one can read some of them alone. It is also what is in memory at
    a time.
    """
    count = len(waypoints)
    cursor = waypoints.cursor()
    most = min(max(1, ROWS_PER_GROUP // count), manifest.per_slab + 1)
    clients = np.tile(np.arange(first, first + count, dtype=np.int32), most)
    x, y = np.empty((most, count), np.float32), np.empty((most, count), np.float32)
    for slab in range(manifest.slabs):
        path = block_file(folder, slab, first)
        path.parent.mkdir(exist_ok=True)
        begin, end = manifest.slab_samples(slab)
        with replacing(path) as unfinished, pq.ParquetWriter(unfinished, SCHEMA, **ENCODING) as writer:
            for k in range(begin, end, most):
                times = manifest.times(k, min(k + most, end))
                rows = len(times) * count
                cursor.sample(times, x, y)
                columns = np.repeat(times, count), clients[:rows], x.reshape(-1)[:rows], y.reshape(-1)[:rows]
                writer.write_table(pa.table(list(map(pa.array, columns)), schema=SCHEMA), rows)
