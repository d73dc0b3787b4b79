"""Messages in CBOR: the same fields as in JSON, and values that have types of their own."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import cbor2
import msgspec

from bypass.ingest.parsers.parser import Parsed, Parser
from bypass.ingest.rejection import Rejected

TYPES: dict[type, str] = {int: "Long", float: "Double", str: "String", bytes: "Bytes"}
"""The type of a value that CBOR has; no others can be measured."""


class _Telemetry(msgspec.Struct):
    metric: str
    value: Any
    type: str | None = None
    uom: str | None = None
    timestamp: int | None = None


class _Message(msgspec.Struct):
    telemetries: list[_Telemetry]
    id: str | None = None
    timestamp: int | None = None


def decode_cbor(data: bytes) -> Any:
    """Decode one item of CBOR that is all there is. Raises Rejected."""
    stream = BytesIO(data)
    try:
        item = cbor2.CBORDecoder(stream).decode()
    except Exception as error:  # hostile bytes make it raise errors of many kinds
        raise Rejected("parse", "malformed", f"{type(error).__name__}: {error}") from None
    if stream.read(1):
        raise Rejected("parse", "malformed", "expected nothing behind the message")
    return item


class CborParser(Parser):
    """Reads maps {id, timestamp, telemetries: [{metric, uom, value, type, timestamp}]}.

    All but `metric` and `value` may be missing. Without a `type`, and none in the schema's table, the value
    has the one that CBOR gives it.
    """

    def parse(self, data: bytes, received: int) -> Parsed:
        """Read a message. Raises Rejected."""
        try:
            message = msgspec.convert(decode_cbor(data), _Message)
        except (ValueError, RecursionError) as error:
            raise Rejected("parse", "malformed", str(error)) from None
        self.check_number(len(message.telemetries))
        time = received if message.timestamp is None else message.timestamp
        return Parsed(
            message.id,
            [
                self.measurement(
                    time if each.timestamp is None else each.timestamp,
                    each.metric,
                    each.type or self.type_of(each.metric) or TYPES.get(type(each.value)),
                    each.value,
                    each.uom,
                )
                for each in message.telemetries
            ],
        )
