"""Files that are there as a whole or not at all, and that stay there when a machine loses power."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

_ANYBODY = 0o666  # as far as the umask allows


@contextmanager
def replacing(path: Path, *, synced: bool = False) -> Iterator[Path]:
    """Give a path to write to, which becomes `path` at the end and vanishes if something goes wrong. With
    `synced`, the disk has the file then.

    Its name begins with a dot: programs that read the folder look past it. Two that write the same file at
    the same time, as two attempts at one task may, do not meet. Raises OSError.
    """
    unfinished = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        yield unfinished
        if synced:
            sync(unfinished)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    if synced:
        sync(path.parent)


def replace_file(path: Path, content: bytes | str, *, mode: int = _ANYBODY, synced: bool = True) -> None:
    """Write a file: readers find what it had before, or all of the new content. With `synced`, the disk has
    it when this returns. Raises OSError."""
    data = content.encode() if isinstance(content, str) else content
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with (
        replacing(path, synced=synced) as unfinished,
        open(os.open(unfinished, flags, mode), "wb") as file,
    ):
        file.write(data)


def sync(path: Path) -> None:
    """Have the disk keep the content of a file, or the names in a folder. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_below(folder: Path, files: Iterable[Path]) -> None:
    """Have the disk keep files below a folder, with the names of all folders that lead to them. Raises
    OSError."""
    parents: set[Path] = set()
    for file in files:
        sync(file)
        parents.update(parent for parent in file.parents if parent.is_relative_to(folder))
    for parent in sorted(parents, reverse=True):  # names before those of the folders that they are in
        sync(parent)
