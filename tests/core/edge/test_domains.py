"""Decisions about storage and routing in the areas of edges: they hold there, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from bypass.protocol.storage import Decision
from bypass.testing.rules import Point
from bypass.testing.worlds.storage import QUIET_S, StorageWorld, plan_for
from bypass.transitions import Action, Plan

HERE, THERE = (500.0, 500.0), (1000.0, 500.0)
AROUND: list[Point] = [(440.0, 500.0), (560.0, 500.0), (500.0, 560.0)]
"""In reach of the first edge, the first two not of each other."""
BEYOND: list[Point] = [(990.0, 510.0), (1010.0, 490.0)]
AREA = {"area": [0.0, 0.0, 2000.0, 2000.0]}


def begun(*places: Point, edges: tuple[Point, ...] = (HERE, THERE), storage: str = "cells") -> StorageWorld:
    world = StorageWorld(places, (storage, {}), ("access-point", {}), edges=edges)
    world.run(QUIET_S)
    return world


def bound(world: StorageWorld) -> list[int | None]:
    coverages = [world.client(node).node.routing.coverage() for node in world.present]
    return [None if each is None else each.edge for each in coverages]


def decisions(world: StorageWorld) -> list[Decision]:
    return [world.client(node).node.decisions.current for node in world.present]


def epochs(world: StorageWorld) -> list[int]:
    return [each.epoch for each in decisions(world)]


def grace(world: StorageWorld) -> list[Any]:
    return [world.client(node).engine.active("storage").settings()["grace_s"] for node in world.present]


def lead(world: StorageWorld, node: int, storage: str, routing: str, **values: Any) -> None:
    grid: dict[str, Any] = AREA if routing == "cells" else {}
    actions = (
        Action(proxy="routing", to=routing, set=grid),
        Action(proxy="storage", to=storage, set=values),
    )
    assert world.client(node).decide(Plan(plan=f"to {routing}", actions=actions)).ok


def test_a_decision_reaches_all_in_the_area_and_nobody_else() -> None:
    world = begun(*AROUND, *BEYOND)
    assert bound(world) == [5, 5, 5, 6, 6]
    assert world.decide(0, "cells", grace_s=77.0).ok
    world.run(QUIET_S)
    assert epochs(world) == [1, 1, 1, 0, 0]
    assert grace(world) == [77.0] * 3 + [10.0] * 2
    edges = world.system.edges
    assert edges[5].relay.decision("") == decisions(world)[0]
    assert edges[6].relay.decision("") == decisions(world)[4]


def test_who_comes_to_an_area_adopts_its_decision_whatever_its_number() -> None:
    world = begun(*AROUND, *BEYOND)
    for value in (70.0, 71.0, 72.0):
        assert world.decide(0, "cells", grace_s=value).ok
        world.run(1.0)
    assert world.decide(3, "cells", grace_s=33.0).ok
    world.run(QUIET_S)
    assert epochs(world) == [3, 3, 3, 1, 1]
    world.places[0] = (1000.0, 520.0)
    world.run(QUIET_S)
    assert bound(world) == [6, 5, 5, 6, 6]
    assert epochs(world) == [1, 3, 3, 1, 1]
    assert grace(world) == [33.0, 72.0, 72.0, 33.0, 33.0]
    world.places[0] = AROUND[0]
    world.run(QUIET_S)
    assert bound(world) == [5, 5, 5, 6, 6]
    assert epochs(world) == [3, 3, 3, 1, 1]
    assert grace(world) == [72.0] * 3 + [33.0] * 2


def test_who_comes_to_an_area_that_has_begun_with_something_goes_by_that() -> None:
    """Nobody has decided anything there, but all have the same parameters."""
    world = begun(*AROUND, *BEYOND)
    assert world.decide(0, "cells", grace_s=70.0).ok
    world.run(QUIET_S)
    world.places[0] = (1000.0, 520.0)
    world.run(QUIET_S)
    assert bound(world) == [6, 5, 5, 6, 6]
    assert epochs(world) == [0, 1, 1, 0, 0]
    assert grace(world) == [10.0, 70.0, 70.0, 10.0, 10.0]


def test_the_first_in_an_area_brings_its_decision() -> None:
    world = begun(*AROUND)
    assert world.decide(0, "cells", grace_s=70.0).ok
    world.run(QUIET_S)
    for node in (0, 1):
        world.places[node] = BEYOND[node]
        world.run(QUIET_S)
    assert bound(world) == [4, 4, 3]
    assert epochs(world) == [1, 1, 1]
    assert grace(world) == [70.0] * 3
    assert world.system.edges[4].relay.decision("").epoch == 1


def test_a_client_that_begins_in_an_area_follows_its_decision() -> None:
    world = begun(*AROUND)
    world.leave(2)
    assert world.decide(0, "local").ok
    world.run(QUIET_S)
    world.join(2)
    world.run(QUIET_S)
    assert world.active() == ["local"] * 3
    assert epochs(world) == [1] * 3


def test_a_decision_that_leads_out_of_the_area_reaches_all_in_it() -> None:
    """The edge hands it out, to those who are out of reach of its maker, and to those who come later."""
    world = begun(*AROUND, *BEYOND)
    lead(world, 0, "cells", "cells")
    world.run(QUIET_S)
    assert world.active("routing") == ["cells"] * 3 + ["access-point"] * 2
    world.places[3] = (510.0, 510.0)
    world.run(QUIET_S)
    assert world.active("routing") == ["cells"] * 4 + ["access-point"]
    assert epochs(world) == [1, 1, 1, 1, 0]


def test_a_decision_leads_back_into_the_area() -> None:
    world = begun(*AROUND)
    lead(world, 0, "cells", "cells")
    world.run(QUIET_S)
    lead(world, 2, "cells", "access-point", grace_s=50.0)
    world.run(QUIET_S)
    assert world.active("routing") == ["access-point"] * 3
    assert bound(world) == [3, 3, 3]
    assert grace(world) == [50.0] * 3
    assert world.system.edges[3].relay.decision("") == decisions(world)[0]
    assert epochs(world) == [2] * 3


@pytest.mark.parametrize("way", ["process", "radio"])
def test_an_edge_that_was_away_has_the_decision_again(way: str) -> None:
    world = begun(*AROUND)
    assert world.decide(0, "cells", grace_s=70.0).ok
    world.run(QUIET_S)
    edges = world.system.edges
    if way == "process":
        edges.kill(3)
        world.run(8.0)
        assert bound(world) == [None] * 3
        edges.restart(3)
    else:
        edges.switch_off(3)
        world.run(8.0)
        assert bound(world) == [None] * 3
        edges.switch_on(3)
    world.run(QUIET_S)
    assert bound(world) == [3] * 3
    assert edges[3].relay.decision("").epoch == 1
    assert epochs(world) == [1] * 3
    assert grace(world) == [70.0] * 3


def test_nodes_that_follow_an_older_decision_do_not_get_through() -> None:
    world = begun(*AROUND)
    edge = world.system.edges[3]
    current = decisions(world)[0]
    for node in (1, 2):
        world.client(node).node.decisions.current = current._replace(epoch=5)
        world.client(node).node.decisions.adopt(current._replace(epoch=5), spread=True)
    world.run(QUIET_S)
    assert edge.relay.decision("").epoch == 5
    assert epochs(world) == [5] * 3


# -- objects over an edge ---------------------------------------------------------------------------------


@pytest.mark.parametrize("storage", ["cells", "local"])
def test_objects_go_through_the_edge(storage: str) -> None:
    world = begun(*AROUND, storage=storage)
    asked = [world.ask(node, "a") for node in range(3)]
    world.run(3.0)
    inserted = [world.insert(node, "a", size=9000) for node in range(3)]
    world.run(QUIET_S)
    assert all(each.acknowledged for each in inserted)
    for each in asked:
        assert set(each.told) == world.expected(each)
    ends = world.retrieve(1, inserted[0].metadata)
    world.run(QUIET_S)
    assert [end.ok for end in ends] == [True]


def test_objects_outlive_the_edge_and_another_number_of_cells() -> None:
    """Cells over an edge are stored by its clients: it may end, begin anew, and number cells otherwise."""
    world = begun(*AROUND)
    edges = world.system.edges
    asked = world.ask(1, "a")
    world.run(3.0)
    world.insert(0, "a", "b")
    world.run(5.0)
    edges.kill(3)
    world.run(10.0)
    world.insert(2, "a")
    world.run(1.0)
    edges.restart(3)
    world.run(60.0)
    edges[3].service.set_cells("", 4)
    world.run(60.0)
    world.insert(0, "a", "c")
    world.run(QUIET_S)
    assert all(each.acknowledged for each in world.objects.values())
    assert set(asked.told) == world.expected(asked) == set(world.objects)
    assert world.twice == []
    assert world.found_by(2, "a & (b | c)") == {
        key for key, each in world.objects.items() if len(each.metadata.tags) == 2
    }


def test_without_edges_nobody_goes_by_plans_of_others() -> None:
    world = begun(*AROUND, edges=())
    assert world.client(0).decide(plan_for("cells", grace_s=20.0)).ok
    world.run(QUIET_S)
    assert bound(world) == [None] * 3
    assert epochs(world)[0] == 1
