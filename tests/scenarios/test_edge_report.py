"""The report of runs with infrastructure, of figures that are written down here."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from bypass.models.storage.energy import EnergyUse
from bypass.places.region import Region
from bypass.scenarios.experiments.infrastructure import InfrastructureSettings
from bypass.scenarios.figures.infrastructure import (
    DataArrival,
    EdgeSample,
    InfrastructureFigures,
    InfrastructureWatch,
    edge_changes,
    no_infrastructure_figures,
)
from bypass.scenarios.figures.storage import StoreLayout
from bypass.scenarios.figures.storage_loads import NodeLoad
from bypass.scenarios.report.plots.maps.loads import load_map
from bypass.scenarios.report.report import write_report
from bypass.scenarios.report.result import Result
from bypass.scenarios.runs.loader import load
from bypass.scenarios.runs.preparation import prepared

SETTINGS = InfrastructureSettings.model_validate(
    {"places": [[20, 40], [140, 40]], "worlds": ["", "board"], "outages": [{"at": 5, "until": 8}]}
)


def figures() -> InfrastructureFigures:
    watch = InfrastructureWatch(
        [
            EdgeSample(
                at, edge, {"local": {"": int(at), "board": 4}, "prefetch-data": {"": 2}}, {"served": 3}
            )
            for at in (1.0, 2.0, 9.0)
            for edge in (0, 1)
        ],
        [DataArrival("edge", 0.1), DataArrival("replicas", 0.2)],
    )
    told = [(0, 1.0, 0.5), (0, 6.0, 2.5)]
    return InfrastructureFigures(SETTINGS, watch, edge_changes(SETTINGS, told, (), 12.0), 10.0, 60.0, 12.0)


@pytest.mark.slow
def test_the_report_has_a_section_for_edges(tmp_path: Path) -> None:
    changes = {
        "world": {"width": 160, "height": 80}, "mobility": {"model": "visitors", "width": 160, "height": 80},
        "timeline": [], "checks": [],
    }  # fmt: skip
    scenario = load("storage-transitions", duration=12, clients=4, changes=changes)
    run = prepared(scenario, 1).run()

    def report(own: InfrastructureFigures | None) -> str:
        result = Result(scenario, {"run": replace(run, infrastructure=own)})
        return write_report(result, tmp_path).read_text()

    assert "Edges" not in report(None)
    html = write_report(
        Result(scenario, {"run": replace(run, infrastructure=figures())}), tmp_path
    ).read_text()
    assert re.findall(r"<h2>(.*?)</h2>", html) == ["Stores", "Edges", "Over time", "Run it again"]
    assert re.findall(r"<h3>(.*?)</h3>", html)[-2:] == ["Caches over time", "Outages"]
    titles = re.findall(r'aria-label="(.*?)"', html)
    for title in (
        "stacked bars of Where data came from",
        "stacked bars of Worlds in the caches of own areas at the end",
        "entries over time, Caches of all edges",
        "entries over time, Worlds in the caches of own areas",
    ):
        assert title in titles
    assert "No edge had anything." in report(no_infrastructure_figures(SETTINGS, 12.0))


def test_a_map_has_triangles_for_edges() -> None:
    region = Region((0.0, 0.0, 160.0, 80.0), ())
    loads = [NodeLoad((10.0, 10.0), EnergyUse(60.0, maintenance=3))]
    bare = load_map("nodes", region, StoreLayout(loads), 3.0)
    picture = load_map("nodes", region, StoreLayout(loads, edges=SETTINGS.places), 3.0)
    assert bare is not None
    assert picture is not None
    assert "#d55e00" in picture.svg
    assert "#d55e00" not in bare.svg
