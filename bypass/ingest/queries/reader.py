"""Reading an installation: its devices, their metadata and measurements; what is there, page by page, and
what each later commit adds."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

from bypass.errors import shown
from bypass.ingest.devices.record import DeviceRecord
from bypass.ingest.devices.registry import DeviceRegistry
from bypass.ingest.folder import IngestFolder
from bypass.ingest.queries.commits import CommitLog
from bypass.ingest.queries.conditions import matches_device
from bypass.ingest.queries.cursor import QueryCursor
from bypass.ingest.queries.invalid import InvalidCursor
from bypass.ingest.queries.rows_query import STANDARD_SCHEMA, RowsQuery
from bypass.ingest.queries.selection import DeviceGroup, Selection

PAGE_ROWS = 10_000
EMPTY = STANDARD_SCHEMA.empty_table()


class MeasurementPage(NamedTuple):
    """Some measurements, in rows of the standard model, and the cursor behind them.

    `is_last` says that the table has no more for now.
    """

    rows: pa.Table
    cursor: QueryCursor
    is_last: bool


class MeasurementReader:
    """Answers selections from one installation. A call sees one version of the table. Tables are Arrow's:
    `to_pandas()` makes a data frame of each."""

    def __init__(self, folder: IngestFolder, longest_s: float | None = None) -> None:
        """Calls that take longer raise QueryTooLong."""
        self._folder = folder
        self._longest_s = longest_s
        self._log = CommitLog(folder.measurements)

    # -- devices ------------------------------------------------------------------------------------------

    def devices(self, selection: Selection, after: str = "", limit: int | None = None) -> list[str]:
        """The ids of the devices that are meant, in order, behind `after`."""
        return [record.id for record in self._records(selection, after, limit)]

    def metadata(
        self, selection: Selection, after: str = "", limit: int | None = None
    ) -> dict[str, dict[str, str]]:
        """The metadata of the devices that are meant, by id, in order, behind `after`."""
        return {record.id: record.metadata for record in self._records(selection, after, limit)}

    def _records(self, selection: Selection, after: str, limit: int | None) -> list[DeviceRecord]:
        wanted = selection.devices
        with DeviceRegistry(self._folder.registry) as registry:
            found = [
                record
                for record in registry.records(selection.tenant)
                if record.id > after and (wanted is None or matches_device(record, wanted))
            ]
        return found[:limit]

    # -- measurements -------------------------------------------------------------------------------------

    def range(self, selection: Selection) -> pa.Table:
        """All measurements that are meant, in the order of their time."""
        _, version = self._log.latest()
        if version < 0:
            return EMPTY
        ids = DeviceGroup(self._folder, selection).ids()
        return RowsQuery(self._log.files(version), selection, ids, self._longest_s).page(None, None)[0]

    def latest(self, selection: Selection) -> pa.Table:
        """The latest measurement of each metric of each device that is meant, ordered by both."""
        return self.latest_page(selection, None, None)[0]

    def latest_page(
        self, selection: Selection, after: tuple[str, str] | None, limit: int | None
    ) -> tuple[pa.Table, bool]:
        """As `latest`, those behind a device and metric, `limit` at most; and whether there may be more."""
        _, version = self._log.latest()
        if version < 0:
            return EMPTY, False
        ids = DeviceGroup(self._folder, selection).ids()
        return RowsQuery(self._log.files(version), selection, ids, self._longest_s).latest(after, limit)

    def begin(self) -> QueryCursor:
        """The cursor before all measurements that the table has now."""
        table, version = self._log.latest()
        return QueryCursor(table, version, in_snapshot=version >= 0)

    def end(self) -> QueryCursor:
        """The cursor behind all measurements that the table has now."""
        return QueryCursor(*self._log.latest())

    def check(self, cursor: QueryCursor) -> None:
        """Refuse a cursor that is none of this table. Raises InvalidCursor."""
        table, version = self._log.latest()
        if (cursor.table != table and cursor.version >= 0) or not -1 <= cursor.version <= version:
            raise InvalidCursor(f"cursor {shown(str(cursor))}: is of another table: expected one of this")

    def has_more(self, cursor: QueryCursor) -> bool:
        """Whether there is anything behind a cursor; costs next to nothing."""
        return cursor.in_snapshot or self._log.has(cursor.version + 1)

    def page(
        self,
        selection: Selection | None,
        cursor: QueryCursor,
        limit: int = PAGE_ROWS,
        *,
        group: DeviceGroup | None = None,
    ) -> MeasurementPage:
        """The measurements behind a cursor, `limit` at most, of the table as the cursor has it or of one
        commit; without a selection, those of all tenants.

        They are in the order of commits and, within one, of their time, whatever the row model. A page may be
        empty though there is more. Devices are chosen by `group`, or as of now. Raises CursorExpired.
        """
        if selection is not None and group is None:
            group = DeviceGroup(self._folder, selection)
        if cursor.in_snapshot:
            files = self._log.files(cursor.version)
            behind = QueryCursor(cursor.table, cursor.version)
        else:
            commit = self._log.commit(cursor.version + 1)
            if commit is None:
                return MeasurementPage(EMPTY, cursor, True)
            files = commit.files
            table = cursor.table or self._log.latest()[0]
            behind = QueryCursor(table, cursor.version + 1)
        ids = group.ids() if group is not None and files else frozenset()
        rows, key = RowsQuery(files, selection, ids, self._longest_s).page(cursor.after, limit)
        if key is None:
            return MeasurementPage(rows, behind, False)
        return MeasurementPage(
            rows, QueryCursor(behind.table, cursor.version, cursor.in_snapshot, key), False
        )
