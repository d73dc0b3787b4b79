"""Hands values from one owner to the next."""

from __future__ import annotations

import copy
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any

_CONTAINERS = frozenset({list, dict, set, deque, bytearray, defaultdict, OrderedDict, Counter})


def is_container(value: Any) -> bool:
    """Say whether `value` is a built-in mutable container or a numpy array: contents without an owner."""
    kind = type(value)
    if kind in _CONTAINERS:
        return True
    numpy = sys.modules.get("numpy")
    return numpy is not None and kind is numpy.ndarray


def handed_over(value: Any) -> Any:
    """The value for its new owner: objects by reference, containers as shallow copies.

    With a copy, a new owner that gives up half-way cannot have changed what the old one still uses.
    """
    return copy.copy(value) if is_container(value) else value
