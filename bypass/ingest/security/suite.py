"""The base of security suites, and the table of those that are built in.

A frame is a stack whose outermost part comes first; the length of each part follows from the device's
configuration and is never transmitted (a JWT alone has a length before it):

    [control code] [sequence, 8 bytes, if sequenced] [token] [initialisation vector] [ciphertext or plaintext]

The control code covers everything behind it. Sequence and token together are called the head.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from bypass.errors import shown
from bypass.ingest.security.key_set import KeySet
from bypass.support.extensions import load

SUITES: Mapping[str, str] = {
    "NULL_NULL": "bypass.ingest.security.plain:Plain",
    "NULL_CKSM-FLETCHER16": "bypass.ingest.security.plain:Checksum",
    "NULL_HMAC-SHA256": "bypass.ingest.security.plain:Hmac256",
    "NULL_HMAC-SHA512": "bypass.ingest.security.plain:Hmac512",
    "AES256-CBC_HMAC-SHA256": "bypass.ingest.security.aes:CbcHmac256",
    "AES256-CBC_HMAC-SHA512": "bypass.ingest.security.aes:CbcHmac512",
    "AES256-GCM": "bypass.ingest.security.aes:Gcm",
}
"""Suites that are built in, by name: encryption, then authentication; AES256-GCM is both in one."""

_UNAUTHENTICATED = re.compile(r"(?!NULL_).+_(NULL|CKSM-.*)")


class SecuritySuite(ABC):
    """Protects the frames of devices that have the same keys; derive from it to bring a suite of your own.

    A suite keeps nothing between messages. `roles` says which keys it needs and how long each is in bytes. Of
    several key sets the first is the newest: it seals, and all open.
    """

    roles: ClassVar[Mapping[str, int]] = {}
    code_length: ClassVar[int] = 0
    encrypts: ClassVar[bool] = False
    authenticates: ClassVar[bool] = False

    def __init__(self, keys: Sequence[KeySet]) -> None:
        """Take key sets that have all `roles`: see `check_keys`."""
        self.keys = keys

    @abstractmethod
    def seal(self, plain: bytes, head_of: Callable[[bytes], bytes]) -> bytes:
        """Make the frame of a message. `head_of` gives its sequence and token, given what comes behind them:
        a token may be a signature of that."""

    @abstractmethod
    def verify(self, frame: bytes, start: int) -> Any:
        """Check the control code of a frame whose head ends at `start`; gives what `decipher` has to know.

        Raises Rejected with the stage "integrity". The frame is at least as long as control code and head.
        """

    @abstractmethod
    def decipher(self, frame: bytes, start: int, verified: Any) -> bytes:
        """Give the plaintext behind the head of a verified frame. Raises Rejected with the stage
        "decipher"."""


def find_suite(name: str) -> type[SecuritySuite]:
    """Find a suite that is built in, or the class that a reference leads to.

    Raises ValueError for one that is unknown, or that encrypts without authentication.
    """
    if _UNAUTHENTICATED.fullmatch(name):
        raise ValueError(f"is {shown(name)}: expected a suite that does not encrypt without authentication")
    if ":" not in name and name not in SUITES:
        raise ValueError(f"is {shown(name)}: expected one of {', '.join(SUITES)}, or module:Class")
    suite = load(SUITES.get(name, name))
    if not (isinstance(suite, type) and issubclass(suite, SecuritySuite)):
        raise ValueError(f"is {shown(name)}: expected a class derived from SecuritySuite")
    if suite.encrypts and not suite.authenticates:
        raise ValueError(f"is {shown(name)}: expected a suite that does not encrypt without authentication")
    return suite


def check_keys(roles: Mapping[str, int], keys: Sequence[KeySet]) -> None:
    """Refuse key sets that a suite or a standard cannot work with; a length of 0 stands for any.

    Raises ValueError, which names the role and shows no key.
    """
    for each in keys:
        for role, length in roles.items():
            if role not in each:
                raise ValueError(f"key {role} is missing: expected {', '.join(roles)}")
            if length and len(each[role]) != length:
                raise ValueError(f"key {role} has {len(each[role])} bytes: expected {length}")
        if len({each[role] for role in roles}) < len(roles):
            raise ValueError(f"keys {', '.join(roles)} are the same: expected one for each")
