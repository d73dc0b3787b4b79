"""Dead letters on their way through the log once more: each says which letter it is.

The identity of the letter tells copies: a replay that was killed may have logged a letter that the next one
logs again.
"""

from __future__ import annotations

import struct

from bypass.ingest.names import REPLAYS
from bypass.ingest.rejection import Rejected
from bypass.ingest.stream.identities import identity

_HEAD = struct.Struct(">HQ")


def encode_replay(log: str, sequence: int, payload: bytes) -> bytes:
    """The payload of a letter's record, with the place of the message that the letter has."""
    name = log.encode()
    return _HEAD.pack(len(name), sequence) + name + payload


def decode_replay(data: bytes) -> tuple[int, bytes]:
    """The identity of the letter, and its payload. Raises Rejected if the record is of no letter."""
    end = _HEAD.size
    if len(data) >= end:
        end += _HEAD.unpack_from(data)[0]
    if len(data) < end:
        raise Rejected("replay", "malformed replay", f"{len(data)} bytes: expected {end} at least")
    return identity(REPLAYS, data[:end]), data[end:]
