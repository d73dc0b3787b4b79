"""The suite of routing mechanisms: promises that each of them keeps."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from hypothesis import assume
from hypothesis import strategies as st

from bypass.mechanisms.families import ROUTING, Family
from bypass.places.cell_grid import CellGrid
from bypass.ports.storage import CELL, EDGE, FLOOD, HOP, NODE
from bypass.protocol.datagrams import NodeAddress
from bypass.testing.rules import Point
from bypass.testing.suites.suite import MechanismSuite
from bypass.testing.worlds.routing import RoutingWorld

SIDE = 40.0
"""The side of cells, in metres: nodes of touching cells hear each other."""

GRID = CellGrid(0.0, 0.0, SIDE, 7, 5)
"""The cells in which nodes are placed."""

MIDDLE: Point = (95.0, 95.0)
"""Where an edge is, for mechanisms that need one: in reach of all nodes of a cluster."""

MOST_HOPS = 255
"""No datagram goes further."""


@st.composite
def placements(draw: st.DrawFn, most: int = 12) -> list[Point]:
    """Nodes in cells of which each touches another one, one or two in a cell."""
    cells = [draw(st.integers(0, GRID.cells - 1))]
    for _ in range(draw(st.integers(0, most - 1))):
        around = sorted({each for cell in cells for each in GRID.adjacent(cell)} - set(cells))
        cells.append(draw(st.sampled_from(around)))
    inside = st.integers(1, 39).map(float)
    corners = [(x - SIDE / 2, y - SIDE / 2) for x, y in map(GRID.centre, cells)]
    return [(x + draw(inside), y + draw(inside)) for x, y in corners for _ in range(draw(st.integers(1, 2)))]


def clusters(most: int = 8) -> st.SearchStrategy[list[Point]]:
    """Nodes of which everybody hears everybody."""
    metres = st.integers(60, 130).map(float)
    return st.lists(st.tuples(metres, metres), min_size=2, max_size=most)


class RoutingSuite(MechanismSuite):
    """Bodies get to where they should, once, or their origin is told that they did not.

    What is asked for depends on the services that the mechanism `offers`. Capabilities: one that is not
    `multihop` is tried where everybody hears everybody; `settled_s` is how long nodes need to find each
    other, and `patience_s` how long until what cannot be delivered is reported.
    """

    family: ClassVar[Family] = ROUTING
    defaults: ClassVar[Mapping[str, Any]] = {"multihop": True, "settled_s": 5.0, "patience_s": 40.0}

    def nodes(self, places: Sequence[Point], seed: int = 1, **values: Any) -> RoutingWorld:
        """Nodes that all run this mechanism and know each other, and an edge if it needs one."""
        if self.offers(EDGE):
            values.setdefault("edges", [MIDDLE])
        world = RoutingWorld(places, self.name, self.parameters, self.brought, seed=seed, **values)
        world.run(self.capability("settled_s"))
        return world

    def offers(self, service: str) -> bool:
        """Whether the mechanism declares a service."""
        return service in self.kind.offers

    def placed(self) -> st.SearchStrategy[list[Point]]:
        """Places that the mechanism can connect."""
        return placements() if self.capability("multihop") else clusters()

    # -- one node or one cell -----------------------------------------------------------------------------

    def test_a_node_gets_a_body_once(self) -> None:
        """By its number, or in its cell where only cells are known."""

        def gets(places: list[Point], pairs: list[tuple[int, int]], seed: int) -> None:
            world = self.nodes(places, seed)
            for sender, to in pairs:
                sender, to = sender % len(places), to % len(places)
                number = world.send(sender, self._address(world, to))
                assert world.took(number) == [], "a body was handed over while it was sent"
                world.run(1.0)
                self._arrived_once(world, number, [to])

        numbers = st.integers(0, 30)
        self.for_all(
            gets,
            places=self.placed(),
            pairs=st.lists(st.tuples(numbers, numbers), min_size=1, max_size=6),
            seed=st.integers(0, 99),
        )

    def test_one_node_of_a_cell_gets_a_body(self) -> None:
        """Of the cell that is meant or, if that is empty, of the populated one nearest to it."""
        if not self.offers(CELL):
            return

        def gets(places: list[Point], sender: int, cells: list[int], seed: int) -> None:
            world = self.nodes(places, seed)
            sender %= len(places)
            grid = self._grid(world)
            targets = {NodeAddress(None, cell % grid.cells) for cell in cells}
            number = world.send(sender, *targets)
            world.run(1.0)
            arrivals = [each for each in world.arrivals if each.number == number]
            met = Counter(each.target for each in arrivals)
            assert met == Counter(targets), f"cells {sorted(targets)} got {dict(met)}, expected once each"
            populated = {world.nodes[n].routing.own_cell() for n in range(len(places))}
            for each in arrivals:
                assert each.target is not None
                wanted = nearest_cell(grid, each.target.cell or 0, populated)
                here = world.nodes[each.node].routing.own_cell()
                assert here == wanted, f"{each.target} was taken in cell {here}, expected {wanted}"
            assert world.hops[number] <= MOST_HOPS

        self.for_all(
            gets,
            places=self.placed(),
            sender=st.integers(0, 30),
            cells=st.lists(st.integers(0, 10_000), min_size=1, max_size=5),
            seed=st.integers(0, 99),
        )

    def test_several_targets_get_a_body_once_each(self) -> None:
        """Also the sender, if it is one of them; and one that is named twice gets it once."""

        def get(places: list[Point], sender: int, targets: list[int], seed: int) -> None:
            world = self.nodes(places, seed)
            wanted = sorted({each % len(places) for each in targets})
            named = [self._address(world, each % len(places)) for each in targets]
            number = world.send(sender % len(places), *named)
            world.run(1.0)
            self._arrived_once(world, number, wanted)

        self.for_all(
            get,
            places=self.placed(),
            sender=st.integers(0, 30),
            targets=st.lists(st.integers(0, 30), min_size=1, max_size=6),
            seed=st.integers(0, 99),
        )

    # -- many ---------------------------------------------------------------------------------------------

    def test_a_flood_gets_to_everybody_once(self) -> None:
        if not self.offers(FLOOD):
            return

        def gets(places: list[Point], sender: int, seed: int) -> None:
            world = self.nodes(places, seed)
            sender %= len(places)
            number = world.tell(sender, "flood")
            world.run(2.0)
            others = [node for node in range(len(places)) if node != sender]
            assert world.took(number) == others, f"{sender} told {world.took(number)}, expected {others}"
            assert max(world.sends.values()) <= len(places), "a node has passed a flood on more than once"

        self.for_all(gets, places=self.placed(), sender=st.integers(0, 30), seed=st.integers(0, 99))

    def test_neighbours_and_no_others_are_told(self) -> None:
        if not self.offers(HOP):
            return

        def told(places: list[Point], sender: int, seed: int) -> None:
            world = self.nodes(places, seed)
            sender %= len(places)
            number = world.tell(sender, "tell_neighbours")
            world.run(1.0)
            assert world.took(number) == world.in_reach(sender)

        self.for_all(told, places=self.placed(), sender=st.integers(0, 30), seed=st.integers(0, 99))

    def test_those_of_a_cell_and_no_others_are_told(self) -> None:
        if not self.offers(CELL):
            return

        def told(places: list[Point], sender: int, seed: int) -> None:
            world = self.nodes(places, seed)
            sender %= len(places)
            number = world.tell(sender, "tell_cell")
            world.run(1.0)
            cell = world.nodes[sender].routing.own_cell()
            same = [
                n for n, each in enumerate(world.nodes) if each.routing.own_cell() == cell and n != sender
            ]
            assert world.took(number) == same, f"{world.took(number)} were told, {same} are in cell {cell}"

        self.for_all(told, places=self.placed(), sender=st.integers(0, 30), seed=st.integers(0, 99))

    def test_neighbours_are_those_that_were_heard(self) -> None:
        """All of them have said something; nobody else is a neighbour."""
        world = self.nodes([(60.0 + 5.0 * n, 60.0) for n in range(4)] + [(900.0, 900.0)])
        for node in range(4):
            world.tell(node, "tell_neighbours")
        world.run(1.0)
        known = [[each.node for each in node.routing.neighbours()] for node in world.nodes]
        assert known == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2], []], f"neighbours: {known}"

    # -- what goes wrong ----------------------------------------------------------------------------------

    def test_all_is_delivered_or_reported(self) -> None:
        """Some nodes are gone, whether others have noticed that or not."""

        def ends(
            places: list[Point], gone: list[int], pairs: list[tuple[int, int]], wait: int, seed: int
        ) -> None:
            world = self.nodes(places, seed)
            dead = {each % len(places) for each in gone}
            addresses = [self._address(world, node) for node in range(len(places))]
            for node in dead:
                world.die(node)
            world.run(float(wait))
            sent = {}
            for sender, to in pairs:
                sender, to = sender % len(places), to % len(places)
                assume(sender not in dead)
                sent[world.send(sender, addresses[to])] = to
                world.run(0.05)
            world.run(self.capability("patience_s"))
            for number, to in sent.items():
                took, reported = world.took(number), world.reported(number)
                expected = ([], [addresses[to]]) if to in dead else ([to], [])
                either = (took, reported) in (expected, ([], [addresses[to]]))
                assert either, (
                    f"to {addresses[to]}: taken by {took}, reported {reported}: expected one of both"
                )

        numbers = st.integers(0, 30)
        self.for_all(
            ends,
            places=self.placed(),
            gone=st.lists(numbers, min_size=1, max_size=4),
            pairs=st.lists(st.tuples(numbers, numbers), min_size=1, max_size=4),
            wait=st.sampled_from((0, 1, 6)),
            seed=st.integers(0, 99),
        )

    def test_who_never_was_there_is_reported(self) -> None:
        world = self.nodes([(60.0, 60.0), (90.0, 60.0), (120.0, 90.0)])
        cell = world.nodes[1].routing.own_cell()
        number = world.send(0, NodeAddress(77, cell))
        world.run(self.capability("patience_s"))
        assert world.took(number) == []
        assert world.reported(number) == [NodeAddress(77, cell)], f"reported: {world.reported(number)}"

    def test_nothing_goes_on_for_ever(self) -> None:
        """Bodies for nodes that are gone are not sent any more after a while."""
        places = [(60.0 + 30.0 * (n % 3), 60.0 + 30.0 * (n // 3)) for n in range(9)]
        world = self.nodes(places)
        addresses = [self._address(world, node) for node in range(9)]
        for node in (4, 8):
            world.die(node)
        numbers = [world.send(sender, addresses[to]) for sender in (0, 2, 6) for to in (4, 8)]
        world.run(self.capability("patience_s"))
        before = [world.sends[number] for number in numbers]
        world.run(self.capability("patience_s"))
        after = [world.sends[number] for number in numbers]
        assert after == before, f"bodies were sent {before} times, and went on: {after}"

    def test_losses_do_no_harm(self) -> None:
        """A node gets a body for each target once, whatever is lost."""

        def once(places: list[Point], pairs: list[tuple[int, int]], seed: int) -> None:
            world = self.nodes(places, seed, loss=0.3)
            numbers = []
            for sender, to in pairs:
                numbers.append(world.send(sender % len(places), self._address(world, to % len(places))))
                world.run(0.1)
            world.run(self.capability("patience_s"))
            for number in numbers:
                took = world.took(number)
                assert len(took) == len(set(took)), f"body {number} was handed over twice: {took}"
                assert world.hops[number] <= MOST_HOPS

        numbers = st.integers(0, 30)
        self.for_all(
            once,
            places=self.placed(),
            pairs=st.lists(st.tuples(numbers, numbers), min_size=1, max_size=4),
            seed=st.integers(0, 99),
        )

    # -- others -------------------------------------------------------------------------------------------

    def test_namespaces_do_not_meet(self) -> None:
        """Nodes of two namespaces, side by side."""
        places = [(60.0 + 8.0 * n, 60.0) for n in range(6)]
        own = {node: {"namespace": "other"} for node in (1, 3, 5)}
        world = self.nodes(places, own=own)
        number = world.tell(0, "tell_neighbours")
        world.run(1.0)
        assert world.took(number) == [2, 4], f"told {world.took(number)}, expected those of the namespace"
        known = {each.node for each in world.nodes[0].routing.neighbours()}
        assert not known & {1, 3, 5}, f"neighbours {known} are of another namespace"

    def test_it_can_be_exchanged(self) -> None:
        """After transitions from and to each built-in mechanism nodes reach each other as before."""
        for other in self.others:
            world = self.nodes([(60.0 + 8.0 * n, 60.0) for n in range(4)], edges=[MIDDLE])
            for name in (other, self.name):
                for node in range(4):
                    values = self.parameters if name == self.name else {}
                    record = world.change(node, name, **values)
                    assert record.outcome == "done", f"to {name}: {record.outcome} {record.error}"
                world.run(max(self.capability("settled_s"), 5.0))
                number = world.send(1, self._address(world, 3))
                world.run(1.0)
                self._arrived_once(world, number, [3])

    def test_a_run_is_the_same_each_time(self) -> None:
        def run(seed: int) -> tuple[object, ...]:
            world = self.nodes([(60.0 + 20.0 * n, 60.0) for n in range(5)], seed, loss=0.2)
            for sender in (0, 3, 1):
                world.send(sender, self._address(world, 4))
                world.tell(sender, "flood")
                world.run(0.5)
            return world.arrivals, world.reports, world.sends

        def repeats(seed: int) -> None:
            assert run(seed) == run(seed), "the same seed gave another run"

        self.for_all(repeats, seed=st.integers(0, 2**32))

    # -- helpers ------------------------------------------------------------------------------------------

    def _address(self, world: RoutingWorld, node: int) -> NodeAddress:
        """The address of a node, as one would have it from a message of that node."""
        cell = None if world.active(node).offers >= {NODE} else world.nodes[node].routing.own_cell()
        return NodeAddress(node, cell)

    def _grid(self, world: RoutingWorld) -> CellGrid:
        grid = world.nodes[0].routing.grid()
        assert grid is not None, "a mechanism that offers cells has a grid"
        return grid

    def _arrived_once(self, world: RoutingWorld, number: int, nodes: list[int]) -> None:
        took, reported = world.took(number), world.reported(number)
        assert took == nodes, f"body {number} was taken by {took}, expected {nodes}"
        assert reported == [], f"body {number} arrived, and was reported as undeliverable: {reported}"
        assert world.hops[number] <= MOST_HOPS


def nearest_cell(grid: CellGrid, target: int, populated: set[int | None]) -> int:
    """The populated cell that stands in for a target; the target itself, if it is populated."""
    known = [cell for cell in populated if cell is not None]
    return min(known, key=lambda cell: (math.floor(grid.steps_squared(cell, target)), cell))
