"""Routing by distance vectors, over several hops and while nodes come and go."""

from __future__ import annotations

from bypass.mechanisms.routing.counters import DropReason
from bypass.mechanisms.routing.dsdv import Dsdv
from bypass.protocol.datagrams import NodeAddress
from bypass.testing.rules import Point
from bypass.testing.worlds.routing import RoutingWorld


def row(nodes: int) -> list[Point]:
    """Each node hears the next ones alone."""
    return [(20.0 + 100.0 * n, 20.0) for n in range(nodes)]


def settled(places: list[Point], **values: float) -> RoutingWorld:
    world = RoutingWorld(places, "dsdv", values)
    world.run(20.0)
    return world


def routing(world: RoutingWorld, node: int) -> Dsdv:
    active = world.active(node)
    assert isinstance(active, Dsdv)
    return active


def test_ways_are_the_shortest() -> None:
    world = settled(row(6))
    assert [routing(world, 0).hops_to(node) for node in range(6)] == [0, 1, 2, 3, 4, 5]
    assert routing(world, 0).hops_to(77) is None
    number = world.send(0, NodeAddress(5))
    world.run(1.0)
    assert (world.took(number), world.hops[number], world.sends[number]) == ([5], 5, 5)


def test_targets_that_share_a_way_share_datagrams() -> None:
    world = settled(row(6))
    number = world.send(0, NodeAddress(4), NodeAddress(5))
    world.run(1.0)
    assert (world.took(number), world.sends[number]) == ([4, 5], 5)


def test_a_broken_link_is_noticed_by_what_fails_and_another_way_is_found() -> None:
    """Two ways around: one of them breaks, and the next announcements show the other one."""
    world = settled([(0.0, 50.0), (80.0, 0.0), (80.0, 100.0), (160.0, 50.0)])
    (used,) = {1, 2} & {routing(world, 0)._ways.next_hop(3)}
    world.die(used)
    number = world.send(0, NodeAddress(3))
    world.run(1.0)
    assert world.took(number) == []
    world.run(30.0)
    assert (world.took(number), world.reported(number)) == ([3], [])
    assert routing(world, 0).hops_to(used) is None


def test_a_radio_without_room_says_nothing_about_neighbours() -> None:
    """A datagram without room is reported, and all ways stay as they are."""
    world = settled(row(3))
    world.full.add(0)
    numbers = [world.send(0, NodeAddress(2)) for _ in range(4)]
    world.run(1.0)
    assert [world.reported(number) for number in numbers] == [[NodeAddress(2)]] * 4
    assert [routing(world, 0).hops_to(node) for node in (1, 2)] == [1, 2]
    assert routing(world, 0).counters.dropped[DropReason.NO_ROOM] == 4
    world.full.clear()
    number = world.send(0, NodeAddress(2))
    world.run(1.0)
    assert (world.took(number), world.reported(number)) == ([2], [])


def test_a_report_waits_until_the_radio_has_room() -> None:
    """The node on the way has no room for what it is to pass on, nor to say so."""
    world = settled(row(4))
    world.full.update((1, 2))
    numbers = [world.send(0, NodeAddress(3)), world.send(1, NodeAddress(3))]
    world.run(10.0)
    assert [world.reported(number) for number in numbers] == [[], [NodeAddress(3)]]
    world.full.discard(1)
    number = world.send(0, NodeAddress(3))
    world.run(10.0)
    assert (world.reported(numbers[0]), world.reported(number)) == ([NodeAddress(3)], [])
    world.full.clear()
    world.run(2.0)
    assert world.reported(number) == [NodeAddress(3)]
    assert routing(world, 1).hops_to(0) == routing(world, 2).hops_to(1) == 1


def test_who_is_gone_is_forgotten_by_all() -> None:
    world = settled(row(5))
    world.die(4)
    world.run(90.0)
    assert [routing(world, node).hops_to(4) for node in range(4)] == [None] * 4
    assert [each.node for each in world.nodes[3].routing.neighbours()] == [2]


def test_who_comes_back_is_found_again() -> None:
    world = settled(row(5))
    world.die(4)
    world.run(90.0)
    number = world.send(0, NodeAddress(4))
    world.revive(4)
    world.run(29.0)
    assert world.took(number) == [4]


def test_what_waits_is_bounded_and_reported() -> None:
    world = settled(row(2), queue=8.0, queue_s=10.0)
    some = [world.send(0, NodeAddress(50)) for _ in range(7)]
    others = [world.send(0, NodeAddress(51)) for _ in range(7)]
    world.run(1.0)
    assert [len(world.reported(number)) for number in some] == [0] * 5 + [1] * 2
    assert [len(world.reported(number)) for number in others] == [0] * 3 + [1] * 4
    world.run(10.0)
    assert all(len(world.reported(number)) == 1 for number in (*some, *others))
    dropped = routing(world, 0).counters.dropped
    assert (dropped[DropReason.QUEUE], dropped[DropReason.WAITED]) == (6, 8)


def test_control_traffic_is_counted_and_grows_with_the_network() -> None:
    few, many = settled(row(4)), settled(row(12))
    bytes_each = [
        sum(routing(world, node).counters.control_bytes for node in range(len(world.nodes)))
        / len(world.nodes)
        for world in (few, many)
    ]
    assert 0 < 2 * bytes_each[0] < bytes_each[1]


def test_changes_can_be_collected() -> None:
    at_once, collected = settled(row(10)), settled(row(10), together_s=1.0)
    counts = [sum(routing(world, n).counters.control for n in range(10)) for world in (at_once, collected)]
    assert counts[1] < counts[0]
    assert routing(collected, 0).hops_to(9) == 9


def test_announcements_can_be_made_more_often() -> None:
    world = settled(row(2))
    before = routing(world, 0).counters.control
    world.change(0, "dsdv", update_s=1.0)
    world.run(20.0)
    assert routing(world, 0).counters.control - before >= 19


def test_a_cell_is_nothing_that_it_knows() -> None:
    world = settled(row(2))
    number = world.send(0, NodeAddress(None, 3))
    world.tell(0, "tell_cell")
    world.run(1.0)
    assert world.reported(number) == [NodeAddress(None, 3)]
    assert routing(world, 0).counters.dropped[DropReason.UNSUPPORTED] == 2


def test_a_report_goes_back_the_way_that_the_datagram_came_if_there_is_no_other() -> None:
    world = settled(row(3), queue=0)
    for neighbour in (0, 2):  # as when both did not take something twice
        routing(world, 1)._ways.lose(neighbour, world.clock.now())
    number = world.send(0, NodeAddress(2))
    world.run(0.5)
    assert (world.took(number), world.reported(number)) == ([], [NodeAddress(2)])


def test_a_report_that_comes_late_is_understood_whatever_was_sent_meanwhile() -> None:
    world = settled(row(2))
    number = world.send(0, NodeAddress(77))
    for _ in range(1000):
        world.send(0, NodeAddress(1))
    world.run(40.0)
    assert world.reported(number) == [NodeAddress(77)]
