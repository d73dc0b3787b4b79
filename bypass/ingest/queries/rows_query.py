"""Rows out of files of the table, by SQL: in one order, page by page, both row models as single
measurements."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from threading import Timer
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bypass.ingest.queries.commits import TableFile
from bypass.ingest.queries.cursor import RowKey
from bypass.ingest.queries.invalid import CursorExpired, QueryTooLong
from bypass.ingest.queries.selection import Selection
from bypass.ingest.tables.rows import STANDARD
from bypass.ingest.tables.schema import MEASUREMENTS, MINUTE_MS, PLURAL, SINGLE

PAGE_BYTES = 4 << 20
MARGIN, GROWTH = 4, 8
"""The first window of a page has room for so many times its rows; each further one is so many times wider."""

MEMORY = "512MB"
SPILL = "2GB"
"""Memory of a query, and what it may write to a private folder for temporary files beyond that."""

THREADS = 2
_OPTIONS: dict[str, str | bool | int | float | list[str]] = {
    "threads": THREADS,
    "memory_limit": MEMORY,
    "max_temp_directory_size": SPILL,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
STANDARD_SCHEMA = pa.schema([MEASUREMENTS.field(name) for name in STANDARD])
_ORDER = ", ".join(RowKey._fields)
_SAME = "tenant, device, metric, type, uom"
_ORIGIN = "received, log, sequence, filename"


@dataclass(frozen=True, slots=True)
class RowsQuery:
    """A query over files of the table: those of one selection and its devices, or everything.

    An instance has no state of its own; each call reads the files anew. One that takes more than `longest_s`
    raises QueryTooLong.
    """

    files: Sequence[TableFile]
    selection: Selection | None = None
    devices: Collection[str] = ()
    longest_s: float | None = None

    def page(self, after: RowKey | None, limit: int | None) -> tuple[pa.Table, RowKey | None]:
        """At most `limit` measurements behind a key, in the order of keys, and the key of the last one; None
        if there are no more.

        With a limit, texts and bytes of all of them together have `PAGE_BYTES`, unless it is one alone.
        Raises CursorExpired if a file was removed.
        """
        return self._page(after, limit, self._deadline())

    def _page(
        self, after: RowKey | None, limit: int | None, deadline: float | None
    ) -> tuple[pa.Table, RowKey | None]:
        where, parameters = "", {}
        if after is not None:
            where = f"WHERE ({_ORDER}) > ($after0, $after1, $after2, $after3, $after4, $after5)"
            parameters = {f"after{index}": part for index, part in enumerate(after)}
        last = "" if limit is None else f"LIMIT {limit:d}"
        query = f"SELECT * FROM wanted {where} ORDER BY {_ORDER} {last}"  # noqa: S608 - no part is a peer's
        since, until = self._window(after)
        for end in (until,) if limit is None else self._ends(since, until, limit):
            try:
                found = self._run(query, parameters, since, end, deadline)
            except duckdb.OutOfMemoryException:  # values may be large
                if limit is None or limit == 1:
                    raise
                return self._page(after, max(1, limit // 10), deadline)
            count = found.num_rows if limit is None else _fitting(found)
            if count == limit or count < found.num_rows:
                key = RowKey(*(found[name][count - 1].as_py() for name in RowKey._fields))
                return found.select(STANDARD).cast(STANDARD_SCHEMA).slice(0, count), key
        return found.select(STANDARD).cast(STANDARD_SCHEMA), None

    def latest(self, after: tuple[str, str] | None, limit: int | None) -> tuple[pa.Table, bool]:
        """The latest measurement of each metric of each device, ordered by both: those behind a device and
        metric, `limit` at most, and whether there may be more. Raises CursorExpired."""
        where = "" if after is None else "WHERE (device, metric) > ($device, $metric)"
        last = "" if limit is None else f"LIMIT {limit:d}"
        rest = [name for name in STANDARD if name not in ("time", "received")]
        fields = ", ".join(
            f'"{name}" := "{name}"' for name in ("time", "received", *RowKey._fields[3:], *rest)
        )
        found = self._run(
            f"SELECT newest.* FROM (SELECT max(struct_pack({fields})) AS newest FROM wanted {where} "  # noqa: S608
            f"GROUP BY device, metric) ORDER BY newest.device, newest.metric {last}",
            {} if after is None else {"device": after[0], "metric": after[1]},
            *self._window(None),
            self._deadline(),
        )
        count = found.num_rows if limit is None else _fitting(found)
        more = count < found.num_rows or count == limit
        found = found.slice(0, count)
        return found.select(STANDARD).cast(STANDARD_SCHEMA), more

    def _window(self, after: RowKey | None) -> tuple[int | None, int | None]:
        """The times of what is behind a key: the first one, and the end."""
        since, until = (
            (None, None) if self.selection is None else (self.selection.since, self.selection.until)
        )
        if after is not None:
            since = after.time if since is None else max(since, after.time)
        return since, until

    def _ends(self, since: int | None, until: int | None, limit: int) -> Iterator[int | None]:
        """Ends of windows that grow until they have all there is: a page that is full before the last one
        spares the rest of the files. The last end is `until`."""
        files = [file for file in self.files if file.may_have(since, until)]
        first = min((file.earliest for file in files), default=0)
        last = max((file.latest for file in files), default=0) + MINUTE_MS
        first, last = (
            first if since is None else max(since, first),
            last if until is None else min(until, last),
        )
        width = max(1, (last - first) * MARGIN * limit // max(1, sum(file.rows for file in files)))
        while first + width < last:
            yield first + width
            width *= GROWTH
        yield until

    def _run(
        self,
        query: str,
        parameters: dict[str, Any],
        since: int | None,
        until: int | None,
        deadline: float | None,
    ) -> pa.Table:
        selection = self.selection
        files = [(index, file) for index, file in enumerate(self.files) if file.may_have(since, until)]
        if not files or (selection is not None and not self.devices):
            return _EMPTY
        coarse, exact = ["true"], ["true"]
        if selection is not None:
            coarse += ["tenant = $tenant", "device IN (SELECT device FROM chosen)"]
            parameters = {**parameters, "tenant": selection.tenant}
            if selection.condition is not None:
                exact.append(selection.condition.sql)
                parameters |= selection.condition.parameters
        if since is not None:
            coarse.append(f"time > $since - {MINUTE_MS}")
            exact.append("time >= $since")
            parameters["since"] = since
        if until is not None:
            coarse.append("time < $until")
            exact.append("time < $until")
            parameters["until"] = until
        parameters["paths"] = [_unglobbed(str(file.path)) for _, file in files]
        statement = _WANTED.format(coarse=" AND ".join(coarse), exact=" AND ".join(exact)) + query
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            raise self._too_long()
        with (
            TemporaryDirectory(prefix="bypass-query-") as spill,
            duckdb.connect(config={**_OPTIONS, "temp_directory": spill}) as database,
        ):
            database.register("files", _table_of(files))
            database.register("chosen", pa.table({"device": pa.array(sorted(self.devices), pa.string())}))
            watch = None if left is None else Timer(left, database.interrupt)
            if watch is not None:
                watch.start()
            try:
                return database.sql(statement, params=parameters).to_arrow_table()
            except duckdb.InterruptException:
                raise self._too_long() from None
            except duckdb.IOException:
                gone = next((file for _, file in files if not file.path.exists()), None)
                if gone is None:
                    raise
                raise CursorExpired(
                    f"file {gone.path.name} of the table: was removed: expected a newer version"
                ) from None
            finally:
                if watch is not None:
                    watch.cancel()

    def _deadline(self) -> float | None:
        return None if self.longest_s is None else time.monotonic() + self.longest_s

    def _too_long(self) -> QueryTooLong:
        return QueryTooLong(
            f"query of {len(self.files)} files: took over {self.longest_s} s: expected a narrower window"
        )


def _fitting(found: pa.Table) -> int:
    """How many of the first rows have texts and bytes that fit into a page: one at least, if there is any."""
    sizes = pc.add(
        pc.fill_null(pc.binary_length(found["label"]), 0), pc.fill_null(pc.binary_length(found["blob"]), 0)
    )
    total = np.cumsum(sizes.to_numpy().astype(np.int64))
    fitting = int(np.searchsorted(total, PAGE_BYTES, side="right"))
    return max(fitting, 1) if len(total) else 0


def _table_of(files: Sequence[tuple[int, TableFile]]) -> pa.Table:
    return pa.table(
        {
            "filename": pa.array([str(file.path) for _, file in files], pa.string()),
            "file": pa.array([index for index, _ in files], pa.int32()),
            "region": pa.array([file.region for _, file in files], pa.string()),
            "day": pa.array([file.day for _, file in files], pa.string()),
        }
    )


def _unglobbed(path: str) -> str:
    """A path in which no character stands for others."""
    return "".join(f"[{each}]" if each in "*?[" else each for each in path)


_EMPTY = pa.table(
    {
        **{name: pa.array([], MEASUREMENTS.field(name).type) for name in STANDARD},
        **{name: pa.array([], pa.int64()) for name in RowKey._fields[3:]},
    }
)

_SINGLES = f"{_SAME}, time, {', '.join(SINGLE)}, {_ORIGIN}, file_row_number AS row, 0::BIGINT AS item"
_ITEMS = (
    f"{_SAME}, time + unnest(offsets), {', '.join(f'unnest({many})' for many in PLURAL)}, {_ORIGIN}, "
    "file_row_number, unnest(range(len(offsets)))"
)
_WANTED = f"""WITH
raw AS (
    SELECT * FROM read_parquet($paths, filename = true, file_row_number = true, hive_partitioning = false)
    WHERE {{coarse}}
),
flat AS (
    SELECT {_SINGLES} FROM raw WHERE offsets IS NULL
    UNION ALL SELECT {_ITEMS} FROM raw WHERE offsets IS NOT NULL
),
wanted AS (
    SELECT flat.* EXCLUDE (filename), files.file, files.region, files.day
    FROM flat JOIN files USING (filename) WHERE {{exact}}
)
"""  # noqa: S608 - values of peers are parameters
