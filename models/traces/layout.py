"""Brings positions in Parquet of any layout into the form of our traces."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bypass.models.compute.engines import ComputeEngine, SparkEngine, WorkProgress, unwatched
from bypass.models.maps.georeference import Georeference
from bypass.models.traces.blocks import first_clients, write_block
from bypass.models.traces.errors import InvalidTrace
from bypass.models.traces.files import new_folder
from bypass.models.traces.formats.text import whole_metres
from bypass.models.traces.manifest import ACCURACY, FARTHEST, Manifest, checked_slab, count_samples
from bypass.models.traces.source import RowGroups, parts_of
from bypass.models.traces.trace import Trace
from bypass.models.traces.writing import DISTRIBUTION, finish
from bypass.models.waypoints import Waypoints
from bypass.places.geo import GeoLocation
from bypass.support.durable_files import replacing

CLIENTS = "_clients.parquet"
"""The file of a trace that was laid out that says which client had which id."""

_ROWS_PER_BLOCK = 5_000_000
# More than both is no trace, but what comes of a time that is wrong.
_LIKELY_ROWS = 100_000_000
_ROWS_FOR_A_ROW = 1_000
_AXES = ("t", "x", "y")


def lay_out(
    source: Path,
    out: Path,
    *,
    step: float = 1.0,
    slab: float | None = None,
    engine: ComputeEngine,
    size: tuple[float, float] | None = None,
    crs: str = "",
    progress: WorkProgress = unwatched,
) -> Trace:
    """Write the positions in the Parquet file or folder `source` as a trace to the folder `out`.

    Rows have columns t (s), client (whole numbers or strings), x, y (m); they may be in any order, times
    anything. Clients are numbered in the order of their ids; which is which is in _clients.parquet. A client
    moves evenly between its rows, and stands still before the first and after the last. Of several rows of
    a client for one time, the one with the greatest (x, y) counts. The earliest time becomes 0. So does the
    least coordinate if it is negative, or farther from 0 than the rows from each other. The world is as small
    as it can be, in whole metres; if its `size` is given, only what is negative is moved. Without a slab it
    is about 20 s. Columns lat and lon (degrees) may stand for x and y, and with `crs` x and y are coordinates
    of that reference system, such as EPSG:25832: the trace is in the plane around the middle of all rows, and
    says where on earth that is. Raises InvalidTrace, InvalidRequest; whatever is raised, nothing is left
    behind.
    """
    slab = checked_slab(step, slab)
    parts = parts_of(source, crs)

    def scanned(done: int, _: int) -> None:
        progress(done, 2 * len(parts))

    middle = None
    if any(part.on_earth for part in parts):
        middle = _Extent.of(engine.run(scan, parts)).middle(source)
        parts = [replace(part, middle=middle) for part in parts]
    extent = _Extent.of(engine.run(scan, parts, scanned))
    manifest = extent.manifest(step, slab, engine, size, middle)
    with new_folder(out):
        ids = out.absolute() / CLIENTS
        with replacing(ids) as unfinished:
            numbers = pa.array(np.arange(manifest.clients, dtype=np.int32))
            pq.write_table(pa.table({"client": numbers, "id": extent.ids}), unfinished)
        job = _LayingOut(tuple(parts), out.absolute(), manifest)
        if isinstance(engine, SparkEngine):
            job.shuffle(engine)
        else:
            engine.run(job.write, manifest.block_bounds)
        progress(2 * len(parts), 2 * len(parts))
        return finish(manifest, out)


class Scan(NamedTuple):
    """The contents of a part: its clients, and the least and greatest t, x and y."""

    path: str
    ids: pa.Array
    rows: int
    low: tuple[float, float, float]
    high: tuple[float, float, float]


def scan(part: RowGroups) -> Scan:
    """Look through a part. Raises InvalidTrace if something in it is no position."""
    table = part.read()
    t, x, y = (pc.min_max(table.column(axis)).as_py() for axis in _AXES)
    low, high = ((t[end], x[end], y[end]) for end in ("min", "max"))
    return Scan(part.path, pc.unique(table.column("client")), table.num_rows, low, high)


class _Extent(NamedTuple):
    """The contents of all parts together. The ids are sorted."""

    ids: pa.Array
    rows: int
    low: tuple[float, ...]
    high: tuple[float, ...]

    @classmethod
    def of(cls, scans: list[Scan]) -> _Extent:
        for one, other in pairwise(scans):
            if one.ids.type != other.ids.type:
                expected = f"{one.ids.type} as in {one.path}"
                raise InvalidTrace(f"{other.path}: client is of type {other.ids.type}: expected {expected}")
        ids = pc.unique(pa.chunked_array([each.ids for each in scans]))
        return cls(
            ids.take(pc.sort_indices(ids)),
            sum(each.rows for each in scans),
            tuple(map(min, zip(*(each.low for each in scans), strict=True))),
            tuple(map(max, zip(*(each.high for each in scans), strict=True))),
        )

    def middle(self, source: Path) -> GeoLocation:
        """The place in the middle of all, which are in degrees. Raises InvalidTrace."""
        (_, west, south), (_, east, north) = self.low, self.high
        if east - west > 180.0:
            raise InvalidTrace(
                f"{source}: longitudes span {east - west:g} degrees: expected at most 180, nothing across the"
                " date line"
            )
        return GeoLocation((south + north) / 2, (west + east) / 2)

    def _offset(self, keep: bool) -> tuple[float, float, float]:
        """The offsets to subtract from t, x and y. With `keep`, x and y are moved only if they are
        negative."""
        start, *corner = self.low
        extent = max(high - low for high, low in zip(self.high[1:], corner, strict=True))
        x, y = (low if low < 0 or (low > extent and not keep) else 0.0 for low in corner)
        return start, x, y

    def _refuse_degrees(self) -> None:
        """Raises InvalidTrace if all is within a metre, but not at the origin: so are cities in degrees."""
        (west, east), (south, north) = zip(self.low[1:], self.high[1:], strict=True)
        extent = max(east - west, north - south)
        away = max(abs(west), abs(south)) > extent and max(abs(west), abs(east)) <= 180.0
        if 0 < extent < 1.0 and away and max(abs(south), abs(north)) <= 90.0:
            raise InvalidTrace(
                f"x goes from {west} to {east} and y from {south} to {north}: expected metres, they look like"
                " degrees (--crs EPSG:4326, or columns lat and lon)"
            )

    def _samples(self, duration: float, step: float) -> int:
        """Raises InvalidTrace if there would be too many."""
        limit = max(_LIKELY_ROWS, _ROWS_FOR_A_ROW * self.rows)
        if (rows := (duration / step + 1) * len(self.ids)) > limit:
            raise InvalidTrace(
                f"t goes from {self.low[0]} to {self.high[0]} s: each {step} s that makes {rows:.3g} rows of"
                f" {self.rows}: expected at most {limit}"
            )
        return count_samples(duration, step)

    def manifest(
        self,
        step: float,
        slab: float,
        engine: ComputeEngine,
        size: tuple[float, float] | None,
        middle: GeoLocation | None,
    ) -> Manifest:
        if middle is None:
            self._refuse_degrees()
        offset = self._offset(size is not None)
        duration, *reach = (high - taken for high, taken in zip(self.high, offset, strict=True))
        for axis, there, taken in zip("xy", reach, offset[1:], strict=True):
            if not there < FARTHEST:
                raise InvalidTrace(
                    f"{axis} reaches {there} m from {taken} m: expected less than {FARTHEST:.0f} m,"
                    f" up to where single precision keeps {100 * ACCURACY:.0f} cm"
                )
        needed = whole_metres(reach[0]), whole_metres(reach[1])
        for axis, there, limit in zip("xy", reach, size or needed, strict=True):
            if not (0 < limit < math.inf and there <= limit + ACCURACY):
                raise InvalidTrace(
                    f"{axis} reaches {there} m: expected at most {limit} m, the size of the world, above 0"
                )
        clients, samples = len(self.ids), self._samples(duration, step)
        rows = max(self.rows, samples * clients)
        blocks = first_clients(clients, rows, engine.parallel)
        if (least := math.ceil(self.rows / _ROWS_PER_BLOCK)) > len(blocks):
            blocks = first_clients(clients, rows, engine.parallel, min(least, clients))
        return Manifest(
            bypass=version(DISTRIBUTION),
            clients=clients,
            duration=duration,
            step=step,
            samples=samples,
            slab=slab,
            size=size or needed,
            georeference=None
            if middle is None
            else Georeference(lat=middle.lat, lon=middle.lon, x=offset[1], y=offset[2]),
            offset=offset,
            blocks=blocks,
            rows=samples * clients,
        )


@dataclass(frozen=True)
class _LayingOut:
    """The data that all pieces of work share."""

    parts: tuple[RowGroups, ...]
    out: Path
    manifest: Manifest

    @cached_property
    def _ids(self) -> pa.ChunkedArray:
        return pq.read_table(self.out / CLIENTS, columns=["id"]).column("id")

    def write(self, block: tuple[int, int]) -> None:
        """Pick a block's rows from all parts, and write it."""
        low, high = self._ids[block[0]], self._ids[block[1] - 1]
        found = []
        for part in self.parts:
            table = part.read()
            client = table.column("client")
            mine = table.filter(pc.and_(pc.greater_equal(client, low), pc.less_equal(client, high)))
            found.append(self._numbered(mine))
        self._write(block, pa.concat_tables(found))

    def shuffle(self, engine: SparkEngine) -> None:
        """Read each part once, bring the rows of a block together, and write it."""
        count = len(self.manifest.blocks)
        parts = engine.session.range(0, len(self.parts), 1, len(self.parts))
        rows = parts.mapInArrow(self.rows_of, "block int, number int, t double, x double, y double")
        # The number of partitions is stated, so Spark does not put blocks together that are small.
        blocks = rows.repartition(count, "block").groupBy("block")
        # A function: of a method Spark would believe that it also wants the group's key.
        blocks.applyInArrow(lambda table: self.write_rows(table), "block int").collect()

    def rows_of(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of parts, each with its block."""
        for batch in batches:
            for index in batch.column("id").to_pylist():
                table = self._numbered(self.parts[index].read())
                blocks = np.searchsorted(self.manifest.blocks, table.column("number"), side="right") - 1
                column = pa.array(blocks.astype(np.int32))
                yield from table.add_column(0, "block", column).combine_chunks().to_batches()

    def write_rows(self, table: pa.Table) -> pa.Table:
        """Write the block that all these rows belong to."""
        block = table.column("block")[0].as_py()
        self._write(self.manifest.block_bounds[block], table)
        return pa.table({"block": pa.array([block], pa.int32())})

    def _numbered(self, table: pa.Table) -> pa.Table:
        """The rows with the clients' numbers, and with times and places that begin at 0."""
        number = pc.index_in(table.column("client"), value_set=self._ids)
        shifted = [pc.subtract(table.column(a), o) for a, o in zip(_AXES, self.manifest.offset, strict=True)]
        return pa.table([number, *shifted], names=["number", *_AXES])

    def _write(self, block: tuple[int, int], table: pa.Table) -> None:
        number, t, x, y = (table.column(name).to_numpy() for name in ("number", *_AXES))
        order = np.lexsort((y, x, t, number))
        offsets = np.searchsorted(number[order], np.arange(block[0], block[1] + 1))
        write_block(self.out, self.manifest, block[0], Waypoints(offsets, t[order], x[order], y[order]))
