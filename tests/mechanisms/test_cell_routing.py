"""Routing between cells: beacons, nodes that move, nodes that fail, and what peers may say wrongly."""

from __future__ import annotations

from typing import Any

import pytest

from bypass.mechanisms.routing.cells import CellRouting
from bypass.mechanisms.routing.counters import DropReason
from bypass.mechanisms.routing.members import MOST_MEMBERS, CellMembers
from bypass.protocol.datagrams import Beacon, Datagram, DatagramScope, NodeAddress, Recovery, Search
from bypass.protocol.storage import Acknowledge, OperationStatus
from bypass.testing.rules import Point
from bypass.testing.worlds.routing import RoutingWorld

AREA = (0.0, 0.0, 400.0, 200.0)  # 10 x 5 cells of 40 m


def middle(column: int, row: int) -> Point:
    return 40.0 * column + 20.0, 40.0 * row + 20.0


def world_of(*cells: tuple[int, int], **values: Any) -> RoutingWorld:
    """A node in the middle of each of these cells; those named twice have two."""
    settings = {"area": AREA, "side": 40.0, **values}
    world = RoutingWorld([middle(*cell) for cell in cells], "cells", settings)
    world.run(4.0)
    return world


def row(columns: int) -> list[tuple[int, int]]:
    return [(column, 0) for column in range(columns)]


def cell(world: RoutingWorld, node: int) -> int | None:
    return world.nodes[node].routing.own_cell()


def routing(world: RoutingWorld, node: int) -> CellRouting:
    active = world.active(node)
    assert isinstance(active, CellRouting)
    return active


# -- neighbours -------------------------------------------------------------------------------------------


def test_beacons_tell_who_is_where() -> None:
    world = world_of((0, 0), (1, 0), (4, 0))
    near = world.nodes[0].routing.neighbours()
    assert [(each.node, each.cell, each.moving) for each in near] == [(1, 1, False)]
    assert world.nodes[2].routing.neighbours() == []
    assert routing(world, 0).counters.control_bytes > 0


def test_a_radio_without_room_says_nothing_about_neighbours() -> None:
    world = world_of((0, 0), (1, 0), (2, 0))
    world.full.add(0)
    numbers = [world.send(0, NodeAddress(None, 2)) for _ in range(4)]
    world.run(0.1)
    assert [world.reported(number) for number in numbers] == [[NodeAddress(None, 2)]] * 4
    assert [each.node for each in world.nodes[0].routing.neighbours()] == [1, 2]
    world.full.clear()
    number = world.send(0, NodeAddress(None, 2))
    world.run(0.1)
    assert world.took(number) == [2]


def test_a_silent_node_is_forgotten() -> None:
    world = world_of((0, 0), (1, 0))
    world.die(1)
    world.run(3.0)
    assert world.nodes[0].routing.neighbours()
    world.run(3.0)
    assert world.nodes[0].routing.neighbours() == []


def test_clusters_that_meet_find_each_other() -> None:
    """A message to a cell of the other cluster stays on this side until somebody stands between."""
    world = world_of((0, 0), (1, 0), (7, 0), (8, 0), (4, 4), (5, 4))
    far = NodeAddress(None, cell(world, 3))
    first = world.send(0, far)
    world.run(1.0)
    assert world.took(first) == [1]  # the nearest that there is on this side
    before = world.nodes[1].changes
    world.walk(4, middle(3, 0), mps=20.0)
    world.walk(5, middle(5, 0), mps=20.0)
    world.run(20.0)
    second = world.send(0, far)
    world.run(1.0)
    assert world.took(second) == [3]
    assert world.nodes[1].changes > before


def test_the_sink_is_told_of_changes_alone() -> None:
    world = world_of((0, 0), (1, 0))
    told = [node.changes for node in world.nodes]
    world.run(20.0)
    assert [node.changes for node in world.nodes] == told


# -- datagrams --------------------------------------------------------------------------------------------


