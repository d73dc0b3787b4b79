"""The key files of a broker and of its clients.

Keys are pairs for CURVE, in Z85. All files are YAML: `broker.key` (public, secret), `alice.key` (name,
public, secret, broker: the broker's public key) and, in a broker's list, `alice.pub` (name, public, rights).
`group.key` (group) is the secret that nodes without a broker share.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zmq
from zmq.utils import z85

from bypass.errors import BypassError, shown
from bypass.transitions.yaml_text import NotYaml, dump_yaml, parse_yaml

BROKER_FILE, GROUP_FILE = "broker.key", "group.key"
CLIENTS_FOLDER = "clients"
RIGHTS = ("admin",)

_LARGEST_FILE = 4096
_RAW_LENGTH, _TEXT_LENGTH = 32, 40
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


class InvalidKeys(BypassError):
    """A key file that cannot be used, or cannot be made. Secrets are never part of the message."""


class KeysNotRead(InvalidKeys):
    """A file that is there and may be all right, but cannot be read now, or is no key file yet."""


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


def load_broker_keys(path: str | Path) -> BrokerKeys:
    """Give the pair in a broker's file. Raises InvalidKeys, also if others may read the file."""
    path = Path(path)
    data = read_key_file(path, private=True)
    check_fields(path, data, ("public", "secret"))
    return BrokerKeys(*curve_pair(path, data))


def load_client_keys(path: str | Path) -> ClientKeys:
    """Give the keys in a client's file. Raises InvalidKeys, also if others may read the file."""
    try:
        path = Path(path)
    except TypeError:
        raise InvalidKeys(f"keys {shown(path)}: expected the path of a key file") from None
    data = read_key_file(path, private=True)
    check_fields(path, data, ("name", "public", "secret", "broker"))
    public, secret = curve_pair(path, data)
    broker = key_bytes(path, data, "broker")
    return ClientKeys(check_name(f"{path}: name", data["name"]), public, secret, z85.encode(broker))


def create_broker_keys(folder: str | Path) -> Path:
    """Make a broker's keys and an empty list of clients in a folder; gives the file.

    Raises InvalidKeys if the broker has keys there, OSError if the folder cannot be written to.
    """
    folder = Path(folder)
    _make_folders(folder)
    public, secret = zmq.curve_keypair()
    path = folder / BROKER_FILE
    write_new_key_file(path, {"public": public.decode(), "secret": secret.decode()}, 0o600)
    return path


def create_client_keys(folder: str | Path, name: str, rights: Iterable[str] = ()) -> tuple[Path, Path]:
    """Make a client's keys beside the broker's and admit them; gives the client's file and the list's.

    Raises InvalidKeys if the name is no name or taken, if a right is unknown or if the broker has no keys
    there, OSError if the folder cannot be written to.
    """
    folder, rights = Path(folder), list(rights)
    check_name("client", name)
    check_free("client", name)
    check_rights(f"client {name!r}", rights)
    if not (folder / BROKER_FILE).exists():
        raise InvalidKeys(
            f"{folder / BROKER_FILE}: no such file: expected the broker's keys, which `bypass keygen` makes"
        )
    broker = load_broker_keys(folder / BROKER_FILE)
    _make_folders(folder)
    public, secret = (key.decode() for key in zmq.curve_keypair())
    own, listed = folder / f"{name}.key", folder / CLIENTS_FOLDER / f"{name}.pub"
    write_new_key_file(
        own, {"name": name, "public": public, "secret": secret, "broker": broker.public.decode()}, 0o600
    )
    try:
        write_new_key_file(listed, {"name": name, "public": public, "rights": rights}, 0o644)
    except BaseException:
        own.unlink()  # nobody would ever let it in
        raise
    return own, listed


