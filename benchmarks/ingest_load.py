"""Messages of `ingest.py`: two telemetries each, in all forms and suites, in a log as connectors write it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import cbor2

from bypass.ingest.categories import partition_of
from bypass.ingest.connectors.durability import LogDurability
from bypass.ingest.devices.device import make_device
from bypass.ingest.devices.key_store import KeyStore
from bypass.ingest.devices.registry import DeviceRegistry
from bypass.ingest.folder import IngestFolder
from bypass.ingest.log.block import Records
from bypass.ingest.log.segment_log import LogLimits, SegmentLog
from bypass.ingest.parsers.telemetry_pb2 import DeviceMessage, Telemetry
from bypass.ingest.sealing import Sealer
from bypass.ingest.security.suite import SUITES, find_suite

BLOCK = 10_000
"""Messages that are appended together."""

T = 1_531_993_320_118
RECEIVED = 1_763_459_000_000
ROOM = LogLimits(bytes=64 << 30)
NAMES = {
    "temperature": {"metric": "temperature", "type": "Double", "uom": "K"},
    "rotationSpeed": {"metric": "rotationSpeed", "type": "Long", "uom": "RPM"},
}


class Content(NamedTuple):
    """A message: who says when how hot it is, and how fast it turns."""

    device: str
    time: int
    temperature: float
    speed: int


def contents(count: int, devices: int, first: int = 0) -> Iterator[Content]:
    """Messages from number `first` on, by the devices in turn; no two are the same."""
    for number in range(first, first + count):
        device = f"device-{number % devices:06d}"
        yield Content(device, T + number, 500.0 + number % 977 / 10, 5600 + number % 1013)


def as_json(of: Content) -> bytes:
    return (
        f'{{ "id": "{of.device}", "timestamp": {of.time},\n  "telemetries": [\n'
        f'    {{"metric": "temperature",   "uom": "K",   "value": {of.temperature}, "type": "Double"}},\n'
        f'    {{"metric": "rotationSpeed", "uom": "RPM", "value": {of.speed},  "type": "Long"}} ] }}'
    ).encode()


def as_protobuf(of: Content) -> bytes:
    both = [
        Telemetry(metric="temperature", uom="K", double_value=of.temperature),
        Telemetry(metric="rotationSpeed", uom="RPM", long_value=of.speed),
    ]
    return DeviceMessage(id=of.device, timestamp=of.time, telemetries=both).SerializeToString()


def as_csv(of: Content) -> bytes:
    file = io.StringIO(newline="")
    for name, value in (("temperature", of.temperature), ("rotationSpeed", of.speed)):
        kind, unit = NAMES[name]["type"], NAMES[name]["uom"]
        csv.writer(file).writerow([of.time, name, value, kind, unit])
    return file.getvalue().encode()


def as_text(of: Content) -> bytes:
    return (
        f"id={of.device}\ntimestamp={of.time}\ntemperature={of.temperature}\nrotationSpeed={of.speed}\n"
    ).encode()


def as_cbor(of: Content) -> bytes:
    return cbor2.dumps(json.loads(as_json(of)))


def _records(of: Content) -> list[dict[str, Any]]:
    return [
        {"bt": of.time / 1000, "n": "temperature", "u": "K", "v": of.temperature},
        {"n": "rotationSpeed", "u": "RPM", "v": of.speed},
    ]


def as_senml(of: Content) -> bytes:
    return json.dumps(_records(of)).encode()


def as_senml_cbor(of: Content) -> bytes:
    labels = {"bt": -3, "n": 0, "u": 1, "v": 2}
    return cbor2.dumps([{labels[key]: value for key, value in each.items()} for each in _records(of)])


FORMS: Mapping[str, Callable[[Content], bytes]] = {
    "json": as_json,
    "protobuf": as_protobuf,
    "csv": as_csv,
    "text": as_text,
    "cbor": as_cbor,
    "senml": as_senml,
    "senml-cbor": as_senml_cbor,
}


class Kind(NamedTuple):
    """The kind of messages that all devices send."""

    form: str = "json"
    suite: str = "NULL_NULL"
    compression: str = "none"
    sequenced: bool = False

    @property
    def name(self) -> str:
        """The kind in a table."""
        more = [self.compression] * (self.compression != "none") + ["sequenced"] * self.sequenced
        return ", ".join([self.form, self.suite, *more])


KINDS = [
    *(Kind(suite=suite) for suite in SUITES),
    Kind(sequenced=True),
    *(Kind(form) for form in FORMS if form != "json"),
    Kind(compression="gzip"),
    Kind(compression="zstd"),
]


class Installation:
    """A folder with devices that all send one kind of message, and a log that is filled for them."""

    def __init__(self, path: Path, kind: Kind, devices: int, durability: str = "log-only") -> None:
        self.folder = IngestFolder(path)
        self.kind, self.devices = kind, devices
        roles = find_suite(kind.suite).roles
        keys = KeyStore(self.folder.keys).generate("all", roles) if roles else {}
        self._sealer = Sealer(suite=kind.suite, keys=keys, compression=kind.compression)  # type: ignore[arg-type]
        schema = {"names": NAMES} if kind.form in ("text", "senml", "senml-cbor") else {}
        fields = {
            "suite": kind.suite,
            "compression": kind.compression,
            "parser": kind.form,
            "parser_schema": schema,
            "sequenced": kind.sequenced,
            "keys": "all" if roles else None,
        }
        names = [f"device-{number:06d}" for number in range(devices)]
        self._categories = {name: partition_of(name) for name in names}
        with DeviceRegistry(self.folder.registry) as registry:
            registry.register(*(make_device({"id": name, **fields}) for name in names))
        self.log = SegmentLog(self.folder.logs / "load", limits=ROOM)
        LogDurability(self.log, first=durability)
        self._made = 0

    def blocks(self, count: int) -> list[Records]:
        """The next messages, in blocks."""
        made = contents(count, self.devices, self._made)
        encode, seal = FORMS[self.kind.form], self._sealer.seal
        blocks = []
        while part := list(islice(made, BLOCK)):
            records = Records()
            for each in part:
                number = self._made // self.devices if self.kind.sequenced else None
                self._made += 1
                payload = seal(encode(each), number)
                records.add(each.device, self._categories[each.device], payload, RECEIVED)
            blocks.append(records)
        return blocks

    def fill(self, count: int) -> float:
        """Append the next messages; gives how many bytes each has on average."""
        size = 0
        for records in self.blocks(count):
            self.log.append(records)
            size += sum(map(len, records.payloads))
        self.log.flush()
        return size / count
