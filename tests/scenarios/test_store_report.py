"""The report of runs with a store: tables and pictures of operations, traffic and loads."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from bypass.models.storage.energy import EnergyUse
from bypass.places.cell_grid import CellGrid
from bypass.places.region import Region
from bypass.scenarios.experiments.variants import changed, validated, variants
from bypass.scenarios.figures.storage import StoreLayout
from bypass.scenarios.figures.storage_loads import NodeLoad
from bypass.scenarios.report.pictures_stored import layers
from bypass.scenarios.report.plots.maps.loads import load_map
from bypass.scenarios.report.plots.marks import marks
from bypass.scenarios.report.plots.stacks import stacks
from bypass.scenarios.report.report import write_report
from bypass.scenarios.report.result import Result
from bypass.scenarios.runs.loader import load
from bypass.scenarios.runs.preparation import prepared

pytestmark = pytest.mark.slow

NAN = float("nan")


@pytest.fixture(scope="module")
def result() -> Result:
    """Two designs and a switch from one to the other, for a minute."""
    whole = load("storage-transitions", duration=72, clients=16)
    small: dict[str, Any] = {
        "world.width": 160, "world.height": 80, "mobility.width": 160, "mobility.height": 80, "checks": [],
        "timeline.0.plan.actions.0.set.area": [0, 0, 160, 80],
        "runs": {"switching": {}, "staying": {"timeline": []}}, "main": "switching",
    }  # fmt: skip
    scenario = validated("short", changed("short", whole.model_dump(mode="json"), small))
    return Result(scenario, {name: prepared(each, 1).run() for name, each in variants(scenario).items()})


def test_the_report_has_the_sections_of_a_store_and_none_of_events(result: Result, tmp_path: Path) -> None:
    html = write_report(result, tmp_path).read_text(encoding="utf-8")
    assert re.findall(r"<h2>(.*?)</h2>", html) == ["Stores", "Over time", "Run it again"]
    assert re.findall(r"<h3>(.*?)</h3>", html) == ["Load of nodes", "Phases", "Switches"]
    titles = re.findall(r'aria-label="(.*?)"', html)
    assert titles == [
        "marks of Success of operations",
        "marks of Duration of operations, and until notification",
        "bars of Recall",
        "bars of Longest until notification",
        "stacked bars of Bytes on the air",
        "bars of Frames sent again",
        "map of the load of nodes, switching",
        "map of the load of nodes, staying",
        "Lorenz curves, Load of nodes",
        *titles[9:],
    ]
    assert "No event" not in html


def test_energy_is_that_of_the_tablet_while_idle_and_more(result: Result) -> None:
    for run in result.runs.values():
        assert run.store is not None
        energy = run.store.summary()["energy"]
        assert energy["mean_j"] > 67 / 60 * 72
        assert energy["most_j"] >= energy["mean_j"]
        parts = energy["issue_j"] + energy["process_j"] + energy["maintain_j"]
        assert parts == pytest.approx(energy["mean_j"])
        assert energy["process_j"] > 0


def test_layers_add_up_to_all_bytes(result: Result) -> None:
    for run in result.runs.values():
        assert run.store is not None
        parts = layers(run.store)
        assert list(parts) == ["own", "forwarded", "control", "acknowledgements"]
        assert min(parts.values()) > 0
        assert sum(parts.values()) == pytest.approx(run.store.traffic["phy_bytes"] / 1e6)


def test_marks_leave_out_what_is_not_known() -> None:
    assert marks("success", "share", [("a", {"insert": NAN}), ("b", {})], share=True) is None
    picture = marks(
        "success", "share", [("a", {"insert": 1.0, "delete": NAN}), ("b", {"insert": 0.5})], share=True
    )
    assert picture is not None
    assert "insert" in picture.svg
    assert "delete" not in picture.svg
    assert marks("times", "ms", [("a", {"insert": 0.0})]) is None


def test_stacks_show_their_sums() -> None:
    assert stacks("bytes", "MB", [("a", {"own": 0.0})]) is None
    picture = stacks("bytes", "MB", [("a", {"own": 1.0, "control": 0.25}), ("b", {})])
    assert picture is not None
    assert "1.25" in picture.svg


@pytest.mark.parametrize("grid", [None, CellGrid(0.0, 0.0, 40.0, 2, 1)])
def test_a_map_shows_nodes_and_says_how_much_they_have_processed(grid: CellGrid | None) -> None:
    region = Region((0.0, 0.0, 80.0, 40.0), ())
    loads = [
        NodeLoad((10.0, 10.0), EnergyUse(60.0, {}, {"insert": 3000})),
        NodeLoad((50.0, 20.0), EnergyUse(60.0, maintenance=1000)),
    ]
    picture = load_map("cells", region, StoreLayout(loads, grid), 3.0)
    assert picture is not None
    assert picture.note == "The largest dot: 3\u202f000 messages; a node on average: 2\u202f000."
    assert ("of the cell" in picture.svg) == (grid is not None)
    idle = [NodeLoad(each.place, EnergyUse(60.0)) for each in loads]
    assert load_map("cells", region, StoreLayout(idle, grid), 3.0) is None
