"""Who is who: the key files of a broker and of its clients, and the list of those that a broker admits.

Keys are pairs for CURVE, in Z85. All files are YAML: `broker.key` (public, secret), `alice.key` (name,
public, secret, broker: the broker's public key) and, in a broker's list, `alice.pub` (name, public, rights).
"""

from __future__ import annotations

import logging
import os
import re
import shlex
import stat
import struct
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import zmq
from zmq.utils import z85

from bypass.errors import BypassError, shown
from bypass.transitions.yaml_text import NotYaml, dump_yaml, parse_yaml

BROKER_FILE = "broker.key"
CLIENTS_FOLDER = "clients"
RIGHTS = ("admin",)

CHECK_INTERVAL, LONGEST_CHECK_INTERVAL = 1.0, 10.0
"""After so many seconds an `AllowList` looks again at files whose folder has not changed."""

_LARGEST_FILE = 4096
_RAW_LENGTH, _TEXT_LENGTH = 32, 40
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
_CHECKING = 0.05  # the share of time that looking at files may take, where there are thousands
_SETTLED_NS = 50_000_000  # file systems tell times in steps: two changes may bear the same one

_log = logging.getLogger(__name__)


class InvalidKeys(BypassError):
    """A key file that cannot be used, or cannot be made. Secrets are never part of the message."""


class _NotRead(InvalidKeys):
    """A file that is there and may be all right, but cannot be read now."""


@dataclass(frozen=True, slots=True)
class BrokerKeys:
    """A broker's pair, in Z85."""

    public: bytes
    secret: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class ClientKeys:
    """A client's name and pair, and the public key by which it knows its broker, in Z85."""

    name: str
    public: bytes
    secret: bytes = field(repr=False)
    broker: bytes


class Admitted(NamedTuple):
    """A client that a broker lets in, and what it may do there beyond what all may."""

    name: str
    rights: frozenset[str]


# -- key files --------------------------------------------------------------------------------------------


def load_broker_keys(path: str | Path) -> BrokerKeys:
    """The pair in a broker's file. Raises InvalidKeys, also if others may read the file."""
    path = Path(path)
    data = _read(path, private=True)
    _check_fields(path, data, ("public", "secret"))
    return BrokerKeys(*_pair(path, data))


def load_client_keys(path: str | Path) -> ClientKeys:
    """What a client's file holds. Raises InvalidKeys, also if others may read the file."""
    try:
        path = Path(path)
    except TypeError:
        raise InvalidKeys(f"keys {shown(path)}: expected the path of a key file") from None
    data = _read(path, private=True)
    _check_fields(path, data, ("name", "public", "secret", "broker"))
    public, secret = _pair(path, data)
    broker = _key(path, data, "broker")
    return ClientKeys(_name(f"{path}: name", data["name"]), public, secret, z85.encode(broker))


def create_broker_keys(folder: str | Path) -> Path:
    """Make a broker's keys and an empty list of clients in a folder; gives the file.

    Raises InvalidKeys if the broker has keys there, OSError if the folder cannot be written to.
    """
    folder = Path(folder)
    _make_folders(folder)
    public, secret = zmq.curve_keypair()
    path = folder / BROKER_FILE
    _write_new(path, {"public": public.decode(), "secret": secret.decode()}, 0o600)
    return path


def create_client_keys(folder: str | Path, name: str, rights: Iterable[str] = ()) -> tuple[Path, Path]:
    """Make a client's keys beside the broker's and admit them; gives the client's file and the list's.

    Raises InvalidKeys if the name is no name or taken, if a right is unknown or if the broker has no keys
    there, OSError if the folder cannot be written to.
    """
    folder, rights = Path(folder), list(rights)
    _name("client", name)
    if f"{name}.key" == BROKER_FILE:
        raise InvalidKeys(f"client {name!r}: expected another name: {BROKER_FILE} is the broker's own")
    _rights(f"client {name!r}", rights)
    if not (folder / BROKER_FILE).exists():
        raise InvalidKeys(
            f"{folder / BROKER_FILE}: no such file: expected the broker's keys, which `bypass keygen` makes"
        )
    broker = load_broker_keys(folder / BROKER_FILE)
    _make_folders(folder)
    public, secret = (key.decode() for key in zmq.curve_keypair())
    own, listed = folder / f"{name}.key", folder / CLIENTS_FOLDER / f"{name}.pub"
    _write_new(
        own, {"name": name, "public": public, "secret": secret, "broker": broker.public.decode()}, 0o600
    )
    try:
        _write_new(listed, {"name": name, "public": public, "rights": rights}, 0o644)
    except BaseException:
        own.unlink()  # nobody would ever let it in
        raise
    return own, listed


def _make_folders(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / CLIENTS_FOLDER).mkdir(exist_ok=True)


def _write_new(path: Path, data: Mapping[str, Any], mode: int) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    except FileExistsError:
        raise InvalidKeys(f"{path}: exists: expected a new file: keys are not overwritten") from None
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(dump_yaml(dict(data)))
            file.flush()
            os.fsync(descriptor)
    except BaseException:
        path.unlink()  # half a key would stand in the way of a whole one
        raise


