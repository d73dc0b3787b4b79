"""Key material by role, which is never printed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping


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

    def __repr__(self) -> str:
        return f"KeySet({', '.join(self._material)})"
