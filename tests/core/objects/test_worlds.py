"""Worlds: made by an edge, entered by one client at a time, apart from each other."""

from __future__ import annotations

import pytest

from bypass.core.objects.fallback import FallbackSettings, cells_plan
from bypass.core.objects.operations import OperationResult
from bypass.core.objects.worlds import LONGEST_NAME
from bypass.errors import InvalidObject
from bypass.mechanisms.storage.infra.edge.service.maker import InfraServiceMaker
from bypass.protocol.datagrams import WorldMap
from bypass.protocol.storage import OperationStatus
from bypass.sim.edges import EdgeModel
from bypass.testing.worlds.radio import cluster
from bypass.testing.worlds.storage import QUIET_S, StorageWorld

EDGE = (510.0, 510.0)


def begun(nodes: int = 6, fallback: FallbackSettings | None = None) -> StorageWorld:
    model = EdgeModel(service=InfraServiceMaker())
    world = StorageWorld(
        cluster(nodes), ("infra", {}), ("access-point", {}), edges=[EDGE], edge_model=model, fallback=fallback
    )
    world.run(QUIET_S)
    return world


def create(world: StorageWorld, node: int, name: str) -> tuple[OperationStatus, WorldMap | None]:
    ended: list[tuple[OperationResult, WorldMap | None]] = []
    world.client(node).node.worlds.create(name, lambda result, made: ended.append((result, made)))
    world.run(10.0)
    ((result, made),) = ended
    return result.status, made


def test_objects_and_queries_of_a_world_are_found_there_alone() -> None:
    world = begun()
    status, made = create(world, 0, "gallery")
    assert status == OperationStatus.OK
    assert made is not None
    assert (made.name, made.world != made.name) == ("gallery", True)
    common = world.ask(1, "a")
    for node in (2, 3, 4):
        worlds = world.client(node).node.worlds
        worlds.enter(made.world)
        assert worlds.current == made.world
    world.run(QUIET_S)
    there = world.ask(2, "a")
    world.run(3.0)
    inserted = world.insert(3, "a")
    other = world.insert(5, "a")
    world.run(5.0)
    assert inserted.acknowledged
    assert inserted.metadata.namespace == made.world
    assert (there.told, common.told) == ([inserted.metadata.key], [other.metadata.key])
    assert world.found_by(4, "a") == {inserted.metadata.key}
    assert made in world.client(4).node.worlds.known()
    world.client(4).node.worlds.enter("")
    world.run(QUIET_S)
    assert world.found_by(4, "a") == {other.metadata.key}
    assert world.system.edges[6].relay.members(made.world) == (2, 3)


def test_a_world_is_made_once_though_its_answer_is_lost() -> None:
    world = begun(2)
    edge = world.system.edges[2]
    world.system.edges.switch_off(2)
    ended: list[WorldMap | None] = []
    world.client(0).node.worlds.create("late", lambda _, made: ended.append(made))
    world.run(1.5)
    world.system.edges.switch_on(2)
    world.run(20.0)
    assert len(ended) == 1
    assert len([each for each in edge.service.worlds() if each.name == "late"]) <= 1
    assert (ended[0] is None) == ("late" not in [each.name for each in edge.service.worlds()])


def test_an_edge_that_makes_no_more_worlds_says_so() -> None:
    world = begun(1)
    made = [create(world, 0, f"w{number}") for number in range(9)]
    assert [status for status, _ in made[:8]] == [OperationStatus.OK] * 8
    assert made[8] == (OperationStatus.REFUSED, None)


@pytest.mark.parametrize("name", ["", "x" * (LONGEST_NAME + 1), "two\nlines"])
def test_names_that_worlds_cannot_have_are_refused(name: str) -> None:
    world = begun(1)
    with pytest.raises(InvalidObject, match="world"):
        world.client(0).node.worlds.create(name, lambda _result, _made: None)


def test_a_client_stays_in_its_world_without_an_edge_and_hears_of_those_of_its_peers() -> None:
    plan = cells_plan(area=[400.0, 400.0, 600.0, 600.0], side=200.0)
    world = begun(4, FallbackSettings(plan=plan))
    _, made = create(world, 0, "gallery")
    assert made is not None
    for node in (0, 1):
        world.client(node).node.worlds.enter(made.world)
    world.run(QUIET_S)
    asked = world.ask(0, "a")
    world.run(3.0)
    world.system.edges.kill(4)
    world.run(2 * QUIET_S)
    assert world.active() == ["cells"] * 4
    inserted = world.insert(1, "a")
    world.insert(2, "a")
    world.run(5.0)
    assert asked.told == [inserted.metadata.key]
    assert world.client(1).node.worlds.nearby() == [""]
    assert world.client(2).node.worlds.nearby() == [made.world]
    world.client(2).node.worlds.enter(made.world)
    world.run(QUIET_S)
    assert world.found_by(2, "a") == {inserted.metadata.key}
    world.system.edges.restart(4)
    world.run(2 * QUIET_S)
    assert world.active() == ["infra"] * 4
    assert [world.client(node).node.worlds.current for node in range(4)] == [made.world] * 3 + [""]
    assert world.found_by(2, "a") == {inserted.metadata.key}
