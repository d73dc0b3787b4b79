"""Clients of real edges, on the radio medium: edges end in the middle of a run, and come back."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bypass.core.objects.fallback import FallbackSettings, cells_plan
from bypass.mechanisms.storage.cells.mechanism import Cells
from bypass.mechanisms.storage.infra.edge.service.infra_service import InfraService
from bypass.mechanisms.storage.infra.edge.service.maker import InfraServiceMaker
from bypass.mechanisms.storage.infra.edge.service.settings import EdgeSettings
from bypass.sim.edges import EdgeModel
from bypass.testing.rules import Point
from bypass.testing.worlds.storage import Inserted, StorageWorld

HERE, THERE = (60.0, 60.0), (340.0, 340.0)
"""Two places that do not hear each other, each with an edge."""

BEACON_S = 1.0
WITHOUT = FallbackSettings(plan=cells_plan(area=[0.0, 0.0, 400.0, 400.0], side=40.0))
SOON = EdgeSettings(retrieval_period_s=10.0, needs_period_s=10.0, slot_s=5.0, cell_data_period_s=5.0)


def around(centre: Point, number: int) -> list[Point]:
    """Places around an edge, a few metres apart."""
    x, y = centre
    return [(x - 15.0 + 10.0 * (each % 4), y + 8.0 * (each // 4)) for each in range(number)]


def begun(here: int, there: int = 0, seed: int = 1, cells: int = 9) -> StorageWorld:
    edges = [HERE, THERE] if there else [HERE]
    world = StorageWorld(
        [*around(HERE, here), *around(THERE, there)],
        ("infra", {"cell_data_s": 5.0, "hello_s": 3.0, "warm_up_s": 5.0}),
        ("access-point", {}),
        seed=seed,
        edges=edges,
        edge_model=EdgeModel(service=InfraServiceMaker(SOON.model_copy(update={"cells": cells}))),
        fallback=WITHOUT,
    )
    world.run(15.0)
    return world


def insert(world: StorageWorld, nodes: Sequence[int]) -> list[Inserted]:
    """Have nodes insert an object each, one after another."""
    inserted = []
    for node in nodes:
        inserted.append(world.insert(node, "a", size=500))
        world.run(0.5)
    return inserted


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_end_of_the_edge_cuts_nobody_off(seed: int) -> None:
    world = begun(12, seed=seed)
    asked = [world.ask(node, "a") for node in (0, 5, 11)]
    world.run(3.0)
    early = insert(world, range(6))
    for node in (7, 8, 9):
        world.retrieve(node, early[0].metadata)
    world.run(40.0)
    edge = world.system.edges[12].service
    assert isinstance(edge, InfraService)
    assert len(edge.caches.local), "nothing was popular"
    world.system.edges.kill(12)
    killed = world.system.clock.now()
    while any(world.client(node).node.area() is not None for node in range(12)):
        world.run(0.05)
    noticed = world.system.clock.now()
    assert noticed - killed <= 5.0 * BEACON_S
    during = insert(world, [6])[0]
    while during.metadata.key not in asked[0].told and world.system.clock.now() < noticed + 60.0:
        world.run(0.05)
    first = world.system.clock.now() - noticed
    assert first <= 3.0 * BEACON_S + Cells.listen_s + Cells.settle_s, first
    world.run(30.0)
    assert world.active() == ["cells"] * 12
    more = insert(world, range(3))
    world.delete(early[1].metadata.key)
    world.run(10.0)
    assert all(each.acknowledged for each in (*early, during, *more))
    everything = {each.metadata.key for each in (*early, during, *more)}
    for each in asked:
        assert set(each.told) == everything
    left = everything - {early[1].metadata.key}
    assert world.found_by(4, "a") == left
    world.system.edges.restart(12)
    world.run(30.0)
    assert world.active() == ["infra"] * 12
    last = insert(world, [10])[0]
    world.run(10.0)
    for each in asked:
        assert set(each.told) == everything | {last.metadata.key}
    assert not world.twice
    assert world.found_by(3, "a") == left | {last.metadata.key}


def test_the_end_of_one_of_two_edges_is_no_matter_of_the_other() -> None:
    world = begun(5, 5)
    asked = [world.ask(node, "a") for node in (0, 5)]
    world.run(3.0)
    world.system.edges.kill(10)
    world.run(30.0)
    assert world.active() == ["cells"] * 5 + ["infra"] * 5
    here, there = insert(world, [1, 6])
    world.run(10.0)
    assert [each.told for each in asked] == [[here.metadata.key], [there.metadata.key]]


def test_a_client_that_moves_takes_its_queries_objects_and_pending_notifications_along() -> None:
    """Objects published where it was, while it is on its way, follow it over the edges; if others than the
    client alone keep its queries."""
    world = begun(5, 5, cells=1)
    asked = world.ask(0, "a")
    mine = world.insert(0, "b", size=300)
    world.run(5.0)
    home, world.places[0] = world.places[0], (200.0, 60.0)
    on_its_way = world.insert(1, "a", size=300)
    world.run(3.0)
    world.places[0] = (340.0, 330.0)
    world.run(30.0)
    assert world.client(0).node.area() == 11
    there = world.insert(6, "a")
    world.run(10.0)
    assert set(asked.told) == {on_its_way.metadata.key, there.metadata.key}
    assert not world.twice
    assert mine.metadata.key in world.found_by(7, "b")
    ends = world.retrieve(0, on_its_way.metadata)
    world.run(10.0)
    assert [each.data for each in ends] == [on_its_way.data]
    world.places[0] = home
    world.run(30.0)
    assert world.client(0).node.area() == 10
    back = world.insert(2, "a")
    world.run(10.0)
    assert back.metadata.key in asked.told
    assert not world.twice


@pytest.mark.parametrize("owner", [0, 3])
def test_an_edge_learns_what_was_deleted_while_its_clients_went_on_without_it(owner: int) -> None:
    """Whoever leads all back tells the edge so at once, which does not know yet what they follow."""
    world = begun(6)
    gone = insert(world, [owner])[0]
    assert world.decide(1, "local", "dsdv").ok
    world.run(20.0)
    world.delete(gone.metadata.key)
    world.run(5.0)
    known = world.system.edges.stores[6].tombstones
    assert not known.hides(gone.metadata), "the edge was not without it"
    world.leave(owner)
    world.run(5.0)
    assert world.decide(1, "infra", "access-point").ok
    world.run(20.0)
    assert world.active() == ["infra"] * 5
    assert known.hides(gone.metadata)


@pytest.mark.parametrize("storage", ["local", "cells"])
def test_a_client_that_was_without_an_edge_follows_what_was_decided_in_its_area(storage: str) -> None:
    world = begun(6)
    asked = world.ask(0, "a")
    home, world.places[0] = world.places[0], (340.0, 60.0)
    world.run(15.0)
    assert world.active() == ["cells", *["infra"] * 5]
    assert world.decide(1, storage).ok
    inserted = insert(world, [2])[0]
    world.places[0] = home
    world.run(30.0)
    assert world.active() == [storage] * 6
    assert world.client(0).node.area() == 6
    assert asked.told == [inserted.metadata.key]


def test_a_query_hears_of_all_that_came_while_its_cell_collected_what_it_was_to_know() -> None:
    """More than there are on a page: the query asks for none."""
    world = StorageWorld(around(HERE, 3), ("cells", {}), ("access-point", {}), edges=[HERE])
    world.run(8.0)
    asked = world.ask(1, "a", since="now")
    world.run(0.5)
    inserted = [world.insert(0, "a") for _ in range(30)]
    world.run(20.0)
    assert all(each.acknowledged for each in inserted)
    assert sorted(asked.told) == sorted(each.metadata.key for each in inserted)
