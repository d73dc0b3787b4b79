"""The suite for parsers of devices' messages."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar

from hypothesis import strategies as st

from bypass.ingest.parsers.parser import Parsed, Parser, find_parser
from bypass.ingest.parsers.schema import ParserSchema
from bypass.ingest.rejection import Rejected
from bypass.ports.measurements import LAST_TIME, Measurement, ValueType
from bypass.testing.suites.suite import Suite

RECEIVED = 1_531_993_320_118
"""When messages come, in milliseconds."""

_TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)
_VALUES: Mapping[ValueType, st.SearchStrategy[Any]] = {
    "Long": st.integers(-(1 << 63), (1 << 63) - 1),
    "Double": st.floats(allow_nan=False, allow_infinity=False),
    "String": _TEXT,
    "Bytes": st.binary(max_size=20),
}


class ParserSuite(Suite):
    """A parser reads a device's messages as they were meant, refuses anything else, and guesses nothing.

    `parser` is what is tested: a class, a reference to one (`module:Class`), or the name of one that is built
    in; `schema` is that of the devices. `write` writes a message as they do.
    """

    defaults: ClassVar[Mapping[str, Any]] = {
        "types": ("Long", "Double", "String", "Bytes"),
        "units": True,
        "times": True,
    }
    parser: ClassVar[str | type[Parser]]
    schema: ClassVar[Mapping[str, Any]] = {}

    @abstractmethod
    def write(self, content: Sequence[Measurement]) -> bytes:
        """Write the message that a device sends for these measurements."""

    def measurements(self) -> st.SearchStrategy[list[Measurement]]:
        """Draw contents of messages; override it if the form has fewer than the capabilities tell."""
        labels = _TEXT.filter(bool)
        times = st.integers(0, LAST_TIME) if self.capability("times") else st.just(RECEIVED)
        units = st.none() | labels if self.capability("units") else st.none()
        one = [
            st.builds(Measurement, times, labels, st.just(kind), _VALUES[kind], units)
            for kind in self.capability("types")
        ]
        return st.lists(st.one_of(one), max_size=5)

    def parse(self, data: bytes, **schema: Any) -> Parsed:
        """Read a message by a new parser. Raises Rejected, and whatever a wrong parser raises."""
        kind = find_parser(self.parser) if isinstance(self.parser, str) else self.parser
        return kind(ParserSchema.model_validate({**self.schema, **schema})).parse(data, RECEIVED)

    def test_what_is_written_is_read(self) -> None:
        def is_read(content: list[Measurement]) -> None:
            read = self.parse(self.write(content)).measurements
            assert read == content, f"read {read}, expected {content}"
            types = [type(each.value) for each in read]
            assert types == [type(each.value) for each in content], f"values are {types}"

        self.for_all(is_read, content=self.measurements())

    def test_any_bytes_are_read_or_refused(self) -> None:
        self.for_all(self._read_or_refuse, data=st.binary(max_size=60))

    def test_what_is_damaged_is_read_or_refused(self) -> None:
        def damaged(content: list[Measurement], at: int, new: bytes, cut: bool) -> None:
            data = self.write(content)
            at %= len(data) + 1
            self._read_or_refuse(data[:at] + new + (b"" if cut else data[at + len(new) :]))

        self.for_all(
            damaged,
            content=self.measurements(),
            at=st.integers(0, 1000),
            new=st.binary(max_size=3),
            cut=st.booleans(),
        )

    def test_messages_have_nothing_to_do_with_each_other(self) -> None:
        """A message is read in the same way whatever came before it, be it the same one."""

        def apart(contents: list[list[Measurement]], noise: bytes) -> None:
            kind = find_parser(self.parser) if isinstance(self.parser, str) else self.parser
            parser = kind(ParserSchema.model_validate(self.schema))
            for content in contents:
                with suppress(Rejected):
                    parser.parse(noise, RECEIVED)
                data = self.write(content)
                alone = self.parse(data)
                for _ in range(2):
                    together = parser.parse(data, RECEIVED)
                    assert together == alone, f"read {together} after others, {alone} alone"

        self.for_all(apart, contents=st.lists(self.measurements(), max_size=3), noise=st.binary(max_size=20))

    def test_a_message_has_no_more_than_the_schema_allows(self) -> None:
        def bounded(content: list[Measurement]) -> None:
            data = self.write(content)
            assert len(self.parse(data, most_measurements=len(content)).measurements) == len(content)
            if len(content) < 2:
                return
            try:
                self.parse(data, most_measurements=len(content) - 1)
            except Rejected:
                return
            raise AssertionError(f"{len(content)} measurements were read: expected the bound to be kept")

        self.for_all(bounded, content=self.measurements().filter(bool))

    def _read_or_refuse(self, data: bytes) -> None:
        """Have a message read: its measurements can be stored, or its refusal can be counted."""
        measurements: list[Measurement] = []
        stage, reason = "parse", "none"
        try:
            measurements = self.parse(data).measurements
        except Rejected as refusal:
            stage, reason = refusal.stage, refusal.reason
        assert stage == "parse", f"stage {stage}: expected parse"
        assert 0 < len(reason) <= 40, f"reason {reason!r}: expected a short one"
        for each in measurements:
            assert type(each.time) is int, f"time {each.time!r}: expected a number"
            assert 0 <= each.time <= LAST_TIME, f"time {each.time}: expected 0 to {LAST_TIME}"
            expected = {"Long": int, "Double": float, "String": str, "Bytes": bytes}[each.type]
            assert type(each.value) is expected, f"{each.type} is {each.value!r}"
            assert each.metric, "a metric without a name"
