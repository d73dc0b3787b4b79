"""Writes files and folders so that they are there as a whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from bypass.models.traces.errors import InvalidTrace


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path to write to, which becomes `path` at the end and vanishes if something goes wrong.

    Its name begins with a dot: who reads the folder as Parquet looks past it. Two who write the same file
    at the same time, as two attempts at one task may, do not meet.
    """
    unfinished = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        yield unfinished
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def refuse_used(folder: Path) -> None:
    """Raise InvalidTrace if there is something in the folder, or in its place."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidTrace(f"{folder} is in the way: expected a new or an empty folder")


@contextmanager
def new_folder(folder: Path) -> Iterator[None]:
    """Make a folder, and take it away again if something goes wrong. Raises InvalidTrace if it is in use."""
    refuse_used(folder)
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        if folder not in made:
            folder.mkdir(exist_ok=True)
        for parent in made[1:]:
            with suppress(OSError):  # somebody else may use it by now
                parent.rmdir()
        raise
