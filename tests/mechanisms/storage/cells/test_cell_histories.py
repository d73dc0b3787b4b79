"""Whatever happens to nodes and messages: once it is quiet, nothing that was acknowledged is lost."""

from __future__ import annotations

import random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bypass.protocol.storage import OperationStatus
from tests.cells_world import CellsWorld, Told

pytestmark = pytest.mark.slow

OK = [OperationStatus.OK]
TAGS = ("a", "b", "c", "d", "e")
FORMULAS = ("a", "b | c", "a & ~b", "c | d & e", "e")
QUIET_S = 10.0
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
    """A world of which every step is drawn, and what its applications know."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.world = CellsWorld(
            [self.draw.randrange(9) for _ in range(self.draw.randint(5, 12))], 3, 3, seed=seed
        )
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
            for name in set(names) - self.deleted.keys():
                self.deleted[name] = world.delete(self.inserted[name][0], name)
                break
        elif what == "walk":
            world.walk(node, world.place_in(draw.randrange(9), node), draw.choice((1.5, 5.0)))
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
        while not all(world.cells(node).host.link.serving() for node in world.alive()):
            world.run(1.0)
        world.run(QUIET_S)


def touching(cells: set[int]) -> bool:
    """Whether one gets from each cell to every other over cells that touch: routing promises no more."""
    known: set[int] = set()
    following = {min(cells)}
    while following:
        known |= following
        following = {
            cell
            for cell in cells - known
            if any(abs(cell % 3 - each % 3) <= 1 and abs(cell // 3 - each // 3) <= 1 for each in known)
        }
    return known == cells


@given(st.integers(0, 10_000), STEPS)
@settings(derandomize=True, max_examples=15)
def test_nothing_acknowledged_is_lost_and_nobody_is_told_twice(
    seed: int, steps: list[tuple[str, float]]
) -> None:
    history = History(seed)
    world = history.world
    for what, seconds in steps:
        history.do(what)
        world.run(seconds)
    history.calm()
    up = world.alive()
    assume(touching({cell for node in up if (cell := world.cells(node).cell) is not None}))
    stored = {
        each.key.name
        for node in up
        for each in (*world.access(node).store.own, *world.access(node).store.replicas)
    }
    found = {name for tag in TAGS for name in world.found_by(up[0], tag, 4.0)}
    kept = {name for name, (_, end) in history.inserted.items() if end == OK} - history.deleted.keys()
    assert kept & stored <= found
    assert not found & {name for name, end in history.deleted.items() if end == OK}
    world.insert(up[-1], "final", *TAGS)
    world.insert(up[-1], "other", "a")
    world.run(10.0)
    for node, formula, told in history.queries:
        if node in up:
            assert ("other" if formula == "a & ~b" else "final") in told.names
        assert len(told.names) == len(set(told.names))
