"""Suites that encrypt with AES-256: CBC below an HMAC, and GCM, which authenticates by itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from bypass.ingest.rejection import Rejected
from bypass.ingest.security.key_set import KeySet
from bypass.ingest.security.plain import Hmac, Hmac256, Hmac512
from bypass.ingest.security.suite import SecuritySuite

_BLOCK = 16
_NONCE = 12
_TAG = 16


def _encrypt_cbc(algorithm: algorithms.AES, plain: bytes) -> bytes:
    padding = _BLOCK - len(plain) % _BLOCK
    vector = os.urandom(_BLOCK)
    encryptor = Cipher(algorithm, modes.CBC(vector)).encryptor()
    return vector + encryptor.update(plain + bytes([padding]) * padding) + encryptor.finalize()


def _decrypt_cbc(algorithm: algorithms.AES, frame: bytes, start: int) -> bytes:
    """Decrypt what is behind the head. The HMAC was right: whoever made a wrong length or padding has the
    key."""
    text = start + _BLOCK
    if len(frame) < text + _BLOCK or (len(frame) - start) % _BLOCK:
        raise Rejected("decipher", "ciphertext length", f"{len(frame) - start} bytes with their vector")
    decryptor = Cipher(algorithm, modes.CBC(frame[start:text])).decryptor()
    plain = decryptor.update(frame[text:]) + decryptor.finalize()
    padding = plain[-1]
    if not 0 < padding <= _BLOCK or not plain.endswith(bytes([padding]) * padding):
        raise Rejected("decipher", "padding")
    return plain[:-padding]


class _Cbc(Hmac):
    """Encrypts, then authenticates, each with a key of its own."""

    encrypts = True

    def __init__(self, keys: Sequence[KeySet]) -> None:
        super().__init__(keys)
        self._ciphers = tuple(algorithms.AES(each["encryption"]) for each in keys)

    def seal(self, plain: bytes, head_of: Callable[[bytes], bytes]) -> bytes:
        """Encrypt with a new initialisation vector, and authenticate all of it."""
        return super().seal(_encrypt_cbc(self._ciphers[0], plain), head_of)

    def decipher(self, frame: bytes, start: int, verified: Any) -> bytes:
        """Decrypt with the key of the set whose HMAC was right. Raises Rejected."""
        return _decrypt_cbc(self._ciphers[verified], frame, start)


class CbcHmac256(_Cbc, Hmac256):
    """AES256-CBC_HMAC-SHA256."""

    roles: ClassVar[Mapping[str, int]] = {"encryption": 32, "mac": 32}


class CbcHmac512(_Cbc, Hmac512):
    """AES256-CBC_HMAC-SHA512."""

    roles: ClassVar[Mapping[str, int]] = {"encryption": 32, "mac": 64}


class Gcm(SecuritySuite):
    """AES256-GCM: the tag is the control code, and covers the head as well.

    Integrity and plaintext are found in one step; the plaintext is handed on only after the peer's check.
    """

    roles: ClassVar[Mapping[str, int]] = {"encryption": 32}
    code_length = _TAG
    encrypts = True
    authenticates = True

    def __init__(self, keys: Sequence[KeySet]) -> None:
        super().__init__(keys)
        self._ciphers = tuple(AESGCM(each["encryption"]) for each in keys)

    def seal(self, plain: bytes, head_of: Callable[[bytes], bytes]) -> bytes:
        """Encrypt with a new nonce. The ciphertext does not depend on the head, but the tag does."""
        nonce = os.urandom(_NONCE)
        text = self._ciphers[0].encrypt(nonce, plain, None)[:-_TAG]
        head = head_of(nonce + text)
        sealed = self._ciphers[0].encrypt(nonce, plain, head)
        return sealed[-_TAG:] + head + nonce + sealed[:-_TAG]

    def verify(self, frame: bytes, start: int) -> Any:
        """Decrypt and compare the tag; gives the plaintext. Raises Rejected."""
        text = start + _NONCE
        if len(frame) < text:
            raise Rejected("integrity", "short frame", f"{len(frame)} bytes")
        nonce, sealed, head = frame[start:text], frame[text:] + frame[:_TAG], frame[_TAG:start]
        for cipher in self._ciphers:
            try:
                return cipher.decrypt(nonce, sealed, head)
            except InvalidTag:
                continue
        raise Rejected("integrity", "control code")

    def decipher(self, frame: bytes, start: int, verified: Any) -> bytes:  # noqa: ARG002 - it is done
        """Give the plaintext that `verify` has found."""
        plain: bytes = verified
        return plain
