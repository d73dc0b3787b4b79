"""A memory of what happened lately, and of no more."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(OrderedDict[K, V]):
    """A dict that keeps the latest 1024 keys: enough to know a message that comes twice."""

    LIMIT = 1024

    def __setitem__(self, key: K, value: V) -> None:
        super().__setitem__(key, value)
        if len(self) > self.LIMIT:
            self.popitem(last=False)
