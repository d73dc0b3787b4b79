"""Positions in Parquet files of any layout: rows with columns t, client, x, y in any order."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from bypass.models.traces.crs import check_crs, check_degrees, degrees, planar
from bypass.models.traces.errors import InvalidTrace
from bypass.places.geo import GeoLocation

COLUMNS = ("t", "client", "x", "y")
DEGREES = ("t", "client", "lat", "lon")
ROWS_PER_PART = 1_000_000


@dataclass(frozen=True)
class RowGroups:
    """Some row groups of one file, with `rows` rows. `keys` are columns that its folders' names are.

    Rows are in metres, or in the reference system `crs`, or have columns lat and lon (`in_degrees`). The
    latter two are brought into the plane around `middle`; without one they are read as degrees.
    """

    path: str
    groups: tuple[int, ...]
    rows: int
    keys: dict[str, Any] = field(default_factory=dict)
    crs: str = ""
    in_degrees: bool = False
    middle: GeoLocation | None = None

    @property
    def on_earth(self) -> bool:
        """Whether the rows say where on earth they are."""
        return self.in_degrees or bool(self.crs)

    def read(self) -> pa.Table:
        """The columns t, client, x and y: client numbers or strings, all others floating point.

        Without a `middle`, x and y of rows that are somewhere on earth are longitudes and latitudes. Raises
        InvalidTrace.
        """
        table = self._read(DEGREES if self.in_degrees else COLUMNS)
        if not self.on_earth:
            return table
        if self.in_degrees:
            lat, lon = (table.column(name).to_numpy() for name in ("lat", "lon"))
            check_degrees(lat, lon, self.path)
        else:
            x, y = table.column("x").to_numpy(), table.column("y").to_numpy()
            lat, lon = degrees(self.crs, x, y, self.path)
        x, y = (lon, lat) if self.middle is None else planar(self.middle, lat, lon, self.path)
        return pa.table([table.column("t"), table.column("client"), pa.array(x), pa.array(y)], names=COLUMNS)

    def _read(self, columns: tuple[str, ...]) -> pa.Table:
        try:
            with pq.ParquetFile(self.path) as file:
                there = [name for name in columns if name in file.schema_arrow.names]
                table = file.read_row_groups(self.groups, columns=there, use_threads=False)
        except (OSError, pa.ArrowException) as error:
            raise InvalidTrace(f"{self.path} cannot be read: {str(error).splitlines()[0]}") from error
        return pa.table({name: self._column(table, name, columns) for name in columns})

    def _column(self, table: pa.Table, name: str, columns: tuple[str, ...]) -> pa.ChunkedArray:
        if name in table.column_names:
            column = table.column(name)
        elif name in self.keys:
            column = pa.chunked_array([pa.repeat(pa.scalar(self.keys[name]), table.num_rows)])
        else:
            raise InvalidTrace(f"{self.path} has no column {name}: expected {', '.join(columns)}")
        if column.null_count:
            raise InvalidTrace(f"{self.path}: {name} is null in {column.null_count} rows: expected none")
        return self._id(column) if name == "client" else self._number(column, name)

    def _id(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if pa.types.is_integer(kind):
            return self._cast(column, "client", pa.int64())
        if pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return self._cast(column, "client", pa.string())
        raise InvalidTrace(f"{self.path}: client is of type {kind}: expected whole numbers or strings")

    def _number(self, column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
        kind = column.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
            raise InvalidTrace(f"{self.path}: {name} is of type {kind}: expected numbers")
        numbers = self._cast(column, name, pa.float64())
        if not pc.all(pc.is_finite(numbers), min_count=0).as_py():
            wrong = numbers.filter(pc.invert(pc.is_finite(numbers)))[0]
            raise InvalidTrace(f"{self.path}: {name} is {wrong}: expected finite numbers")
        return numbers

    def _cast(self, column: pa.ChunkedArray, name: str, kind: pa.DataType) -> pa.ChunkedArray:
        try:
            return column.cast(kind)
        except pa.ArrowException as error:
            raise InvalidTrace(
                f"{self.path}: {name}: {str(error).splitlines()[0]}: expected {kind}"
            ) from error


def parts_of(source: Path, crs: str = "") -> list[RowGroups]:
    """Divide files into parts that fit into memory, with x and y in a reference system if one is given.

    Raises InvalidTrace unless they are Parquet, and for a system that nobody knows.
    """
    if crs:
        check_crs(crs)
    import pyarrow.dataset as ds  # not above: pandas comes with it, in half a second

    try:
        # Absolute: workers may be at home in another folder.
        files = ds.dataset(source.absolute(), format="parquet", partitioning="hive").get_fragments()
        parts: list[RowGroups] = []
        for each in files:
            keys = ds.get_partition_keys(each.partition_expression)
            names = {*each.physical_schema.names, *keys}
            in_degrees = not crs and {"lat", "lon"} <= names and not {"x", "y"} <= names
            parts += [
                RowGroups(each.path, groups, rows, keys, crs, in_degrees)
                for groups, rows in _portions(each.metadata)
            ]
    except FileNotFoundError as error:
        raise InvalidTrace(f"{source} does not exist: expected Parquet files") from error
    except (OSError, pa.ArrowException) as error:
        # All of the line: in a folder it says which file it is.
        raise InvalidTrace(f"{source}: {str(error).splitlines()[0]}: expected Parquet files") from error
    if not parts:
        raise InvalidTrace(f"{source} has no rows: expected positions in Parquet files")
    return parts


def count_rows(source: Path, crs: str = "") -> int:
    """How many rows there are. Raises InvalidTrace, also for a reference system that nobody knows."""
    return sum(part.rows for part in parts_of(source, crs))


def _portions(metadata: pq.FileMetaData) -> list[tuple[tuple[int, ...], int]]:
    """Row groups with rows in them, some together, and how many rows they have."""
    portions: list[tuple[tuple[int, ...], int]] = []
    for group in range(metadata.num_row_groups):
        rows = metadata.row_group(group).num_rows
        if not rows:
            continue
        if not portions or portions[-1][1] + rows > ROWS_PER_PART:
            portions.append(((), 0))
        groups, filled = portions[-1]
        portions[-1] = (*groups, group), filled + rows
    return portions
