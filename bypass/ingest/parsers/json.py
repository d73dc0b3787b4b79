"""Messages in JSON: an id, a timestamp, and telemetries with metric, unit, value and type."""

from __future__ import annotations

import msgspec

from bypass.ingest.parsers.parser import Parsed, Parser
from bypass.ingest.rejection import Rejected


class _Telemetry(msgspec.Struct, gc=False):
    metric: str
    value: int | float | str
    type: str | None = None
    uom: str | None = None
    timestamp: int | None = None


class _Message(msgspec.Struct, gc=False):
    telemetries: list[_Telemetry]
    id: str | None = None
    timestamp: int | None = None


_decode = msgspec.json.Decoder(_Message).decode


class JsonParser(Parser):
    """Reads objects {id, timestamp, telemetries: [{metric, uom, value, type, timestamp}]}.

    Of these `id`, `uom` and times may be missing, and `type` if the schema's table has it. A telemetry's own
    time counts before the message's. Bytes are in Base64.
    """

    def parse(self, data: bytes, received: int) -> Parsed:
        """Read a message. Raises Rejected."""
        try:
            message = _decode(data)
        except (ValueError, RecursionError) as error:
            raise Rejected("parse", "malformed", str(error)) from None
        telemetries = message.telemetries
        self.check_number(len(telemetries))
        time = received if message.timestamp is None else message.timestamp
        measurement = self.measurement
        return Parsed(
            message.id,
            [
                measurement(
                    time if each.timestamp is None else each.timestamp,
                    each.metric,
                    each.type,
                    each.value,
                    each.uom,
                )
                for each in telemetries
            ],
        )
