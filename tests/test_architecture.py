"""The page about the architecture names functions that there are."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
NAMED = sorted(set(re.findall(r"`(bypass[\w.]*:[\w.]+)`", PAGE.read_text())))


def test_there_are_five_walks() -> None:
    walks = PAGE.read_text().split("\n### ")[1:]
    assert len(walks) == 5
    assert all("\n1. `bypass" in walk for walk in walks)


@pytest.mark.parametrize("name", NAMED)
def test_each_step_of_a_walk_is_where_the_page_says(name: str) -> None:
    module, _, path = name.partition(":")
    found: Any = import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    function = getattr(found, "callback", found)  # that of a command
    assert function.__module__ == module
