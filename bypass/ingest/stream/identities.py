"""Identities of messages that were seen: a message that comes again is recognised by its identity."""

from __future__ import annotations

import hashlib

import numpy as np

from bypass.support.arrays import Ints

MOST = 4_000_000
"""How many identities a part remembers; steps that are oldest are forgotten first."""

_LONGEST_KEY = hashlib.blake2b.MAX_KEY_SIZE


def identity(device: str, content: bytes) -> int:
    """The identity of what a device has sent: 64 bits, never 0, the same for the same bytes of the same
    device."""
    key = device.encode()
    if len(key) > _LONGEST_KEY:
        key = hashlib.blake2b(key, digest_size=_LONGEST_KEY).digest()
    digest = hashlib.blake2b(content, digest_size=8, key=key).digest()
    return int.from_bytes(digest, "little", signed=True) or 1


class IdentityWindow:
    """The identities of the latest steps, in parts of steps that follow each other. Which ones it has
    follows from the steps alone, not from how it was built up."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._parts: list[tuple[Ints, Ints]] = []  # identities in order, and the step of each
        self._sizes: dict[int, int] = {}  # step -> how many
        self._total = 0
        self._oldest = 0

    def __len__(self) -> int:
        return self._total

    def seen(self, identities: Ints) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Which of these were added before."""
        found = np.zeros(len(identities), np.bool_)
        for known, steps in self._parts:
            if len(known):
                at = np.searchsorted(known, identities)
                at[at == len(known)] = 0
                found |= (known[at] == identities) & (steps[at] >= self._oldest)
        return found

    def add(self, step: int, identities: Ints) -> None:
        """Remember the identities of a step, each once and none that was `seen`, as a part. Steps come in
        order."""
        self.load(np.sort(identities), np.full(len(identities), step, np.int64))

    def load(self, identities: Ints, steps: Ints) -> None:
        """Remember a part that `joined` gave: identities in order, with the step of each. Its steps come
        behind those of all other parts."""
        self._parts.append((identities, steps))
        numbers, sizes = np.unique(steps, return_counts=True)
        self._sizes.update(zip(numbers.tolist(), sizes.tolist(), strict=True))
        self._total += len(identities)
        while self._total > self._most and len(self._sizes) > 1:
            self._total -= self._sizes.pop(next(iter(self._sizes)))
            self._oldest = next(iter(self._sizes))

    def sizes(self) -> list[int]:
        """How many identities each part has, those that were forgotten included."""
        return [len(part) for part, _ in self._parts]

    def joined(self, count: int) -> tuple[Ints, Ints]:
        """Join the latest `count` parts into one, without what was forgotten. Gives it."""
        latest = self._parts[-count:]
        if count > 1:
            identities = np.concatenate([part for part, _ in latest])
            steps = np.concatenate([of for _, of in latest])
            kept = steps >= self._oldest
            order = np.argsort(identities[kept], kind="stable")
            self._parts[-count:] = [(identities[kept][order], steps[kept][order])]
        return self._parts[-1]