def create_group_key(folder: str | Path) -> Path:
    """Make the key of a group of nodes in a folder; gives the file, which every member needs.

    Raises InvalidKeys if there is one, OSError if the folder cannot be written to.
    """
    folder = Path(folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / GROUP_FILE
    write_new_key_file(path, {"group": z85.encode(os.urandom(_RAW_LENGTH)).decode()}, 0o600)
    return path


def load_group_key(path: str | Path) -> bytes:
    """Give the key of a group, for `Neighbours`. Raises InvalidKeys, also if others may read the file."""
    path = Path(path)
    data = read_key_file(path, private=True)
    check_fields(path, data, ("group",))
    return key_bytes(path, data, "group")


def _make_folders(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / CLIENTS_FOLDER).mkdir(exist_ok=True)


def write_new_key_file(path: Path, data: Mapping[str, Any], mode: int) -> None:
    """Make a key file. Raises InvalidKeys if there is one: keys are not overwritten."""
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


def read_key_file(path: Path, *, private: bool) -> dict[str, Any]:
    """Give the keys and values in a file; a `private` one must be its owner's alone.

    Raises InvalidKeys, and KeysNotRead if the file is there and cannot be read now, or not to its end.
    """
    try:
        # Without O_NONBLOCK a pipe that has the name of a file would stop whoever opens it.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            mode = os.fstat(descriptor).st_mode
            content = os.read(descriptor, _LARGEST_FILE + 1) if stat.S_ISREG(mode) else None
        finally:
            os.close(descriptor)
    except OSError as error:
        kind = InvalidKeys if isinstance(error, FileNotFoundError) else KeysNotRead
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
        raise KeysNotRead(f"{path}: more than {_LARGEST_FILE} bytes: expected a key file")
    try:
        data = parse_yaml(content.decode(), texts=True)  # whatever a key looks like
    except (NotYaml, UnicodeDecodeError) as error:
        line = getattr(error, "line", None)  # the error itself may quote the line with the secret
        where = f" at line {line}" if line else ""
        raise KeysNotRead(f"{path}: not YAML{where}: expected a key file, with keys in quotes") from None
    if not isinstance(data, dict):
        raise KeysNotRead(f"{path}: no keys and values: expected a key file")
    return data


def check_fields(path: Path, data: Mapping[str, Any], needed: tuple[str, ...], *more: str) -> None:
    """Raise InvalidKeys unless a file has all fields that are `needed`, and else only `more`."""
    for name in needed:
        if name not in data:
            raise InvalidKeys(f"{path}: {name}: missing: expected {', '.join((*needed, *more))}")
    for name in data:
        if name not in (*needed, *more):
            raise InvalidKeys(f"{path}: {shown(name)}: unknown: expected {', '.join((*needed, *more))}")


def curve_pair(path: Path, data: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """Give the public and the secret key in a file, in Z85. Raises InvalidKeys."""
    public, secret = (z85.encode(key_bytes(path, data, name)) for name in ("public", "secret"))
    if zmq.curve_public(secret) != public:
        raise InvalidKeys(f"{path}: public: {shown(data['public'])}: expected the secret's own")
    return public, secret


def key_bytes(path: Path, data: Mapping[str, Any], name: str) -> bytes:
    """Give the 32 bytes of the key in a field. Raises InvalidKeys."""
    value = data[name]
    raw = raw_key(value.encode()) if isinstance(value, str) and len(value) == _TEXT_LENGTH else None
    if raw is None:
        seen = "no key" if name in ("secret", "group", "signing") else shown(value)
        raise InvalidKeys(f"{path}: {name}: {seen}: expected a key, {_TEXT_LENGTH} characters of Z85")
    return raw


def raw_key(key: bytes) -> bytes | None:
    """Give the 32 bytes of a key that is written in either way; None if it is none."""
    if len(key) == _RAW_LENGTH:
        return key
    if len(key) != _TEXT_LENGTH:
        return None
    try:
        return z85.decode(key)
    except (KeyError, struct.error):  # a character that Z85 has not, a number too large for four bytes
        return None


def check_name(what: str, value: Any) -> str:
    """Give a client's name. Raises InvalidKeys for what is none; `what` it is of."""
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise InvalidKeys(f"{what} {shown(value)}: expected 1 to 64 letters, digits, dots, _ and -")
    return value


def check_free(what: str, name: str) -> None:
    """Raise InvalidKeys for a name whose key file is that of somebody else; `what` it is of."""
    if f"{name}.key" in (BROKER_FILE, GROUP_FILE):
        raise InvalidKeys(f"{what} {name!r}: expected another name: {name}.key has other keys")


def check_rights(what: str, value: Any) -> frozenset[str]:
    """Give the rights in a list. Raises InvalidKeys for what is none; `what` it is of."""
    if not isinstance(value, list) or not all(each in RIGHTS for each in value):
        raise InvalidKeys(f"{what}: rights: {shown(value)}: expected [{', '.join(RIGHTS)}] or []")
    return frozenset(value)
