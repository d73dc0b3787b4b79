"""The messages about objects between a client and its broker, in parts where they are large.

The broker asks for the parts of an upload, the client for those of a download, so that the receiver sets the
rate. Parts that were lost with a connection are asked for again on the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from bypass.objects.metadata import LARGEST_OBJECT, ObjectKey
from bypass.objects.query import ObjectQuery
from bypass.protocol.storage import (
    Acknowledge,
    Ask,
    Chunk,
    FoundObjects,
    Insert,
    Retrieve,
    Retrieved,
    StorageMessage,
    Withdraw,
)

INLINE_BYTES = 32_768
"""An object up to this size goes with its insertion."""

PART_BYTES = 65_536
PARTS_ASKED = 4
"""Bytes of a part of a download, and how many parts are asked for at a time."""

MOST_AWAITED = LARGEST_OBJECT // PART_BYTES + 1
"""Parts that one download can have."""


@dataclass(slots=True)
class _Download:
    key: ObjectKey
    parts: dict[int, bytes] = field(default_factory=dict)  # by offset
    asked: int = 0  # up to this offset
    size: int | None = None  # once the end has come


@dataclass(slots=True)
class _Asked:
    query: ObjectQuery
    arrived: int | None = None  # up to this number the application has everything
    began: int | None = None  # pages have what arrived up to this number; it is told of the rest


class ObjectUplink:
    """Sends the client's messages by `send`, and hands the broker's to the client by `receive`.

    `reached(query, arrival)` is called after each notification, and `confirm` is to be called with the same
    arguments when the application has taken its objects: the broker sends a bounded number unconfirmed.
    """

    def __init__(
        self,
        send: Callable[[StorageMessage], None],
        receive: Callable[[StorageMessage], None],
        reached: Callable[[int, int], None],
    ) -> None:
        self._send = send
        self._receive = receive
        self._reached = reached
        self._uploads: dict[int, bytes] = {}  # by operation
        self._downloads: dict[int, _Download] = {}
        self._queries: dict[int, _Asked] = {}

    # -- what the client says -----------------------------------------------------------------------------

    def send(self, message: StorageMessage) -> None:
        """Send a message of the client's; of a large upload or download, begin the transfer. Raises
        MalformedMessage."""
        if isinstance(message, Insert) and message.data is not None and len(message.data) > INLINE_BYTES:
            self._uploads[message.op] = message.data
            message = Insert(message.op, message.metadata, None)
        elif isinstance(message, Retrieve):
            self._fetch(message)
            return
        elif isinstance(message, Ask) and message.live:
            known = self._queries.setdefault(message.query.id, _Asked(message.query))
            message.arrived = known.arrived
        elif isinstance(message, Ask) and message.query.id in self._queries:
            message.arrived = self._queries[message.query.id].began
        elif isinstance(message, Withdraw):
            self._queries.pop(message.query, None)
        self._send(message)

    def confirm(self, query: int, arrival: int) -> None:
        """Note that the application has taken all objects up to a number of arrival, and tell the broker."""
        known = self._queries.get(query)
        if known is not None:
            known.arrived = max(known.arrived or 0, arrival)
            self._go_on(known)

    def connected(self) -> None:
        """Continue the live queries on another connection. Operations are not repeated here, but by the
        core's `Operations`."""
        for known in self._queries.values():
            if known.arrived is not None:
                self._go_on(known)

    def forget(self) -> None:
        """Drop all transfers and queries: the broker has forgotten the client."""
        self._uploads.clear()
        self._downloads.clear()
        self._queries.clear()

    # -- what the broker says -----------------------------------------------------------------------------

    def received(self, message: StorageMessage) -> None:
        """Take a message of the broker's, and hand it over when it is complete."""
        match message:
            case Retrieve():
                self._part_wanted(message)
            case Retrieved():
                self._part_came(message)
            case FoundObjects():
                known = self._queries.get(message.query)
                if known is not None and known.arrived is None and message.op:
                    known.arrived = known.began = message.arrived
                self._receive(message)
                if not message.op:
                    self._reached(message.query, message.arrived)
            case Acknowledge():
                self._uploads.pop(message.op, None)
                self._downloads.pop(message.op, None)
                self._receive(message)
            case _:
                self._receive(message)

    def _part_wanted(self, message: Retrieve) -> None:
        data = self._uploads.get(message.op)
        if data is not None:
            end = message.offset + min(message.length or PART_BYTES, PART_BYTES)
            self._send(Chunk(message.op, message.key, message.offset, data[message.offset : end]))

    def _fetch(self, message: Retrieve) -> None:
        download = self._downloads.get(message.op)
        if download is None:
            download = self._downloads[message.op] = _Download(message.key)
        download.asked = 0
        while download.asked in download.parts:
            download.asked += PART_BYTES
        self._ask(message.op, download)

    def _part_came(self, message: Retrieved) -> None:
        download = self._downloads.get(message.op)
        if download is None or message.offset % PART_BYTES:
            return
        if message.data is None or len(download.parts) > MOST_AWAITED:
            del self._downloads[message.op]
            self._receive(Retrieved(message.op, message.key))
            return
        if message.data:
            download.parts[message.offset] = message.data
        if len(message.data) < PART_BYTES:
            end = message.offset + len(message.data)
            download.size = end if download.size is None else min(download.size, end)
        if download.size is not None and sum(map(len, download.parts.values())) >= download.size:
            del self._downloads[message.op]
            whole = b"".join(data for _, data in sorted(download.parts.items()))
            self._receive(Retrieved(message.op, message.key, whole))
            return
        self._ask(message.op, download)

    def _ask(self, op: int, download: _Download) -> None:
        """Ask for the next parts of a download: one at first, several once it is known to be large."""
        most = PARTS_ASKED if download.parts else 1
        awaited = download.asked // PART_BYTES - len(download.parts)
        while awaited < most and download.size is None:
            self._send(Retrieve(op, download.key, download.asked, PART_BYTES))
            download.asked += PART_BYTES
            awaited += 1

    def _go_on(self, known: _Asked) -> None:
        self._send(Ask(0, known.query, limit=0, arrived=known.arrived))
