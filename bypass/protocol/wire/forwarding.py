"""Notifications made from a publication as it came, for many clients at once.

They are the bytes that `encode` makes of a `Notify`, except that fields of the publication that are not known
here are passed on as well. What all recipients share is put together once.

`decode_raw` lets no publication in whose notifications recipients could not read.
"""

from __future__ import annotations

from struct import pack
from typing import NamedTuple

from bypass.places.areas import Area
from bypass.protocol.wire import bypass_pb2 as pb
from bypass.protocol.wire.area_fields import write_area
from bypass.protocol.wire.codec import MAX_MESSAGE_BYTES, PROTOCOL_VERSION, MalformedMessage
from bypass.protocol.wire.fields import varint

_VERSION = bytes((0x08, PROTOCOL_VERSION))


def recipient(client: int) -> bytes:
    """How every notification for a client begins."""
    return _VERSION + b"\x15" + pack("<I", client)


_BEGINNING = len(recipient(0))


class Forwarding:
    """Notifications of one publication; `raw` is its body as it came. `epoch` is the broker's, `name` the
    publisher's. Clients that are not `rich` know of no names, and of no truth values: they get 0 and 1.

    Raises struct.error for numbers out of range, and MalformedMessage for a notification of more than
    MAX_MESSAGE_BYTES: one for too many handles or targets.
    """

    __slots__ = ("_epoch", "_name", "_plain", "_publication", "_publisher", "_shared")

    def __init__(
        self, raw: bytes, publisher: int, scheme: int, publisher_epoch: int, epoch: int, name: str = ""
    ) -> None:
        self._publication = b"\x0a" + varint(len(raw)) + raw
        self._plain: bytes | None = None  # the same without truth values, once somebody needs it
        encoded = name.encode()
        self._name = b"\x4a" + varint(len(encoded)) + encoded if encoded else b""
        self._publisher = b"\x25" + pack("<I", publisher)
        if scheme:
            self._publisher += b"\x28" + varint(scheme)
        if publisher_epoch:
            self._publisher += b"\x35" + pack("<I", publisher_epoch)
        self._epoch = b"\x18\x00\x25" + pack("<I", epoch)
        self._shared: dict[tuple[tuple[int, ...], bool, bool], bytes] = {}

    def rest(self, handles: tuple[int, ...], unfiltered: bool, rich: bool = True) -> bytes:
        """Give the bytes after the beginning for each client with these handles."""
        rest = self._shared.get((handles, unfiltered, rich))
        if rest is None:
            rest = self._shared[handles, unfiltered, rich] = self._rest(handles, unfiltered, b"", rich)
        return rest

    def relayed(self, handles: tuple[int, ...], targets: tuple[int, ...], rich: bool = True) -> bytes:
        """Give the bytes after the beginning for a client that passes the event on to these addresses."""
        relay = b"\x38\x01"
        if targets:
            relay += b"\x42" + varint(8 * len(targets)) + pack(f"<{len(targets)}Q", *targets)
        return self._rest(handles, False, relay, rich)

    def _rest(self, handles: tuple[int, ...], unfiltered: bool, relay: bytes, rich: bool) -> bytes:
        packed = b""
        if handles:
            packed = b"\x12" + varint(4 * len(handles)) + pack(f"<{len(handles)}I", *handles)
        if unfiltered:
            packed += b"\x18\x01"
        if rich:
            body = self._publication + packed + self._publisher + relay + self._name
        else:
            if self._plain is None:
                self._plain = _without_truths(self._publication)
            body = self._plain + packed + self._publisher + relay
        rest = self._epoch + b"\x4a" + varint(len(body)) + body
        if (size := _BEGINNING + len(rest)) > MAX_MESSAGE_BYTES:
            raise MalformedMessage(f"Notify of {size} bytes: expected at most {MAX_MESSAGE_BYTES}")
        return rest


class RawScope(NamedTuple):
    """Whether the body of a publication has an area, and its lifetime in microseconds, None without end."""

    area: bool
    lifetime: int | None


def scope_of(raw: bytes) -> RawScope:
    """Read for whom, and how long, a publication is."""
    body = pb.Publish.FromString(raw)
    return RawScope(body.HasField("area"), body.lifetime_us if body.HasField("lifetime_us") else None)


def with_area(raw: bytes, area: Area) -> bytes:
    """Give the body of a publication with another area; what is not known here stays."""
    body = pb.Publish.FromString(raw)
    body.ClearField("area")
    write_area(body.area, area)
    return body.SerializeToString()


def _without_truths(publication: bytes) -> bytes:
    """The publication of a notification with numbers in the place of truth values."""
    notify = pb.Notify.FromString(publication)
    truths = [value for value in notify.publication.attributes if value.WhichOneof("value") == "truth"]
    for value in truths:
        value.integer = int(value.truth)
    return notify.SerializeToString() if truths else publication