def test_targets_that_share_a_way_share_datagrams() -> None:
    world = world_of(*row(8))
    number = world.send(0, NodeAddress(None, 5), NodeAddress(None, 6), NodeAddress(None, 7))
    world.run(1.0)
    assert world.took(number) == [5, 6, 7]
    together = world.sends[number]
    apart = [world.send(0, NodeAddress(None, target)) for target in (5, 6, 7)]
    world.run(1.0)
    assert together < sum(world.sends[each] for each in apart)


def test_another_node_of_the_cell_is_tried() -> None:
    world = world_of((0, 0), (2, 0), (2, 0), (2, 0))
    for node in (1, 3):
        world.die(node)
    numbers = [world.send(0, NodeAddress(None, 2)) for _ in range(6)]
    world.run(1.0)
    assert [world.took(number) for number in numbers] == [[2]] * 6
    assert routing(world, 0).counters.failed > 0


def test_any_node_of_a_cell_may_get_it() -> None:
    world = world_of((0, 0), (1, 0), (1, 0), (1, 0))
    numbers = [world.send(0, NodeAddress(None, 1)) for _ in range(40)]
    world.run(1.0)
    assert {node for number in numbers for node in world.took(number)} == {1, 2, 3}


def test_a_node_that_is_not_in_its_cell_is_reported() -> None:
    world = world_of(*row(6))
    target = NodeAddress(5, 2)
    number = world.send(0, target)
    world.run(1.0)
    assert (world.took(number), world.reported(number)) == ([], [target])


def test_an_empty_cell_is_stood_in_for() -> None:
    world = world_of((0, 0), (1, 0), (2, 0), (2, 1))
    number = world.send(0, NodeAddress(None, 49))
    world.run(1.0)
    (arrival,) = (each for each in world.arrivals if each.number == number)
    assert (arrival.node, arrival.target) == (3, NodeAddress(None, 49))
    assert arrival.origin == NodeAddress(0, 0)


def test_a_lonely_node_takes_what_is_for_cells_and_reports_the_rest() -> None:
    world = world_of((3, 3))
    first, second = world.send(0, NodeAddress(None, 7)), world.send(0, NodeAddress(5, 7))
    world.run(1.0)
    assert world.took(first) == [0]
    assert world.reported(second) == [NodeAddress(5, 7)]


# -- nodes that move --------------------------------------------------------------------------------------


def test_who_leaves_its_cell_serves_again_after_it_stood_still() -> None:
    world = world_of((0, 0), (1, 0), (2, 0))
    walker = world.nodes[0].routing
    world.walk(0, middle(0, 2), mps=2.0)  # 40 s on its way
    world.run(4.0)
    assert (walker.own_cell(), walker.serving()) == (0, True)  # it moves, in its cell
    world.run(16.0)
    assert (walker.own_cell(), walker.serving()) == (10, False)
    seen = [each for each in world.nodes[1].routing.neighbours() if each.node == 0]
    assert [(each.cell, each.moving) for each in seen] == [(10, True)]
    world.run(23.0)
    assert (walker.own_cell(), walker.serving()) == (20, False)
    world.run(5.0)
    assert (walker.own_cell(), walker.serving()) == (20, True)


def test_who_is_on_its_way_forwards_nothing_but_gets_what_is_for_it() -> None:
    world = world_of(*row(5), (2, 1))
    world.walk(5, (200.0, 90.0), mps=1.0)
    world.run(50.0)
    assert not world.nodes[5].routing.serving()
    own = cell(world, 5)
    for_cell, for_node = world.send(0, NodeAddress(None, own)), world.send(0, NodeAddress(5, own))
    world.run(1.0)
    assert world.took(for_node) == [5]
    assert world.took(for_cell) not in ([], [5])
    sent = world.send(5, NodeAddress(0, 0))
    world.run(1.0)
    assert world.took(sent) == [0]
    told = world.tell(4, "flood")
    world.run(1.0)
    assert world.took(told) == [0, 1, 2, 3, 5]
    assert routing(world, 5).counters.forwarded == 0


