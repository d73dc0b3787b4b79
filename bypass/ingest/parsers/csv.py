"""Messages in CSV: rows of columns that the schema names."""

from __future__ import annotations

import csv
from io import StringIO

from bypass.errors import shown
from bypass.ingest.parsers.parser import Parsed, Parser
from bypass.ingest.parsers.schema import ParserSchema
from bypass.ingest.parsers.values import written
from bypass.ingest.rejection import Rejected
from bypass.ports.measurements import Measurement

_LONG = ("metric", "value")
_CONTEXT = ("id", "timestamp", "metric", "value", "type", "uom")


class CsvParser(Parser):
    """Reads rows without a header, in UTF-8; quotes are as in RFC 4180.

    With the columns `metric` and `value` a row is one measurement, and has `type` and `uom` as well if these
    are columns. Otherwise each column but `id` and `timestamp` is a short name of the schema's table, which
    has its type; an empty cell is no measurement.
    """

    def __init__(self, schema: ParserSchema) -> None:
        super().__init__(schema)
        columns = schema.columns
        if len(set(columns)) < len(columns):
            raise ValueError(f"columns is {shown(columns)}: expected columns that differ")
        self._wide = not any(column in _LONG for column in columns)
        for column in columns:
            if column not in _CONTEXT and not (self._wide and self.type_of(column)):
                raise ValueError(f"columns has {shown(column)}: expected names that have a type in `names`")
        if not self._wide and not set(_LONG) <= set(columns):
            raise ValueError(f"columns is {shown(columns)}: expected both metric and value, or neither")

    def parse(self, data: bytes, received: int) -> Parsed:
        """Read a message. Raises Rejected."""
        columns = self.schema.columns
        device: str | None = None
        measurements: list[Measurement] = []
        try:
            for row in csv.reader(StringIO(data.decode(), newline=""), strict=True):
                if not row:
                    continue
                if len(row) != len(columns):
                    raise Rejected("parse", "columns", f"{len(row)}: expected {len(columns)}")
                cells = dict(zip(columns, row, strict=True))
                claimed = cells.pop("id", "") or None
                if None not in (device, claimed) and claimed != device:
                    raise Rejected("parse", "another device", "rows are of several: expected one")
                device = claimed or device
                stamp = cells.pop("timestamp", "")
                time = written(stamp, "Long") if stamp else received
                measurements += self._wide_row(time, cells) if self._wide else [self._long_row(time, cells)]
                self.check_number(len(measurements))
        except (UnicodeDecodeError, csv.Error) as error:
            raise Rejected("parse", "malformed", str(error)) from None
        return Parsed(device, measurements)

    def _long_row(self, time: object, cells: dict[str, str]) -> Measurement:
        name = cells["metric"]
        kind = cells.get("type") or self.type_of(name)
        return self.measurement(time, name, kind, written(cells["value"], kind), cells.get("uom"))

    def _wide_row(self, time: object, cells: dict[str, str]) -> list[Measurement]:
        return [
            self.measurement(time, name, None, written(text, self.type_of(name)), None)
            for name, text in cells.items()
            if text
        ]
