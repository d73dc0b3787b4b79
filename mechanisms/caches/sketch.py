"""How often keys were used lately, in little memory: a count-min sketch with ageing."""

from __future__ import annotations

from hashlib import blake2b

ROWS = 4
WIDTH = 8
"""Counters of a row for each entry of a cache: with fewer, keys share counters too often."""
SAMPLE = 10
"""Uses for each entry of a cache after which all counts are halved."""
MOST_COUNTED = 15
SMALLEST_BITS = 6

_WORD = (1 << 64) - 1
_HALVES = bytes(count // 2 for count in range(256))


class FrequencySketch:
    """Counts uses of keys up to 15. A count may be too high, where keys share counters, and never too low,
    until all are halved.

    `digest` is what `key_digest` gives. A sketch for `capacity` entries takes 32 to 64 bytes for each.
    """

    def __init__(self, capacity: int = 1, seed: int = 0) -> None:
        self._bits = _bits(capacity)
        self._sample = SAMPLE * capacity
        self._uses = 0
        drawn = blake2b(seed.to_bytes(8, "little"), digest_size=8 * ROWS).digest()
        self._factors = [int.from_bytes(drawn[8 * row : 8 * row + 8], "little") | 1 for row in range(ROWS)]
        self._rows = [bytearray(1 << self._bits) for _ in range(ROWS)]

    @property
    def is_empty(self) -> bool:
        """Whether nothing was counted yet."""
        return not self._uses

    def count(self, digest: int) -> int:
        """How often a key was used, about."""
        shift = 64 - self._bits
        a, b, c, d = self._factors
        one, two, three, four = self._rows
        return min(
            one[(digest * a & _WORD) >> shift],
            two[(digest * b & _WORD) >> shift],
            three[(digest * c & _WORD) >> shift],
            four[(digest * d & _WORD) >> shift],
        )

    def add(self, digest: int, uses: int = 1) -> None:
        """Count uses of a key, and halve all counts if it is time."""
        shift = 64 - self._bits
        a, b, c, d = self._factors
        a, b, c, d = (
            (digest * a & _WORD) >> shift,
            (digest * b & _WORD) >> shift,
            (digest * c & _WORD) >> shift,
            (digest * d & _WORD) >> shift,
        )
        one, two, three, four = self._rows
        known = min(one[a], two[b], three[c], four[d])
        wanted = min(known + uses, MOST_COUNTED)
        if one[a] < wanted:  # a larger count is that of another key
            one[a] = wanted
        if two[b] < wanted:
            two[b] = wanted
        if three[c] < wanted:
            three[c] = wanted
        if four[d] < wanted:
            four[d] = wanted
        self._uses += uses
        if self._uses >= self._sample:
            self._rows = [row.translate(_HALVES) for row in self._rows]
            self._uses //= 2

    def resize(self, capacity: int) -> None:
        """Count for another capacity. Nothing is forgotten; in a narrower sketch counts may be higher."""
        steps = _bits(capacity) - self._bits
        if steps > 0:
            self._rows = [_spread(row, 1 << steps) for row in self._rows]
        elif steps < 0:
            self._rows = [_merged(row, 1 << -steps) for row in self._rows]
        self._bits += steps
        self._sample = SAMPLE * capacity
        self._uses = min(self._uses, self._sample - 1)


def _bits(capacity: int) -> int:
    """The width of rows, which is a power of two, as its exponent."""
    return max(SMALLEST_BITS, (WIDTH * capacity - 1).bit_length())


def _spread(row: bytearray, times: int) -> bytearray:
    """Each counter so many times: a place of the wider row begins with the bits that it had."""
    wide = bytearray(len(row) * times)
    for offset in range(times):
        wide[offset::times] = row
    return wide


def _merged(row: bytearray, times: int) -> bytearray:
    """The largest of so many neighbours, each."""
    return bytearray(map(max, *(row[offset::times] for offset in range(times))))
