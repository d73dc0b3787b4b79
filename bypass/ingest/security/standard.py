"""Standards that protect a whole message in a form of their own, instead of a suite."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from bypass.errors import shown
from bypass.ingest.security.key_set import KeySet
from bypass.support.extensions import load

STANDARDS: Mapping[str, str] = {"COSE": "bypass.ingest.security.cose:Cose"}
"""Standards that are built in, by name."""


class SecurityStandard(ABC):
    """Opens the messages of devices that have the same keys; derive from it to bring a standard of your own.

    A standard keeps nothing between messages. `roles` are as those of a `Suite`. The first key set is the
    newest: it seals, and all open.
    """

    roles: ClassVar[Mapping[str, int]] = {}

    def __init__(self, keys: Sequence[KeySet]) -> None:
        """Take key sets that have all `roles`. Raises ValueError for keys that are none of the standard."""
        self.keys = keys

    @abstractmethod
    def seal(self, plain: bytes) -> bytes:
        """Protect a message, with its sequence before it if there is one."""

    @abstractmethod
    def open(self, frame: bytes, received: int) -> bytes:
        """Give the plaintext of a message that came at `received`, in milliseconds since the epoch.

        Raises Rejected with the stage "integrity", "peer" or "decipher".
        """


def find_standard(name: str) -> type[SecurityStandard]:
    """Find a standard that is built in, or the class that a reference leads to. Raises ValueError."""
    if ":" not in name and name not in STANDARDS:
        raise ValueError(f"is {shown(name)}: expected one of {', '.join(STANDARDS)}, or module:Class")
    standard = load(STANDARDS.get(name, name))
    if not (isinstance(standard, type) and issubclass(standard, SecurityStandard)):
        raise ValueError(f"is {shown(name)}: expected a class derived from SecurityStandard")
    return standard
