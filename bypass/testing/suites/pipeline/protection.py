"""The suite for security suites, which protect the frames of devices."""

from __future__ import annotations

from typing import Any, ClassVar

from hypothesis import strategies as st

from bypass.ingest.rejection import Rejected
from bypass.ingest.security.key_set import KeySet
from bypass.ingest.security.suite import SecuritySuite, check_keys, find_suite
from bypass.testing.suites.suite import Suite

_MESSAGES = st.binary(max_size=100)
_HEADS = st.binary(max_size=24)


class FrameProtectionSuite(Suite):
    """A security suite opens what it has sealed. One that `authenticates` refuses frames that were changed,
    cut off or sealed with other keys; nobody reads what one that `encrypts` has sealed.

    `suite` is what is tested: a class, a reference to one (`module:Class`), or the name of one that is built
    in.
    """

    suite: ClassVar[str | type[SecuritySuite]]

    @property
    def kind(self) -> type[SecuritySuite]:
        """The class that is tested. Raises ValueError."""
        return find_suite(self.suite) if isinstance(self.suite, str) else self.suite

    def keys(self, number: int) -> KeySet:
        """Keys that follow from a number, for each role another one."""
        roles = self.kind.roles.items()
        return KeySet(
            {role: bytes([16 * number + at]) * (length or 32) for at, (role, length) in enumerate(roles)}
        )

    def made(self, *numbers: int) -> SecuritySuite:
        """Make the suite with key sets of these numbers, the newest first."""
        keys = [self.keys(number) for number in numbers] if self.kind.roles else []
        check_keys(self.kind.roles, keys)
        return self.kind(keys)

    def open(self, suite: SecuritySuite, frame: bytes, head: bytes) -> bytes:
        """Open a frame. Raises Rejected, and whatever a wrong suite raises."""
        start = suite.code_length + len(head)
        if len(frame) < start:
            raise Rejected("integrity", "short frame")
        return suite.decipher(frame, start, suite.verify(frame, start))

    def test_what_is_sealed_is_opened(self) -> None:
        def is_opened(message: bytes, head: bytes) -> None:
            suite = self.made(1)
            frame = suite.seal(message, lambda _: head)
            at = suite.code_length
            assert frame[at : at + len(head)] == head, "the head is not behind the control code"
            opened = self.open(self.made(1), frame, head)
            assert opened == message, f"opened {opened!r}, expected {message!r}"

        self.for_all(is_opened, message=_MESSAGES, head=_HEADS)

    def test_the_head_may_depend_on_what_is_behind_it(self) -> None:
        """A token may be a signature of what it stands before: that is what is sent."""

        def covers(message: bytes) -> None:
            suite, told = self.made(1), []

            def head(behind: bytes) -> bytes:
                told.append(behind)
                return bytes(8)

            frame = suite.seal(message, head)
            sent = frame[suite.code_length + 8 :]
            assert told == [sent], f"head of {told}, sent {sent!r}"

        self.for_all(covers, message=_MESSAGES)

    def test_what_was_changed_is_refused(self) -> None:
        def changed(message: bytes, head: bytes, at: int, bit: int) -> None:
            suite = self.made(1)
            frame = bytearray(suite.seal(message, lambda _: head))
            if not suite.authenticates or not frame:
                return
            frame[at % len(frame)] ^= 1 << bit
            self._must_refuse(self.made(1), bytes(frame), head)

        self.for_all(changed, message=_MESSAGES, head=_HEADS, at=st.integers(0, 999), bit=st.integers(0, 7))

    def test_what_was_cut_off_is_refused(self) -> None:
        def cut(message: bytes, head: bytes, length: int) -> None:
            suite = self.made(1)
            frame = suite.seal(message, lambda _: head)
            if suite.authenticates:
                self._must_refuse(self.made(1), frame[: length % len(frame)], head)

        self.for_all(cut, message=_MESSAGES, head=_HEADS, length=st.integers(0, 999))

    def test_any_bytes_are_opened_or_refused(self) -> None:
        def any_bytes(frame: bytes, head: bytes) -> None:
            stage = "integrity"
            try:
                self.open(self.made(1), frame, head)
            except Rejected as refusal:
                stage = refusal.stage
            assert stage in ("integrity", "decipher"), f"stage {stage}: expected integrity or decipher"

        self.for_all(any_bytes, frame=st.binary(max_size=200), head=_HEADS)

    def test_other_keys_do_not_open_it(self) -> None:
        if self.kind.roles:
            assert self.kind.authenticates, "a suite with keys must authenticate"
            self._must_refuse(self.made(2), self.made(1).seal(b"message", lambda _: b""), b"")

    def test_two_keys_are_valid_while_devices_change_over(self) -> None:
        def both(message: bytes, head: bytes) -> None:
            for number in (1, 2):
                frame = self.made(number).seal(message, lambda _: head)
                assert self.open(self.made(2, 1), frame, head) == message
            newest = self.made(2, 1).seal(message, lambda _: head)
            assert self.open(self.made(2), newest, head) == message, "sealed with an older key"

        if self.kind.roles:
            self.for_all(both, message=_MESSAGES, head=_HEADS)

    def test_what_is_encrypted_cannot_be_read_or_compared(self) -> None:
        def hidden(message: bytes) -> None:
            frames: list[Any] = [self.made(1).seal(message, lambda _: b"") for _ in range(2)]
            assert frames[0] != frames[1], "the same message gives the same frame"
            assert message not in frames[0], "the message can be read in the frame"

        if self.kind.encrypts:
            assert self.kind.authenticates, "a suite must not encrypt without authentication"
            self.for_all(hidden, message=st.binary(min_size=16, max_size=100))

    def _must_refuse(self, suite: SecuritySuite, frame: bytes, head: bytes) -> None:
        try:
            opened = self.open(suite, frame, head)
        except Rejected:
            return
        raise AssertionError(f"frame {frame!r} was opened as {opened!r}: expected it to be refused")
