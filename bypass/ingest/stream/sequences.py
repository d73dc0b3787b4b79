"""Sequences of devices that number their messages: which were seen, and which are too old to tell."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Literal, NamedTuple

WINDOW = 1024
"""How far behind the highest sequence a message may come and still be told from one that came before."""

MOST_GAPS = 16
"""How many stretches of numbers that have not come are known of a device, further behind. One is as long as
the messages that wait at one connector while those behind them come by another."""

_FULL = (1 << WINDOW) - 1
_WINDOW_BYTES = WINDOW // 8
_FLOOR = struct.Struct("<Q")
_GAP = struct.Struct("<QQ")


class _Gap(NamedTuple):
    """Numbers that have not come, from the first to the last of them."""

    first: int
    last: int

    @property
    def size(self) -> int:
        return self.last - self.first + 1


class _Seen(NamedTuple):
    """The highest sequence of a device, a bit for each of those up to it within the window, and gaps behind
    the window, in order: all that there are behind `floor`."""

    highest: int = -1
    bits: int = 0
    gaps: tuple[_Gap, ...] = ()
    floor: int = -1


_NOTHING = _Seen()


class SequenceWindow:
    """The highest sequence of each device, which of those just behind it have come, and the longest
    stretches further behind that have not."""

    def __init__(self) -> None:
        self._devices: dict[str, _Seen] = {}
        self._changed: set[str] = set()

    def take(self, device: str, sequence: int) -> Literal["new", "seen", "old"]:
        """Note a message, and say whether it is new; it is `old` if nobody can tell any more."""
        known = self._devices.get(device, _NOTHING)
        highest, bits, gaps, floor = known
        if sequence > highest:
            ahead = sequence - highest
            # Mostly all that leaves the window has come.
            if sequence >= WINDOW and (ahead >= WINDOW or bits >> WINDOW - ahead != (1 << ahead) - 1):
                _, _, gaps, floor = _joined(known, _left(known, sequence - WINDOW))
            bits = ((bits << ahead) | 1) & _FULL if ahead < WINDOW else 1
            self._set(device, _Seen(sequence, bits, gaps, floor))
            return "new"
        behind = highest - sequence
        if behind >= WINDOW:
            gap = next((each for each in gaps if each.first <= sequence <= each.last), None)
            if gap is None:
                return "seen" if sequence > floor else "old"
            self._set(device, _without(known, gap, sequence))
            return "new"
        if bits >> behind & 1:
            return "seen"
        self._set(device, _Seen(highest, bits | 1 << behind, gaps, floor))
        return "new"

    def _set(self, device: str, seen: _Seen) -> None:
        self._devices[device] = seen
        self._changed.add(device)

    def changes(self) -> dict[str, tuple[int, bytes]]:
        """Give all that is known of the devices that have changed since the last call, as plain data: the
        highest sequence, and the rest in bytes."""
        changed, self._changed = self._changed, set()
        return {device: _encoded(self._devices[device]) for device in changed}

    def load(self, data: dict[str, tuple[int, bytes]]) -> None:
        """Take over what `changes` gave."""
        for device, (highest, content) in data.items():
            self._devices[device] = _decoded(highest, content)


def _left(seen: _Seen, last: int) -> Iterator[_Gap]:
    """Find the gaps among the numbers that leave the window when it begins behind `last`."""
    first = max(0, seen.highest - WINDOW + 1)
    count = min(last, seen.highest) - first + 1
    if count > 0:
        missing = ~(seen.bits >> seen.highest - first - count + 1) & (1 << count) - 1
        while missing:  # the lowest number has the highest bit
            high = missing.bit_length()
            size = high - (missing ^ (1 << high) - 1).bit_length()
            begin = first + count - high
            yield _Gap(begin, begin + size - 1)
            missing &= (1 << high - size) - 1
    if last > seen.highest:
        yield _Gap(max(0, seen.highest + 1), last)


def _joined(seen: _Seen, later: Iterator[_Gap]) -> _Seen:
    """Add gaps behind those that are known."""
    for gap in later:
        gaps = seen.gaps
        if gaps and gaps[-1].last + 1 == gap.first:
            seen = seen._replace(gaps=(*gaps[:-1], _Gap(gaps[-1].first, gap.last)))
        else:
            seen = _bounded(seen, (*gaps, gap))
    return seen


def _without(seen: _Seen, gap: _Gap, number: int) -> _Seen:
    """Take a number out of one of the gaps."""
    at = seen.gaps.index(gap)
    rest = (_Gap(gap.first, number - 1), _Gap(number + 1, gap.last))
    return _bounded(seen, (*seen.gaps[:at], *(each for each in rest if each.size), *seen.gaps[at + 1 :]))


def _bounded(seen: _Seen, gaps: tuple[_Gap, ...]) -> _Seen:
    """Remember gaps. If there is one too many, the shortest is forgotten, of equal ones the earliest."""
    if len(gaps) <= MOST_GAPS:
        return seen._replace(gaps=gaps)
    forgotten = min(gaps, key=lambda gap: gap.size)
    at = gaps.index(forgotten)
    return seen._replace(gaps=(*gaps[:at], *gaps[at + 1 :]), floor=max(seen.floor, forgotten.last))


def _encoded(seen: _Seen) -> tuple[int, bytes]:
    bits = seen.bits.to_bytes(_WINDOW_BYTES, "little")
    if seen.highest < WINDOW:
        return seen.highest, bits.rstrip(b"\0")  # nothing is behind the window
    gaps = b"".join(_GAP.pack(*gap) for gap in seen.gaps)
    return seen.highest, bits + _FLOOR.pack(seen.floor + 1) + gaps


def _decoded(highest: int, content: bytes) -> _Seen:
    """Read what `_encoded` gave. Without a floor, nothing is known of numbers behind the window."""
    bits = int.from_bytes(content[:_WINDOW_BYTES], "little")
    rest = content[_WINDOW_BYTES:]
    if not rest:
        return _Seen(highest, bits, (), max(-1, highest - WINDOW))
    (floor,) = _FLOOR.unpack_from(rest)
    gaps = tuple(map(_Gap._make, _GAP.iter_unpack(rest[_FLOOR.size :])))
    return _Seen(highest, bits, gaps, floor - 1)
