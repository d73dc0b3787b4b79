"""The status of an installation: what became of all messages, read from its folder, whoever runs or not."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bypass.ingest.folder import IngestFolder
from bypass.ingest.log.catalogue import find_log
from bypass.ingest.stream.progress import read_progress
from bypass.ingest.tables.retention import read_expired

REFUSED = "refused.json"
"""The counts of refusals, in the folder of each writer."""


@dataclass(frozen=True, slots=True)
class IngestStatus:
    """Counts of messages: `received` is the sum of all others, at every instant.

    `refused` were not taken, by reason. `lag_messages` are in the log and not in the table yet, or held back
    by a policy; `lag_s` is the age of the latest batch if there is a lag. `expired_rows` and `expired_bytes`
    were removed from the table because of the limits of their data regions.
    """

    received: int
    refused: dict[str, int]
    stored: int
    filtered: int
    duplicates: int
    dead_letters: dict[str, int]
    lag_messages: int
    lag_s: float
    measurements: int
    bytes: int
    batch: int
    policies: dict[str, int] = field(default_factory=dict)
    expired_rows: dict[str, int] = field(default_factory=dict)
    expired_bytes: dict[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """The status as plain data."""
        return asdict(self)


def read_status(folder: IngestFolder) -> IngestStatus:
    """The status as of now. Progress is read before the logs, so that no message seems to be stored before
    it came. Raises LogFailed."""
    progress = read_progress(folder.progress)
    writers = [path for path in folder.logs.iterdir() if path.is_dir()] if folder.logs.exists() else []
    logged = find_log(folder).appended()
    refused: dict[str, int] = {}
    for writer in writers:
        for reason, count in _counts(writer / REFUSED).items():
            refused[reason] = refused.get(reason, 0) + count
    lag = logged - progress.read + progress.held
    expired = read_expired(folder.retention)
    return IngestStatus(
        received=logged + sum(refused.values()),
        refused=refused,
        stored=progress.stored,
        filtered=progress.filtered,
        duplicates=progress.duplicates,
        dead_letters=progress.dead_letters,
        lag_messages=lag,
        lag_s=max(0.0, time.time() - progress.at) if lag else 0.0,
        measurements=progress.measurements,
        bytes=progress.bytes,
        batch=progress.batch,
        expired_rows={region: rows for region, (rows, _) in expired.items()},
        expired_bytes={region: size for region, (_, size) in expired.items()},
    )


def _counts(path: Path) -> dict[str, int]:
    try:
        counts: dict[str, int] = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):  # a machine that lost power may have left it empty
        return {}
    return counts
