"""The pages about caches and infrastructure name every mechanism, and every parameter with its default."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bypass.mechanisms import Registry
from bypass.mechanisms.families import (
    CACHE,
    CAPACITIES,
    CELL_MAP,
    INSERTION,
    PARTITION,
    PROVISIONING,
    RANKING,
    SLOTS,
    STABILITY,
    Family,
)

DOCS = Path(__file__).parents[1] / "docs"
SECTIONS = {
    CACHE: ("caches.md", "## Mechanisms", "## Hits"),
    PARTITION: ("caches.md", "## Partitions", "## Insertion"),
    INSERTION: ("caches.md", "## Insertion", "\nA cache of one's own"),
    RANKING: ("infrastructure.md", "### Ranking", "### Provisioning"),
    PROVISIONING: ("infrastructure.md", "### Provisioning", "### Slots"),
    SLOTS: ("infrastructure.md", "### Slots", "### Cell maps"),
    CELL_MAP: ("infrastructure.md", "### Cell maps", "### Capacities"),
    CAPACITIES: ("infrastructure.md", "### Capacities", "### Stability"),
    STABILITY: ("infrastructure.md", "### Stability", "### Clients that move"),
}


def tables(text: str) -> list[list[str]]:
    """The cells of all tables, without their heads."""
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in text.splitlines()]
    return [row for row in rows if re.match("`", row[0])]


@pytest.mark.parametrize("family", SECTIONS, ids=lambda family: family.name)
def test_every_mechanism_and_parameter_is_documented_with_its_default(family: Family) -> None:
    page, start, end = SECTIONS[family]
    before, _, _ = (DOCS / page).read_text().partition(end)
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
