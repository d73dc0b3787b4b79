"""The one way in which this project compiles Python functions to machine code."""

from __future__ import annotations

import logging
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import config

log = logging.getLogger(__name__)

F = TypeVar("F", bound=Callable[..., Any])


def kernel(fn: F) -> F:
    """Compile `fn` at its first call and keep its type for the type checker.

    Compiling takes seconds, so the result is cached on disk: beside the source, in the user's cache or, where
    neither can be written, in a folder that is this user's alone. Without any, each process compiles anew.
    Kernels touch arrays only, so they let other threads run. No fastmath: it may reorder sums, and the same
    seed must give the same bits everywhere. A kernel that calls kernels of another module is made with
    `kernel_using`.
    """
    try:
        return cast("F", numba.njit(cache=True, nogil=True)(fn))
    except RuntimeError:  # there is no place for it
        folder = _private_cache()
    if folder is not None:
        cast("Any", config).CACHE_DIR = str(folder)
        return cast("F", numba.njit(cache=True, nogil=True)(fn))
    return cast("F", numba.njit(nogil=True)(fn))


def kernel_using(*others: Callable[..., Any]) -> Callable[[F], F]:
    """A `kernel` that reaches these kernels of other modules, itself or through others.

    The disk cache looks at the caller's file alone and would go on using what was compiled from a callee's
    old file; so the callees' files become part of the version that the cache compares.
    """

    def compiled(fn: F) -> F:
        dispatcher: Any = kernel(fn)
        file = getattr(dispatcher._cache, "_cache_file", None)
        if file is not None:
            stamps = [_source_stamp(other) for other in others]
            file._source_stamp = (file._source_stamp, *stamps)
        return cast("F", dispatcher)

    return compiled


def _source_stamp(compiled: Any) -> Any:
    """The version of a kernel's file; a kernel that is not cached has none that numba knows of."""
    known = getattr(compiled._cache, "_impl", None)
    if known is not None:
        return known.locator.get_source_stamp()
    status = os.stat(compiled.py_func.__code__.co_filename)
    return status.st_mtime, status.st_size


@cache
def _private_cache() -> Path | None:
    """A folder for what is compiled, which nobody else can read or write; None, and a warning, without one.

    Whoever could write there could have this process execute anything.
    """
    for folder in _candidates():
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            status = folder.lstat()
            ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
            if ours and not stat.S_IMODE(status.st_mode) & 0o077:
                with tempfile.TemporaryFile(dir=folder):
                    return folder
        except OSError:  # the next one may do
            continue
    log.warning(
        "no folder to cache compiled kernels in: each process compiles them anew, for half a minute or more: "
        "expected XDG_CACHE_HOME or NUMBA_CACHE_DIR to name one that can be written"
    )
    return None


def _candidates() -> Iterator[Path]:
    """Folders that services and sessions are given, and one among temporary files with the user's id."""
    for variable in ("CACHE_DIRECTORY", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"):
        given = os.environ.get(variable, "").partition(":")[0]
        if given:
            yield Path(given, "bypass-kernels")
    yield Path(tempfile.gettempdir(), f"bypass-kernels-{os.geteuid()}")
