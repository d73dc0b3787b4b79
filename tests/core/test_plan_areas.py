"""Plans about areas: who is there when the plan is executed moves, and nobody else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bypass.core.adaptation import Adaptation
from bypass.core.plans.plan_areas import area_of
from bypass.errors import InvalidArea
from bypass.places import Area, GeoLocation, Place, Projection
from bypass.scenarios import InvalidScenario
from bypass.scenarios.runs.experiment import Experiment
from bypass.scenarios.runs.loader import load
from bypass.transitions import Action, InvalidPlan, Plan, RuleBook

if TYPE_CHECKING:
    from tests.conftest import World

TRIANGLE = Area.polygon([(0, 0), (400, 0), (0, 400)])
LAWN = Place.of_area("lawn", TRIANGLE)
POND = Place("pond", 900.0, 900.0, 50.0)
SOMEWHERE = Projection.around(GeoLocation(49.87, 8.65))
IN_LAWN, BESIDE_LAWN, IN_POND = (100.0, 100.0), (350.0, 350.0), (930.0, 930.0)
GEOJSON: dict[str, Any] = {"type": "Polygon", "coordinates": [[[0, 0], [400, 0], [0, 400], [0, 0]]]}


def at(area: Any, **more: Any) -> Plan:
    return Plan.from_data({"plan": "p", "actions": [{"proxy": "filter", "to": "grid", "area": area, **more}]})


def schemes(world: World) -> list[str]:
    return [client.engine.active("filter").name for client in world.clients]


def three(new_world: type[World]) -> World:
    world = new_world([IN_LAWN, BESIDE_LAWN, IN_POND], attractions=(LAWN, POND))
    for client in range(3):
        world.subscribe(client, 50)
    world.run()
    return world


@pytest.mark.parametrize(
    ("area", "moves"),
    [
        ("lawn", 0),
        ("pond", 2),
        ("POLYGON ((0 0, 400 0, 0 400, 0 0))", 0),
        ([300, 300, 360.5, 400], 1),
        (GEOJSON | {"degrees": False}, 0),
    ],
)
def test_who_is_there_moves(new_world: type[World], area: Any, moves: int) -> None:
    world = three(new_world)
    (record,) = world.broker.execute(at(area))
    assert (record.outcome, record.kind, record.members) == ("done", "partial", 1)
    world.run()
    assert schemes(world) == ["grid" if client == moves else "radial" for client in range(3)]


def test_nothing_is_done_about_an_area_in_which_nobody_is(new_world: type[World]) -> None:
    world = three(new_world)
    assert world.broker.execute(at([10_000, 0, 10_001, 1])) == []
    both = Plan(
        plan="p",
        actions=(
            Action(proxy="filter", to="grid", area=[10_000, 0, 10_001, 1]),
            Action(proxy="filter", to="ste", area="pond"),
        ),
    )
    (record,) = world.broker.execute(both)
    assert record.target == "ste"
    world.run()
    assert schemes(world) == ["radial", "radial", "ste"]


@pytest.mark.parametrize(
    ("area", "said"),
    [
        ("garden", "'garden': expected well-known text, or the name of a place: lawn, pond"),
        ("POLYGON ((0 0, 1 1))", "vertices"),
        ([1, 2, 3], "3 numbers: expected x0, y0, x1, y1"),
        (GEOJSON, "wrong order"),
        ({"type": "Point", "coordinates": [0, 0]}, "Point"),
    ],
)
def test_what_is_no_area_is_refused_before_anything_changes(
    new_world: type[World], area: Any, said: str
) -> None:
    world = three(new_world)
    with pytest.raises(InvalidPlan, match="area") as refused:
        world.broker.execute(at(area))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert schemes(world) == ["radial"] * 3


def test_degrees_are_those_of_the_region() -> None:
    ring = [[8.649, 49.869], [8.651, 49.869], [8.65, 49.871], [8.649, 49.869]]
    around = {"type": "Polygon", "coordinates": [ring]}
    area = area_of(around, (), SOMEWHERE)
    assert area.contains(0.0, 0.0)
    assert not area.contains(0.0, 200.0)
    with pytest.raises(InvalidArea, match="origin"):
        area_of(around, (), None)


def test_a_plan_about_an_area_travels_and_names_no_members_beside_it() -> None:
    plan = at(GEOJSON)
    assert Plan.from_bytes(plan.to_bytes()) == plan
    assert Plan.from_yaml(plan.to_yaml()) == plan
    with pytest.raises(InvalidPlan, match="excludes `members`"):
        at("lawn", members=[1])
    with pytest.raises(InvalidPlan, match="need `to`"):
        Plan.from_data({"plan": "p", "actions": [{"proxy": "filter", "set": {"grid": 5}, "area": "lawn"}]})


def test_a_host_that_knows_nobody_refuses_an_area(new_world: type[World]) -> None:
    world = three(new_world)
    (record,) = world.clients[0].engine.execute(at("lawn"))
    assert record.outcome == "failed"
    assert "expected members" in record.error


def test_rules_name_the_place_that_they_observe(new_world: type[World]) -> None:
    world = three(new_world)
    book = RuleBook.from_yaml(
        """
        rules:
          - rule: crowd
            on: density
            when: count > 0
            plan: {plan: crowd, actions: [{proxy: filter, to: grid, area: "{place}"}]}
        """
    )
    Adaptation(world.broker, book, world.broker.places.all)
    world.run(3.0)
    assert schemes(world) == ["grid", "radial", "grid"]


def test_a_timeline_has_areas(tmp_path: Path) -> None:
    text = """
    name: zones
    about: a plan for an area
    clients: 12
    duration: 12
    mobility: {model: rwp}
    filter: {scheme: radial}
    timeline:
      - {at: 6, plan: {plan: west, actions: [{proxy: filter, to: ste, area: AREA}]}}
    """
    file = tmp_path / "zones.yaml"
    file.write_text(text.replace("AREA", "[0, 0, 100000, 100000]"))
    experiment = Experiment(load(str(file)), seed=1)
    experiment.run()
    served = {scheme.name: len(scheme.clients) for scheme in experiment.system.broker.filter_schemes}
    assert served["ste"] == 12
    file.write_text(text.replace("AREA", "[0, 0, 1]"))
    with pytest.raises(InvalidScenario, match="3 numbers: expected x0, y0, x1, y1"):
        load(str(file))
