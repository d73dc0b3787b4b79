"""The device's side: messages are compressed, protected and numbered as the device's configuration says.

A device needs this module and `categories`, which says where to send; neither imports anything large, and
`cryptography` is loaded only by suites that need it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bypass.ingest.compression import Compression, compress
from bypass.ingest.security.key_set import KeySet
from bypass.ingest.security.standard import SecurityStandard, find_standard
from bypass.ingest.security.suite import check_keys, find_suite

_LONGEST_TOKEN = 65_535
_SEQUENCES = 1 << 64


class Sealer:
    """Makes the frames of one device.

    `keys` are those that suite or standard need, by role. Of the proofs a device gives at most one: `token`
    is a JWT that it was given, `private_key` (ECDSA on P-256 or Ed25519, in PEM) signs each frame.
    """

    def __init__(
        self,
        *,
        suite: str = "NULL_NULL",
        standard: str | None = None,
        keys: Mapping[str, bytes] | None = None,
        compression: Compression = "none",
        token: str | None = None,
        private_key: bytes | None = None,
    ) -> None:
        """Raises ValueError for a suite that is unknown, for keys that it cannot work with, and for proofs
        that do not go together."""
        own = KeySet(keys or {})
        if token is not None and private_key is not None:
            raise ValueError("token and private_key are given: expected one of them at most")
        if token is not None and len(token) > _LONGEST_TOKEN:
            raise ValueError(f"token has {len(token)} characters: expected at most {_LONGEST_TOKEN}")
        if standard is not None and (token is not None or private_key is not None):
            raise ValueError("standard has proofs of its own: expected neither token nor private_key")
        self._compression = compression
        self._token = b"" if token is None else len(token).to_bytes(2, "big") + token.encode()
        self._sign = None if private_key is None else _signer(private_key)
        kind = find_suite(suite) if standard is None else find_standard(standard)
        check_keys(kind.roles, [own])
        self._protection = kind([own])

    def seal(self, message: bytes, sequence: int | None = None) -> bytes:
        """Make the frame of a message. A device that is sequenced gives a number that is higher each time, or
        ValueError is raised for one that is none of 64 bits."""
        if sequence is not None and not 0 <= sequence < _SEQUENCES:
            raise ValueError(f"sequence is {sequence}: expected 0 to {_SEQUENCES - 1}")
        number = b"" if sequence is None else sequence.to_bytes(8, "big")
        plain = compress(message, self._compression)
        if isinstance(self._protection, SecurityStandard):
            return self._protection.seal(number + plain)
        return self._protection.seal(plain, lambda body: number + self._proof(number + body))

    def _proof(self, signed: bytes) -> bytes:
        return self._token if self._sign is None else self._sign(signed)


def _signer(pem: bytes) -> Callable[[bytes], bytes]:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519
    from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    key = load_pem_private_key(pem, None)
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return key.sign
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise ValueError("private_key is of another kind: expected ECDSA on P-256, or Ed25519")
    elliptic = key

    def sign(signed: bytes) -> bytes:
        r, s = decode_dss_signature(elliptic.sign(signed, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")

    return sign
