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
    A kernel that calls kernels of another module is made with `kernel_using`.
    """
    return cast("F", numba.njit(cache=True, nogil=True)(fn))


def kernel_using(*others: Callable[..., Any]) -> Callable[[F], F]:
    """A `kernel` that reaches these kernels of other modules, itself or through others.

    The disk cache looks at the caller's file alone and would go on using what was compiled from a callee's
    old file; so the callees' files become part of the version that the cache compares.
    """

    def compiled(fn: F) -> F:
        dispatcher: Any = kernel(fn)
        cache = dispatcher._cache
        stamps = [other._cache._impl.locator.get_source_stamp() for other in cast("Any", others)]
        cache._cache_file._source_stamp = (cache._cache_file._source_stamp, *stamps)
        return cast("F", dispatcher)

    return compiled
