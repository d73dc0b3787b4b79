"""The one way in which this project compiles Python functions to machine code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def kernel(fn: F) -> F:
    """Compile `fn` at its first call and keep its type for the type checker.

    Compiling takes seconds, so the result is cached on disk; kernels touch arrays only, so they let other
    threads run. No fastmath: it may reorder sums, and the same seed must give the same bits everywhere.
    A kernel may call only kernels of its own module: the disk cache sees changes in that one file.
    """
    return cast("F", numba.njit(cache=True, nogil=True)(fn))
