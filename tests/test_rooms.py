"""The map in CONTRIBUTING names every room of the project."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TOP = ("bypass", "mechanisms", "models", "scenarios", "transitions")


def rooms() -> list[str]:
    """Packages, as paths from the root; those that are linked into `bypass` count once."""
    found = [path.parent for top in TOP for path in (ROOT / top).rglob("__init__.py")]
    return sorted({path.relative_to(ROOT).as_posix() for path in found if path.parent != ROOT})


def the_map() -> str:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    return text[text.index("## Where things are") : text.index("    tests/ ")]


def line_of(room: str) -> str:
    """The text of the map about the folder that a room is in, up to the next folder."""
    top = room.split("/")
    folder = "/".join(top[:2]) if top[0] == "bypass" else top[0]
    _, _, rest = the_map().partition(f"    {folder}/ ")
    lines = rest.split("\n")
    own = [lines[0]]
    for line in lines[1:]:
        if not line.startswith(" " * 20):
            break
        own.append(line)
    return folder + "/ " + " ".join(own)


@pytest.mark.parametrize("room", rooms())
def test_the_map_names_every_room(room: str) -> None:
    depth = 3 if room.startswith("bypass/live") else 2
    known = room.split("/")[1 : depth + 1] if room.startswith("bypass/") else room.split("/")[:2]
    named = line_of(room)
    assert all(f"{part}/" in named for part in known), named
