"""The page about routing names every mechanism and every parameter."""

from __future__ import annotations

import re
from pathlib import Path

from bypass.mechanisms import Registry
from bypass.mechanisms.families import ROUTING

PAGE = Path(__file__).parents[1] / "docs" / "routing.md"


def test_every_mechanism_and_parameter_is_named_with_those_that_have_it() -> None:
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in PAGE.read_text().splitlines()]
    table = {row[0].strip("`"): row[1] for row in rows if len(row) > 2 and re.match("`", row[0])}
    kinds = Registry().kinds(ROUTING)
    assert kinds.keys() <= table.keys()
    for name, kind in kinds.items():
        said = {parameter for parameter, of in table.items() if of == "all" or name in of.split(", ")}
        assert said - kinds.keys() == kind.parameters().keys()
