"""Snapshots: one version of the registry in an immutable file, for executors anywhere.

Most devices are configured as others are: a snapshot has each configuration once, and a number for each
device. So a worker holds little for a device, and has little to do when its first message comes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec.structs import replace

from bypass.errors import BypassError
from bypass.ingest.devices.record import DeviceRecord
from bypass.support.durable_files import replace_file


class InvalidSnapshot(BypassError):
    """A file that is no snapshot, or a damaged one."""


class _File(msgspec.Struct, array_like=True):
    version: int
    configurations: list[msgspec.Raw]
    devices: dict[str, int]


_decode = msgspec.msgpack.Decoder(_File).decode
_decode_device = msgspec.msgpack.Decoder(DeviceRecord).decode
_encode = msgspec.msgpack.Encoder().encode


def snapshot_file(folder: Path, version: int) -> Path:
    """Name the file of a version."""
    return folder / f"{version:020d}.devices"


def write_snapshot(folder: Path, version: int, devices: Iterable[DeviceRecord]) -> Path:
    """Write the file of a version, whole or not at all; gives its path. One that is there stays as it is."""
    path = snapshot_file(folder, version)
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    numbers: dict[bytes, int] = {}
    of_devices = {
        each.id: numbers.setdefault(_encode(replace(each, id="", metadata={})), len(numbers))
        for each in devices
    }
    content = _encode(_File(version, [msgspec.Raw(each) for each in numbers], of_devices))
    replace_file(path, content)
    return path


def remove_snapshots(folder: Path, before: int) -> int:
    """Remove the files of versions lower than `before`. Gives how many."""
    old = [path for path in folder.glob("*.devices") if int(path.stem) < before]
    for path in old:
        path.unlink(missing_ok=True)
    return len(old)


class RegistrySnapshot:
    """The devices of one version, without metadata, which no executor needs."""

    def __init__(self, version: int, configurations: list[msgspec.Raw], devices: dict[str, int]) -> None:
        self.version = version
        self._configurations = configurations
        self._devices = devices

    @classmethod
    def load(cls, path: Path) -> RegistrySnapshot:
        """Read a file. Raises InvalidSnapshot if it is damaged, OSError if it cannot be read."""
        try:
            file = _decode(path.read_bytes())
        except ValueError as error:
            raise InvalidSnapshot(f"{path}: {error}: expected a snapshot of devices") from None
        return cls(file.version, file.configurations, file.devices)

    def __len__(self) -> int:
        return len(self._devices)

    def __iter__(self) -> Iterator[str]:
        """Give the ids of all devices."""
        return iter(self._devices)

    def find(self, device: str) -> DeviceRecord | None:
        """Find a device by its id; None if this version has none."""
        number = self._devices.get(device)
        return None if number is None else replace(_decode_device(self._configurations[number]), id=device)

    def number(self, device: str) -> int | None:
        """The number of a device's configuration, which all that are configured alike have; None if this
        version has no such device."""
        return self._devices.get(device)
