"""Several messages in one packet: sending one is what costs, not how long it is."""

from __future__ import annotations

from collections.abc import Sequence

from google.protobuf.message import Error as ProtobufError

from bypass.errors import shown
from bypass.protocol.wire import bypass_pb2 as pb
from bypass.protocol.wire.codec import MAX_MESSAGE_BYTES, MalformedMessage
from bypass.protocol.wire.fields import varint

MAX_PACKET_BYTES = 2 * MAX_MESSAGE_BYTES
MOST_MESSAGES = 4096
"""How many messages a packet can have."""

_FIRST = 0x0A  # no message begins like this


def preceding(size: int) -> bytes:
    """Give the bytes before a message of so many bytes in a packet with several."""
    return b"\x0a" + varint(size)


def pack(messages: Sequence[bytes]) -> bytes:
    """One packet with these messages; a single one is sent as it is.

    Raises MalformedMessage for none, for more than MOST_MESSAGES and for more than MAX_PACKET_BYTES.
    """
    if len(messages) == 1:
        return messages[0]
    _check_count(len(messages))
    packet = b"".join([part for each in messages for part in (preceding(len(each)), each)])
    _check_size(len(packet))
    return packet


def unpack(packet: bytes) -> Sequence[bytes]:
    """The messages in a packet; they may still be malformed. Raises MalformedMessage."""
    _check_size(len(packet))
    if not packet or packet[0] != _FIRST:
        return (packet,)
    try:
        messages = pb.Packet.FromString(packet).messages
    except ProtobufError as error:
        raise MalformedMessage(f"packet {shown(packet)}: {error}") from error
    _check_count(len(messages))
    return messages


def _check_size(size: int) -> None:
    if size > MAX_PACKET_BYTES:
        raise MalformedMessage(f"packet of {size} bytes: expected at most {MAX_PACKET_BYTES}")


def _check_count(count: int) -> None:
    if not 0 < count <= MOST_MESSAGES:
        raise MalformedMessage(f"packet of {count} messages: expected 1 to {MOST_MESSAGES}")
