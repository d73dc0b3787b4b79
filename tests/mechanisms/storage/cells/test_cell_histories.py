"""Whatever happens to nodes and messages: once it is quiet, nothing that was acknowledged is lost."""

from __future__ import annotations

import random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bypass.protocol.storage import OperationStatus
from bypass.testing.worlds.routing import Walk
from tests.cells_world import CellsWorld, Told

pytestmark = pytest.mark.slow

OK = [OperationStatus.OK]
TAGS = ("a", "b", "c", "d", "e")
FORMULAS = ("a", "b | c", "a & ~b", "c | d & e", "e")
QUIET_S = 10.0
SPARSE = 6
"""Columns and rows of a grid in which most cells are empty."""
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            (
                "insert",
                "insert",
                "query",
                "delete",
                "walk",
                "walk",
                "die",
                "off",
                "revive",
                "cut",
                "heal",
                "loss",
            )
        ),
        st.sampled_from((0.2, 1.0, 3.0, 10.0)),
    ),
    min_size=4,
    max_size=12,
)


class History:
    """A world of which every step is drawn, and what its applications know. In a sparse one there are many
    more cells than nodes, and hardly any two of them that touch."""

    def __init__(self, seed: int, *, sparse: bool = False) -> None:
        self.draw = random.Random(seed)
        self.cells = SPARSE * SPARSE if sparse else 9
        cells = [self.draw.randrange(self.cells) for _ in range(self.draw.randint(5, 12))]
        columns = SPARSE if sparse else 3
        self.world = CellsWorld(cells, columns, columns, seed=seed)
        while sparse and not self.world.is_connected():
            lost = self.draw.choice(sorted(set(range(len(cells))) - self.world.part_of(0)))
            place = self.world.place_in(self.draw.randrange(self.cells), lost)
            self.world.nodes[lost].walk = Walk(place, place)
        self.world.run(6.0)
        self.inserted: dict[str, tuple[int, list[OperationStatus]]] = {}
        self.deleted: dict[str, list[OperationStatus]] = {}
        self.queries: list[tuple[int, str, Told]] = []
        self.off: set[int] = set()

    def do(self, what: str) -> None:
        """Do one thing at random."""
        world, draw, up = self.world, self.draw, self.world.alive()
        node = draw.choice(up)
        if what == "insert":
            name = f"o{len(self.inserted)}"
            tags = draw.sample(TAGS, draw.randint(1, 2))
            self.inserted[name] = node, world.insert(node, name, *tags)
        elif what == "query":
            formula = draw.choice(FORMULAS)
            self.queries.append((node, formula, world.query(node, formula)))
        elif what == "delete":
            names = [n for n, (owner, end) in self.inserted.items() if owner in up and end == OK]
            for name in sorted(set(names) - self.deleted.keys()):
                self.deleted[name] = world.delete(self.inserted[name][0], name)
                break
        elif what == "walk":
            world.walk(node, world.place_in(draw.randrange(self.cells), node), draw.choice((1.5, 5.0)))
        elif what in ("die", "off") and len(up) > 3:
            (world.die if what == "die" else world.switch_off)(node)
            self.off |= {node} if what == "off" else set()
        elif what == "revive":
            for gone in sorted(set(range(len(world.nodes))) - set(up))[:1]:
                (world.switch_on if gone in self.off else world.revive)(gone)
                self.off.discard(gone)
        elif what == "cut":
            side = {each for each in range(len(world.nodes)) if draw.random() < 0.5}
            world.cut = lambda a, b: (a in side) != (b in side)
        else:
            world.cut = lambda _a, _b: False
            world.loss = 0.2 if what == "loss" else 0.0

    def calm(self) -> None:
        """Let everybody stand still and hear each other, for ten beacon periods."""
        world = self.world
        world.cut = lambda _a, _b: False
        world.loss = 0.0
        while not all(self._stands(node) for node in world.alive()):
            world.run(1.0)
        world.run(QUIET_S)

    def _stands(self, node: int) -> bool:
        """Whether a node serves the cell in which it stays."""
        world = self.world
        moves = world.velocity(node, world.clock.now()) != (0.0, 0.0)
        return not moves and world.cells(node).host.link.serving()


@given(st.integers(0, 10_000), STEPS)
@settings(derandomize=True, max_examples=15)
def test_nothing_acknowledged_is_lost_and_nobody_is_told_twice(
    seed: int, steps: list[tuple[str, float]]
) -> None:
    check(History(seed), steps)


@given(st.integers(0, 10_000), STEPS)
@settings(derandomize=True, max_examples=15)
def test_the_same_holds_where_cells_do_not_touch(seed: int, steps: list[tuple[str, float]]) -> None:
    check(History(seed, sparse=True), steps)


def check(history: History, steps: list[tuple[str, float]]) -> None:
    """Do the steps, let all be quiet, and look what is there and who is told."""
    world = history.world
    for what, seconds in steps:
        history.do(what)
        world.run(seconds)
    history.calm()
    up = world.alive()
    assume(world.is_connected())
    stored = {
        each.key.name
        for node in up
        for each in (*world.access(node).store.own, *world.access(node).store.replicas)
    }
    found = {name for tag in TAGS for name in world.found_by(up[0], tag, 4.0)}
    kept = {name for name, (_, end) in history.inserted.items() if end == OK} - history.deleted.keys()
    assert kept & stored <= found
    # Of a deletion, too, somebody who knows it must live: an owner that was cut off may have taken it along.
    buried = {each.key.name for node in up for each in world.access(node).store.tombstones}
    assert not found & buried & {name for name, end in history.deleted.items() if end == OK}
    world.insert(up[-1], "final", *TAGS)
    world.insert(up[-1], "other", "a")
    world.run(10.0)
    for node, formula, told in history.queries:
        if node in up:
            assert ("other" if formula == "a & ~b" else "final") in told.names
        assert len(told.names) == len(set(told.names))
