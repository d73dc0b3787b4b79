"""The wire format: what a message looks like between hosts, and how many bytes it takes."""

from bypass.protocol.wire.bodies import MOST_IDS, Contexts
from bypass.protocol.wire.codec import (
    CODEC,
    MAX_MESSAGE_BYTES,
    MAX_PUBLISH_BYTES,
    NO_CONTEXTS,
    PROTOCOL_VERSION,
    Codec,
    MalformedMessage,
    UnknownVersion,
    decode,
    decode_raw,
    encode,
    outline,
    piggyback_size,
)
from bypass.protocol.wire.forwarding import Forwarding, recipient
from bypass.protocol.wire.packets import MAX_PACKET_BYTES, MOST_MESSAGES, pack, preceding, unpack
from bypass.protocol.wire.sizes import datagram_size, digest_size, encoded_size, frame_size, notify_size
from bypass.protocol.wire.values import ValueTypes, register_value_type

__all__ = [
    "CODEC",
    "MAX_MESSAGE_BYTES",
    "MAX_PACKET_BYTES",
    "MAX_PUBLISH_BYTES",
    "MOST_IDS",
    "MOST_MESSAGES",
    "NO_CONTEXTS",
    "PROTOCOL_VERSION",
    "Codec",
    "Contexts",
    "Forwarding",
    "MalformedMessage",
    "UnknownVersion",
    "ValueTypes",
    "datagram_size",
    "decode",
    "decode_raw",
    "digest_size",
    "encode",
    "encoded_size",
    "frame_size",
    "notify_size",
    "outline",
    "pack",
    "piggyback_size",
    "preceding",
    "recipient",
    "register_value_type",
    "unpack",
]
