"""The map in CONTRIBUTING names every room; rooms and modules are small; a name stands for one thing."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from pathlib import PurePath

import pytest

from tests.product import ROOT, TOP, modules

MOST_MODULES, MOST_LINES = 14, 400


def classes(source: str) -> set[str]:
    """The public classes that a module defines."""
    found = {node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)}
    return {name for name in found if not name.startswith("_")}


def aliases(source: str) -> set[str]:
    """The names in CapWords to which a module assigns something else than a class of its own."""
    targets = [
        target
        for node in ast.parse(source).body
        if isinstance(node, (ast.Assign, ast.AnnAssign))
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    ]
    names = {target.id for target in targets if isinstance(target, ast.Name)}
    return {name for name in names if name[:1].isupper() and not name.isupper()}


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


def test_every_folder_with_modules_is_a_package() -> None:
    """Others are found where the sources are, and are missing in what is installed or sent to a cluster."""
    folders = {path.parent for top in TOP for path in (ROOT / top).rglob("*.py")}
    assert sorted(str(each) for each in folders if not (each / "__init__.py").exists()) == []


@pytest.mark.parametrize("room", rooms())
def test_the_map_names_every_room(room: str) -> None:
    depth = 3 if room.startswith("bypass/live") else 2
    known = room.split("/")[1 : depth + 1] if room.startswith("bypass/") else room.split("/")[:2]
    named = line_of(room)
    assert all(f"{part}/" in named for part in known), named


def test_rooms_are_small() -> None:
    paths = [PurePath(path) for path in modules()]
    sizes = Counter(str(path.parent) for path in paths if path.name != "__init__.py")
    assert {room: size for room, size in sizes.items() if size > MOST_MODULES} == {}


def test_modules_are_small() -> None:
    lines = {path: source.count("\n") for path, source in modules().items()}
    assert {path: count for path, count in lines.items() if count > MOST_LINES} == {}


def test_a_class_name_stands_for_one_thing() -> None:
    homes: dict[str, list[str]] = defaultdict(list)
    for path, source in modules().items():
        for name in classes(source):
            homes[name].append(path)
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_an_alias_is_not_named_like_a_class() -> None:
    known = {name for source in modules().values() for name in classes(source)}
    found = {path: aliases(source) & known for path, source in modules().items()}
    assert {path: names for path, names in found.items() if names} == {}
