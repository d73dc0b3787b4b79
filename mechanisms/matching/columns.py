"""Numbered things in arrays: columns that grow, numbers that are used again, lists in a pool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bypass.support.arrays import Ints

AnyColumn = TypeVar("AnyColumn", bound=NDArray[np.generic])


def grown(column: AnyColumn, size: int, fill: float = 0) -> AnyColumn:
    """A column of at least `size` rows, twice as long as before if it has to grow; the same one if not."""
    if size <= len(column):
        return column
    larger = np.full((max(16, size, 2 * len(column)), *column.shape[1:]), fill, column.dtype)
    larger[: len(column)] = column
    return larger  # type: ignore[return-value] # of the same type


class NumberPool:
    """NumberPool from 0 on; those given back are given again. `used` is one more than the largest."""

    __slots__ = ("_free", "used")

    def __init__(self) -> None:
        self.used = 0
        self._free: list[int] = []

    @property
    def in_use(self) -> int:
        """How many numbers are taken and not given back."""
        return self.used - len(self._free)

    def take(self) -> int:
        if self._free:
            return self._free.pop()
        self.used += 1
        return self.used - 1

    def give_back(self, number: int) -> None:
        self._free.append(number)


class Rooms:
    """Stretches of an array. Each is as long as a power of two; one that is given back is given again.

    `used` is where the last one ends.
    """

    __slots__ = ("_free", "used")

    def __init__(self) -> None:
        self.used = 0
        self._free: dict[int, list[int]] = {}

    def take(self, length: int) -> int:
        """Give the start of a stretch of at least that length, which is not 0."""
        room = 1 << (length - 1).bit_length()
        free = self._free.get(room)
        if free:
            return free.pop()
        self.used += room
        return self.used - room

    def give_back(self, start: int, length: int) -> None:
        self._free.setdefault(1 << (length - 1).bit_length(), []).append(start)


class ListPool:
    """Lists of integers in one array."""

    __slots__ = ("_rooms", "values")

    def __init__(self) -> None:
        self.values: Ints = np.zeros(64, np.int64)
        self._rooms = Rooms()

    def add(self, values: Sequence[int]) -> int:
        """Write a list, which has at least one element, and give where it starts."""
        start = self._rooms.take(len(values))
        self.values = grown(self.values, self._rooms.used)
        self.values[start : start + len(values)] = values
        return start

    def remove(self, start: int, count: int) -> None:
        """Give back the room of a list."""
        self._rooms.give_back(start, count)
