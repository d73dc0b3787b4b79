"""The folder of one installation: where its log, registry, tables and state are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class IngestFolder:
    """Names the files of one installation. All processes of it see the folder; on a cluster it is shared."""

    path: Path

    @property
    def logs(self) -> Path:
        """The folders of all writers: counts of refusals and, of a log in segment files, the log."""
        return self.path / "log"

    @property
    def log_name(self) -> Path:
        """The name of the log, in JSON; there is none if it is in segment files."""
        return self.path / "log.json"

    @property
    def connectors(self) -> Path:
        """The connectors that live, in SQLite."""
        return self.path / "connectors.db"

    @property
    def registry(self) -> Path:
        """The devices, in SQLite."""
        return self.path / "registry.db"

    @property
    def snapshots(self) -> Path:
        """The versions of the registry that batches use, an immutable file each."""
        return self.path / "snapshots"

    @property
    def keys(self) -> Path:
        """The key store."""
        return self.path / "keys"

    @property
    def plans(self) -> Path:
        """The plans that were submitted, in SQLite."""
        return self.path / "plans.db"

    @property
    def mechanisms(self) -> Path:
        """The references to mechanisms that were brought, in JSON."""
        return self.path / "mechanisms.json"

    @property
    def state(self) -> Path:
        """The memory of the stream between batches, a folder for each step."""
        return self.path / "state"

    @property
    def measurements(self) -> Path:
        """The Delta table of measurements."""
        return self.path / "measurements"

    @property
    def dead_letters(self) -> Path:
        """The Delta table of messages that could not be read."""
        return self.path / "dead_letters"

    @property
    def readers(self) -> Path:
        """The places of archives and other readers that go on where they were, a small file each."""
        return self.path / "readers"

    @property
    def checkpoint(self) -> Path:
        """The checkpoint of the Spark query."""
        return self.path / "checkpoint"

    @property
    def progress(self) -> Path:
        """The counts of each batch, in SQLite."""
        return self.path / "progress.db"

    @property
    def retention(self) -> Path:
        """The limits of data regions and what they have removed, in SQLite."""
        return self.path / "retention.db"

    @property
    def adaptation(self) -> Path:
        """The adaptive policy, in YAML; there is none without it."""
        return self.path / "adaptation.yaml"
