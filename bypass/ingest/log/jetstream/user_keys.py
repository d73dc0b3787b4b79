"""The key pair of a NATS user (an nkey: Ed25519), and files of credentials that have one with its JWT."""

from __future__ import annotations

import re
from base64 import b32decode, b32encode, b64encode
from binascii import crc_hqx

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_SEED, _USER = 18 << 3, 20 << 3
"""The prefixes that make seeds begin with S, and public keys of users with U."""

_JWT = re.compile(r"-+BEGIN NATS USER JWT-+\s+(\S+)\s+-+END NATS USER JWT-+")
_KEY = re.compile(r"-+BEGIN USER NKEY SEED-+\s+(\S+)\s+-+END USER NKEY SEED-+")


class InvalidUserKey(ValueError):
    """A text is no seed of a user, or no credentials. It is not part of the message."""


class UserKey:
    """A key pair that signs what a server asks for."""

    def __init__(self, seed: str) -> None:
        """Take the seed, which begins with SU. Raises InvalidUserKey."""
        try:
            raw = b32decode(seed + "=" * (-len(seed) % 8))
        except ValueError:
            raw = b""
        content, check = raw[:-2], raw[-2:]
        if len(content) != 34 or crc_hqx(content, 0).to_bytes(2, "little") != check:
            raise InvalidUserKey("no seed: expected SU and 56 more letters and digits")
        if content[0] & 0xF8 != _SEED or (content[0] & 7) << 5 | content[1] >> 3 != _USER:
            raise InvalidUserKey("a seed of another kind: expected that of a user")
        self._key = Ed25519PrivateKey.from_private_bytes(content[2:])
        named = bytes([_USER]) + self._key.public_key().public_bytes_raw()
        self.public = b32encode(named + crc_hqx(named, 0).to_bytes(2, "little")).decode().rstrip("=")

    def sign(self, nonce: str) -> bytes:
        """Sign a text. Gives the signature in Base64."""
        return b64encode(self._key.sign(nonce.encode()))


def read_credentials(text: str) -> tuple[bytes, UserKey]:
    """Read the JWT and the key pair from the text of a file of credentials. Raises InvalidUserKey."""
    jwt, seed = _JWT.search(text), _KEY.search(text)
    if jwt is None or seed is None:
        raise InvalidUserKey("no credentials: expected a NATS user JWT and its seed")
    return jwt[1].encode(), UserKey(seed[1])
