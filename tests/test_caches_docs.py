"""The page about caches names every mechanism, and every parameter with its default."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bypass.mechanisms import Registry
from bypass.mechanisms.families import CACHE, INSERTION, PARTITION, Family

PAGE = (Path(__file__).parents[1] / "docs" / "caches.md").read_text()


def tables(text: str) -> list[list[str]]:
    """The cells of all tables, without their heads."""
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in text.splitlines()]
    return [row for row in rows if re.match("`", row[0])]


@pytest.mark.parametrize(
    ("family", "end"),
    [(CACHE, "## Hits"), (PARTITION, "## Insertion"), (INSERTION, "\nA cache of one's own")],
)
def test_every_mechanism_and_parameter_is_documented_with_its_default(family: Family, end: str) -> None:
    before, _, _ = PAGE.partition(end)
    start = {CACHE: "## Mechanisms", PARTITION: "## Partitions", INSERTION: "## Insertion"}[family]
    found = tables(before.partition(start)[2])
    kinds = Registry().kinds(family)
    assert [row[0].strip("`") for row in found if len(row) == 2] == [*kinds]
    documented = {
        (kind, row[0].strip("`")): row[3]
        for row in found
        if len(row) == 5
        for kind in (kinds if row[1] == "all" else row[1].split(", "))
    }
    assert documented == {
        (name, parameter.name): "none" if parameter.default is None else f"{parameter.default:g}"
        for name, kind in kinds.items()
        for parameter in kind.parameters().values()
    }
