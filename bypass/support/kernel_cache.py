"""Compiled kernels on disk, under one stamp of all sources that they are made from.

numba itself compares a kernel's own file alone: it would go on using what was compiled from another module's
old kernels. And it raises what unpickling raises if a file is cut off or names a module that has moved.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.runtime.nrt import rtsys

log = logging.getLogger(__name__)

OURS = "bypass"
MARKS = (b"from bypass.support.kernel import", b"# compiled into kernels")
"""A module with one of these is part of the stamp. The second is for those that only have constants."""


class KernelCache(FunctionCache):
    """The cache of one kernel. What cannot be read is compiled again; what cannot be written is not kept.

    Raises RuntimeError if numba finds no folder for it.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        ours = function.__module__.partition(".")[0] == OURS
        self._folder = None if ours else Path(function.__code__.co_filename).parent
        stamp = self._impl.locator.get_source_stamp(), source_stamp(self._folder)
        self._cache_file = _CacheFile(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            # All else that numba would prepare here is for compiling, which prepares it itself.
            rtsys.initialize(target_context)
            return self._load_overload(sig, target_context)
        except Exception as error:  # damaged files raise anything
            log.debug("%s is compiled again: %s: %s", self._name, type(error).__name__, error)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        if source_stamp(self._folder) != source_stamp.__wrapped__(self._folder):
            return  # sources have changed since they were imported: nobody knows which ones it is made from
        try:
            super().save_overload(sig, data)
        except OSError as error:
            log.warning("%s is not cached: %s", self._name, error)


class _CacheFile(IndexDataCacheFile):
    """An index and its data. Data have the stamp, too: a process that ends between writing the index and the
    data leaves older data under the new ones' name."""

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except Exception:  # damaged files raise anything
            return {}

    def _load_data(self, name: str) -> Any:
        stamp, data = super()._load_data(name)
        return data if stamp == self._source_stamp else None

    def _save_data(self, name: str, data: Any) -> None:
        super()._save_data(name, (self._source_stamp, data))


@cache
def source_stamp(folder: Path | None = None) -> str:
    """A digest of all sources that kernels may be made from: ours that have kernels, or constants for them.

    For kernels in a folder that is not ours it is one of all our sources, and of those in that folder.
    """
    digest = hashlib.sha256()
    for source in _sources(files(OURS)):
        if folder is not None or any(mark in source for mark in MARKS):
            digest.update(source)
    for path in [] if folder is None else sorted(folder.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _sources(folder: Traversable) -> Iterator[bytes]:
    """The modules in a folder, or an archive, and below it."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.name.endswith(".py"):
            yield entry.read_bytes()
        elif entry.name != "__pycache__" and entry.is_dir():
            yield from _sources(entry)
