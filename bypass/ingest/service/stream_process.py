"""The process of the stream: Spark's driver, with compaction, retention and adaptation beside it."""

from __future__ import annotations

import argparse
import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from bypass.ingest.adaptation.controller import run_controller
from bypass.ingest.batch_sync import sync_commits
from bypass.ingest.folder import IngestFolder
from bypass.ingest.folder_lock import only_one
from bypass.ingest.queries.kept_cursor import needs_old_files
from bypass.ingest.service.checkpoint_repair import repair_checkpoint
from bypass.ingest.service.process import process_arguments, stop_signal
from bypass.ingest.service.table_repair import repair_tables
from bypass.ingest.stream.progress import read_warnings
from bypass.ingest.stream.query import start_query
from bypass.ingest.tables.compaction import compact, remove_orphans
from bypass.ingest.tables.delta import forget_commits
from bypass.ingest.tables.letters import LETTER_BYTES, bound_letters, compact_letters, expire_letters
from bypass.ingest.tables.retention import expire_regions
from bypass.models.compute.spark_session import spark_session

log = logging.getLogger(__name__)

COMPACT_S = 60.0
LOOK_S = 1
LETTER_DAYS = 30


def run_stream(
    folder: IngestFolder,
    master: str | None,
    most: int,
    stop: threading.Event,
    letter_days: int = LETTER_DAYS,
    letter_bytes: int = LETTER_BYTES,
    synced: bool = False,
) -> None:
    """Run the stream until `stop` is set. Dead letters are kept for `letter_days`, the latest `letter_bytes`
    of them. With `synced`, batches survive the loss of power as the log does.

    Raises FolderInUse if the folder's stream runs already, SparkUnavailable, and what ended it otherwise.
    """
    with (
        only_one(folder.path / "stream.lock", "its stream runs already"),
        spark_session("bypass ingest", master) as spark,
    ):
        told = _tell_warnings(folder, 0, logging.DEBUG)  # those of earlier runs were told
        repair_checkpoint(folder)
        repair_tables(folder)
        query = start_query(spark, folder.path, most=most, synced=synced)
        log.info("the stream runs")
        beside = [
            threading.Thread(
                target=_keep_house, args=(folder, stop, letter_days, letter_bytes, synced), daemon=True
            ),
            threading.Thread(target=run_controller, args=(folder, stop), daemon=True),
        ]
        for each in beside:
            each.start()
        try:
            while not stop.is_set() and not query.awaitTermination(LOOK_S):
                told = _tell_warnings(folder, told)
        finally:
            stop.set()
            query.stop()
            for each in beside:
                each.join()


def _tell_warnings(folder: IngestFolder, after: int, level: int = logging.WARNING) -> int:
    """Log what workers have noted behind a number; gives the latest number."""
    for number, line in read_warnings(folder.progress, after):
        log.log(level, "%s", line)
        after = number
    return after


def _keep_house(
    folder: IngestFolder, stop: threading.Event, letter_days: int, letter_bytes: int, synced: bool
) -> None:
    chores: dict[str, Callable[[], object]] = {
        "retention": lambda: _expire(folder),
        "compaction": lambda: _compact(folder),
        "the removal of old dead letters": lambda: expire_letters(
            folder.dead_letters, letter_days, time.time()
        ),
        "the bound of dead letters": lambda: _bound_letters(folder, letter_bytes),
        "compaction of dead letters": lambda: compact_letters(folder.dead_letters),
        "the removal of old files": lambda: _remove_old_files(folder),
        "the removal of old files of dead letters": lambda: remove_orphans(folder.dead_letters),
        "the removal of old commits of dead letters": lambda: forget_commits(folder.dead_letters),
    }
    if synced:
        chores["the syncing of commits"] = lambda: sync_commits(folder, time.time() - 2 * COMPACT_S)
    while not stop.wait(COMPACT_S):
        for name, chore in chores.items():
            try:
                chore()
            except Exception:  # it is tried again, and neither the stream nor the others need it
                log.exception("%s failed; it is tried again in %d s", name, COMPACT_S)


def _compact(folder: IngestFolder) -> None:
    done = compact(folder.measurements)
    if done.files:
        log.info("compaction: %d files with %d rows to %d with %d", *done)


def _bound_letters(folder: IngestFolder, most_bytes: int) -> None:
    removed = bound_letters(folder.dead_letters, most_bytes)
    if removed.letters:
        log.warning("dead letters: the oldest %d with %d bytes were removed to make room", *removed)


def _remove_old_files(folder: IngestFolder) -> None:
    if needs_old_files(folder):
        log.warning("an archive is late: files and commits that it needs are not removed")
    else:
        remove_orphans(folder.measurements)
        forget_commits(folder.measurements)


def _expire(folder: IngestFolder) -> None:
    """Remove what is beyond the limits of its data region."""
    for each in expire_regions(folder.measurements, folder.retention, datetime.now(UTC).date()):
        if each.files:
            log.info("region %s: %d days expired, %d files, %d rows, %d bytes", *each[:5])
        if each.over:
            log.warning("region %s: today has %d bytes more than its limit", each.region, each.over)


def main() -> None:
    """Run the stream of a folder until SIGTERM."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--master")
    parser.add_argument("--most", type=int, default=200_000)
    parser.add_argument("--letter-days", type=int, default=LETTER_DAYS)
    parser.add_argument("--letter-bytes", type=int, default=LETTER_BYTES)
    parser.add_argument("--synced", action="store_true")
    given = process_arguments("stream", parser)
    run_stream(
        IngestFolder(given.folder),
        given.master,
        given.most,
        stop_signal(),
        letter_days=given.letter_days,
        letter_bytes=given.letter_bytes,
        synced=given.synced,
    )


if __name__ == "__main__":
    main()
