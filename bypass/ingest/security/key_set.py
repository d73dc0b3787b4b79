"""Key material by role, which is never printed."""

from __future__ import annotations

import json
import os
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from pathlib import Path


class KeySet(Mapping[str, bytes]):
    """The keys of a device by what they are for: "encryption", "mac", "cose", or "public".

    Its representation names the roles and shows no key.
    """

    __slots__ = ("_material",)

    def __init__(self, material: Mapping[str, bytes]) -> None:
        self._material = dict(material)

    def __getitem__(self, role: str) -> bytes:
        return self._material[role]

    def __iter__(self) -> Iterator[str]:
        return iter(self._material)

    def __len__(self) -> int:
        return len(self._material)

    @classmethod
    def read(cls, path: Path) -> KeySet:
        """The keys in a file that `write` has made. Raises OSError, and ValueError, which shows no key."""
        try:
            content = json.loads(path.read_text())
            material = {role: b64decode(key, validate=True) for role, key in content.items()}
        except (ValueError, AttributeError, TypeError):
            raise ValueError(f"{path}: not readable: expected JSON, with keys in Base64") from None
        return cls(material)

    def write(self, path: Path) -> None:
        """Write the keys to a new file that is its owner's alone. Raises FileExistsError and OSError."""
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(descriptor, "w") as file:
            json.dump({role: b64encode(key).decode() for role, key in self.items()}, file)

    def __repr__(self) -> str:
        return f"KeySet({', '.join(self._material)})"
