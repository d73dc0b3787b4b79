"""Messages in SenML (RFC 8428), in JSON and in CBOR: records that share base values."""

from __future__ import annotations

from base64 import b64decode
from contextlib import suppress
from typing import Any

import msgspec

from bypass.errors import shown
from bypass.ingest.parsers.cbor import decode_cbor
from bypass.ingest.parsers.parser import Parsed, Parser
from bypass.ingest.rejection import Rejected
from bypass.ports.measurements import Measurement

_LABELS = {
    -1: "bver", -2: "bn", -3: "bt", -4: "bu", -5: "bv", -6: "bs",
    0: "n", 1: "u", 2: "v", 3: "vs", 4: "vb", 5: "s", 6: "t", 7: "ut", 8: "vd",
}  # fmt: skip
_RELATIVE = 1 << 28
"""Times below are relative to the time at which the message came, in seconds."""

_decode = msgspec.json.Decoder(list[dict[str, Any]]).decode


class SenmlParser(Parser):
    """Reads packs of records in JSON. A metric is the base name and the name; the schema's table may have it
    whole, or the name alone. Numbers are of the type that the table says, or Double. Booleans and sums are no
    measurements here and are refused."""

    def parse(self, data: bytes, received: int) -> Parsed:
        """Read a message. Raises Rejected."""
        try:
            records = _decode(data)
        except (ValueError, RecursionError) as error:
            raise Rejected("parse", "malformed", str(error)) from None
        return self._read(records, received)

    def _read(self, records: list[dict[str, Any]], received: int) -> Parsed:
        self.check_number(len(records))
        base: dict[str, Any] = {}
        measurements = []
        for record in records:
            for key in record:
                if key not in _KNOWN and key.endswith("_"):
                    raise Rejected(
                        "parse", "malformed", f"{shown(key)}: expected no field that must be known"
                    )
            base.update((key, value) for key, value in record.items() if key in _BASES)
            if not record.keys() <= _BASES:
                measurements.append(self._measurement(base, record, received))
        return Parsed(None, measurements)

    def _measurement(self, base: dict[str, Any], record: dict[str, Any], received: int) -> Measurement:
        if base.get("bver", 10) != 10:
            raise Rejected("parse", "malformed", f"bver is {shown(base['bver'])}: expected 10")
        name, unit = record.get("n", ""), record.get("u", base.get("bu"))
        whole = _text(base.get("bn", "")) + _text(name)
        label = name if whole not in self._names and name in self._names else whole
        value, kind = self._value(base, record, self.type_of(label))
        time = _milliseconds(base.get("bt", 0), record.get("t", 0), received)
        return self.measurement(time, label, kind, value, None if unit is None else _text(unit))

    def _value(self, base: dict[str, Any], record: dict[str, Any], known: str | None) -> tuple[object, str]:
        found = record.keys() & _VALUES
        if len(found) != 1 or found & {"vb", "s"} or "bs" in base:
            raise Rejected("parse", "value", f"{', '.join(sorted(found)) or 'none'}: expected v, vs or vd")
        (field,) = found
        value = record[field]
        if field == "vs":
            return value, known or "String"
        if field == "vd":
            return _binary(value), known or "Bytes"
        return _sum(value, base.get("bv", 0)), known or "Double"


class SenmlCborParser(SenmlParser):
    """Reads packs of records in CBOR, where labels may be numbers."""

    def parse(self, data: bytes, received: int) -> Parsed:
        """Read a message. Raises Rejected."""
        pack = decode_cbor(data)
        if not isinstance(pack, list) or not all(isinstance(each, dict) for each in pack):
            raise Rejected("parse", "malformed", "expected an array of maps")
        return self._read([{_label(key): value for key, value in each.items()} for each in pack], received)


_URL_SAFE = str.maketrans("-_", "+/", "=")
_BASES = frozenset(("bver", "bn", "bt", "bu", "bv", "bs"))
_VALUES = frozenset(("v", "vs", "vb", "vd", "s"))
_KNOWN = _BASES | _VALUES | {"n", "u", "t", "ut"}


def _label(key: object) -> str:
    if type(key) is int and key in _LABELS:
        return _LABELS[key]
    return key if isinstance(key, str) else ""


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise Rejected("parse", "malformed", f"{shown(value)}: expected text")


def _sum(base: object, own: object) -> int | float:
    if type(base) in (int, float) and type(own) in (int, float):
        with suppress(OverflowError):  # integers of CBOR may be larger than any float
            return base + own  # type: ignore[operator,no-any-return]
    raise Rejected("parse", "value", f"{shown(base)}, {shown(own)}: expected numbers")


def _binary(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    try:
        text = _text(value).translate(_URL_SAFE)
        return b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        raise Rejected("parse", "value", f"{shown(value)}: expected Base64") from None


def _milliseconds(base: object, own: object, received: int) -> int:
    """Give the time of a record: its base time and its own, in seconds, absolute or relative to now."""
    seconds = _sum(base, own)
    try:
        time = round(seconds * 1000)
    except (OverflowError, ValueError):  # no number
        raise Rejected("parse", "timestamp", f"{shown(seconds)}: expected seconds") from None
    return time if seconds >= _RELATIVE else received + time
