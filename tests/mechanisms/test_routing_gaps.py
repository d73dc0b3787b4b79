"""Routing between cells that do not touch: whoever hears somebody beyond the gap is searched for."""

from __future__ import annotations

import math
import random

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bypass.mechanisms.routing.cells import CellRouting
from bypass.mechanisms.routing.members import Member
from bypass.mechanisms.routing.searches import around, beyond_gaps, next_node
from bypass.places.cell_grid import CellGrid
from bypass.protocol.datagrams import MOST_GAP, MOST_SEARCHED, NodeAddress, Search
from bypass.protocol.storage import Acknowledge
from bypass.testing.rules import Point
from bypass.testing.worlds.routing import REACH, RoutingWorld

SIDE = 40.0
COLUMNS = 7
AREA = (0.0, 0.0, COLUMNS * SIDE, COLUMNS * SIDE)
GRID = CellGrid.over(AREA, SIDE)


def world_of(places: list[Point], seed: int = 1) -> RoutingWorld:
    """Nodes at these places that have heard each other, and of gaps."""
    world = RoutingWorld(places, "cells", {"area": AREA, "side": SIDE}, seed=seed)
    world.run(8.0)
    return world


def middles(*cells: tuple[int, int]) -> list[Point]:
    return [((column + 0.5) * SIDE, (row + 0.5) * SIDE) for column, row in cells]


def gap_of(world: RoutingWorld, node: int) -> int:
    """How near a gap is, as a node tells."""
    active = world.active(node)
    assert isinstance(active, CellRouting)
    return active.gap


def connected(places: list[Point]) -> bool:
    known, new = {0}, [0]
    while new:
        here = places[new.pop()]
        found = {n for n, each in enumerate(places) if math.dist(here, each) <= REACH} - known
        known |= found
        new += found
    return len(known) == len(places)


# -- ways -------------------------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.integers(4, 14))
@settings(derandomize=True, max_examples=25, deadline=None)
def test_a_way_ends_in_the_nearest_cell_of_all_that_radios_lead_to(seed: int, nodes: int) -> None:
    draw = random.Random(seed)
    places = [(draw.uniform(0.0, AREA[2]), draw.uniform(0.0, AREA[3])) for _ in range(nodes)]
    assume(connected(places))
    world = world_of(places, seed)
    cells = [GRID.cell_of(*place) for place in places]
    for target in draw.sample(range(GRID.cells), 12):
        number = world.send(draw.randrange(nodes), NodeAddress(None, target))
        world.run(1.0)
        nearest = min(cells, key=lambda cell: (GRID.steps_squared(cell, target), cell))
        assert [cells[node] for node in world.took(number)] == [nearest]
    for node in range(nodes):
        number = world.send(draw.randrange(nodes), NodeAddress(node, cells[node]))
        world.run(1.0)
        assert world.took(number) == [node]


def test_another_node_of_the_cell_may_be_the_one_that_hears_across() -> None:
    """One node of the cell in the middle hears the west alone, the other one the east alone."""
    places = [(125.0, 20.0), (155.0, 20.0), (15.0, 20.0), (265.0, 20.0)]
    assert [GRID.cell_of(*place) for place in places] == [3, 3, 0, 6]
    world = world_of(places)
    for sender, target in ((2, 3), (3, 2), (0, 3), (1, 2)):
        number = world.send(sender, NodeAddress(None, GRID.cell_of(*places[target])))
        world.run(1.0)
        assert world.took(number) == [target]


def test_a_node_that_walks_beyond_a_gap_is_reached() -> None:
    world = world_of(middles((0, 0), (1, 0), (3, 0), (3, 1)))
    world.walk(3, middles((5, 1))[0], mps=4.0)
    world.run(16.0)
    walker = world.nodes[3].routing
    assert (walker.own_cell(), walker.serving()) == (12, False)
    number = world.send(0, NodeAddress(3, 12))
    world.run(1.0)
    assert world.took(number) == [3]


# -- what it costs ----------------------------------------------------------------------------------------


