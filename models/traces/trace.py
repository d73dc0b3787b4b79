"""A trace on disk, to be read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field

from bypass.models.request import InvalidRequest
from bypass.models.traces.errors import InvalidTrace
from bypass.models.traces.manifest import Manifest, block_file, load_manifest
from bypass.models.waypoints import Waypoints
from bypass.support.arrays import Singles

Range = tuple[int, int]

_AT_A_TIME = 10_000_000
_ROW = np.dtype([("t", "<f8"), ("client", "<i4"), ("x", "<f4"), ("y", "<f4")])


class Trace(Manifest):
    """The trace in the folder `path`: what its manifest says, and its positions. Any thread may read."""

    path: Path = Field(exclude=True)

    def __repr__(self) -> str:
        return (
            f"Trace({self.path}: {self.model or 'laid out'}, {self.clients:,} clients, {self.duration:g} s,"
            f" a place each {self.step:g} s)"
        )

    @classmethod
    def open(cls, path: Path) -> Self:
        """Raises InvalidTrace if the folder is no trace, unfinished, or lacks a file."""
        manifest = load_manifest(path)
        if (missing := missing_file(manifest, path)) is not None:
            raise missing
        return cls.model_validate({**manifest.model_dump(), "path": path})

    @property
    def files(self) -> list[Path]:
        """The files that hold the positions, slab by slab."""
        return [block_file(self.path, slab, first) for slab in range(self.slabs) for first in self.blocks]

    def read(self, first: int, last: int) -> tuple[Singles, Singles]:
        """x and y (m) of all clients, samples `first` to `last` - 1: a row a sample, a column a client.

        Reads the files and row groups that hold these samples, and x and y alone. Raises InvalidRequest,
        InvalidTrace.
        """
        if not 0 <= first <= last <= self.samples:
            raise InvalidRequest(f"samples are {first} to {last}: expected within 0 to {self.samples}")
        return self._read((first, last), (0, self.clients))

    def read_clients(self, first: int, last: int) -> tuple[Singles, Singles]:
        """x and y (m) of clients `first` to `last` - 1 at all samples, in the form of `read`."""
        if not 0 <= first <= last <= self.clients:
            raise InvalidRequest(f"clients are {first} to {last}: expected within 0 to {self.clients}")
        return self._read((0, self.samples), (first, last))

    def waypoints(self, first: int = 0, last: int | None = None) -> Waypoints:
        """The movement of clients `first` to `last` - 1, all by default: a waypoint for each sample."""
        x, y = self.read_clients(first, self.clients if last is None else last)
        count = x.shape[1]
        t = np.tile(self.times(0, self.samples), count)
        places = (each.T.reshape(-1).astype(np.float64) for each in (x, y))
        return Waypoints(np.arange(count + 1) * self.samples, t, *places)

    def digest(self) -> str:
        """SHA-256 of all rows, sorted by t, then client: 20 bytes each, t, client, x, y, little end first.

        It does not depend on how the rows are spread over files.
        """
        total = hashlib.sha256()
        numbers = np.arange(self.clients)
        for first, last in self._portions():
            x, y = self.read(first, last)
            rows = np.empty(x.shape, _ROW)
            rows["t"] = self.times(first, last)[:, None]
            rows["client"] = numbers
            rows["x"], rows["y"] = x, y
            total.update(rows.data)
        return total.hexdigest()

    def _portions(self) -> Iterator[Range]:
        """Ranges of samples that fit into memory and that no other slab is needed for."""
        most = max(1, _AT_A_TIME // self.clients)
        for slab in range(self.slabs):
            begin, end = self.slab_samples(slab)
            for first in range(begin, end, most):
                yield first, min(first + most, end)

    def _read(self, samples: Range, clients: Range) -> tuple[Singles, Singles]:
        shape = samples[1] - samples[0], clients[1] - clients[0]
        x, y = np.empty(shape, np.float32), np.empty(shape, np.float32)
        if not x.size:
            return x, y
        for slab in range(self.slab_of(samples[0]), self.slab_of(samples[1] - 1) + 1):
            begin, end = self.slab_samples(slab)
            rows = max(begin, samples[0]), min(end, samples[1])
            for first, last in self.block_bounds:
                columns = max(first, clients[0]), min(last, clients[1])
                if columns[0] < columns[1]:
                    part = np.s_[
                        rows[0] - samples[0] : rows[1] - samples[0],
                        columns[0] - clients[0] : columns[1] - clients[0],
                    ]
                    wanted = np.s_[:, columns[0] - first : columns[1] - first]
                    self._read_file(slab, (first, last), rows, wanted, x[part], y[part])
        return x, y

    def _read_file(
        self,
        slab: int,
        block: Range,
        samples: Range,
        wanted: tuple[slice, slice],
        out_x: Singles,
        out_y: Singles,
    ) -> None:
        path = block_file(self.path, slab, block[0])
        begin, end = self.slab_samples(slab)
        count = block[1] - block[0]
        try:
            with pq.ParquetFile(path) as file:
                groups, before = _groups(
                    file.metadata, (samples[0] - begin) * count, (samples[1] - begin) * count
                )
                if (rows := file.metadata.num_rows) != (expected := (end - begin) * count):
                    raise InvalidTrace(f"{path} has {rows} rows: expected {expected}")
                table = file.read_row_groups(groups, columns=["x", "y"], use_threads=False)
            for name, out in (("x", out_x), ("y", out_y)):
                skipped = (samples[0] - begin) * count - before
                column = table.column(name).to_numpy()[skipped : skipped + len(out) * count]
                out[:] = column.reshape(len(out), count)[wanted]
        except (OSError, KeyError, ValueError, pa.ArrowException) as error:
            raise InvalidTrace(f"{path} cannot be read: {str(error).splitlines()[0]}") from error


def missing_file(manifest: Manifest, folder: Path) -> InvalidTrace | None:
    """The error to raise for the first file that a trace lacks, if it lacks any."""
    for slab in range(manifest.slabs):
        paths = [block_file(folder, slab, first) for first in manifest.blocks]
        there = set(paths[0].parent.iterdir()) if paths[0].parent.is_dir() else set()
        for path in paths:
            if path not in there:
                return InvalidTrace(f"{path} does not exist: expected a file for each slab and block")
    return None


def _groups(metadata: pq.FileMetaData, first: int, last: int) -> tuple[list[int], int]:
    """The row groups with rows `first` to `last` - 1, and how many rows come before them."""
    groups: list[int] = []
    before = row = 0
    for group in range(metadata.num_row_groups):
        rows = metadata.row_group(group).num_rows
        if row + rows <= first:
            before = row + rows
        elif row < last:
            groups.append(group)
        row += rows
    return groups, before
