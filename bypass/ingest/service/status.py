"""The status of an installation: what became of all messages, read from its folder, whoever runs or not."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bypass.ingest.devices.registry import DeviceRegistry
from bypass.ingest.folder import IngestFolder
from bypass.ingest.log.catalogue import find_log
from bypass.ingest.stream.progress import StreamProgress, read_progress
from bypass.ingest.tables.retention import read_expired

REFUSED = "refused.json"
"""The counts of refusals, in the folder of each writer."""


@dataclass(frozen=True, slots=True)
class IngestStatus:
    """Counts of messages: `received` is the sum of all others, at every instant.

    `refused` were not taken, by reason. `lag_messages` are in the log and not in the table yet, or held back
    by a policy; `lag_s` is the age of the latest batch if there is a lag. `expired_rows` and `expired_bytes`
    were removed from the table because of the limits of their data regions. `policies` are the mechanisms
    that run, with the devices that each serves. `unusable_policies` are those that devices have in the
    registry and that cannot be used, with the devices that keep everything because of that.
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
    policies: dict[str, int]
    unusable_policies: dict[str, int]
    expired_rows: dict[str, int]
    expired_bytes: dict[str, int]

    def to_dict(self) -> dict[str, Any]:
        """The status as plain data."""
        return asdict(self)


def read_status(folder: IngestFolder) -> IngestStatus:
    """The status as of now. Progress is read before the logs, so that no message seems to be stored before
    it came. Raises LogFailed."""
    progress = read_progress(folder.progress)
    writers = [path for path in folder.logs.iterdir() if path.is_dir()] if folder.logs.exists() else []
    logged = find_log(folder).appended(progress.offset.logs)
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
        policies=_served(folder, progress),
        unusable_policies=progress.unusable,
    )


def _served(folder: IngestFolder, progress: StreamProgress) -> dict[str, int]:
    """The devices that each mechanism serves: all that no other serves, where that is not known."""
    devices = 0
    if folder.registry.exists():
        with DeviceRegistry(folder.registry) as registry:
            devices = len(registry)
    others = max(0, devices - sum(count or 0 for count in progress.policies.values()))
    return {name: others if count is None else count for name, count in progress.policies.items()}


def _counts(path: Path) -> dict[str, int]:
    try:
        counts: dict[str, int] = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):  # a machine that lost power may have left it empty
        return {}
    return counts
