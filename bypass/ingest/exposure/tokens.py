"""Tokens: each names a tenant, operations and an end, and is signed with a key of the installation (JWT,
HS256).

Every check reads the key anew: tokens end when their key is replaced twice or removed.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import Any, NamedTuple

import jwt

from bypass.errors import shown
from bypass.ingest.devices.key_store import KeyStore
from bypass.ingest.security.private_file import InvalidKeyFile
from bypass.root_error import BypassError

KEY_SET = "bypass-tokens"
"""The name of the key set in the key store, role `secret`."""

OPERATIONS = ("query", "register", "operate")
"""Operations: to read measurements and metadata, to change devices, and to read what operators see."""

LONGEST = 4096
_AUDIENCE = "bypass-ingest"
_SECRET_BYTES = 32


class InvalidToken(BypassError):
    """A token that is none, has expired, or was signed by somebody else. No part of it is in the message."""


class OperationNotAllowed(BypassError):
    """A token that is valid does not allow an operation."""


class Grant(NamedTuple):
    """The rights that a token gives: a tenant, operations, and the time (s since 1970) at which they end."""

    tenant: str
    operations: frozenset[str]
    until: float

    def need(self, operation: str) -> None:
        """Raise OperationNotAllowed unless the operation is allowed."""
        if operation not in self.operations:
            allowed = ", ".join(sorted(self.operations))
            raise OperationNotAllowed(f"token allows {allowed}: expected one that allows {operation}")


def issue_token(keys: KeyStore, tenant: str, operations: Collection[str], seconds: float) -> str:
    """A token for a tenant; the key is made if there is none. Raises InvalidToken for what cannot be granted,
    and InvalidKeyFile."""
    if not 0 < len(tenant) <= 256 or not tenant.isprintable():
        raise InvalidToken(f"tenant {shown(tenant)}: expected 1 to 256 characters that can be printed")
    unknown = sorted(set(operations) - set(OPERATIONS))
    if unknown or not operations:
        named = shown(unknown[0]) if unknown else "none"
        raise InvalidToken(f"operation {named}: expected one of {', '.join(OPERATIONS)}")
    if not 0 < seconds <= 366 * 86_400:
        raise InvalidToken(f"duration of {seconds:g} s: expected more than 0, and a year at most")
    if KEY_SET not in keys.names():
        keys.generate(KEY_SET, {"secret": _SECRET_BYTES})
    now = time.time()
    claims = {
        "aud": _AUDIENCE,
        "iat": int(now),
        "exp": int(now + seconds),
        "tenant": tenant,
        "allow": sorted(set(operations)),
    }
    return jwt.encode(claims, keys.find(KEY_SET)[0]["secret"], algorithm="HS256")


def check_token(keys: KeyStore, token: str) -> Grant:
    """The rights that a token gives now. Raises InvalidToken."""
    if len(token) > LONGEST:
        raise InvalidToken(f"token of {len(token)} characters: expected {LONGEST} at most")
    try:
        secrets = [each["secret"] for each in keys.find(KEY_SET)]
    except (InvalidKeyFile, KeyError):
        raise InvalidToken("token: there is no key: expected one of `bypass ingest token`") from None
    for secret in secrets:
        try:
            return _grant(
                jwt.decode(
                    token,
                    secret,
                    algorithms=["HS256"],
                    audience=_AUDIENCE,
                    options={"require": ["exp", "aud"]},
                )
            )
        except jwt.ExpiredSignatureError:
            raise InvalidToken("token: has expired: expected a new one") from None
        except (jwt.InvalidTokenError, ValueError, RecursionError):
            continue
    raise InvalidToken("token: is not valid: expected one of `bypass ingest token`")


def _grant(claims: dict[str, Any]) -> Grant:
    """Raises ValueError for claims that `issue_token` does not make."""
    tenant, allow, until = claims.get("tenant"), claims.get("allow"), claims["exp"]
    if not isinstance(tenant, str) or not tenant or not isinstance(allow, list):
        raise ValueError
    if not all(isinstance(each, str) for each in allow):
        raise ValueError
    return Grant(tenant, frozenset(allow) & set(OPERATIONS), float(until))
