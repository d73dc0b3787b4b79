"""COSE (RFC 9052): Mac0, Encrypt0 and Sign1, by the key that the device has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from cwt import COSE, COSEKey

from bypass.ingest.rejection import Rejected
from bypass.ingest.security.key_set import KeySet
from bypass.ingest.security.standard import SecurityStandard


class Cose(SecurityStandard):
    """Opens messages with keys in the form of COSE_Key, encoded in CBOR: an HMAC key, one of an AEAD, or a
    public one that verifies signatures. Algorithms that encrypt without authentication are refused."""

    roles: ClassVar[Mapping[str, int]] = {"cose": 0}

    def __init__(self, keys: Sequence[KeySet]) -> None:
        super().__init__(keys)
        try:
            self._keys = [COSEKey.from_bytes(each["cose"]) for each in keys]
        except Exception:  # of many kinds, and some would show the key
            raise ValueError("key cose cannot be read: expected a COSE_Key in CBOR") from None
        self._cose = COSE.new(alg_auto_inclusion=True)

    def seal(self, plain: bytes) -> bytes:
        """Protect a message as the newest key does: MAC, encryption or signature."""
        frame: bytes = self._cose.encode(plain, self._keys[0])
        return frame

    def open(self, frame: bytes, received: int) -> bytes:  # noqa: ARG002 - its keys do not expire
        """Give the payload. Raises Rejected if it fits none of the keys, or is no COSE."""
        try:
            plain = self._cose.decode(frame, self._keys)
        except Exception as error:  # decoders of hostile bytes raise errors of many kinds
            raise Rejected("integrity", "not authentic", type(error).__name__) from None
        if not isinstance(plain, bytes):
            raise Rejected("integrity", "not authentic", "payload is no byte string")
        return plain
