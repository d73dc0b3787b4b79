"""Continuous queries: first the measurements that are there, then those that come; no gap, none twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pyarrow as pa

from bypass.ingest.folder import IngestFolder
from bypass.ingest.queries.reader import MeasurementReader
from bypass.ingest.queries.selection import Selection

LOOK_S = 0.1


async def follow(
    folder: IngestFolder, selection: Selection, *, history: bool = True
) -> AsyncIterator[pa.Table]:
    """Give measurements in rows of the standard model, in the order in which they were committed.

    With `history`, those come first that the table has. It never ends by itself.
    """
    reader = MeasurementReader(folder)
    seen = await asyncio.to_thread(reader.version)
    if history and seen >= 0:
        rows = await asyncio.to_thread(reader.range, selection, seen)
        if rows.num_rows:
            yield rows
    while True:
        now = await asyncio.to_thread(reader.version)
        if now > seen:
            for rows in await asyncio.to_thread(reader.added, selection, seen, now):
                yield rows
            seen = now
        await asyncio.sleep(LOOK_S)
