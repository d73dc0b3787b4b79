"""The packets of the link that carries datagrams to neighbours: pieces of datagrams, and acknowledgements.

A packet is the content of one authenticated UDP datagram. No frame begins with the byte that it begins with.
"""

from __future__ import annotations

from enum import IntEnum
from struct import Struct
from typing import NamedTuple

from bypass.live.adhoc.datagrams import MOST_CONTENT
from bypass.ports.datagrams import STORAGE_PORT
from bypass.protocol.wire.codec import MAX_MESSAGE_BYTES

MARK = 0  # the number of no field: an encoded message cannot begin with it
MOST_PIECE = 1300
MOST_PARTS = -(-MAX_MESSAGE_BYTES // MOST_PIECE)

_HEADER = Struct("!BBBIQQHH")  # mark, port, kind, target, session, number, part, parts
assert _HEADER.size + MOST_PIECE <= MOST_CONTENT


class LinkPacketKind(IntEnum):
    """The kinds of packets."""

    BROADCAST = 0
    UNICAST = 1
    ACK = 2


_KINDS = {int(kind): kind for kind in LinkPacketKind}


class LinkPacket(NamedTuple):
    """Piece number `part` of a datagram in `parts` parts, or the acknowledgement of one.

    `target` is the number of the device that it is for, 0 of a broadcast. `session` is when the sender's link
    began, in microseconds since 1970, and `number` counts its packets from then on; an acknowledgement names
    those of what it acknowledges. The pieces of a datagram have numbers that follow each other.
    """

    kind: LinkPacketKind
    target: int
    session: int
    number: int
    part: int = 0
    parts: int = 1
    piece: bytes = b""

    def pack(self) -> bytes:
        """The packet as the content of a UDP datagram."""
        kind, target, session, number, part, parts, piece = self
        return _HEADER.pack(MARK, STORAGE_PORT, kind, target, session, number, part, parts) + piece


def is_link_packet(content: bytes) -> bool:
    """Say whether a content is a packet of the link, well formed or not, and no frame."""
    return content[:1] == bytes((MARK,))


def unpack(content: bytes) -> LinkPacket | None:
    """The packet that is packed like this; None if there is no such one."""
    if len(content) < _HEADER.size:
        return None
    _, port, kind, target, session, number, part, parts = _HEADER.unpack_from(content)
    piece = content[_HEADER.size :]
    if port != STORAGE_PORT or kind not in _KINDS or not part < parts <= MOST_PARTS or number < part:
        return None
    last = part == parts - 1
    if kind == LinkPacketKind.ACK:
        fits = not piece
    else:
        fits = 0 < len(piece) <= MOST_PIECE if last else len(piece) == MOST_PIECE
    return LinkPacket(_KINDS[kind], target, session, number, part, parts, piece) if fits else None


def pieces(data: bytes) -> list[bytes]:
    """Cut a datagram into the pieces that packets carry."""
    return [data[start : start + MOST_PIECE] for start in range(0, len(data), MOST_PIECE)]
