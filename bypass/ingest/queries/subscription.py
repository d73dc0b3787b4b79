"""Continuous queries: first the measurements that are there, then those that come; no gap, none twice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

from bypass.ingest.folder import IngestFolder
from bypass.ingest.queries.cursor import QueryCursor
from bypass.ingest.queries.reader import PAGE_ROWS, MeasurementPage, MeasurementReader
from bypass.ingest.queries.selection import DeviceGroup, Selection

LOOK_S = 0.1
REMOVED_S = 1.0
"""The time between two looks whether commits behind the cursor were removed."""

NEWS_S = 10.0
"""The time after which a subscriber gets a page without rows, for its cursor: an old one expires."""


async def subscribe(
    folder: IngestFolder,
    selection: Selection | None,
    *,
    history: bool = True,
    cursor: QueryCursor | None = None,
    limit: int = PAGE_ROWS,
    reader: MeasurementReader | None = None,
    run: Callable[[Callable[[], Any]], Awaitable[Any]] = asyncio.to_thread,
) -> AsyncIterator[MeasurementPage]:
    """Give measurements page by page, in the order of commits and, within one, of their time.

    With `history`, those come first that the table has. A subscriber that goes on with the cursor of the last
    page that it has dealt with misses none and gets none twice. Nothing is read before it is asked for: a
    slow subscriber makes nothing grow, until what it has not read was removed. Devices are chosen anew for
    each commit. Without a selection, it is everything. It never ends by itself.

    `reader` may bound the time of each page, and `run` says where and when it is read. Raises InvalidCursor,
    CursorExpired, and QueryTooLong of a reader with such a bound.
    """
    reader = MeasurementReader(folder) if reader is None else reader
    if cursor is None:
        cursor = await run(reader.begin if history else reader.end)
    else:
        await run(partial(reader.check, cursor))
    group = None if selection is None else DeviceGroup(folder, selection)
    told, told_at, looked_at = cursor, time.monotonic(), 0.0
    while True:
        if not reader.has_more(cursor) and time.monotonic() - looked_at < REMOVED_S:
            await asyncio.sleep(LOOK_S)
            continue
        looked_at = time.monotonic()
        page: MeasurementPage = await run(partial(reader.page, selection, cursor, limit, group=group))
        cursor = page.cursor
        now = time.monotonic()
        if page.rows.num_rows or (cursor != told and now - told_at >= NEWS_S):
            yield page
            told, told_at = cursor, time.monotonic()
