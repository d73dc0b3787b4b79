"""The wire format: what a message looks like between hosts, and how many bytes it takes."""

from typing import TYPE_CHECKING

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
from bypass.protocol.wire.forwarding import Forwarding, recipient, scope_of, with_area
from bypass.protocol.wire.packets import MAX_PACKET_BYTES, MOST_MESSAGES, pack, preceding, unpack
from bypass.protocol.wire.values import ValueTypes, register_value_type
from bypass.support.lazy import lazy_names

if TYPE_CHECKING:
    from bypass.protocol.wire.sizes import (
        datagram_size,
        digest_size,
        encoded_size,
        frame_size,
        notify_size,
    )
else:  # those of datagrams and objects, which most clients do without
    _SIZES = ("datagram_size", "digest_size", "encoded_size", "frame_size", "notify_size")
    __getattr__ = lazy_names(__name__, dict.fromkeys(_SIZES, "bypass.protocol.wire.sizes"))

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
    "scope_of",
    "unpack",
    "with_area",
]
