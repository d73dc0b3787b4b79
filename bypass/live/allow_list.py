"""The list of clients that a broker admits: a folder with their public keys.

Each has a YAML file there, such as `alice.pub`, with a name, a public key and rights.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import NamedTuple

from bypass.errors import shown
from bypass.live.keys import (
    InvalidKeys,
    KeysNotRead,
    check_fields,
    check_name,
    check_rights,
    key_bytes,
    raw_key,
    read_key_file,
)

CHECK_INTERVAL, LONGEST_CHECK_INTERVAL = 1.0, 10.0
"""After so many seconds an `AllowList` looks again at files whose folder has not changed."""

_CHECKING = 0.05  # the share of time that looking at files may take, where there are thousands
_SETTLED_NS = 50_000_000  # file systems tell times in steps: two changes may bear the same one

_log = logging.getLogger(__name__)


class Admitted(NamedTuple):
    """A client that a broker lets in, and what it may do there beyond what all may."""

    name: str
    rights: frozenset[str]


class _Listed(NamedTuple):
    """The content of a file as it was found; `status` is None if that may have changed unnoticed.

    With a `problem` it admits nobody, or who it admitted when it could be read.
    """

    status: tuple[int, ...] | None
    key: bytes = b""
    admitted: Admitted | None = None
    problem: str = ""


class AllowList:
    """The clients that have a file in a folder, up to date: who is added or removed counts at once, a file
    that is changed within a second, or ten where there are thousands.

    A file that is deleted, or names somebody else, admits nobody any more. What cannot be read now, be it the
    folder or a file that is garbage or half-written, is as it was when it could be, and admits nobody if it
    never was: a lack of descriptors, or a disk that is away, expels nobody. Each has one line in `problems`,
    by name or by the folder's path, and is logged; `not_read` counts looks at which something could not be
    read. Of two files with the same key the first by name counts.
    Nothing raises. Files are opened within `opening`.
    """

    def __init__(
        self, directory: str | Path, opening: Callable[[], AbstractContextManager[None]] = nullcontext
    ) -> None:
        self.directory = Path(directory)
        self.problems: dict[str, str] = {}
        self.changes = 0  # how often the list was found to be another one
        self.not_read = 0
        self._opening = opening
        self._files: dict[str, _Listed] = {}
        self._admitted: dict[bytes, Admitted] = {}
        self._status: tuple[int, ...] | None = None
        self._next_check = 0.0
        self._check()

    def __len__(self) -> int:
        return len(self._admitted)

    def find(self, public_key: bytes | str) -> Admitted | None:
        """Give the client that a key, in 32 bytes or in Z85, is admitted for; None if there is none now."""
        self.refresh()
        raw = raw_key(public_key.encode() if isinstance(public_key, str) else public_key)
        return None if raw is None else self._admitted.get(raw)

    def refresh(self) -> None:
        """Look whether the list has changed, unless that was done just now."""
        unchanged = self._status is not None and self._status == _status(self.directory)
        if not unchanged or time.monotonic() >= self._next_check:
            self._check()

    def _check(self) -> None:
        began = time.monotonic()
        self._status = _status(self.directory)  # before the files: what changes meanwhile is seen next time
        problems: dict[str, str] = {}
        with self._opening():
            try:
                names = sorted(name for name in os.listdir(self.directory) if name.endswith(".pub"))
                files = {name: self._look(name) for name in names}
            except OSError as error:
                files = self._not_deleted()
                problems[str(self.directory)] = (
                    f"{self.directory}: {error.strerror}: expected a folder of .pub files: "
                    "who was admitted before stays so, nobody else is"
                )
        admitted: dict[bytes, Admitted] = {}
        owners: dict[bytes, str] = {}
        for name, listed in files.items():
            if listed.problem:
                problems[name] = listed.problem
            if listed.admitted is None:
                continue
            if listed.key in admitted:
                problems[name] = (
                    f"{self.directory / name}: public: that of {owners[listed.key]}: expected another"
                )
            else:
                admitted[listed.key] = listed.admitted
                owners[listed.key] = name
        not_read = {name for name, listed in files.items() if listed.problem and listed.admitted is not None}
        not_read |= problems.keys() - files.keys()
        for name, problem in problems.items():
            if self.problems.get(name) != problem:
                _log.warning("%s: %s", "not read" if name in not_read else "not admitted", problem)
        self.not_read += bool(not_read)
        self.changes += admitted != self._admitted
        self.problems, self._files, self._admitted = problems, files, admitted
        now = time.monotonic()
        pause = min((now - began) / _CHECKING, LONGEST_CHECK_INTERVAL)
        self._next_check = now + max(pause, CHECK_INTERVAL)

    def _not_deleted(self) -> dict[str, _Listed]:
        """Give files as they were at the last look, but those known to be gone; takes no descriptor."""
        if not self.directory.is_dir():
            return self._files
        return {name: file for name, file in self._files.items() if not _is_gone(self.directory / name)}

    def _look(self, name: str) -> _Listed:
        status = _status(f"{self.directory}/{name}")
        known = self._files.get(name)
        if known is not None and status is not None and known.status == status:
            return known
        try:
            return _Listed(status, *_read_listed(self.directory, name))
        except KeysNotRead as error:
            key, admitted = (b"", None) if known is None else (known.key, known.admitted)
            return _Listed(None, key, admitted, str(error))
        except InvalidKeys as error:
            return _Listed(status, problem=str(error))


def _read_listed(folder: Path, file: str) -> tuple[bytes, Admitted]:
    name = check_name(f"{folder}: .pub file of", file.removesuffix(".pub"))
    path = folder / file
    data = read_key_file(path, private=False)
    try:
        check_fields(path, data, ("name", "public"), "rights")
        key, rights = key_bytes(path, data, "public"), check_rights(str(path), data.get("rights", []))
    except InvalidKeys as error:  # it may be that somebody is writing it
        raise KeysNotRead(str(error)) from None
    if data["name"] != name:  # names are unique because files' names are
        raise InvalidKeys(f"{path}: name: {shown(data['name'])}: expected that of the file, {name!r}")
    return key, Admitted(name, rights)


def _is_gone(path: Path) -> bool:
    try:
        os.lstat(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def _status(path: str | Path) -> tuple[int, ...] | None:
    """Give values that change whenever a file or folder does; None if it is not there, or changed just now
    and might do so again without a difference to be seen."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    if abs(time.time_ns() - status.st_ctime_ns) < _SETTLED_NS:
        return None
    return status.st_dev, status.st_ino, status.st_ctime_ns, status.st_size