def test_who_serves_no_cell_does_not_hear_what_is_told_there() -> None:
    world = world_of((1, 0), (1, 0), (0, 0))
    world.walk(2, middle(1, 0), mps=2.0)
    world.run(22.0)
    assert (cell(world, 2), world.nodes[2].routing.serving()) == (1, False)
    number = world.tell(0, "tell_cell")
    world.run(0.1)
    assert world.took(number) == [1]


# -- parameters -------------------------------------------------------------------------------------------


def test_the_side_can_be_exchanged() -> None:
    world = world_of(*row(6))
    for node in range(6):
        assert world.change(node, "cells", side=80.0).outcome == "done"
    world.run(4.0)
    assert [cell(world, node) for node in range(6)] == [0, 0, 1, 1, 2, 2]
    number = world.send(0, NodeAddress(None, 2))
    world.run(1.0)
    assert len(world.took(number)) == 1
    assert world.took(number)[0] in (4, 5)


def test_nodes_with_different_grids_are_no_neighbours() -> None:
    world = world_of((0, 0), (1, 0), (2, 0))
    world.change(1, "cells", side=20.0)
    world.run(8.0)
    assert [each.node for each in world.nodes[0].routing.neighbours()] == [2]
    assert world.nodes[1].routing.neighbours() == []


def test_a_grid_that_is_none_changes_nothing() -> None:
    world = world_of((0, 0), (1, 0))
    grid = world.nodes[0].routing.grid()
    with pytest.raises(Exception, match="expected 1 to"):
        world.change(0, "cells", side=0.001)
    assert world.nodes[0].routing.grid() == grid
    assert routing(world, 0).side == 40.0


def test_beacons_can_be_made_rarer() -> None:
    world = world_of((0, 0), (1, 0))
    before = routing(world, 0).counters.control
    world.change(0, "cells", beacon_s=10.0)
    world.run(100.0)
    assert 9 <= routing(world, 0).counters.control - before <= 13


# -- what peers may say -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("targets", "recovery"),
    [
        ((NodeAddress(None, 5000),), None),
        ((NodeAddress(None, None),), None),
        ((NodeAddress(77, None),), None),
        ((NodeAddress(None, 3),), Recovery(9999, (1, 2), 3)),
        ((NodeAddress(None, 3),), Recovery(1, (1, 2), 3, (70, 80))),
        ((NodeAddress(None, 3),), Recovery(2, (2, 2), 2)),
        ((NodeAddress(None, 3),), Search(9999)),
        ((NodeAddress(None, 40),), Search(3, (NodeAddress(), NodeAddress(0, 0)), (77,))),
        ((NodeAddress(None, 40),), Search(3, (NodeAddress(1, 9999),), (1, 1, 2))),
        ((), None),
    ],
)
def test_what_makes_no_sense_does_no_harm(
    targets: tuple[NodeAddress, ...], recovery: Recovery | Search | None
) -> None:
    world = world_of(*row(4))
    datagram = Datagram(
        3 << 32 | 1,
        NodeAddress(3, 3),
        targets,
        DatagramScope.ROUTED,
        Acknowledge(1, OperationStatus.OK),
        3,
        recovery,
        client=1,
    )
    world.nodes[0].routing.arrived(datagram)
    world.nodes[0].routing.arrived(
        Datagram(1 << 32 | 2, NodeAddress(1, 1), (), DatagramScope.HOP, Beacon(999, False, 50), client=1)
    )
    world.run(2.0)
    number = world.send(0, NodeAddress(None, 3))
    world.run(1.0)
    assert 3 in world.took(number)


def test_the_hop_limit_ends_a_way() -> None:
    world = world_of(*row(9), hop_limit=2)
    number = world.send(0, NodeAddress(8, 8))
    world.run(1.0)
    assert (world.took(number), world.hops[number]) == ([], 2)
    assert sum(routing(world, node).counters.dropped[DropReason.HOPS] for node in range(9)) >= 1


def test_neighbours_are_bounded() -> None:
    members = CellMembers()
    for node in range(MOST_MEMBERS + 10):
        members.told(node, 1, False, float(node))
    assert len(members.neighbours()) == MOST_MEMBERS
    assert members.get(9) is None
    assert members.get(MOST_MEMBERS + 9) is not None
