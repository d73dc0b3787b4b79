"""The log of an installation: connectors append messages to it, the tasks of the stream read them from it.

Two are built in: segment files in the installation's folder, and NATS JetStream.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Set
from typing import TypeAlias

import pyarrow as pa

from bypass.errors import shown
from bypass.ingest.folder import IngestFolder
from bypass.ingest.log.block import Records
from bypass.ingest.log.leases import LeaseTable
from bypass.root_error import BypassError

Position: TypeAlias = tuple[int, ...]
"""A place in a log, in numbers that the log alone interprets. The empty one is the beginning."""

Positions: TypeAlias = Mapping[str, Position]
"""Places in the logs that a `MessageLog` consists of, by their names; those that are not there are at the
beginning."""


class LogFull(BypassError):
    """The log holds as much as it may, of records that the stream has not committed yet."""


class LogFailed(BypassError):
    """The log cannot be written to or read."""


class LogInUse(BypassError):
    """Another process writes to the log."""


class InvalidLog(BypassError):
    """A log cannot be used as it is named or configured."""


class LogWriter(ABC):
    """One writer of a log. It belongs to one thread.

    `message_bytes` is the size of the largest payload that it takes, `sequence` the number of the next
    record.
    """

    message_bytes: int
    sequence: int

    @abstractmethod
    def append(self, records: Records) -> int:
        """Append records, and return when they are as durable as they have to be. Gives the sequence of the
        first one.

        Raises LogFull and LogFailed: nothing must be acknowledged then. Some of the records may be read
        nevertheless.
        """

    @abstractmethod
    def flush(self) -> None:
        """Do not keep anything in memory any longer. Raises LogFailed."""

    @abstractmethod
    def close(self) -> None:
        """Flush, and let go of the log."""


class MessageLog(ABC):
    """The log of one installation, with all its writers. Any process of the installation may make one."""

    @abstractmethod
    def __init__(self, folder: IngestFolder, address: str, options: Mapping[str, str]) -> None:
        """Use the log that `SCHEME://ADDRESS?OPTION=VALUE&...` names. Nothing is opened yet. Raises
        InvalidLog."""

    @abstractmethod
    def open_writer(self, name: str, *, synced: bool = False) -> LogWriter:
        """Begin a new life of the writer with this name. With `synced`, what is acknowledged survives the
        loss of power. Raises LogInUse, LogFailed and InvalidLog."""

    @abstractmethod
    def ends(self, start: Positions, most_records: int, most_bytes: int) -> dict[str, Position]:
        """Find how far the logs can be read from `start` on, with one block more than the bounds at most in
        each log. Raises LogFailed."""

    @abstractmethod
    def read(self, start: Positions, end: Positions, parts: Set[int]) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Read the records of some parts of the devices, from `start` up to `end`, with the log of each
        batch, WRITER/LIFE: it and the sequence name a record for ever. Those of a part are in the order in
        which they were appended by each writer. Raises DamagedBlock and LogFailed."""

    def lost(self, start: Positions, end: Positions) -> int:  # noqa: ARG002
        """Count the records from `start` up to `end` that `read` leaves out for all parts, because the log
        has forgotten them. Raises LogFailed."""
        return 0

    @abstractmethod
    def consume(self, end: Positions) -> None:
        """Note that the stream has committed everything up to `end`. Raises LogFailed."""

    @abstractmethod
    def appended(self, taken: Positions) -> int:
        """Count the records that were ever appended, by all writers. Those up to `taken` were read: they
        count even if the log has forgotten them since. Raises LogFailed."""

    @abstractmethod
    def leases(self) -> LeaseTable:
        """Give the table of leases that all connectors of the installation see. Raises LeasesFailed."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what reading has opened."""


def whole_number(options: Mapping[str, str], name: str, default: int, least: int = 0) -> int:
    """Read a number among the options of a log. Raises InvalidLog."""
    text = options.get(name, str(default))
    if not text.isdecimal() or len(text) > 18 or int(text) < least:
        raise InvalidLog(f"log: {name} {shown(text)}: expected a number from {least} on")
    return int(text)
