"""The modules of the product, for tests that read all of them."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[1]
TOP = ("bypass", "mechanisms", "models", "scenarios", "transitions")


def modules() -> dict[str, str]:
    """The sources of all modules but generated ones, by path; those linked into `bypass` count once."""
    found = [path for top in TOP for path in sorted((ROOT / top).rglob("*.py"))]
    return {
        path.relative_to(ROOT).as_posix(): path.read_text()
        for path in found
        if not path.name.endswith("_pb2.py") and not any(folder.is_symlink() for folder in path.parents)
    }
