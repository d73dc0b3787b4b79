"""The provenance of a result: the code, its state in git, hashes of the inputs, and the machine."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import bypass

FILE = "provenance.json"
_PACKAGE = Path(bypass.__file__).parent


def library_version() -> str:
    """The version of the installed library."""
    try:
        return version("bypass-pubsub")
    except PackageNotFoundError:
        return "from a checkout"


@cache
def code_hash() -> str:
    """A hash of the library's own files: other code, or another built-in scenario, has another one."""
    return hash_of(_PACKAGE)


def input_hashes(inputs: Iterable[Path]) -> dict[str, str]:
    """The hash of each file or folder, by its absolute path. Raises OSError."""
    return {str(path.absolute()): hash_of(path) for path in inputs}


def write_provenance(path: Path, about: Mapping[str, Any]) -> None:
    """Write a file that says what a result comes from; `about` is what was asked for, and of what."""
    facts = {
        "version": library_version(),
        "code": code_hash(),
        "git": git_state(_PACKAGE),
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "name": platform.node(),
            "system": platform.platform(),
            "processor": platform.machine(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
        },
        **about,
    }
    path.write_text(json.dumps(facts, indent=1, default=str) + "\n", encoding="utf-8")


def git_state(folder: Path) -> dict[str, Any] | None:
    """The commit of a folder, and whether something has changed since; None if the folder is not in git."""
    try:
        # A library that is merely installed inside of somebody's repository is not of that repository.
        _git(folder, "ls-files", "--error-unmatch", "__init__.py")
        commit = _git(folder, "rev-parse", "HEAD")
        top = _git(folder, "rev-parse", "--show-toplevel")
        return {"commit": commit, "changed": bool(_git(Path(top), "status", "--porcelain"))}
    except (OSError, subprocess.SubprocessError):
        return None


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(  # noqa: S603 - nothing of it is from outside
        ["git", *words],  # noqa: S607 - whichever git there is
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    return done.stdout.strip()


def hash_of(path: Path) -> str:
    """The hash of a file, or of all files in a folder with their names. Raises OSError."""
    whole = hashlib.sha256()
    for file in [path] if path.is_file() else _files_in(path):
        if file != path:
            whole.update(f"{file.relative_to(path).as_posix()}\0".encode())
        with file.open("rb") as content:
            whole.update(hashlib.file_digest(content, "sha256").digest())
    return whole.hexdigest()


def _files_in(folder: Path) -> list[Path]:
    """All files, those that Python makes of its sources excepted. Packages may be links."""
    found = []
    for where, folders, names in os.walk(folder, followlinks=True):
        folders[:] = [name for name in folders if name != "__pycache__"]
        found += [Path(where, name) for name in names]
    return sorted(found)
