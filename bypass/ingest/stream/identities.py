"""Identities of messages that were seen: a message that comes again is recognised by its identity."""

from __future__ import annotations

import hashlib
from functools import lru_cache

import numpy as np

from bypass.support.arrays import Ints

MOST = 4_000_000
"""How many identities a task remembers; steps that are oldest are forgotten first."""

_PARTS = 12
"""How many sorted parts there may be before the smallest are merged."""


def identity(device: str, content: bytes) -> int:
    """The identity of what a device has sent: 64 bits, never 0, the same for the same bytes of the same
    device."""
    digest = hashlib.blake2b(content, digest_size=8, key=_key(device)).digest()
    return int.from_bytes(digest, "little", signed=True) or 1


@lru_cache(maxsize=200_000)
def _key(device: str) -> bytes:
    """A key for the hash, another one for each id."""
    return hashlib.blake2b(device.encode(), digest_size=16).digest()


class IdentityWindow:
    """The identities of the latest steps. Which ones it has follows from the steps alone, not from how it was
    built up."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._parts: list[tuple[Ints, Ints]] = []  # identities in order, and the step of each
        self._sizes: dict[int, int] = {}  # step -> how many
        self._oldest = 0

    def __len__(self) -> int:
        return sum(self._sizes.values())

    def seen(self, identities: Ints) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which of these were added before."""
        found = np.zeros(len(identities), np.bool_)
        for known, steps in self._parts:
            at = np.searchsorted(known, identities)
            at[at == len(known)] = 0
            found |= (known[at] == identities) & (steps[at] >= self._oldest)
        return found

    def add(self, step: int, identities: Ints) -> None:
        """Remember the identities of a step, each once and none that was `seen`. Steps come in order."""
        if not len(identities):
            return
        self._sizes[step] = len(identities)
        total = len(self)
        while total > self._most and len(self._sizes) > 1:
            oldest = next(iter(self._sizes))
            total -= self._sizes.pop(oldest)
            self._oldest = next(iter(self._sizes))
        self._parts.append((np.sort(identities), np.full(len(identities), step, np.int64)))
        if len(self._parts) > _PARTS:
            self._merge()

    def parts(self) -> tuple[Ints, Ints]:
        """All identities with their steps, in the order of steps."""
        identities = np.concatenate([np.empty(0, np.int64), *(part for part, _ in self._parts)])
        steps = np.concatenate([np.empty(0, np.int64), *(of for _, of in self._parts)])
        kept = steps >= self._oldest
        order = np.argsort(steps[kept], kind="stable")
        return identities[kept][order], steps[kept][order]

    def _merge(self) -> None:
        """Join the smaller half of the parts into one, and leave out what was forgotten."""
        self._parts.sort(key=lambda part: len(part[0]))
        joined = self._parts[: _PARTS // 2 + 1]
        identities = np.concatenate([part for part, _ in joined])
        steps = np.concatenate([of for _, of in joined])
        kept = steps >= self._oldest
        order = np.argsort(identities[kept], kind="stable")
        self._parts[: len(joined)] = [(identities[kept][order], steps[kept][order])]
