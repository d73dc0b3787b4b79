"""The wire format: what a message looks like between hosts, and how many bytes it takes."""

from bypass.wire.bodies import MOST_IDS
from bypass.wire.codec import (
    MAX_MESSAGE_BYTES,
    PROTOCOL_VERSION,
    MalformedMessage,
    decode,
    encode,
    piggyback_size,
)
from bypass.wire.sizes import digest_size, encoded_size, frame_size, notify_size
from bypass.wire.values import register_value_type

__all__ = [
    "MAX_MESSAGE_BYTES",
    "MOST_IDS",
    "PROTOCOL_VERSION",
    "MalformedMessage",
    "decode",
    "digest_size",
    "encode",
    "encoded_size",
    "frame_size",
    "notify_size",
    "piggyback_size",
    "register_value_type",
]
