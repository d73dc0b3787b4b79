"""Writes files and folders so that they are there as a whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bypass.models.traces.errors import InvalidTrace


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
