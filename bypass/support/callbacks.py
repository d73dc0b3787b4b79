"""A check of the functions that an application hands in as callbacks."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any


def is_plain_function(function: Any) -> bool:
    """Whether something can be called and has done its work when the call returns: neither it nor, for an
    object, its `__call__` is asynchronous."""
    while isinstance(function, partial):
        function = function.func
    if not callable(function):
        return False
    parts = (function, type(function).__call__)
    return not any(inspect.iscoroutinefunction(part) or inspect.isasyncgenfunction(part) for part in parts)
