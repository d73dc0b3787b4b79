"""Scenarios whose places are in degrees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from bypass.models.maps import load_map
from bypass.places.geo import GeoLocation, Projection
from bypass.scenarios.experiments.files import InvalidScenario
from bypass.scenarios.experiments.inputs import experiment_text
from bypass.scenarios.experiments.schema import Scenario
from bypass.scenarios.report.plots.maps.world import transition_map
from bypass.scenarios.runs.loader import load
from bypass.scenarios.runs.preparation import prepared

HERRNGARTEN = {"lat": 49.8762, "lon": 8.6526}
CORNER = (49.8696, 8.6502)


def scenario(folder: Path, **changes: Any) -> Scenario:
    script = {
        "places": [{"name": "park", **HERRNGARTEN, "radius": 100, "weight": 1}],
        "steps": [
            {"at": 0, "do": "move", "client": 0, "place": HERRNGARTEN},
            {"at": 0, "do": "subscribe", "client": 0, "subscription": 1, "radius": 50},
            {"at": 3, "do": "publish", "client": 1, "place": HERRNGARTEN},
        ],
    }
    data = {"about": "x", "clients": 2, "duration": 8, "world": {"origin": list(CORNER)}, "script": script}
    path = folder / "there.yaml"
    path.write_text(yaml.safe_dump({**data, **changes}))
    return load(path)


def test_places_in_degrees_are_in_the_plane_of_the_world(tmp_path: Path) -> None:
    found = scenario(tmp_path).script
    assert found is not None
    there = Projection.around(GeoLocation(*CORNER)).to_planar(GeoLocation(**HERRNGARTEN))
    [place] = found.places
    assert (place.x, place.y) == pytest.approx((there.x, there.y), abs=0.0005)
    assert found.steps[0].place == found.steps[2].place == (place.x, place.y)


def test_without_an_origin_the_map_says_where_the_world_is(tmp_path: Path) -> None:
    found = scenario(tmp_path, world={}).script
    assert found is not None
    [known] = [point for point in load_map("darmstadt").attractions if point.name == "Herrngarten"]
    assert (found.places[0].x, found.places[0].y) == pytest.approx((known.x, known.y), abs=1)  # whole metres


def test_a_box_in_degrees_is_a_world(tmp_path: Path) -> None:
    world = scenario(tmp_path, world={"bbox": [8.645, 49.868, 8.664, 49.880]}).world
    assert (world.width, world.height) == pytest.approx((1361.6, 1334.3), abs=0.5)
    assert world.origin == pytest.approx((49.868, 8.645), abs=0.0001)


def test_what_is_written_out_is_in_metres_and_the_same(tmp_path: Path) -> None:
    first = scenario(tmp_path, world={"bbox": [8.645, 49.868, 8.664, 49.880]})
    text = experiment_text(first)
    assert "lat" not in yaml.safe_load(text)["script"]["places"][0]
    (tmp_path / "again.yaml").write_text(text)
    assert load(tmp_path / "again.yaml").script == first.script


def test_edges_may_be_in_degrees(tmp_path: Path) -> None:
    path = tmp_path / "edges.yaml"
    path.write_text(
        yaml.safe_dump(
            {
                "about": "x",
                "world": {"origin": list(CORNER)},
                "objects": {"storage": "infra"},
                "infrastructure": {"places": [HERRNGARTEN, [5, 6]]},
            }
        )
    )
    edges = load(path).infrastructure
    assert edges is not None
    there = Projection.around(GeoLocation(*CORNER)).to_planar(GeoLocation(**HERRNGARTEN))
    found = np.array(edges.places)
    assert found == pytest.approx(np.array([(there.x, there.y), (5.0, 6.0)]), abs=0.0005)


def test_areas_of_plans_may_be_in_degrees(tmp_path: Path) -> None:
    """A partial transition of whoever is in a polygon around Herrngarten: of one of two clients."""
    lat, lon = HERRNGARTEN["lat"], HERRNGARTEN["lon"]
    ring = [
        [lon - 0.001, lat - 0.001],
        [lon + 0.001, lat - 0.001],
        [lon, lat + 0.001],
        [lon - 0.001, lat - 0.001],
    ]
    area = {"type": "Polygon", "coordinates": [ring]}
    plan = {"plan": "there", "actions": [{"proxy": "filter", "to": "grid", "area": area}]}
    steps = [
        {"at": 0, "do": "move", "client": 0, "place": HERRNGARTEN},
        {"at": 0, "do": "move", "client": 1, "place": [1000, 1000]},
        {"at": 0, "do": "subscribe", "client": 0, "subscription": 1, "radius": 50},
        {"at": 0, "do": "subscribe", "client": 1, "subscription": 2, "radius": 50},
    ]
    found = scenario(tmp_path, script={"steps": steps}, timeline=[{"at": 4, "plan": plan}])
    run = prepared(found, 1).run()
    moved = [each.client for each in run.executions if each.record.target == "grid"]
    assert moved == [None, 0]  # the broker, and whoever is there
    assert transition_map(run, "filter") is not None
    assert (
        scenario(tmp_path, timeline=[{"at": 4, "plan": plan}], script={"steps": steps}).projection is not None
    )


@pytest.mark.parametrize(
    ("area", "problem"),
    [
        (
            "Herrngarten",
            r"timeline.0.plan.actions.0.area is no area: .*Herrngarten.*: expected well-known text, or",
        ),
        ([0, 0, 5], r"timeline.0.plan.actions.0.area is no area: .*3 numbers: expected x0, y0, x1, y1"),
        ("park", ""),
    ],
)
def test_areas_of_plans_are_checked_before_anything_runs(tmp_path: Path, area: Any, problem: str) -> None:
    plan = {"plan": "there", "actions": [{"proxy": "filter", "to": "grid", "area": area}]}
    if not problem:
        assert scenario(tmp_path, timeline=[{"at": 4, "plan": plan}]).timeline
        return
    with pytest.raises(InvalidScenario, match=problem):
        scenario(tmp_path, timeline=[{"at": 4, "plan": plan}])


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"world": {"bbox": [8.664, 49.868, 8.645, 49.88]}}, r"world.bbox is .*: expected min_lon < max_lon"),
        ({"world": {"bbox": [8, 49]}}, r"world.bbox is \[8, 49\]: expected \[min_lon, min_lat"),
        ({"world": {"bbox": [8, 49, 9, 50], "width": 5}}, "world.bbox is given beside other keys"),
        ({"world": {"origin": [95, 8]}}, r"world.origin.0 is 95: expected"),
        ({"world": {}, "mobility": {"model": "rwp"}}, "world.origin is missing: places in degrees need it"),
        (
            {"script": {"steps": [{"at": 0, "do": "move", "client": 0, "place": {"lat": 95, "lon": 8}}]}},
            r"script.steps.0.place is no place: latitude 95: expected",
        ),
        (
            {"script": {"steps": [{"at": 0, "do": "move", "client": 0, "place": {"lat": 49}}]}},
            r"script.steps.0.place.lon is missing: expected both lat and lon",
        ),
        (
            {
                "script": {
                    "places": [{"name": "a", "lat": 49, "lon": 8, "x": 1, "radius": 1, "weight": 1}],
                    "steps": [],
                }
            },
            r"script.places.0.x is given beside lat and lon",
        ),
    ],
)
def test_degrees_without_sense_are_refused(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidScenario, match=problem):
        scenario(tmp_path, **changes)
