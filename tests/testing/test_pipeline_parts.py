"""The suites for parsers and security suites: what is built in passes, and what is wrong is caught."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import pytest

from bypass.ingest import Measurement, Parsed, Parser, Rejected, SecuritySuite
from bypass.ingest.security.aes import Gcm
from bypass.ingest.security.plain import Hmac256, Plain
from bypass.ingest.security.suite import SUITES
from bypass.testing import FrameProtectionSuite, ParserSuite
from tests.ingest.senders import FORMS
from tests.testing.catching import failures


class TestJson(ParserSuite):
    parser = "json"

    def write(self, content: Sequence[Measurement]) -> bytes:
        return FORMS["json"](content)


class TestProtobuf(ParserSuite):
    parser = "protobuf"

    def write(self, content: Sequence[Measurement]) -> bytes:
        return FORMS["protobuf"](content)


class TestCsv(ParserSuite):
    parser = "csv"

    def write(self, content: Sequence[Measurement]) -> bytes:
        return FORMS["csv"](content)


class TestCbor(ParserSuite):
    parser = "cbor"

    def write(self, content: Sequence[Measurement]) -> bytes:
        return FORMS["cbor"](content)


class Lines(Parser):
    """A form of one's own: a line of JSON for each measurement of whole numbers."""

    def parse(self, data: bytes, received: int) -> Parsed:
        measurements = []
        for line in data.splitlines():
            try:
                name, value = json.loads(line)
            except (ValueError, TypeError, RecursionError) as error:
                raise Rejected("parse", "malformed", str(error)) from None
            if not isinstance(name, str):
                raise Rejected("parse", "malformed", "expected a name")
            measurements.append(self.measurement(received, name, "Long", value, None))
        self.check_number(len(measurements))
        return Parsed(None, measurements)


class LinesSuite(ParserSuite):
    parser: ClassVar[str | type[Parser]] = Lines
    capabilities: ClassVar[Mapping[str, Any]] = {"types": ("Long",), "units": False, "times": False}

    def write(self, content: Sequence[Measurement]) -> bytes:
        return b"".join(json.dumps([each.metric, each.value]).encode() + b"\n" for each in content)


class TestLines(LinesSuite):
    pass


class Guesses(Lines):
    """Takes numbers that are none for 0."""

    def parse(self, data: bytes, received: int) -> Parsed:
        try:
            return super().parse(data, received)
        except Rejected:
            return Parsed(None, [Measurement(received, "guess", "Long", 0.0, None)])


class Remembers(Lines):
    """Leaves out what it has read before."""

    latest: bytes = b""

    def parse(self, data: bytes, received: int) -> Parsed:
        repeated, self.latest = data == self.latest, data
        return Parsed(None, []) if repeated else super().parse(data, received)


class Breaks(Lines):
    """Lets errors of its tools through."""

    def parse(self, data: bytes, received: int) -> Parsed:
        rows = [json.loads(line) for line in data.splitlines()]
        return Parsed(None, [self.measurement(received, name, "Long", value, None) for name, value in rows])


@pytest.mark.parametrize(
    ("parser", "test", "problem"),
    [
        (Guesses, "test_any_bytes_are_read_or_refused", "Long is 0.0"),
        (Remembers, "test_messages_have_nothing_to_do_with_each_other", "after others"),
        (Breaks, "test_any_bytes_are_read_or_refused", "Error"),
        (Breaks, "test_a_message_has_no_more_than_the_schema_allows", "expected the bound to be kept"),
    ],
)
def test_a_wrong_parser_is_caught(parser: type[Parser], test: str, problem: str) -> None:
    assert problem in failures(type("Wrong", (LinesSuite,), {"parser": parser}), test)[test]


@pytest.mark.parametrize("suite", SUITES)
def test_a_security_suite_that_is_built_in_passes(suite: str) -> None:
    assert failures(type("Builtin", (FrameProtectionSuite,), {"suite": suite, "examples": 10})) == {}


class HalfChecked(Hmac256):
    """Looks at the first bytes of the code alone, as one that saves time."""

    def verify(self, frame: bytes, start: int) -> Any:
        codes = {hmac.digest(key, frame[32:], "sha256")[:1] for key in self._keys}
        if frame[:1] not in codes:
            raise Rejected("integrity", "control code")


class Repeating(Gcm):
    """Uses the same initialisation vector each time."""

    def seal(self, plain: bytes, head_of: Callable[[bytes], bytes]) -> bytes:
        nonce = bytes(12)
        head = head_of(nonce + self._ciphers[0].encrypt(nonce, plain, None)[:-16])
        sealed = self._ciphers[0].encrypt(nonce, plain, head)
        return sealed[-16:] + head + nonce + sealed[:-16]


class HeadUncovered(Plain):
    """Says that it authenticates, and leaves the head out."""

    authenticates = True
    roles: ClassVar[Mapping[str, int]] = {"mac": 32}
    code_length = 32

    def seal(self, plain: bytes, head_of: Callable[[bytes], bytes]) -> bytes:
        return hmac.digest(self.keys[0]["mac"], plain, "sha256") + head_of(plain) + plain

    def verify(self, frame: bytes, start: int) -> Any:
        for key in self.keys:
            if hmac.compare_digest(hmac.digest(key["mac"], frame[start:], "sha256"), frame[:32]):
                return
        raise Rejected("integrity", "control code")


@pytest.mark.parametrize(
    ("suite", "test"),
    [
        (HalfChecked, "test_what_was_changed_is_refused"),
        (Repeating, "test_what_is_encrypted_cannot_be_read_or_compared"),
        (HeadUncovered, "test_what_was_changed_is_refused"),
    ],
)
def test_a_wrong_security_suite_is_caught(suite: type[SecuritySuite], test: str) -> None:
    assert [*failures(type("Wrong", (FrameProtectionSuite,), {"suite": suite}))] == [test]
