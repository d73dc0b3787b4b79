"""Messages in Protocol Buffers, as telemetry.proto has them."""

from __future__ import annotations

from google.protobuf.message import DecodeError

from bypass.ingest.parsers.parser import Parsed, Parser
from bypass.ingest.parsers.telemetry_pb2 import DeviceMessage
from bypass.ingest.rejection import Rejected

_TYPES = {
    "string_value": "String",
    "long_value": "Long",
    "double_value": "Double",
    "bytes_value": "Bytes",
}


class ProtobufParser(Parser):
    """Reads a `DeviceMessage`; the type of a value is that of its field."""

    def parse(self, data: bytes, received: int) -> Parsed:
        """Read a message. Raises Rejected."""
        try:
            message = DeviceMessage.FromString(data)
        except DecodeError as error:
            raise Rejected("parse", "malformed", str(error)) from None
        telemetries = message.telemetries
        self.check_number(len(telemetries))
        time = message.timestamp if message.HasField("timestamp") else received
        measurements = []
        for each in telemetries:
            field = each.WhichOneof("value")
            if field is None:
                raise Rejected("parse", "value", "telemetry has none: expected one")
            measurements.append(
                self.measurement(
                    each.timestamp if each.HasField("timestamp") else time,
                    each.metric,
                    _TYPES[field],
                    getattr(each, field),
                    each.uom,
                )
            )
        return Parsed(message.id if message.HasField("id") else None, measurements)
