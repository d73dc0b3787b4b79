"""A check of the functions that an application hands in as callbacks."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any


def is_plain_function(function: Any) -> bool:
    """Say whether something can be called and has done its work when the call returns: neither it nor, for an
    object, its `__call__` is asynchronous or a generator, whose body would not even begin."""
    while isinstance(function, partial):
        function = function.func
    if not callable(function):
        return False
    parts = (function, type(function).__call__)
    deferred = inspect.iscoroutinefunction, inspect.isasyncgenfunction, inspect.isgeneratorfunction
    return not any(is_deferred(part) for is_deferred in deferred for part in parts)
