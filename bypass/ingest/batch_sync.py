"""Syncing of batches: a stream that is told to survives the loss of power as the log does.

Each thing is on the disk before the next one says that it is there: where a batch ends, what it remembers and
its rows, then the tables that name them, then the progress, then that it was done, and only then are the
messages of the log and the memory of before forgotten. So a batch that was cut off is repeated with the end
that it had, and a table that has it recognises it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from heapq import nlargest
from pathlib import Path

from bypass.ingest.folder import IngestFolder
from bypass.support.durable_files import sync_below

LATEST = 1000
"""How many files of a table's log are looked at, the latest by name: there may be many thousands."""


def sync_batch(folder: IngestFolder, batch: int, step: int, rows: Iterable[Path]) -> None:
    """Sync what a batch is made of, before it is begun: its end in Spark's checkpoint, what the stream
    remembers at its step, and its files of rows. Raises OSError."""
    ends = folder.checkpoint / "offsets"
    planned = [folder.checkpoint / "metadata", ends / str(batch), ends / f".{batch}.crc"]
    remembered = folder.state.glob(f"*/{step}-*")
    sync_below(folder.path, [*(path for path in planned if path.exists()), *remembered, *rows])


def sync_commits(folder: IngestFolder, since: float) -> None:
    """Sync the commits of both tables that were made since a time (s), before the progress names them.
    Raises OSError."""
    logs = [table / "_delta_log" for table in (folder.measurements, folder.dead_letters)]
    latest = [log / name for log in logs if log.exists() for name in nlargest(LATEST, os.listdir(log))]
    sync_below(folder.path, [path for path in latest if path.stat().st_mtime >= since - 1])


def sync_done(folder: IngestFolder) -> None:
    """Sync that the latest batch was done, before what it has used is forgotten. Raises OSError."""
    commits = folder.checkpoint / "commits"
    numbers = (
        [int(path.name) for path in commits.iterdir() if path.name.isdecimal()] if commits.exists() else []
    )
    if numbers:
        latest = [commits / str(max(numbers)), commits / f".{max(numbers)}.crc"]
        sync_below(folder.path, [path for path in latest if path.exists()])
