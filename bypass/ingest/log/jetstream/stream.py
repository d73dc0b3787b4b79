"""The stream and the key-value bucket that one installation has in JetStream.

Each message of the stream is a block of records of one part of the devices, with the part as its subject: a
task reads its own parts and nothing else, and a block is as large as what has come meanwhile. A message for
each record would cost a replicated write each; a subject for each of 256 categories would make blocks
sixteen times as small, for no task reads less than a part.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import uuid4

import msgspec
from nats.aio.client import Client
from nats.js import JetStreamContext
from nats.js.api import (
    DiscardPolicy,
    Header,
    KeyValueConfig,
    PersistMode,
    StorageType,
    StreamConfig,
    StreamInfo,
)
from nats.js.errors import APIError, BucketNotFoundError, NotFoundError

from bypass.errors import shown
from bypass.ingest.categories import PARTS
from bypass.ingest.folder import IngestFolder
from bypass.ingest.log.jetstream.access import ACCESS_OPTIONS, NatsAccess
from bypass.ingest.log.jetstream.connection import NatsConnection
from bypass.ingest.log.message_log import InvalidLog, LogFailed, LogFull, Position, whole_number

INSTALLATION = "installation"
DUPLICATES_S = 120.0
"""How long servers recognise a block that comes again."""

_CONSUMED = "consumed"
_LATER_REVISION = (10071, 10164)
_OPTIONS = ACCESS_OPTIONS | {"name", "replicas", "bytes", "retention"}
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SERVER = re.compile(r"[^\s,/?#]+:\d{1,5}")


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """The settings of a log in JetStream: its servers, and how the stream is made."""

    servers: tuple[str, ...]
    name: str
    replicas: int
    bytes: int
    retention_s: float
    access: NatsAccess

    @classmethod
    def of(cls, address: str, options: Mapping[str, str]) -> StreamSettings:
        """The settings that an address and options say. Raises InvalidLog, and InvalidKeyFile for a secret
        that cannot be used."""
        servers = tuple(address.split(","))
        for server in servers:
            if "@" in server:  # it is not shown: there is a secret in it
                raise InvalidLog("nats: a server has a user in its address: expected user and password=FILE")
            if not _SERVER.fullmatch(server):
                raise InvalidLog(f"nats: server {shown(server)}: expected HOST:PORT, separated by commas")
        if unknown := sorted(options.keys() - _OPTIONS):
            raise InvalidLog(f"nats: option {unknown[0]}: expected one of {', '.join(sorted(_OPTIONS))}")
        name = options.get("name", "bypass")
        if not _NAME.fullmatch(name):
            raise InvalidLog(f"nats: name {shown(name)}: expected letters, digits, - and _")
        replicas = whole_number(options, "replicas", 3 if len(servers) >= 3 else 1)
        if replicas not in (1, 3):
            raise InvalidLog(f"nats: replicas {replicas}: expected 1 or 3")
        return cls(
            servers,
            name,
            replicas,
            whole_number(options, "bytes", 4 << 30, 1 << 20),
            whole_number(options, "retention", 3600),
            NatsAccess.of(servers, options),
        )


@dataclass(frozen=True, slots=True)
class StreamPosition:
    """A place in the stream: the sequence of the next block, how many records come before it, and how many
    blocks of each part do."""

    sequence: int = 1
    records: int = 0
    blocks: tuple[int, ...] = (0,) * PARTS

    @classmethod
    def of(cls, position: Position) -> StreamPosition:
        """The place that `numbers` has written; the beginning if it is empty."""
        return cls(position[0], position[1], position[2:]) if position else cls()

    @property
    def numbers(self) -> Position:
        """The place as a position of the log."""
        return (self.sequence, self.records, *self.blocks)


class Consumed(msgspec.Struct):
    """How far the stream of an installation has committed: the sequence of the next block and the number of
    records before it, and some earlier sequences with the times at which they were committed."""

    sequence: int = 1
    records: int = 0
    earlier: list[tuple[float, int]] = []


class LogStream:
    """The stream of an installation and its bucket; both are made if they are not there."""

    def __init__(self, folder: IngestFolder, settings: StreamSettings) -> None:
        self.settings = settings
        self.connection = NatsConnection(settings.servers, settings.access)
        self._folder = folder
        self._is_ready = False

    def subject(self, part: int) -> str:
        """The subject of the blocks of a part."""
        return f"{self.settings.name}.ingest.{part:x}"

    def prepare(self) -> None:
        """Make sure that the stream and the bucket are there. Raises InvalidLog and LogFailed."""
        if self._is_ready:
            return
        try:
            info = self.connection.call("make the stream", self._make)
        except LogFull as error:
            room = f"expected room for {self.settings.bytes} bytes (?bytes=...)"
            raise InvalidLog(f"{self.connection.servers}: stream {self.settings.name}: {room}") from error
        self._check(info.config)
        self._is_ready = True

    def state(self) -> tuple[int, int]:
        """The sequences of the first block that is there and of the last one. Raises LogFailed."""

        async def ask(_: Client, js: JetStreamContext) -> tuple[int, int]:
            state = (await js.stream_info(self.settings.name)).state
            return state.first_seq, state.last_seq

        self.prepare()
        return self.connection.call("stream", ask)

    def remove(self, before: int) -> None:
        """Remove the blocks before a sequence. Raises LogFailed."""

        async def purge(_: Client, js: JetStreamContext) -> bool:
            return await js.purge_stream(self.settings.name, seq=before)

        self.connection.call("purge", purge)

    def get(self, key: str, patience_s: float | None = None) -> tuple[bytes, int]:
        """Read a value of the bucket, and its revision, 0 if there is none. Raises LogFailed."""

        async def ask(_: Client, js: JetStreamContext) -> tuple[bytes, int]:
            try:
                found = await js.get_last_msg(f"KV_{self.settings.name}", self._key(key))
            except NotFoundError:
                return b"", 0
            return found.data or b"", found.seq or 0

        self.prepare()
        return self.connection.call(f"read {key}", ask, patience_s)

    def put(
        self, key: str, value: bytes, revision: int | None = None, patience_s: float | None = None
    ) -> int | None:
        """Write a value of the bucket, in place of a revision if one is given. Gives its revision; None if
        there is a later one already. Raises LogFailed.

        A write that is not answered is sent again under the same id: servers do not take it for a later one.
        """
        headers: dict[str, str] = {Header.MSG_ID: uuid4().hex}
        if revision is not None:
            headers[Header.EXPECTED_LAST_SUBJECT_SEQUENCE] = str(revision)

        async def write(_: Client, js: JetStreamContext) -> int | None:
            try:
                return (await js.publish(self._key(key), value, headers={**headers})).seq
            except APIError as error:
                if error.err_code in _LATER_REVISION:
                    return None
                raise

        self.prepare()
        return self.connection.call(f"write {key}", write, patience_s)

    def consumed(self) -> Consumed:
        """Read how far the stream has committed. Raises LogFailed."""
        data, _ = self.get(_CONSUMED)
        return msgspec.json.decode(data, type=Consumed) if data else Consumed()

    def note_consumed(self, consumed: Consumed) -> None:
        """Write how far the stream has committed. Raises LogFailed."""
        self.put(_CONSUMED, msgspec.json.encode(consumed))

    def _key(self, key: str) -> str:
        return f"$KV.{self.settings.name}.{key}"

    async def _make(self, _: Client, js: JetStreamContext) -> StreamInfo:
        settings = self.settings
        try:
            info = await js.stream_info(settings.name)
        except NotFoundError:
            info = await js.add_stream(
                StreamConfig(
                    name=settings.name,
                    subjects=[self.subject(part) for part in range(PARTS)],
                    storage=StorageType.FILE,
                    num_replicas=settings.replicas,
                    discard=DiscardPolicy.NEW,
                    max_bytes=settings.bytes,
                    duplicate_window=DUPLICATES_S,
                    allow_direct=True,
                    metadata={INSTALLATION: self._installation()},
                )
            )
        try:
            await js.key_value(settings.name)
        except BucketNotFoundError:
            await js.create_key_value(KeyValueConfig(bucket=settings.name, replicas=settings.replicas))
        return info

    def _check(self, config: StreamConfig) -> None:
        """Refuse a stream that is not as it has to be. Raises InvalidLog."""
        stream = f"{self.connection.servers}: stream {self.settings.name}"
        if (config.metadata or {}).get(INSTALLATION) != self._installation():
            raise InvalidLog(f"{stream} is another installation's: expected a name of its own (?name=...)")
        for what, found, expected in (
            ("replicas", config.num_replicas, self.settings.replicas),
            ("bytes", config.max_bytes, self.settings.bytes),
        ):
            if found != expected:
                raise InvalidLog(f"{stream}: {what} {found}: expected {expected}")
        if config.persist_mode == PersistMode.ASYNC:
            raise InvalidLog(f"{stream}: persist mode async: expected one that writes before it answers")

    def _installation(self) -> str:
        """The id of the installation. Raises LogFailed."""
        try:
            return str(json.loads(self._folder.log_name.read_text())[INSTALLATION])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise LogFailed(f"{self._folder.log_name}: {error}: expected the installation's id") from None
