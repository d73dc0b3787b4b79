"""Messages in plain text: lines of `name=value`, or a value alone."""

from __future__ import annotations

from bypass.errors import shown
from bypass.ingest.parsers.parser import Parsed, Parser
from bypass.ingest.parsers.schema import ParserSchema
from bypass.ingest.parsers.values import written
from bypass.ingest.rejection import Rejected
from bypass.ports.measurements import Measurement


class TextParser(Parser):
    """Reads lines `name=value` in UTF-8, each a measurement whose name and type are in the schema's table.

    `id=` and `timestamp=` say who writes and when; the time counts for the lines behind it. A line without a
    name is a value of the table's entry for the empty name, whatever it contains then.
    """

    def __init__(self, schema: ParserSchema) -> None:
        super().__init__(schema)
        for name, each in schema.names.items():
            if each.type is None:
                raise ValueError(f"names has {shown(name)} without a type: expected one, text has none")
        self._values_alone = "" in schema.names
        if self._values_alone and len(schema.names) > 1:
            raise ValueError("names has the empty one: expected no others beside it")

    def parse(self, data: bytes, received: int) -> Parsed:
        """Read a message. Raises Rejected."""
        try:
            lines = data.decode().removesuffix("\n").split("\n")
        except UnicodeDecodeError as error:
            raise Rejected("parse", "malformed", str(error)) from None
        self.check_number(len(lines) - 2)  # two of them may say who and when
        device: str | None = None
        time: object = received
        measurements: list[Measurement] = []
        for line in lines:
            name, separator, text = line.removesuffix("\r").partition("=")
            if self._values_alone:
                name, text = "", line.removesuffix("\r")
            elif not separator:
                if line.strip():
                    raise Rejected("parse", "malformed", f"{shown(line)}: expected name=value")
                continue
            if name == "id":
                device = text
            elif name == "timestamp":
                time = written(text, "Long")
            elif name in self._names:
                kind = self.type_of(name)
                measurements.append(self.measurement(time, name, kind, written(text, kind), None))
            else:
                raise Rejected("parse", "unknown name", shown(name))
        self.check_number(len(measurements))
        return Parsed(device, measurements)
