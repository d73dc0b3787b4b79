"""Presence of clients: the times at which each takes part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bypass.support.arrays import Bools, Ints
from bypass.support.units import MICROSECONDS


@dataclass(frozen=True, eq=False)
class Presence:
    """When clients join and leave (µs), one client after the other: client i's moments begin at offsets[i].

    They ascend strictly; at the first one the client joins, at the next one it leaves, and so on. Who is
    there from the beginning joins at 0; who never comes has no moments; who does not leave stays for ever.
    """

    offsets: Ints
    at_us: Ints

    @classmethod
    def once(cls, joins_us: Ints, leaves_us: Ints, end_us: int) -> Presence:
        """Every client comes once, for at least 1 µs. What would happen at the end or later does not."""
        moments = np.column_stack((joins_us, np.maximum(leaves_us, joins_us + 1)))
        happens = moments < end_us
        return cls(np.append(0, np.cumsum(happens.sum(axis=1))), moments[happens])

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def active(self, client: int, at: float) -> bool:
        """Whether the client takes part at time `at` (s): from the moment on at which it joins, until before
        that at which it leaves."""
        own = self.at_us[self.offsets[client] : self.offsets[client + 1]]
        return bool(np.searchsorted(own, _microseconds(at), side="right") % 2)

    def count(self, at: float) -> int:
        """How many clients take part at time `at` (s)."""
        happened = self.at_us <= _microseconds(at)
        return 2 * int(np.count_nonzero(self._joins() & happened)) - int(np.count_nonzero(happened))

    def changes(self) -> tuple[Ints, npt.NDArray[np.int32], Bools]:
        """All moments (µs) in the order of time, whose they are, and whether that client joins then.

        Of clients with the same moment the one with the lower number comes first.
        """
        client = np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.offsets))
        order = np.argsort(self.at_us, kind="stable")
        return self.at_us[order], client[order], self._joins()[order]

    def _joins(self) -> Bools:
        number = np.arange(len(self.at_us)) - np.repeat(self.offsets[:-1], np.diff(self.offsets))
        joins: Bools = number % 2 == 0
        return joins


def _microseconds(at: float) -> int:
    return round(at * MICROSECONDS)
