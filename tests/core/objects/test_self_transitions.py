"""Nodes change parameters of cells while objects come and go: nothing is lost, and nobody is told twice."""

from __future__ import annotations

import random
from typing import Any

import pytest

from bypass.testing.worlds.storage import QUIET_S, StorageWorld
from bypass.transitions import Action, Plan

GRID = {"area": [0.0, 0.0, 120.0, 120.0], "side": 40.0}
CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("routing", {"side": 60.0}),
    ("storage", {"replica_bound": 2}),
    ("routing", {"beacon_s": 0.5}),
    ("storage", {"batch": 3}),
    ("routing", {"side": 30.0}),
]


@pytest.mark.parametrize("seed", [1, 2])
def test_objects_and_queries_outlast_other_cells_copies_beacons_and_pages(seed: int) -> None:
    draw = random.Random(seed)
    places = [(draw.uniform(0.0, 120.0), draw.uniform(0.0, 120.0)) for _ in range(8)]
    world = StorageWorld(places, ("cells", {}), ("cells", GRID), seed=seed)
    world.run(QUIET_S)
    asked = [world.ask(node, formula) for node, formula in enumerate(("a", "a & ~b", "(b | c) & a", "b"))]
    for proxy, values in CHANGES:
        decider = world.client(draw.randrange(8))
        assert decider.decide(Plan(plan="other cells", actions=(Action(proxy=proxy, set=values),))).ok
        for _ in range(6):
            world.insert(draw.randrange(8), *draw.sample("abc", draw.randint(1, 3)))
            world.run(draw.uniform(0.0, 2.0))
        old = [key for key, each in world.objects.items() if each.acknowledged and not each.deleted]
        world.delete(draw.choice(old))
    world.run(3 * QUIET_S)
    for node in world.present:
        engine = world.client(node).engine
        routing, storage = engine.active("routing").settings(), engine.active("storage").settings()
        known = {**routing, **storage}
        assert [known[name] for name in ("side", "beacon_s", "replica_bound", "batch")] == [30.0, 0.5, 2, 3]
    assert all(each.acknowledged for each in world.objects.values())
    for each in asked:
        assert world.expected(each) <= set(each.told)
    assert world.twice == []
