"""The suite of storage mechanisms: promises that each of them keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from hypothesis import strategies as st

from bypass.mechanisms.families import STORAGE, Family
from bypass.mechanisms.storage.infra.edge.service.maker import InfraServiceMaker
from bypass.mechanisms.storage.missed_matches import LONGEST_WAIT_S
from bypass.objects.metadata import ObjectKey
from bypass.protocol.storage import OperationStatus
from bypass.sim.edges import EdgeModel
from bypass.testing.rules import Point
from bypass.testing.suites.suite import MechanismSuite
from bypass.testing.worlds.radio import cluster
from bypass.testing.worlds.storage import QUIET_S, StorageWorld

SETTLED_S = 4.0
"""After so long an operation has ended, and its notifications have arrived."""

OUT_OF_REACH = (20.0, 20.0)
OUT_S = 60.0
"""A node that is out of reach for so long is given up by all."""

TAGS = ("a", "b", "c")
FORMULAS = ("a", "a & b", "a | b", "a & ~b", "(a | b) & c")


class StorageSuite(MechanismSuite):
    """Objects are found by who asks for them, once, until they are deleted.

    Capabilities: with `keeps_past`, a query finds objects that were inserted before it; with
    `keeps_when_owner_leaves`, an acknowledged object is found while its owner is away; with `notifies`,
    subscribers are told at once, else they ask every `period_s` seconds. `routing` is the routing that it is
    tested with, and its parameters, `edges` are the places of edges, `edge_model` is what these run. A
    `lossless` mechanism is tested in transitions from and to those `beside` it, by name, with their routing
    and parameters; others lose objects by design.
    """

    family: ClassVar[Family] = STORAGE
    defaults: ClassVar[Mapping[str, Any]] = {
        "keeps_past": True,
        "keeps_when_owner_leaves": True,
        "notifies": True,
        "period_s": 0.0,
        "routing": ("one-hop", {}),
        "lossless": True,
        "edges": (),
        "edge_model": EdgeModel(service=InfraServiceMaker()),
        "beside": {"local": ("one-hop", {}), "server": ("one-hop", {"server": 1})},
    }
    examples: ClassVar[int] = 10

    def nodes(self, number: int = 4, seed: int = 1, places: Sequence[Point] | None = None) -> StorageWorld:
        """Nodes that run this mechanism, and have got to know each other."""
        world = StorageWorld(
            cluster(number) if places is None else places,
            (self.name, self.parameters),
            self.capability("routing"),
            self.brought,
            seed,
            self.capability("edges"),
            self.capability("edge_model"),
        )
        world.run(QUIET_S)
        return world

    @property
    def _wait_s(self) -> float:
        return SETTLED_S + 2.0 * float(self.capability("period_s"))

    # -- operations ---------------------------------------------------------------------------------------

    def test_queries_find_what_the_oracle_finds(self) -> None:
        """Objects inserted before and after queries, by anybody, in any order, are told, each once."""

        def finds(steps: list[tuple[bool, int, int]], seed: int) -> None:
            world = self.nodes(4, seed)
            before: dict[int, set[ObjectKey]] = {}
            for asks, node, what in steps:
                if asks:
                    before[len(world.queries)] = set(world.objects)
                    world.ask(node, FORMULAS[what % len(FORMULAS)])
                else:
                    world.insert(
                        node, *[tag for n, tag in enumerate(TAGS) if (what + 1) >> n & 1] or TAGS[:1]
                    )
                world.run(self._wait_s)
            assert all(each.acknowledged for each in world.objects.values()), "an insertion was not done"
            for number, asked in enumerate(world.queries):
                assert asked.status == OperationStatus.OK, f"query {number} ended with {asked.status}"
                expected = world.expected(asked)
                if not self.capability("keeps_past"):
                    expected -= before[number]
                assert set(asked.told) == expected, f"{asked.own.query.formula}: {asked.told}"
            assert not world.twice, f"told twice: {world.twice}"

        step = st.tuples(st.booleans(), st.integers(0, 3), st.integers(0, 6))
        self.for_all(finds, steps=st.lists(step, min_size=2, max_size=6), seed=st.integers(0, 99))

    def test_objects_can_be_retrieved(self) -> None:
        world = self.nodes()
        inserted = world.insert(2, "a", size=3000)
        world.run(self._wait_s)
        ends = world.retrieve(0, inserted.metadata)
        world.run(SETTLED_S)
        assert [(end.status, end.data) for end in ends] == [(OperationStatus.OK, inserted.data)]

    def test_what_is_deleted_is_gone(self) -> None:
        """Also for windows of the past, and when its owner has been away and is back."""
        world = self.nodes()
        kept, gone = world.insert(1, "a"), world.insert(2, "a")
        world.run(self._wait_s)
        world.delete(gone.metadata.key)
        world.run(self._wait_s)
        for back in (False, True):
            if back:
                world.leave(2)
                world.run(SETTLED_S)
                world.join(2)
                world.run(QUIET_S)
            found = world.found_by(3, "a")
            assert gone.metadata.key not in found, "a deleted object was found"
            if self.capability("keeps_past"):
                assert found == {kept.metadata.key}

    def test_withdrawn_queries_are_told_nothing(self) -> None:
        world = self.nodes()
        asked = world.ask(0, "a")
        world.run(self._wait_s)
        world.withdraw(asked)
        world.run(self._wait_s)
        world.insert(1, "a")
        world.run(QUIET_S + self._wait_s)
        assert asked.told == []
        assert world.client(0).objects.unwanted == 0, "a withdrawn query went on being answered"

    def test_the_past_comes_in_pages(self) -> None:
        """Latest first, each object on one page, while others are inserted and deleted."""
        if not self.capability("keeps_past"):
            return
        world = self.nodes()
        inserted = []
        for number in range(7):
            inserted.append(world.insert(number % 4, "a"))
            world.run(0.5)
        world.run(self._wait_s)
        asked = world.ask(0, "a", limit=3)
        world.run(SETTLED_S)
        assert asked.told == [each.metadata.key for each in inserted[:-4:-1]]
        assert asked.own.more_past, "there are more"
        new = world.insert(1, "a")
        world.delete(inserted[3].metadata.key)
        world.run(self._wait_s)
        for _ in range(2):
            world.more(asked, 3)
            world.run(SETTLED_S)
        keys = [each.metadata.key for each in inserted]
        assert asked.told == [*keys[:-4:-1], new.metadata.key, *keys[2::-1]]
        assert not asked.own.more_past

    def test_namespaces_do_not_meet(self) -> None:
        world = self.nodes()
        asked = world.ask(0, "a", namespace="one")
        world.run(self._wait_s)
        world.insert(1, "a", namespace="two")
        own = world.insert(2, "a", namespace="one")
        world.run(self._wait_s)
        assert asked.told == [own.metadata.key]

    # -- nodes that come and go ---------------------------------------------------------------------------

    def test_windows_of_the_past_are_kept(self) -> None:
        """A query finds what was inserted long before it, and what is inserted when its node is back."""
        world = self.nodes()
        early = world.insert(1, "a")
        world.run(120.0 if self.capability("keeps_past") else SETTLED_S)
        asked = world.ask(3, "a")
        world.run(self._wait_s)
        if self.capability("keeps_past"):
            assert asked.told == [early.metadata.key]
        world.leave(3)
        world.run(SETTLED_S)
        missed = world.insert(2, "a")
        world.run(SETTLED_S)
        world.join(3)
        world.run(QUIET_S)
        late = world.insert(2, "a")
        world.run(self._wait_s)
        assert late.metadata.key in asked.told, "a query did not outlive its node's absence"
        if self.capability("keeps_past"):
            assert missed.metadata.key in asked.told, "what came while a node was away was not found"
        assert not world.twice

    def test_who_was_out_of_reach_is_told_later(self) -> None:
        """A subscriber that no notification could reach for a while is told of what it has missed, once."""
        if not self.capability("lossless"):
            return
        world = self.nodes()
        asked = world.ask(3, "a")
        world.run(self._wait_s)
        home, world.places[3] = world.places[3], OUT_OF_REACH
        world.run(SETTLED_S)
        missed = [world.insert(node, "a") for node in (0, 2)]
        world.run(OUT_S)
        world.places[3] = home
        world.run(LONGEST_WAIT_S + QUIET_S)
        assert sorted(asked.told) == sorted(each.metadata.key for each in missed)
        assert not world.twice

    def test_objects_of_absent_owners(self) -> None:
        """They are found and retrieved, if that is promised, and again when the owner is back."""
        if not self.capability("keeps_past"):
            return
        world = self.nodes()
        inserted = world.insert(2, "a")
        world.run(QUIET_S)
        world.leave(2)
        world.run(QUIET_S)
        if self.capability("keeps_when_owner_leaves"):
            asked = world.ask(3, "a")
            world.run(self._wait_s)
            assert asked.told == [inserted.metadata.key]
            ends = world.retrieve(3, inserted.metadata)
            world.run(SETTLED_S)
            assert [end.data for end in ends] == [inserted.data]
        world.join(2)
        world.run(QUIET_S)
        assert world.found_by(0, "a") == {inserted.metadata.key}

    # -- transitions --------------------------------------------------------------------------------------

    def test_nothing_is_lost_in_transitions(self) -> None:
        """Objects, queries and deletions come through transitions from it and back to it, decided by any node
        without a broker; nobody is told twice."""
        if not self.capability("lossless"):
            return
        for other, (routing, values) in self.capability("beside").items():
            if other == self.name:
                continue
            world = self.nodes()
            asked, kept, gone = world.ask(0, "a"), world.insert(1, "a"), world.insert(2, "a")
            world.run(SETTLED_S)
            world.delete(gone.metadata.key)
            world.run(SETTLED_S)
            for name, way, parameters in ((other, routing, values), (self.name, *self._own_way())):
                assert world.decide(2, name, way, **parameters).ok
                during = world.insert(3, "a")
                world.run(QUIET_S)
                assert world.active() == [name] * 4, f"not all follow to {name}: {world.active()}"
                assert during.acknowledged, f"an insertion during the switch to {name} was not done"
                expected = world.expected(asked)
                assert world.found_by(1, "a") == expected, f"after a switch to {name}"
                assert set(asked.told) - {gone.metadata.key} == expected, f"the query lost something: {name}"
            assert kept.metadata.key in asked.told
            assert not world.twice, f"told twice: {world.twice}"

    def _own_way(self) -> tuple[str, dict[str, Any]]:
        routing, _ = self.capability("routing")
        return routing, dict(self.parameters)
