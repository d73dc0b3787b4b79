"""Configurations of devices: what would fail with the first message is refused before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bypass.ingest.devices.device import InvalidDevice, make_device
from bypass.ingest.sealing import Sealer
from bypass.ingest.stages.chain import StageChain
from tests.ingest.senders import FIGURE, MEASURED, NOW, Keys

HMAC = {"suite": "NULL_HMAC-SHA256", "keys": "own"}


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"id": ""}, "id is '': expected at least 1 character"),
        ({"id": "x" * 257}, "expected at most 256 characters"),
        ({"id": "a\nb"}, "expected characters that can be printed"),
        ({"suite": "AES256-CBC_NULL"}, "expected a suite that does not encrypt without authentication"),
        ({"suite": "AES256-CBC_CKSM-FLETCHER16"}, "that does not encrypt without authentication"),
        (
            {"suite": "SHA256-CBC_HMAC-SHA512"},
            "suite is 'SHA256-CBC_HMAC-SHA512': expected one of NULL_NULL, ",
        ),
        ({"suite": "no.module:Suite"}, "suite no.module:Suite: expected module:Class"),
        ({"suite": "pathlib:Path"}, "suite is 'pathlib:Path': expected a class derived from SecuritySuite"),
        ({"suite": "NULL_HMAC-SHA256"}, "keys is None: expected a key set with mac"),
        ({"keys": "../secret"}, "keys is '../secret': expected"),
        ({"standard": "CMS"}, "standard is 'CMS': expected one of COSE, or module:Class"),
        ({"standard": "COSE"}, "keys is None: expected a key set with cose"),
        ({"standard": "COSE", **HMAC}, "suite is 'NULL_HMAC-SHA256': expected none beside a standard"),
        (
            {"standard": "COSE", "keys": "own", "peer": {"kind": "jwt", "keys": "issuer"}},
            "peer is 'jwt': expected none beside a standard",
        ),
        (
            {"peer": {"kind": "password", "keys": "a"}},
            "peer.kind is 'password': expected 'signature' or 'jwt'",
        ),
        ({"peer": {"kind": "jwt"}}, "peer.keys is missing"),
        ({"compression": "lzma"}, "compression is 'lzma': expected 'none', 'gzip' or 'zstd'"),
        ({"largest": 0}, "largest is 0: expected greater than 0"),
        ({"parser": "avro"}, "parser is 'avro': expected one of json, protobuf, csv, "),
        ({"parser": "csv", "parser_schema": {"columns": ["t"]}}, "parser_schema columns has 't': expected"),
        ({"parser": "csv", "parser_schema": {"columns": ["metric"]}}, "expected both metric and value"),
        ({"parser": "csv", "parser_schema": {"columns": ["id", "id"]}}, "expected columns that differ"),
        (
            {"parser": "text", "parser_schema": {"names": {"t": {"metric": "t"}}}},
            "names has 't' without a type: expected one",
        ),
        (
            {"parser_schema": {"longest_label": 0}},
            "parser_schema.longest_label is 0: expected greater than 0",
        ),
        ({"parser_schema": {"label": 0}}, "parser_schema.label is unknown: expected one of names, "),
        ({"clock": "sun"}, "clock is 'sun': expected 'device' or 'received'"),
        ({"policy": "sometimes"}, "policy 'precompute' has no mechanism 'sometimes'; it has: batch, "),
        ({"policy": {"to": "every-nth", "set": {"m": 2}}}, "policy 'every-nth' has no parameter 'm'"),
        ({"policy": {"to": "every-nth", "set": {"n": 0}}}, "policy parameter 'n' of 'every-nth' cannot be 0"),
        ({"policy": {"set": {"n": 2}}}, "expected a mechanism, or {to: MECHANISM, set: PARAMETERS}"),
        ({"policy": 5}, "policy is 5: expected a mechanism, or {to: MECHANISM, set: PARAMETERS}"),
        ({"qos": 3}, "qos is 3: expected 0, 1 or 2"),
        ({"secret": "x"}, "secret is unknown: expected one of id, application, "),
    ],
)
def test_what_cannot_work_is_refused_in_one_line(fields: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidDevice) as caught:
        make_device({"id": "device1", **fields})
    message = str(caught.value)
    assert message.startswith("device ")
    assert complaint in message
    assert "\n" not in message


OWN = '''
from bypass.ports.measurements import Measurement
from bypass.ingest.parsers.parser import Parsed, Parser
from bypass.ingest.rejection import Rejected
from bypass.ingest.security.standard import SecurityStandard
from bypass.ingest.security.suite import SecuritySuite


class Rotated(SecuritySuite):
    """Turns letters around; anybody can do that."""

    def seal(self, plain, head_of):
        return head_of(plain) + plain[::-1]

    def verify(self, frame, start):
        return None

    def decipher(self, frame, start, verified):
        return frame[start:][::-1]


class Secret(Rotated):
    encrypts = True


class Envelope(SecurityStandard):
    def seal(self, plain):
        return b"<" + plain + b">"

    def open(self, frame, received):
        if frame[:1] != b"<":
            raise Rejected("integrity", "no envelope")
        return frame[1:-1]


class Number(Parser):
    def parse(self, data, received):
        return Parsed(None, [self.measurement(received, "number", "Long", int(data), None)])
'''


def test_suites_standards_and_parsers_of_others_come_in_one_file(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(OWN)
    device = make_device({"id": "a", "suite": f"{file}:Rotated", "parser": f"{file}:Number"})
    frame = Sealer(suite=f"{file}:Rotated").seal(b"123")
    assert frame == b"321"
    chain = StageChain(device.record(), Keys())
    assert chain(frame, NOW).measurements[0][1:4] == ("number", "Long", 123)
    with pytest.raises(Exception, match="parse: failed: ValueError: invalid literal"):
        chain(b"x", NOW)
    device = make_device({"id": "device1", "standard": f"{file}:Envelope"})
    chain = StageChain(device.record(), Keys())
    assert chain(Sealer(standard=f"{file}:Envelope").seal(b'{"telemetries":[]}'), NOW).measurements == []
    with pytest.raises(Exception, match="integrity: no envelope"):
        chain(b"", NOW)
    with pytest.raises(InvalidDevice, match="does not encrypt without authentication"):
        make_device({"id": "a", "suite": f"{file}:Secret"})


def test_the_defaults_take_the_message_of_the_figure() -> None:
    assert StageChain(make_device({"id": "device1"}).record(), Keys())(FIGURE, NOW).measurements == MEASURED


@pytest.mark.parametrize("region", ["r" * 129, "a b", "a/b", "süd", "..", ""])
def test_a_region_that_can_be_no_folder_is_refused(region: str) -> None:
    with pytest.raises(InvalidDevice, match=r"device 'd': region is .*: expected 1 to 128 letters"):
        make_device({"id": "d", "region": region})
