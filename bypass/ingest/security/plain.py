"""Suites that encrypt nothing: without a control code, with a checksum, or with an HMAC."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any, ClassVar

from bypass.ingest.rejection import Rejected
from bypass.ingest.security.key_set import KeySet
from bypass.ingest.security.suite import SecuritySuite


def fletcher16(data: bytes) -> int:
    """Compute the Fletcher-16 checksum. It finds errors of transmission, not attacks, and takes 0x00 for
    0xFF."""
    return sum(accumulate(data)) % 255 << 8 | sum(data) % 255


class Plain(SecuritySuite):
    """NULL_NULL: the frame is the message; anybody can make one."""

    def seal(self, plain: bytes, head_of: Callable[[bytes], bytes]) -> bytes:
        """Put the head before the message."""
        return head_of(plain) + plain

    def verify(self, frame: bytes, start: int) -> Any:
        """Accept every frame."""

    def decipher(self, frame: bytes, start: int, verified: Any) -> bytes:  # noqa: ARG002 - no key needed
        """Give what is behind the head."""
        return frame[start:]


class Checksum(Plain):
    """NULL_CKSM-FLETCHER16: finds errors of transmission."""

    code_length = 2

    def seal(self, plain: bytes, head_of: Callable[[bytes], bytes]) -> bytes:
        """Put the checksum of head and message before them."""
        rest = head_of(plain) + plain
        return fletcher16(rest).to_bytes(2, "big") + rest

    def verify(self, frame: bytes, start: int) -> Any:  # noqa: ARG002 - the head is covered as well
        """Compare the checksum. Raises Rejected."""
        if fletcher16(frame[2:]) != frame[0] << 8 | frame[1]:
            raise Rejected("integrity", "control code")


class Hmac(Plain):
    """Authenticates with an HMAC over all that is behind it; `digest` is the hash function."""

    authenticates = True
    digest: ClassVar[str]

    def __init__(self, keys: Sequence[KeySet]) -> None:
        super().__init__(keys)
        self._keys = tuple(each["mac"] for each in keys)

    def seal(self, plain: bytes, head_of: Callable[[bytes], bytes]) -> bytes:
        """Put the HMAC of head and message before them."""
        rest = head_of(plain) + plain
        return hmac.digest(self._keys[0], rest, self.digest) + rest

    def verify(self, frame: bytes, start: int) -> Any:  # noqa: ARG002 - the head is covered as well
        """Compare the HMAC in constant time; gives the number of the key set that it fits. Raises
        Rejected."""
        length = self.code_length
        code, rest = frame[:length], frame[length:]
        for number, key in enumerate(self._keys):
            if hmac.compare_digest(hmac.digest(key, rest, self.digest), code):
                return number
        raise Rejected("integrity", "control code")


class Hmac256(Hmac):
    """NULL_HMAC-SHA256."""

    roles: ClassVar[Mapping[str, int]] = {"mac": 32}
    code_length = 32
    digest = "sha256"


class Hmac512(Hmac):
    """NULL_HMAC-SHA512."""

    roles: ClassVar[Mapping[str, int]] = {"mac": 64}
    code_length = 64
    digest = "sha512"
