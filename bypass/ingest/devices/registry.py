"""The registry of devices, in SQLite: the source of truth.

Each change is one transaction and gives the registry a higher version. Former states of devices are kept
until `forget`, so that a snapshot of any version that is still needed can be made.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from bypass.errors import BypassError, shown
from bypass.ingest.devices.device import Device, make_device
from bypass.ingest.devices.record import DeviceRecord
from bypass.ingest.devices.snapshot import snapshot_file, write_snapshot
from bypass.support.database import DatabaseUnavailable

_PATIENCE = 10.0  # seconds that a change waits for another process's

_SCHEMA = """
CREATE TABLE IF NOT EXISTS registry (version INTEGER NOT NULL, forgotten INTEGER NOT NULL);
INSERT INTO registry SELECT 0, 0 WHERE NOT EXISTS (SELECT 1 FROM registry);
CREATE TABLE IF NOT EXISTS devices (
    id TEXT NOT NULL,
    since INTEGER NOT NULL,  -- the version that brought this state
    until INTEGER,           -- the version that ended it
    record TEXT NOT NULL,
    PRIMARY KEY (id, since)
) WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS present ON devices (id) WHERE until IS NULL;
CREATE INDEX IF NOT EXISTS past ON devices (until) WHERE until IS NOT NULL;
"""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(DeviceRecord).decode


class UnknownDevice(BypassError):
    """A device that is not registered."""


class DeviceConflict(BypassError):
    """A device that is registered already."""


class UnknownRegistryVersion(BypassError):
    """A version of the registry that does not exist yet, or was forgotten."""


class DeviceRegistry:
    """The devices that may send. Several processes may have it open; a connection belongs to one thread."""

    def __init__(self, path: Path) -> None:
        """Open the file, or make it. Raises DatabaseUnavailable."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
            try:
                self._prepare()
            except BaseException:
                self._database.close()
                raise
        except (OSError, sqlite3.Error) as error:
            raise DatabaseUnavailable(f"{path}: {error}: expected a registry that can be opened") from error

    def _prepare(self) -> None:
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = FULL")
        if not self._database.execute("SELECT 1 FROM sqlite_master WHERE name = 'past'").fetchone():
            self._database.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")  # readers wait for no writer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the file back."""
        self._database.close()

    # -- what there is ------------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """The version in force: the number of changes that there were."""
        (version,) = self._database.execute("SELECT version FROM registry").fetchone()
        return int(version)

    def __len__(self) -> int:
        """The number of devices."""
        (count,) = self._database.execute("SELECT count(*) FROM devices WHERE until IS NULL").fetchone()
        return int(count)

    def find(self, device: str) -> Device | None:
        """Find a device by its id; None if it is not registered."""
        row = self._database.execute(
            "SELECT record FROM devices WHERE id = ? AND until IS NULL", (device,)
        ).fetchone()
        return None if row is None else Device.of_record(_decode(row[0]))

    def metadata(self, device: str) -> dict[str, str]:
        """Give a device's metadata. Raises UnknownDevice."""
        return self._known(device).metadata

    def devices(
        self,
        *,
        tenant: str | None = None,
        application: str | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> Iterator[Device]:
        """Give the devices that have all these properties, ordered by id."""
        conditions, values = ["until IS NULL"], []
        for key, wanted in (("tenant", tenant), ("application", application)):
            if wanted is not None:
                conditions.append(f"json_extract(record, '$.{key}') = ?")
                values.append(wanted)
        for name, wanted in (metadata or {}).items():
            conditions.append(
                "EXISTS (SELECT 1 FROM json_each(record, '$.metadata') WHERE key = ? AND atom = ?)"
            )
            values += [name, wanted]
        statement = f"SELECT record FROM devices WHERE {' AND '.join(conditions)} ORDER BY id"  # noqa: S608
        for (record,) in self._database.execute(statement, values).fetchall():
            yield Device.of_record(_decode(record))

    def records(self, tenant: str) -> Iterator[DeviceRecord]:
        """Give a tenant's devices as executors have them, which is quicker, ordered by id."""
        statement = "SELECT record FROM devices WHERE until IS NULL"
        statement += " AND json_extract(record, '$.tenant') = ? ORDER BY id"
        for (record,) in self._database.execute(statement, (tenant,)).fetchall():
            yield _decode(record)

    def policies(self) -> set[str]:
        """Give the policies that devices have, as records do."""
        statement = "SELECT DISTINCT json_extract(record, '$.policy') FROM devices WHERE until IS NULL"
        return {policy for (policy,) in self._database.execute(statement) if policy is not None}

    # -- changes ------------------------------------------------------------------------------------------

    def register(self, *devices: Device) -> int:
        """Add devices, all or none; gives the version from which they are known. Raises DeviceConflict."""
        with self._change() as version:
            for device in devices:
                try:
                    self._insert(device, version)
                except sqlite3.IntegrityError:
                    raise DeviceConflict(
                        f"device {shown(device.id)}: is registered: expected a new id"
                    ) from None
        return version

    def put(self, *devices: Device, tenant: str | None = None) -> tuple[int, int]:
        """Add devices, or change those that are known, all or none; gives how many of each.

        With `tenant`, raises DeviceConflict for a known device that is another tenant's.
        """
        changed = 0
        with self._change() as version:
            for device in devices:
                known = self.find(device.id)
                if known is not None:
                    if tenant is not None and known.tenant != tenant:
                        raise DeviceConflict(f"device {shown(device.id)}: is taken: expected a new id")
                    self._end(device.id, version)
                    changed += 1
                try:
                    self._insert(device, version)
                except sqlite3.IntegrityError:
                    raise DeviceConflict(
                        f"device {shown(device.id)}: is there twice: expected it once"
                    ) from None
        return len(devices) - changed, changed

    def update(self, device: str, changes: Mapping[str, Any]) -> int:
        """Change fields of a device; gives the version from which that counts.

        Raises UnknownDevice, and InvalidDevice if the result is no device; then nothing has changed.
        """
        with self._change() as version:
            known = self._known(device).model_dump()
            changed = make_device({**known, **changes, "id": device})
            self._end(device, version)
            self._insert(changed, version)
        return version

    def remove(self, *devices: str) -> int:
        """Remove devices, all or none; gives the version from which they are unknown. Raises
        UnknownDevice."""
        with self._change() as version:
            for device in devices:
                self._known(device)
                self._end(device, version)
        return version

    # -- versions -----------------------------------------------------------------------------------------

    def snapshot(self, folder: Path, version: int | None = None) -> Path:
        """Write a version, or the one in force, for executors, unless that was done; gives the file. Raises
        UnknownRegistryVersion."""
        if version is not None and snapshot_file(folder, version).exists():
            return snapshot_file(folder, version)
        self._database.execute("BEGIN")  # the version and its devices have to be of one moment
        try:
            newest, forgotten = self._database.execute("SELECT version, forgotten FROM registry").fetchone()
            version = newest if version is None else version
            if not forgotten <= version <= newest:
                raise UnknownRegistryVersion(
                    f"version {version} of the registry: expected {forgotten} to {newest}"
                )
            rows = self._database.execute(
                "SELECT record FROM devices WHERE since <= ?1 AND (until IS NULL OR until > ?1)", (version,)
            )
            return write_snapshot(folder, version, (_decode(record) for (record,) in rows))
        finally:
            self._database.execute("COMMIT")

    def forget(self, before: int) -> None:
        """Delete states of devices that only versions lower than `before` have. Raises
        UnknownRegistryVersion for one that is not there yet."""
        if before > self.version:
            raise UnknownRegistryVersion(f"version {before} of the registry: expected at most {self.version}")
        with self._transaction():
            self._database.execute("DELETE FROM devices WHERE until <= ?", (before,))
            self._database.execute("UPDATE registry SET forgotten = max(forgotten, ?)", (before,))

    # -- transactions -------------------------------------------------------------------------------------

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    @contextmanager
    def _change(self) -> Iterator[int]:
        with self._transaction():
            self._database.execute("UPDATE registry SET version = version + 1")
            yield self.version

    def _known(self, device: str) -> Device:
        known = self.find(device)
        if known is None:
            raise UnknownDevice(f"device {shown(device)}: is not registered")
        return known

    def _insert(self, device: Device, version: int) -> None:
        record = _encode(device.record()).decode()
        self._database.execute("INSERT INTO devices VALUES (?, ?, NULL, ?)", (device.id, version, record))

    def _end(self, device: str, version: int) -> None:
        self._database.execute(
            "UPDATE devices SET until = ? WHERE id = ? AND until IS NULL", (version, device)
        )