def test_nobody_searches_where_cells_touch() -> None:
    world = world_of(middles(*[(column, row) for column in range(5) for row in range(2)]))
    assert [gap_of(world, node) for node in range(10)] == [0] * 10
    number = world.send(0, NodeAddress(None, 48))
    world.run(1.0)
    assert len(world.took(number)) == 1
    assert world.sends[number] <= 12  # a way around the face; a search would take 18 more


def test_others_hear_of_a_gap_until_it_is_closed() -> None:
    world = world_of(middles((0, 0), (1, 0), (2, 0), (4, 0)))
    assert [gap_of(world, node) for node in (2, 3)] == [MOST_GAP, MOST_GAP]
    assert 0 < gap_of(world, 0) < MOST_GAP
    world.walk(1, middles((3, 0))[0], mps=8.0)
    world.walk(0, middles((1, 0))[0], mps=8.0)
    world.run(30.0)
    assert [gap_of(world, node) for node in range(4)] == [0] * 4


def test_what_a_search_did_not_find_is_not_searched_for_again_at_once() -> None:
    world = world_of(middles((0, 0), (2, 0), (4, 0), (6, 0)))
    first = world.send(0, NodeAddress(None, 14))
    world.run(0.5)
    second = world.send(0, NodeAddress(None, 14))
    world.run(5.0)
    third = world.send(0, NodeAddress(None, 14))
    world.run(0.5)
    assert [world.took(number) for number in (first, second, third)] == [[0], [0], [0]]
    assert [world.sends[number] for number in (first, second, third)] == [6, 0, 6]


def test_what_two_searches_did_not_find_is_not_searched_for_for_longer_unless_something_is_new() -> None:
    world = world_of(middles((0, 0), (2, 0), (4, 0), (6, 0)))

    def sends_after(seconds: float) -> int:
        world.run(seconds)
        number = world.send(0, NodeAddress(None, 14))
        world.run(0.5)
        assert world.took(number) == [0]
        return world.sends[number]

    assert [sends_after(each) for each in (0.0, 4.5, 5.0)] == [6, 6, 0]
    world.nodes[3].routing.flood(Acknowledge(0))
    world.run(0.5)
    assert [sends_after(each) for each in (0.0, 4.5, 5.0, 5.0)] == [6, 6, 0, 6]


def test_one_node_of_a_cell_searches_for_all() -> None:
    """The others would search for the same each time: at many nodes a cell is asked for at the same time."""
    places = [*middles((0, 0), (0, 0), (0, 0)), *middles((2, 0), (4, 0), (6, 0))]
    world = world_of(places)
    numbers = []
    for sender in (2, 1, 0, 2, 1):
        numbers.append(world.send(sender, NodeAddress(None, 14)))
        world.run(0.2)
    assert [world.took(number) for number in numbers] == [[0]] * 5
    assert [world.sends[number] for number in numbers] == [11, 1, 0, 1, 1]


# -- parts ------------------------------------------------------------------------------------------------


def test_cells_around_are_told_by_bits() -> None:
    assert around(GRID, 8, {9, 0, 10}) == 1 | 1 << 5  # east, and where x and y are less
    assert around(GRID, 0, set(range(49))) == 0b111
    assert list(beyond_gaps(GRID, 0, {3}, {})) == [3]
    assert not beyond_gaps(GRID, 0, {1, 3}, {1: 1, 3: 0})  # the cell between is known from one beside it
    assert list(beyond_gaps(GRID, 0, {1, 4}, {1: 1, 4: 0})) == [4]


def test_a_search_is_bounded() -> None:
    near = [(node, Member(cell=node % 49, moving=False, heard_at=0.0)) for node in range(200)]
    search = Search(0, tuple(NodeAddress(1000 + n, 999) for n in range(MOST_SEARCHED - 1)))
    assert next_node(GRID, 48, search, near) == 48
    full = search._replace(visited=(*search.visited, NodeAddress(5, 5)))
    assert next_node(GRID, 48, full, near) is None
