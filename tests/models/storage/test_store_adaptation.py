"""Nodes without a broker exchange the design of their store by rules, when the workload calls for it."""

from __future__ import annotations

import pytest

from bypass.models.storage.costs import Design
from bypass.models.storage.layout import NodeLayout
from bypass.models.storage.planner import PlannerSettings
from bypass.models.storage.store_adaptation import STORE_TOPICS, StoreAdaptation
from bypass.scenarios.experiments.rulebooks import load_rules
from bypass.testing.rules import Point
from bypass.testing.worlds.storage import QUIET_S, StorageWorld
from bypass.transitions import InvalidRule, RuleBook

AREA = (0.0, 0.0, 160.0, 80.0)
PLACES: list[Point] = [(12.0 + 20.0 * column, 10.0 + 40.0 * row) for row in range(2) for column in range(8)]
NOTHING = RuleBook(rules=())
BOTH = (Design.LOCAL, Design.CELLS)


def begun(storage: str, routing: str = "dsdv") -> StorageWorld:
    cells = {"area": list(AREA), "side": 40.0}
    world = StorageWorld(PLACES, (storage, {}), (routing, cells if routing == "cells" else {}))
    world.run(2 * QUIET_S)
    return world


def adaptation(world: StorageWorld, book: RuleBook, **settings: object) -> StoreAdaptation:
    caution = PlannerSettings(**{"least": 5, "hold": 2, "designs": BOTH} | settings)  # type: ignore[arg-type]
    layout = NodeLayout.over(AREA, side=40.0)
    return StoreAdaptation(world.client(3), book, layout, caution, window_s=8.0, windows=2)


def mix() -> RuleBook:
    book, _ = load_rules("storage-mix", {"area": list(AREA), "side": 40})
    return book


def ask(world: StorageWorld, seconds: int) -> None:
    """Place two queries a second, which end soon."""
    for i in range(2 * seconds):
        world.ask(5 * i % 16, f"tag{i}", limit=0, until=world.system.clock.now() + 5.0)
        world.run(0.5)


def insert(world: StorageWorld, seconds: int) -> None:
    """Insert three objects a second, which are deleted soon."""
    for i in range(3 * seconds):
        world.insert(7 * i % 16, f"tag{i}", "photo")
        world.run(1 / 3)
        if i >= 6:
            world.delete(list(world.objects)[-6])


def test_a_store_follows_its_workload_without_a_broker() -> None:
    world = begun("local")
    adapted = adaptation(world, mix())
    ask(world, 50)
    assert world.active() == ["cells"] * 16
    assert world.active("routing") == ["cells"] * 16
    insert(world, 70)
    assert world.active() == ["local"] * 16
    assert [firing.rule for firing in adapted.rules.firings] == ["to-cells", "to-local"]
    assert all(firing.outcomes == ("done", "done") for firing in adapted.rules.firings)
    assert [each.cheapest for each in adapted.proposals] == [Design.CELLS, Design.LOCAL]
    assert world.twice == []
    assert sum(world.system.cellular.up[0]) == 0  # nobody has asked the broker
    world.run(QUIET_S)
    kept = {key for key, each in world.objects.items() if each.acknowledged and not each.deleted}
    assert world.found_by(0, "photo") == kept


def test_a_planner_without_rules_proposes_and_changes_nothing() -> None:
    world = begun("local")
    adapted = adaptation(world, NOTHING)
    ask(world, 40)
    assert world.active() == ["local"] * 16
    assert adapted.proposals
    assert adapted.latest is not None
    assert str(adapted.latest).startswith("cells saves ")
    adapted.stop()
    proposed = len(adapted.proposals)
    ask(world, 20)
    assert len(adapted.proposals) == proposed


def test_nearly_equal_designs_are_not_exchanged() -> None:
    """Nobody does much: what 16 nodes need for upkeep differs by less than the margin."""
    world = begun("local")
    adapted = adaptation(world, mix(), least=0, margin=0.15)
    for i in range(12):
        world.ask(i, "quiet", limit=0)
        world.insert(i, "other")
        world.run(8.0)
    assert adapted.latest is not None
    assert world.active() == ["local"] * 16
    assert adapted.rules.firings == []


def test_rules_see_churn_density_and_the_mix() -> None:
    book = RuleBook.from_data(
        {
            "rules": [
                {
                    "rule": "leaving",
                    "on": "store",
                    "when": "churn > 0 and neighbours > 3 and ratio > 0 and nodes < 16",
                    "cooldown": 1000,
                    "plan": {"actions": [{"proxy": "storage", "to": "server", "set": {"server": "{node}"}}]},
                }
            ]
        }
    )
    world = begun("local")
    adaptation(world, book)
    world.run(17.0)
    world.leave(15)
    world.leave(14)
    for i in range(8):
        world.insert(i, "a")
        world.ask(i, "b", limit=0)
        world.run(4.0)
    assert set(world.active()) == {"server"}
    assert world.client(0).engine.active("storage").settings()["server"] == 3


def test_facts_that_are_none_are_refused() -> None:
    world = begun("local")
    odd = RuleBook.from_data({"rules": [{"rule": "odd", "on": "store", "when": "weather > 1"}]})
    with pytest.raises(InvalidRule, match=r"^rule 'odd' uses 'weather'; known in 'store' are: "):
        adaptation(world, odd)
    with pytest.raises(ValueError, match=r"^windows of 5 s: expected more than 5 s$"):
        StoreAdaptation(world.client(0), NOTHING, NodeLayout.over(AREA), window_s=5.0)
    assert {each.value for each in Design} < STORE_TOPICS["store"]
