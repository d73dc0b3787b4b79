"""A disk that loses power: it has what was synced, and nothing else."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest


@dataclass
class DiskState:
    """The content of files by inode, what folders have (inode, and whether it is a folder) by name, and the
    databases, which sync themselves."""

    files: dict[int, bytes] = field(default_factory=dict)
    folders: dict[Path, dict[str, tuple[int, bool]]] = field(default_factory=dict)
    databases: dict[Path, bytes] = field(default_factory=dict)

    def write(self, source: Path, target: Path) -> None:
        """Write what is left of a folder; a file that has a name and was not synced is empty."""
        target.mkdir(mode=0o700)
        for name, (inode, is_folder) in self.folders.get(source, {}).items():
            if is_folder:
                self.write(source / name, target / name)
            else:
                (target / name).touch(0o600)
                (target / name).write_bytes(self.files.get(inode, b""))
        for path, content in self.databases.items():
            if path.parent == source:
                (target / path.name).write_bytes(content)


class Disk:
    """Notes what is synced below a folder, and tells `synced` each time."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch, synced: Callable[[], None]) -> None:
        self._root, self._synced = root, synced
        self._state = DiskState()
        self._held: dict[int, int] = {}  # an inode that is open is not given to another file
        for name in ("fsync", "fdatasync"):
            monkeypatch.setattr(os, name, self._sync)

    def state(self) -> DiskState:
        """The state of the disk as of now."""
        databases = {path: path.read_bytes() for path in self._root.glob("*.db*")}
        return DiskState(dict(self._state.files), dict(self._state.folders), databases)

    def close(self) -> None:
        for descriptor in self._held.values():
            os.close(descriptor)

    def _sync(self, descriptor: int) -> None:
        path, status = Path(os.readlink(f"/proc/self/fd/{descriptor}")), os.fstat(descriptor)
        if not path.is_relative_to(self._root):
            return
        is_folder = stat.S_ISDIR(status.st_mode)
        for file in [each for each in path.iterdir() if each.is_file()] if is_folder else [path]:
            # A database is left alone: its locks end when any descriptor of it is closed.
            if ".db" not in file.name and file.stat().st_ino not in self._held:
                self._held[file.stat().st_ino] = os.open(file, os.O_RDONLY)
        if is_folder:
            self._state.folders[path] = {
                each.name: (each.inode(), each.is_dir()) for each in os.scandir(path)
            }
        else:
            self._state.files[status.st_ino] = path.read_bytes()
        self._synced()
