"""Nodes that come, go, move and decide: once all is quiet, nothing acknowledged and no query is lost.

A notification may be lost: none of the designs sends it again.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from bypass.testing.worlds.radio import cluster
from bypass.testing.worlds.storage import QUIET_S, StorageWorld

NODES = 4
AWAY = (390.0, 390.0)
DESIGNS = st.sampled_from(("local", "server"))


class StorageMachine(RuleBasedStateMachine):
    """Four nodes in reach of each other, unless one has gone away; node 1 is the server."""

    def __init__(self) -> None:
        super().__init__()
        self.world = StorageWorld(cluster(NODES), ("local", {}), ("dsdv", {}))
        self.world.run(QUIET_S)

    def node(self, number: int) -> int:
        present = self.world.present
        return present[number % len(present)]

    @rule(number=st.integers(0, 3), wait=st.sampled_from((0.0, 0.01, 3.0)))
    def insert(self, number: int, wait: float) -> None:
        self.world.insert(self.node(number), "a")
        self.world.run(wait)

    @rule(number=st.integers(0, 3), wait=st.sampled_from((0.0, 0.01, 3.0)))
    def ask(self, number: int, wait: float) -> None:
        self.world.ask(self.node(number), "a", limit=64)
        self.world.run(wait)

    @rule(number=st.integers(0, 20))
    def delete(self, number: int) -> None:
        mine = [k for k, o in self.world.objects.items() if not o.deleted and k.owner not in self.world.gone]
        if mine:
            self.world.delete(mine[number % len(mine)])

    @rule(number=st.integers(0, 3), design=DESIGNS, wait=st.sampled_from((0.0, 0.02, 8.0)))
    def decide(self, number: int, design: str, wait: float) -> None:
        if design == "server":
            self.world.decide(self.node(number), design, server=1)
        else:
            self.world.decide(self.node(number), design)
        self.world.run(wait)

    @precondition(lambda self: len(self.world.gone) < 2)
    @rule(number=st.integers(0, 3), wait=st.sampled_from((0.0, 5.0)))
    def leave(self, number: int, wait: float) -> None:
        self.world.leave(self.node(number))
        self.world.run(wait)

    @precondition(lambda self: bool(self.world.gone))
    @rule(wait=st.sampled_from((0.0, 5.0)))
    def join(self, wait: float) -> None:
        self.world.join(min(self.world.gone))
        self.world.run(wait)

    @rule(number=st.integers(0, 3), wait=st.sampled_from((0.5, 12.0)))
    def move(self, number: int, wait: float) -> None:
        """A node is out of everybody's reach, or back."""
        home = cluster(NODES)[number]
        self.world.places[number] = AWAY if self.world.places[number] == home else home
        self.world.run(wait)

    def teardown(self) -> None:
        world = self.world
        world.places[:] = cluster(NODES)
        for node in sorted(world.gone):
            world.join(node)
        world.run(120.0)  # the longest wait between two tries of what is tried until it is done
        assert len(set(world.active())) == 1, world.active()
        decisions = {world.client(node).node.decisions.current for node in world.present}
        assert len(decisions) == 1, decisions
        everything = {k for k, o in world.objects.items() if o.acknowledged and not o.deleted}
        deleted = {k for k, o in world.objects.items() if o.deleted}
        for node in world.present:
            found = world.found_by(node, "a")
            assert everything <= found, f"node {node} does not find {everything - found}"
            assert not found & deleted, f"node {node} finds what was deleted: {found & deleted}"
        probe = world.insert(2, "a")
        world.run(5.0)
        for asked in world.queries:
            assert probe.metadata.key in asked.told, f"the query of node {asked.node} is lost"
        assert not world.twice, world.twice


TestStorageMachine = StorageMachine.TestCase
TestStorageMachine.settings = settings(
    max_examples=40, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)
