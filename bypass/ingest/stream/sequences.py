"""Sequences of devices that number their messages: which were seen, and which are too old to tell."""

from __future__ import annotations

from typing import Literal

WINDOW = 1024
"""How far behind the highest sequence a message may come and still be told from one that came before."""


class SequenceWindow:
    """The highest sequence of each device, and which of those just behind it have come."""

    def __init__(self) -> None:
        self._devices: dict[str, tuple[int, int]] = {}  # highest, and a bit for each of those up to it
        self._changed: set[str] = set()

    def take(self, device: str, sequence: int) -> Literal["new", "seen", "old"]:
        """Note a message, and say whether it is new; it is `old` if nobody can tell any more."""
        highest, bits = self._devices.get(device, (-1, 0))
        if sequence > highest:
            ahead = sequence - highest
            bits = ((bits << ahead) | 1) & ((1 << WINDOW) - 1) if ahead < WINDOW else 1
            self._set(device, sequence, bits)
            return "new"
        behind = highest - sequence
        if behind >= WINDOW:
            return "old"
        if bits >> behind & 1:
            return "seen"
        self._set(device, highest, bits | 1 << behind)
        return "new"

    def _set(self, device: str, highest: int, bits: int) -> None:
        self._devices[device] = highest, bits
        self._changed.add(device)

    def changes(self) -> dict[str, tuple[int, bytes]]:
        """Give all that is known of the devices that have changed since the last call, as plain data."""
        changed, self._changed = self._changed, set()
        return {
            device: (highest, bits.to_bytes(WINDOW // 8, "little").rstrip(b"\0"))
            for device in changed
            for highest, bits in (self._devices[device],)
        }

    def load(self, data: dict[str, tuple[int, bytes]]) -> None:
        """Take over what `changes` gave."""
        for device, (highest, bits) in data.items():
            self._devices[device] = highest, int.from_bytes(bits, "little")
