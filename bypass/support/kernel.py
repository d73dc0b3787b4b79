"""The decorator that compiles Python functions to machine code."""

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

from bypass.support.kernel_cache import KernelCache

log = logging.getLogger(__name__)

F = TypeVar("F", bound=Callable[..., Any])


def kernel(fn: F) -> F:
    """Compile `fn` at its first call and keep its type for the type checker.

    Compiling takes seconds, so the result is cached on disk: beside the source, in the user's cache or, where
    neither can be written, in a folder that is this user's alone. Without any, each process compiles anew. It
    is compiled again if a source changes that it may be made from (`bypass.support.kernel_cache`).
    Kernels touch arrays only, so they let other threads run. No fastmath: it may reorder sums, and the same
    seed must give the same bits everywhere.
    """
    return _compiled(fn)


def borrowing_kernel(fn: F) -> F:
    """Compile `fn` as `kernel` does, without counting references to arrays.

    For kernels that make no arrays, views apart, and that hand arrays to each other often: counting, which
    is atomic, would take longer than their work. Whoever calls one from Python holds its arrays meanwhile.
    """
    return _compiled(fn, _nrt=False)


def _compiled(fn: F, **options: bool) -> F:
    compiled: Any = cast("Any", numba).njit(nogil=True, **options)(fn)
    try:
        compiled._cache = KernelCache(fn)
    except RuntimeError:  # there is no place for it
        folder = _private_cache()
        if folder is not None:
            cast("Any", config).CACHE_DIR = str(folder)
            compiled._cache = KernelCache(fn)
    return cast("F", compiled)


@cache
def _private_cache() -> Path | None:
    """A folder for compiled code that only this user can read or write; None, with a warning, if there is
    none.

    Anybody who could write there could make this process execute anything.
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
    """The folders to try: those given to services and sessions, then one with the user's id among temporary
    files."""
    for variable in ("CACHE_DIRECTORY", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"):
        given = os.environ.get(variable, "").partition(":")[0]
        if given:
            yield Path(given, "bypass-kernels")
    try:
        temporary = tempfile.gettempdir()
    except FileNotFoundError:  # nothing on this machine can be written to
        return
    yield Path(temporary, f"bypass-kernels-{os.geteuid()}")
