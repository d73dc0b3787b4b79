"""The key store: a folder with one file for each key set, which is its owner's alone.

A key set may have two versions while devices change over: the newest and the one before. Each change gives
the store a higher version of its own; what was valid in former ones is kept until `forget`, so that a batch
that is repeated finds the keys that it had. Nothing but this module reads keys; they are in no log, status,
table or error.
"""

from __future__ import annotations

import logging
import os
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from secrets import token_bytes

import msgspec

from bypass.ingest.names import check_name
from bypass.ingest.security.key_set import KeySet
from bypass.ingest.security.private_file import InvalidKeyFile, check_private
from bypass.support.durable_files import replace_file
from bypass.support.file_lock import FileLock

log = logging.getLogger(__name__)

_LARGEST_FILE = 1 << 20
_VERSION, _FORGOTTEN = "version", "forgotten"


class _State(msgspec.Struct):
    """The versions of a key set that are valid, the newest first, from a version of the store on."""

    since: int
    keys: list[dict[str, str]]


_decode = msgspec.json.Decoder(list[_State]).decode


class KeyStore:
    """Key sets by name, in a folder. Every call reads or writes files: it remembers nothing."""

    def __init__(self, folder: Path, version: int | None = None) -> None:
        """Take a folder that exists, or make it. `find` gives what is valid now, or what was at a version.
        Raises InvalidKeyFile if others may look into the folder."""
        self.folder = folder
        self._at = version
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        check_private(folder, folder.stat().st_mode)

    def __repr__(self) -> str:
        return f"KeyStore({str(self.folder)!r})"

    @property
    def version(self) -> int:
        """The number of changes that there were."""
        return self._number(_VERSION)

    def names(self) -> list[str]:
        """List the names of all key sets."""
        paths = sorted(self.folder.glob("*.json"))
        return [path.stem for path in paths if _valid(_read(path), self._at)]

    def find(self, name: str) -> tuple[KeySet, ...]:
        """Give the versions of a key set that are valid, the newest first. Raises InvalidKeyFile."""
        path = self._path(name)
        found = _valid(_read(path), self._at)
        if not found:
            raise InvalidKeyFile(f"{path}: was removed: expected a key set")
        return tuple(map(KeySet, found))

    def add(self, name: str, material: Mapping[str, bytes]) -> None:
        """Store a new key set, by role. Raises InvalidKeyFile if the name is taken, or is none."""
        path = self._path(name)
        with self._change() as version:
            states = _read(path) if path.exists() else []
            if _valid(states):
                raise InvalidKeyFile(f"{path}: exists: expected a new name; rotate changes a key set")
            _write(path, states, version, [material])

    def generate(self, name: str, roles: Mapping[str, int]) -> KeySet:
        """Store a new key set of random keys; `roles` gives the length of each. Gives it for the device.
        Raises InvalidKeyFile."""
        material = {role: token_bytes(length) for role, length in roles.items()}
        self.add(name, material)
        return KeySet(material)

    def rotate(self, name: str, material: Mapping[str, bytes]) -> None:
        """Make `material` the newest version; the one before stays valid, any older one does not. Raises
        InvalidKeyFile."""
        path = self._path(name)
        with self._change() as version:
            states = _read(path)
            newest = _newest(path, states)
            if material.keys() != newest.keys():
                raise InvalidKeyFile(
                    f"{path}: keys for {', '.join(material)}: expected keys for {', '.join(newest)}"
                )
            _write(path, states, version, [material, newest])

    def renew(self, name: str) -> KeySet:
        """Rotate to random keys of the same lengths. Gives them for the device. Raises InvalidKeyFile."""
        newest = self.find(name)[0]
        material = {role: token_bytes(len(key)) for role, key in newest.items()}
        self.rotate(name, material)
        return KeySet(material)

    def retire(self, name: str) -> None:
        """Leave the newest version alone valid. Raises InvalidKeyFile."""
        path = self._path(name)
        with self._change() as version:
            states = _read(path)
            _write(path, states, version, [_newest(path, states)])

    def remove(self, name: str) -> None:
        """Make a key set invalid. Raises InvalidKeyFile if there is none."""
        path = self._path(name)
        with self._change() as version:
            states = _read(path)
            _newest(path, states)
            _write(path, states, version, [])

    def forget(self, before: int) -> None:
        """Delete keys that were valid only in versions lower than `before`."""
        if before <= self._number(_FORGOTTEN):
            return
        with self._locked():
            for path in self.folder.glob("*.json"):
                try:
                    states = _read(path)
                except InvalidKeyFile as error:  # the others need not wait for it
                    log.warning("%s; former keys in it stay", error)
                    continue
                first = max((n for n, state in enumerate(states) if state.since <= before), default=0)
                kept = states[first:]
                if len(kept) == 1 and not kept[0].keys and kept[0].since <= before:
                    path.unlink()
                elif first:
                    replace_file(path, msgspec.json.encode(kept), mode=0o600)
            replace_file(self.folder / _FORGOTTEN, str(before).encode(), mode=0o600)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Let one process at a time change the store."""
        with FileLock(self.folder / "lock", wait=True):
            for left in self.folder.glob(".*"):  # of a process that was killed; it may have keys
                left.unlink()
            yield

    @contextmanager
    def _change(self) -> Iterator[int]:
        """Give the version that a change brings. Nobody sees that version before the change is there."""
        with self._locked():
            version = self.version + 1
            yield version
            replace_file(self.folder / _VERSION, str(version).encode(), mode=0o600)

    def _number(self, name: str) -> int:
        try:
            return int((self.folder / name).read_text())
        except FileNotFoundError:
            return 0

    def _path(self, name: str) -> Path:
        try:
            check_name(name)
        except ValueError as error:
            raise InvalidKeyFile(f"key set {error.args[0]}") from None
        return self.folder / f"{name}.json"


def _read(path: Path) -> list[_State]:
    """The states of a key set, in order. Raises InvalidKeyFile."""
    try:
        with path.open("rb") as file:
            check_private(path, os.fstat(file.fileno()).st_mode)
            content = file.read(_LARGEST_FILE)
    except OSError as error:
        raise InvalidKeyFile(f"{path}: {error.strerror}: expected a key set") from None
    try:
        states = _decode(content)
        for state in states:
            for keys in state.keys:
                for key in keys.values():
                    b64decode(key)
    except ValueError:  # the error may quote the key
        states = []
    if not states:
        raise InvalidKeyFile(f"{path}: not readable: expected JSON, with keys in Base64")
    return states


def _valid(states: list[_State], version: int | None = None) -> list[dict[str, bytes]]:
    """The keys that are valid in a version of the store, or in the latest one."""
    keys: list[dict[str, str]] = []
    for state in states:
        if version is None or state.since <= version:
            keys = state.keys
    return [{role: b64decode(key) for role, key in each.items()} for each in keys]


def _newest(path: Path, states: list[_State]) -> dict[str, bytes]:
    """The newest version of a key set. Raises InvalidKeyFile if it was removed."""
    valid = _valid(states)
    if not valid:
        raise InvalidKeyFile(f"{path}: was removed: expected a key set")
    return valid[0]


def _write(path: Path, states: list[_State], version: int, valid: list[Mapping[str, bytes]]) -> None:
    """Add a state to a key set."""
    keys = [{role: b64encode(key).decode() for role, key in each.items()} for each in valid]
    content = msgspec.json.encode([*(each for each in states if each.since < version), _State(version, keys)])
    if len(content) > _LARGEST_FILE:
        raise InvalidKeyFile(f"{path}: {len(content)} bytes: expected {_LARGEST_FILE} at most")
    replace_file(path, content, mode=0o600)