def _read(path: Path, *, private: bool) -> dict[str, Any]:
    try:
        # Without O_NONBLOCK a pipe that has the name of a file would stop whoever opens it.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            mode = os.fstat(descriptor).st_mode
            content = os.read(descriptor, _LARGEST_FILE + 1) if stat.S_ISREG(mode) else None
        finally:
            os.close(descriptor)
    except OSError as error:
        kind = InvalidKeys if isinstance(error, FileNotFoundError) else _NotRead
        raise kind(f"{path}: {error.strerror}: expected a key file") from None
    except ValueError:  # a zero among its characters, or one that no file's name can have
        raise InvalidKeys(f"{shown(str(path))}: no path: expected a key file") from None
    if content is None:
        raise InvalidKeys(f"{path}: not a regular file: expected a key file")
    if private and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InvalidKeys(
            f"{path}: mode {stat.S_IMODE(mode):04o}: expected a file that is its owner's alone:"
            f" chmod 600 {shlex.quote(str(path))}"
        )
    if len(content) > _LARGEST_FILE:
        raise InvalidKeys(f"{path}: more than {_LARGEST_FILE} bytes: expected a key file")
    try:
        data = parse_yaml(content.decode(), texts=True)  # whatever a key looks like
    except (NotYaml, UnicodeDecodeError) as error:
        line = getattr(error, "line", None)  # the error itself may quote the line with the secret
        where = f" at line {line}" if line else ""
        raise InvalidKeys(f"{path}: not YAML{where}: expected a key file, with keys in quotes") from None
    if not isinstance(data, dict):
        raise InvalidKeys(f"{path}: no keys and values: expected a key file")
    return data


def _check_fields(path: Path, data: Mapping[str, Any], needed: tuple[str, ...], *more: str) -> None:
    for name in needed:
        if name not in data:
            raise InvalidKeys(f"{path}: {name}: missing: expected {', '.join((*needed, *more))}")
    for name in data:
        if name not in (*needed, *more):
            raise InvalidKeys(f"{path}: {shown(name)}: unknown: expected {', '.join((*needed, *more))}")


def _pair(path: Path, data: Mapping[str, Any]) -> tuple[bytes, bytes]:
    public, secret = (z85.encode(_key(path, data, name)) for name in ("public", "secret"))
    if zmq.curve_public(secret) != public:
        raise InvalidKeys(f"{path}: public: {shown(data['public'])}: expected the secret's own")
    return public, secret


def _key(path: Path, data: Mapping[str, Any], name: str) -> bytes:
    """The 32 bytes of a key."""
    value = data[name]
    raw = _raw(value.encode()) if isinstance(value, str) and len(value) == _TEXT_LENGTH else None
    if raw is None:
        seen = "no key" if name == "secret" else shown(value)
        raise InvalidKeys(f"{path}: {name}: {seen}: expected a key, {_TEXT_LENGTH} characters of Z85")
    return raw


def _raw(key: bytes) -> bytes | None:
    """The 32 bytes of a key that is written in either way; None if it is none."""
    if len(key) == _RAW_LENGTH:
        return key
    if len(key) != _TEXT_LENGTH:
        return None
    try:
        return z85.decode(key)
    except (KeyError, struct.error):  # a character that Z85 has not, a number too large for four bytes
        return None


def _name(what: str, value: Any) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise InvalidKeys(f"{what} {shown(value)}: expected 1 to 64 letters, digits, dots, _ and -")
    return value


def _rights(what: str, value: Any) -> frozenset[str]:
    if not isinstance(value, list) or not all(each in RIGHTS for each in value):
        raise InvalidKeys(f"{what}: rights: {shown(value)}: expected [{', '.join(RIGHTS)}] or []")
    return frozenset(value)


# -- who is admitted --------------------------------------------------------------------------------------


class _Listed(NamedTuple):
    """What a file of the list was found to hold; `status` is None if that may have changed unnoticed.

    With a `problem` it admits nobody, or who it admitted when it could be read.
    """

    status: tuple[int, ...] | None
    key: bytes = b""
    admitted: Admitted | None = None
    problem: str = ""


class AllowList:
    """The clients that have a file in a folder, up to date: who is added or removed counts at once, a file
    that is changed within a second, or ten where there are thousands.

    A file that is wrong admits nobody, one that is deleted nobody any more. What cannot be read now, be it a
    file or the folder, is as it was when it could be: a lack of descriptors, or a disk that is away, expels
    nobody. Each has one line in `problems`, by name or by the folder's path, and is logged; `not_read` counts
    looks at which something could not be read. Of two files with the same key the first by name counts.
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
        """Whose key this is, in 32 bytes or in Z85; None if it is nobody's who is admitted now."""
        self.refresh()
        raw = _raw(public_key.encode() if isinstance(public_key, str) else public_key)
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
        """Files as they were at the last look, but those that are known to be gone; takes no descriptor."""
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
        except _NotRead as error:
            key, admitted = (b"", None) if known is None else (known.key, known.admitted)
            return _Listed(None, key, admitted, str(error))
        except InvalidKeys as error:
            return _Listed(status, problem=str(error))


def _read_listed(folder: Path, file: str) -> tuple[bytes, Admitted]:
    name = _name(f"{folder}: .pub file of", file.removesuffix(".pub"))
    path = folder / file
    data = _read(path, private=False)
    _check_fields(path, data, ("name", "public"), "rights")
    if data["name"] != name:  # names are unique because files' names are
        raise InvalidKeys(f"{path}: name: {shown(data['name'])}: expected that of the file, {name!r}")
    return _key(path, data, "public"), Admitted(name, _rights(str(path), data.get("rights", [])))


def _is_gone(path: Path) -> bool:
    try:
        os.lstat(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def _status(path: str | Path) -> tuple[int, ...] | None:
    """What changes whenever a file or folder does; None if it is not there, or changed just now and might do
    so again without a difference to be seen."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    if abs(time.time_ns() - status.st_ctime_ns) < _SETTLED_NS:
        return None
    return status.st_dev, status.st_ino, status.st_ctime_ns, status.st_size
