"""Dead letters on their way through the log once more: each says which letter it is.

The identity of the letter tells copies: a replay that was killed may have logged a letter that the next one
logs again.
"""

from __future__ import annotations

import struct

from bypass.ingest.stream.identities import identity

REPLAYS = "replay"
"""The writer of messages that an operator sends through once more: they are not taken for copies of
messages."""

_HEAD = struct.Struct(">HQ")


def encode_replay(log: str, sequence: int, payload: bytes) -> bytes:
    """The payload of a letter's record, with the place of the message that the letter has."""
    name = log.encode()
    return _HEAD.pack(len(name), sequence) + name + payload


def decode_replay(data: bytes) -> tuple[int, bytes]:
    """The identity of the letter, and its payload."""
    length, _ = _HEAD.unpack_from(data)
    end = _HEAD.size + length
    return identity(REPLAYS, data[:end]), data[end:]
