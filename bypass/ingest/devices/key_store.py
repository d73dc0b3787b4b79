"""The key store: a folder with one file for each key set, which is its owner's alone.

A key set may have two versions while devices change over: the newest and the one before. Nothing but this
module reads keys; they are in no log, status, table or error.
"""

from __future__ import annotations

import os
import stat
from base64 import b64decode, b64encode
from collections.abc import Mapping
from pathlib import Path
from secrets import token_bytes

import msgspec

from bypass.errors import BypassError
from bypass.ingest.devices.device import check_key_name
from bypass.ingest.security.key_set import KeySet

_LARGEST_FILE = 65_536


class InvalidKeyFile(BypassError):
    """A key set that is not there, cannot be read, or that others may read. No key is part of the message."""


_decode = msgspec.json.Decoder(list[dict[str, str]]).decode


class KeyStore:
    """Key sets by name, in a folder. Every call reads or writes files: it remembers nothing."""

    def __init__(self, folder: Path) -> None:
        """Take a folder that exists, or make it. Raises InvalidKeyFile if others may look into it."""
        self.folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_private(folder, folder.stat().st_mode)

    def __repr__(self) -> str:
        return f"KeyStore({str(self.folder)!r})"

    def names(self) -> list[str]:
        """List the names of all key sets."""
        return sorted(path.stem for path in self.folder.glob("*.json"))

    def find(self, name: str) -> tuple[KeySet, ...]:
        """Give the versions of a key set that are valid, the newest first. Raises InvalidKeyFile."""
        path = self._path(name)
        try:
            with path.open("rb") as file:
                _check_private(path, os.fstat(file.fileno()).st_mode)
                content = file.read(_LARGEST_FILE)
        except OSError as error:
            raise InvalidKeyFile(f"{path}: {error.strerror}: expected a key set") from None
        try:
            sets = [{role: b64decode(key) for role, key in each.items()} for each in _decode(content)]
        except ValueError:  # the error may quote the key
            sets = []
        if not sets:
            raise InvalidKeyFile(f"{path}: not readable: expected JSON, with keys in Base64")
        return tuple(map(KeySet, sets))

    def add(self, name: str, material: Mapping[str, bytes]) -> None:
        """Store a new key set, by role. Raises InvalidKeyFile if the name is taken, or is none."""
        path = self._path(name)
        if path.exists():
            raise InvalidKeyFile(f"{path}: exists: expected a new name; rotate changes a key set")
        _write(path, [material])

    def generate(self, name: str, roles: Mapping[str, int]) -> KeySet:
        """Store a new key set of random keys; `roles` gives the length of each. Gives it for the device.
        Raises InvalidKeyFile."""
        material = {role: token_bytes(length) for role, length in roles.items()}
        self.add(name, material)
        return KeySet(material)

    def rotate(self, name: str, material: Mapping[str, bytes]) -> None:
        """Make `material` the newest version; the one before stays valid, any older one does not. Raises
        InvalidKeyFile."""
        newest = self.find(name)[0]
        if material.keys() != newest.keys():
            raise InvalidKeyFile(
                f"{self._path(name)}: keys for {', '.join(material)}: expected keys for {', '.join(newest)}"
            )
        _write(self._path(name), [material, newest])

    def retire(self, name: str) -> None:
        """Leave the newest version alone valid. Raises InvalidKeyFile."""
        _write(self._path(name), [self.find(name)[0]])

    def remove(self, name: str) -> None:
        """Delete a key set. Raises InvalidKeyFile if there is none."""
        try:
            self._path(name).unlink()
        except OSError as error:
            raise InvalidKeyFile(f"{self._path(name)}: {error.strerror}: expected a key set") from None

    def _path(self, name: str) -> Path:
        try:
            check_key_name(name)
        except ValueError as error:
            raise InvalidKeyFile(f"key set {error.args[0]}") from None
        return self.folder / f"{name}.json"


def _check_private(path: Path, mode: int) -> None:
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        expected = "700" if stat.S_ISDIR(mode) else "600"
        raise InvalidKeyFile(
            f"{path}: mode {stat.S_IMODE(mode):04o}: expected one that is its owner's alone: chmod {expected}"
        )


def _write(path: Path, sets: list[Mapping[str, bytes]]) -> None:
    """Write a file whole or not at all."""
    content = msgspec.json.encode(
        [{role: b64encode(key).decode() for role, key in each.items()} for each in sets]
    )
    unfinished = path.with_suffix(f".{os.getpid()}.new")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with open(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)
    unfinished.replace(path)
