"""Nodes that come, go, move and decide: once all is quiet, nothing acknowledged and no query is lost.

Every query was told, once, of all that was acknowledged and published since it was placed.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule
from pydantic import JsonValue

from bypass.testing.worlds.storage import AREA, QUIET_S, StorageWorld
from bypass.transitions import Action, Plan

HOMES = [
    (15.0, 15.0),
    (20.0, 20.0),
    (46.0, 15.0),
    (77.0, 15.0),
    (80.0, 18.0),
    (15.0, 46.0),
    (46.0, 46.0),
    (77.0, 46.0),
]
"""Two nodes in two of six cells that touch each other."""

EAST = [node for node, (x, _) in enumerate(HOMES) if x > 60.0]
FAR = 250.0
GRID: dict[str, JsonValue] = {"area": list(AREA), "reach_m": 88.0}
NUMBERS = st.integers(0, len(HOMES) - 1)
TAGS = st.sampled_from((("a",), ("a", "b"), ("b", "c"), ("a", "c")))
FORMULAS = st.sampled_from(("a", "a & ~b", "b | c", "a & c"))
WAITS = st.sampled_from((0.0, 0.01, 0.3, 5.0))


def plan_to(design: str, server: int) -> Plan:
    """A plan that exchanges storage, and routing for the one that it needs."""
    cells = design == "cells"
    routing = Action(proxy="routing", to="cells" if cells else "dsdv", set=GRID if cells else {})
    values: dict[str, JsonValue] = {"server": server} if design == "server" else {}
    return Plan(plan=f"to {design}", actions=(routing, Action(proxy="storage", to=design, set=values)))


class StorageMachine(RuleBasedStateMachine):
    """Eight nodes in six cells, all in reach over one or two hops, unless some have gone away."""

    def __init__(self) -> None:
        super().__init__()
        self.world = StorageWorld(HOMES, ("local", {}), ("dsdv", {}))
        self.world.run(QUIET_S)

    def node(self, number: int) -> int:
        present = self.world.present
        return present[number % len(present)]

    @rule(number=NUMBERS, tags=TAGS, wait=WAITS)
    def insert(self, number: int, tags: tuple[str, ...], wait: float) -> None:
        self.world.insert(self.node(number), *tags)
        self.world.run(wait)

    @rule(number=NUMBERS, formula=FORMULAS, limit=st.sampled_from((1, 5, 64)), wait=WAITS)
    def ask(self, number: int, formula: str, limit: int, wait: float) -> None:
        self.world.ask(self.node(number), formula, limit=limit)
        self.world.run(wait)

    @rule(number=st.integers(0, 20))
    def delete(self, number: int) -> None:
        mine = [k for k, o in self.world.objects.items() if not o.deleted and k.owner not in self.world.gone]
        if mine:
            self.world.delete(mine[number % len(mine)])

    @rule(number=st.integers(0, 20), wait=WAITS)
    def withdraw(self, number: int, wait: float) -> None:
        mine = [asked for asked in self.world.queries if asked.node not in self.world.gone]
        if mine:
            self.world.withdraw(mine[number % len(mine)])
            self.world.run(wait)

    @rule(
        number=NUMBERS,
        design=st.sampled_from(("local", "server", "cells")),
        server=st.sampled_from((1, 2)),
        wait=st.sampled_from((0.0, 0.02, 1.0, 15.0)),
    )
    def decide(self, number: int, design: str, server: int, wait: float) -> None:
        self.world.client(self.node(number)).decide(plan_to(design, server))
        self.world.run(wait)

    @precondition(lambda self: len(self.world.gone) < 3)
    @rule(number=NUMBERS, wait=WAITS)
    def leave(self, number: int, wait: float) -> None:
        self.world.leave(self.node(number))
        self.world.run(wait)

    @precondition(lambda self: bool(self.world.gone))
    @rule(wait=WAITS)
    def join(self, wait: float) -> None:
        self.world.join(min(self.world.gone))
        self.world.run(wait)

    @rule(number=NUMBERS, wait=st.sampled_from((0.5, 12.0, 50.0)))
    def move(self, number: int, wait: float) -> None:
        """A node is out of everybody's reach, or back."""
        self._move([number], self.world.places[number] == HOMES[number])
        self.world.run(wait)

    @rule(wait=st.sampled_from((0.5, 12.0, 50.0)))
    def part(self, wait: float) -> None:
        """The nodes in the east are cut off together, or back."""
        self._move(EAST, all(self.world.places[node] == HOMES[node] for node in EAST))
        self.world.run(wait)

    def _move(self, nodes: list[int], away: bool) -> None:
        for node in nodes:
            x, y = HOMES[node]
            self.world.places[node] = (x + FAR, y + FAR) if away else (x, y)

    def teardown(self) -> None:
        world = self.world
        world.places[:] = HOMES
        for node in sorted(world.gone):
            world.join(node)
        world.run(150.0)  # ten updates of DSDV; the longest wait between two tries is 60 s
        assert len(set(world.active())) == 1, world.active()
        decisions = {world.client(node).node.decisions.current for node in world.present}
        assert len(decisions) == 1, decisions
        for asked in world.queries:
            since_us = asked.own.placed_us
            owed = {k for k in world.expected(asked) if world.objects[k].metadata.published_us >= since_us}
            assert owed <= set(asked.told), f"node {asked.node} was not told of {owed - set(asked.told)}"
        everything = {k for k, o in world.objects.items() if o.acknowledged and not o.deleted}
        deleted = {k for k, o in world.objects.items() if o.deleted}
        for node in world.present:
            found = world.found_by(node, "a | b")
            assert everything <= found, f"node {node} does not find {everything - found}"
            assert not found & deleted, f"node {node} finds what was deleted: {found & deleted}"
        fetched = {
            key: world.retrieve(number % len(HOMES), world.objects[key].metadata)
            for number, key in enumerate(sorted(everything))
        }
        world.run(10.0)
        lacking = {key: ends for key, ends in fetched.items() if not (ends and ends[0].ok)}
        assert not lacking, f"these were not retrieved: {lacking}"
        probes = [world.insert(2, "a", "c"), world.insert(3, "b")]
        world.run(10.0)
        for asked in world.queries:
            keys = {each.metadata.key for each in probes if asked.own.query.matches(each.metadata)}
            assert keys <= set(asked.told), f"the query of node {asked.node} is lost"
        assert not world.twice, world.twice


TestStorageMachine = StorageMachine.TestCase
TestStorageMachine.settings = settings(
    derandomize=True,
    max_examples=12,
    stateful_step_count=15,
    deadline=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.soak
class TestOtherHistories(StorageMachine.TestCase):  # type: ignore[misc, valid-type] # made at run time
    """Other histories each time, many of them."""

    settings = settings(
        max_examples=300, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
    )
