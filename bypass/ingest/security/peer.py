"""Tokens by which a device proves who it is and what it may do: signatures, and JSON Web Tokens.

A signature is raw (r‖s, or Ed25519): 64 bytes over all that is in the frame behind the control code, without
the signature itself. A JWT has its length before it, in two bytes; the service that issued it signs it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from typing import Any

from bypass.ingest.rejection import Rejected
from bypass.ingest.security.key_set import KeySet

OPERATION = "publish"
"""The operation that a message with measurements is."""

SIGNATURE_LENGTH = 64

Verify = Callable[[bytes, bytes], bool]


class PeerCheck(ABC):
    """Checks the tokens of one device, with the public keys of key sets (role "public", in PEM)."""

    @abstractmethod
    def token_end(self, frame: bytes, start: int) -> int:
        """Find where the token ends that begins at `start`; more than the frame has if it is too short."""

    @abstractmethod
    def check(self, frame: bytes, code: int, start: int, end: int, received: int) -> None:
        """Check the token in frame[start:end]; the control code ends at `code`.

        Raises Rejected with the stage "peer" if it is not authentic, has expired at `received` (in
        milliseconds), or does not allow to publish.
        """


def check_operation(operations: Collection[str]) -> None:
    """Refuse a device that may not publish. Raises Rejected."""
    if OPERATION not in operations:
        raise Rejected("peer", "operation not allowed", f"expected {OPERATION}")


class Signature(PeerCheck):
    """Checks that the device itself has signed the frame, with ECDSA on P-256 or with Ed25519."""

    def __init__(self, keys: Sequence[KeySet]) -> None:
        """Raises ValueError for a key of another kind."""
        self._verifiers = [_verifier(each["public"]) for each in keys]

    def token_end(self, frame: bytes, start: int) -> int:  # noqa: ARG002
        """Find the end: the length is fixed."""
        return start + SIGNATURE_LENGTH

    def check(self, frame: bytes, code: int, start: int, end: int, received: int) -> None:  # noqa: ARG002
        """Verify the signature with each key. Raises Rejected."""
        signature, signed = frame[start:end], frame[code:start] + frame[end:]
        if not any(verify(signature, signed) for verify in self._verifiers):
            raise Rejected("peer", "not authentic")


class Jwt(PeerCheck):
    """Checks a token of a token service: `sub` is the device, `operations` what it may do, `exp` until when.

    A device sends the same token many times. The last one that was authentic is kept, so that its signature
    is verified once; its times are compared for each message.
    """

    def __init__(self, keys: Sequence[KeySet], device: str) -> None:
        """Raises ValueError for a key that is neither on P-256 nor Ed25519."""
        self._keys = [(_public_key(each["public"]), _algorithm(each["public"])) for each in keys]
        self._device = device
        self._known = b""
        self._claims: dict[str, Any] = {}

    def token_end(self, frame: bytes, start: int) -> int:
        """Find the end by the length that is before the token."""
        return start + 2 + int.from_bytes(frame[start : start + 2], "big")

    def check(self, frame: bytes, code: int, start: int, end: int, received: int) -> None:  # noqa: ARG002
        """Verify the token, its times and what it is for. Raises Rejected."""
        token = frame[start + 2 : end]
        if token != self._known:
            self._claims = self._verified(token)
            self._known = token
        claims = self._claims
        if received >= claims["exp"] * 1000:
            raise Rejected("peer", "expired token", f"at {claims['exp']} s")
        if received < claims.get("nbf", 0) * 1000:
            raise Rejected("peer", "token not valid yet", f"before {claims['nbf']} s")
        check_operation(claims["operations"])

    def _verified(self, token: bytes) -> dict[str, Any]:
        import jwt

        options: Any = {
            "require": ["exp", "sub"],
            **dict.fromkeys(("verify_exp", "verify_nbf", "verify_iat", "verify_aud", "verify_iss"), False),
        }
        for key, algorithm in self._keys:
            try:
                claims: dict[str, Any] = jwt.decode(token, key, algorithms=[algorithm], options=options)
            except Exception:  # noqa: S112 - another key may fit; decoders raise errors of many kinds
                continue
            if claims["sub"] != self._device:
                raise Rejected("peer", "token of another device")
            times = (claims["exp"], claims.get("nbf", 0))
            operations = claims.get("operations", [])
            if all(type(time) in (int, float) for time in times) and isinstance(operations, list):
                return {**claims, "operations": operations}
            raise Rejected("peer", "malformed token")
        raise Rejected("peer", "not authentic")


def _public_key(pem: bytes) -> Any:
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    try:
        return load_pem_public_key(pem)
    except Exception:  # of many kinds
        raise ValueError("key public cannot be read: expected PEM") from None


def _algorithm(pem: bytes) -> str:
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    match _public_key(pem):
        case ec.EllipticCurvePublicKey(curve=ec.SECP256R1()):
            return "ES256"
        case ed25519.Ed25519PublicKey():
            return "EdDSA"
    raise ValueError("key public is of another kind: expected ECDSA on P-256, or Ed25519")


def _verifier(pem: bytes) -> Verify:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

    key = _public_key(pem)
    elliptic = _algorithm(pem) == "ES256"
    hashing = ec.ECDSA(hashes.SHA256())

    def verify(signature: bytes, signed: bytes) -> bool:
        try:
            if elliptic:
                r, s = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
                key.verify(encode_dss_signature(r, s), signed, hashing)
            else:
                key.verify(signature, signed)
        except InvalidSignature:
            return False
        return True

    return verify
