"""The repair of tables after the loss of power: their latest commits and checkpoints may be cut off.

A commit that is cut off is emptied, and readers pass over it. What it said comes again: a batch is repeated,
because it is noted as done after its commits are on the disk, and compaction, retention and deletions look
anew for what there is to do. A checkpoint has only what commits say.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from bypass.ingest.folder import IngestFolder
from bypass.ingest.stream.progress import latest_stored
from bypass.ingest.tables.delta import ACTIONS, APPLICATION
from bypass.root_error import BypassError
from bypass.support.durable_files import replace_file

log = logging.getLogger(__name__)

LOOKED_AT = 200
"""How many of the latest commits may be cut off: others have been on the disk for long."""

_CHECKPOINT = ".checkpoint.parquet"


class DamagedTable(BypassError):
    """A table lacks what was noted as stored."""


def repair_tables(folder: IngestFolder) -> None:
    """Empty commits of both tables that were cut off, and remove checkpoints that were. No stream must run.

    Raises DamagedTable if a batch would be lost that was noted as done; then commits stay as they are.
    """
    tables = folder.measurements, folder.dead_letters
    for table, stored in zip(tables, latest_stored(folder.progress), strict=True):
        commits = table / "_delta_log"
        if commits.exists():
            _repair_checkpoints(commits)
            _repair_commits(table, commits, stored)


def _repair_commits(table: Path, commits: Path, stored: int) -> None:
    latest = sorted(path for path in commits.iterdir() if _is_commit(path))[-LOOKED_AT:]
    damaged = {path: content for path in latest if not _is_whole(content := path.read_bytes())}
    for path in damaged:
        replace_file(path, b"")
        log.warning(
            "%s was cut off, as by the loss of power: it is emptied, and what it said done again", path
        )
    if stored < 0 and latest and latest[0] in damaged and int(latest[0].stem) == 0:
        for path in latest:  # not even the making of the table was noted
            path.unlink()
        return
    has = _latest_batch(table)
    if has < stored:
        for path, content in damaged.items():
            replace_file(path, content)
        problem = f"{table}: has batches up to {has}: expected {stored}, which was done: restore the folder"
        if damaged:
            raise DamagedTable(problem)
        log.warning("%s", problem)


def _is_commit(path: Path) -> bool:
    return path.suffix == ".json" and path.stem.isdecimal()


def _is_whole(content: bytes) -> bool:
    """Whether a commit has all of its actions; one that is empty is passed over as it is."""
    try:
        actions = [json.loads(line) for line in content.splitlines() if line]
    except ValueError:
        return False
    told = next((each["commitInfo"].get(ACTIONS) for each in actions if "commitInfo" in each), None)
    return told is None or int(told) == len(actions) - 1


def _latest_batch(table: Path) -> int:
    """The latest batch that a table has; -1 for none, or if the table cannot be read."""
    try:
        batch = DeltaTable(str(table)).transaction_version(APPLICATION)
    except DeltaError as error:
        log.warning("%s: %s", table, " ".join(str(error).split())[:200])
        return -1
    return -1 if batch is None else int(batch)


def _repair_checkpoints(commits: Path) -> None:
    """Remove the latest checkpoints that were cut off, as far as commits say what they had. Raises
    DamagedTable."""
    checkpoints = sorted(commits.glob(f"*{_CHECKPOINT}"))
    last = commits / "_last_checkpoint"
    while checkpoints and not _is_readable(checkpoints[-1]):
        path = checkpoints.pop()
        begin = _version(checkpoints[-1]) + 1 if checkpoints else 0
        for version in range(begin, _version(path) + 1):
            if not (commits / f"{version:020d}.json").exists():
                raise DamagedTable(f"{path}: cannot be read, nor can commit {version}: restore the folder")
        last.unlink(missing_ok=True)  # it names this one
        path.unlink()
        log.warning("%s was cut off, as by the loss of power: it is removed", path)


def _is_readable(checkpoint: Path) -> bool:
    try:
        pq.read_table(checkpoint)
    except (OSError, pa.ArrowException):
        return False
    return True


def _version(checkpoint: Path) -> int:
    return int(checkpoint.name.removesuffix(_CHECKPOINT))
