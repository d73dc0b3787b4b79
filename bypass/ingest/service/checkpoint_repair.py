"""The repair of Spark's checkpoint after the loss of power: its latest files may be cut off.

Spark writes them without syncing. A commit says only that a batch was done: without it, the batch is
repeated, and the tables recognise it. The end of a batch that was not begun says nothing that anybody has
used.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path

from bypass.ingest.folder import IngestFolder
from bypass.ingest.stream.progress import latest_begun

log = logging.getLogger(__name__)

_CHUNK = 512
"""The bytes of a file that one checksum beside it is for."""


def repair_checkpoint(folder: IngestFolder) -> None:
    """Remove files that were cut off, as far as the stream goes on without them. Others stay: then Spark says
    so and ends. No stream must run."""
    begun = latest_begun(folder.progress)
    for name, lines in (("commits", 1), ("offsets", 2)):
        for path in _newest_first(folder.checkpoint / name):
            beside = path.with_name(f".{path.name}.crc")
            if _is_whole(path, lines):
                if beside.exists() and not _is_checksum(beside, path.stat().st_size):
                    _remove(beside)
                break
            if name == "offsets" and int(path.name) <= begun:
                break
            _remove(path)
            _remove(beside)


def _newest_first(folder: Path) -> list[Path]:
    numbered = [path for path in folder.iterdir() if path.name.isdecimal()] if folder.exists() else []
    return sorted(numbered, key=lambda path: int(path.name), reverse=True)


def _is_whole(path: Path, lines: int) -> bool:
    """Whether a file has its version and at least so many lines of JSON, each to its end."""
    version, *rest = path.read_bytes().split(b"\n")
    try:
        return version == b"v1" and len([json.loads(each) for each in rest if each]) >= lines
    except ValueError:
        return False


def _is_checksum(path: Path, size: int) -> bool:
    content = path.read_bytes()
    return content.startswith(b"crc\0") and len(content) == 8 + 4 * -(-size // _CHUNK)


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    log.warning("%s was cut off, as by the loss of power: it is removed, and its batch done again", path)
