"""The reference pages name everything that there is, and link to pages and sections that exist."""

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from bypass.models.mobility import MOBILITY
from bypass.models.workloads import WORKLOADS
from bypass.scenarios import load, run
from bypass.scenarios.result import timeline
from bypass.scenarios.schema import Check, Scenario, scheme_parameters
from bypass.sim.cellular import CellularModel
from bypass.sim.ledger import COLUMNS
from bypass.transitions import Record

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])


def words(page: str) -> set[str]:
    """What a page sets in code, and what is in it: `{model: map}` has three."""
    quoted = re.findall(r"`([^`\n]+)`", (ROOT / "docs" / page).read_text())
    return {word for code in quoted for word in (code, *re.findall(r"[\w-]+", code))}


def keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


def test_every_parameter_of_every_scheme_is_documented() -> None:
    assert set(scheme_parameters()) <= words("filter-schemes.md")


def test_every_key_of_an_experiment_is_documented() -> None:
    models: list[Any] = [Scenario, CellularModel, Check, *MOBILITY.values(), *WORKLOADS.values()]
    known = {name for model in models for name in model.model_fields}
    assert known | set(MOBILITY) | set(WORKLOADS) <= words("scenarios.md")


@pytest.mark.parametrize("name", ["clients", "duration", "grace"])
def test_defaults_are_those_of_the_schema(name: str) -> None:
    row = f"| `{name}` | {Scenario.model_fields[name].default:g} |"
    assert row in (ROOT / "docs" / "scenarios.md").read_text()


def test_every_figure_and_column_is_documented() -> None:
    result = run(load("total-transitions", clients=10, duration=12, changes={"runs": {}, "main": ""}))
    summary = result.summary()
    for phase in summary["phases"]:
        del phase["mechanisms"], phase["percentiles"]
    documented = words("scenarios.md")
    assert set(keys(summary)) | {"mechanisms", "percentiles"} <= documented
    assert {*COLUMNS, "recall", "precision"} <= documented
    ways = {column for column in timeline(result.main) if column.endswith("_down")}
    assert set(timeline(result.main)) - ways <= documented


def test_every_part_of_a_record_is_documented() -> None:
    assert {field.name for field in fields(Record)} <= words("transitions.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]*#?[^)]*)\)", page.read_text()):
        if target.startswith("http"):
            continue
        name, _, section = target.partition("#")
        linked = page.parent / name if name else page
        assert linked.exists(), target
        if section:
            titles = re.findall(r"^#+ (.*)$", linked.read_text(), re.MULTILINE)
            assert section in {re.sub(r"[^\w -]", "", t).lower().replace(" ", "-") for t in titles}, target
