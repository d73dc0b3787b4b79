"""The base of parsers, and the table of those that are built in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple

from bypass.errors import shown
from bypass.ingest.parsers.schema import ParserSchema
from bypass.ingest.parsers.values import READERS
from bypass.ingest.rejection import Rejected
from bypass.ports.measurements import LAST_TIME, Measurement
from bypass.support.extensions import load

PARSERS: Mapping[str, str] = {
    "json": "bypass.ingest.parsers.json:JsonParser",
    "protobuf": "bypass.ingest.parsers.protobuf:ProtobufParser",
    "csv": "bypass.ingest.parsers.csv:CsvParser",
    "text": "bypass.ingest.parsers.text:TextParser",
    "cbor": "bypass.ingest.parsers.cbor:CborParser",
    "senml": "bypass.ingest.parsers.senml:SenmlParser",
    "senml-cbor": "bypass.ingest.parsers.senml:SenmlCborParser",
}
"""Parsers that are built in, by name."""

_NEW: Callable[[type[Measurement], tuple[object, ...]], Measurement] = tuple.__new__  # twice as fast


class Parsed(NamedTuple):
    """The contents of a message: the device that it says it is from, if it says so, and measurements."""

    device: str | None
    measurements: list[Measurement]


class Parser(ABC):
    """Turns a message into measurements; derive from it to bring a form of your own.

    A parser keeps nothing between messages. The same content gives the same measurements in every form: a
    value has the type that the message or the schema's table says, or that its form says beyond doubt.
    """

    def __init__(self, schema: ParserSchema) -> None:
        """Raises ValueError for a schema that this form cannot have."""
        self.schema = schema
        self._names = {
            name: (each.metric, each.type, each.uom or None) for name, each in schema.names.items()
        }
        self._longest = schema.longest_label
        self._most = schema.most_measurements

    @abstractmethod
    def parse(self, data: bytes, received: int) -> Parsed:
        """Read a message that came at `received`, in milliseconds; its measurements have that time if it
        says none. Raises Rejected with the stage "parse"."""

    def measurement(
        self, time: object, name: str, kind: str | None, value: object, uom: str | None
    ) -> Measurement:
        """Make a measurement of what a message says, after the schema's table and limits.

        Raises Rejected: a name, unit, time or value that cannot be taken is never changed into one that can.
        """
        if name in self._names:
            metric, known, unit = self._names[name]
            if kind is None:
                kind = known
            elif known is not None and kind != known:
                raise Rejected("parse", "type", f"{shown(name)} is {shown(kind)}: expected {known}")
            uom = uom or unit
        elif self.schema.only_names:
            raise Rejected("parse", "unknown name", shown(name))
        else:
            metric = name
        if not 0 < len(metric) <= self._longest or (uom and len(uom) > self._longest):
            raise Rejected("parse", "label", f"{shown(metric)}: expected 1 to {self._longest} characters")
        if type(time) is not int or not 0 <= time <= LAST_TIME:
            raise Rejected("parse", "timestamp", f"{shown(time)}: expected milliseconds since 1970")
        read = READERS.get(kind or "")
        if read is None:
            raise Rejected("parse", "type", f"{shown(name)} is {shown(kind)}: expected {', '.join(READERS)}")
        return _NEW(Measurement, (time, metric, kind, read(value), uom or None))

    def type_of(self, name: str) -> str | None:
        """Give the type that the schema's table has for a name; None if it has none."""
        return self._names[name][1] if name in self._names else None

    def check_number(self, measurements: int) -> None:
        """Refuse a message with more measurements than the schema allows. Raises Rejected."""
        if measurements > self._most:
            raise Rejected("parse", "too many", f"{measurements}: expected at most {self._most}")


def find_parser(name: str) -> type[Parser]:
    """Find a parser that is built in, or the class that a reference leads to. Raises ValueError."""
    if ":" not in name and name not in PARSERS:
        raise ValueError(f"is {shown(name)}: expected one of {', '.join(PARSERS)}, or module:Class")
    parser = load(PARSERS.get(name, name))
    if not (isinstance(parser, type) and issubclass(parser, Parser)):
        raise ValueError(f"is {shown(name)}: expected a class derived from Parser")
    return parser


@lru_cache(maxsize=1024)
def make_parser(name: str, schema: str) -> Parser:
    """Make the parser of all devices that have the same one, and the same schema, in JSON. Raises
    ValueError."""
    return find_parser(name)(ParserSchema.model_validate_json(schema))
