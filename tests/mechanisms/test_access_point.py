"""Routing through an edge: being bound to one, losing it, moving to another, and what it passes on."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.core.edge.bare_service import BareService
from bypass.mechanisms.routing.access_point import AccessPoint
from bypass.mechanisms.routing.counters import DropReason
from bypass.places.logical_cells import cell_of_node
from bypass.protocol.datagrams import (
    Datagram,
    DatagramScope,
    EdgeAnswer,
    EdgeBeacon,
    NodeAddress,
    WorldMap,
)
from bypass.protocol.storage import Acknowledge
from bypass.testing.rules import Point
from bypass.testing.worlds.routing import Report, RoutingWorld

NEAR: Point = (100.0, 100.0)
FAR: Point = (400.0, 100.0)
STEPS = ("send", "cell", "flood", "die", "revive", "kill", "restart", "cells", "wait")


def world_of(nodes: int = 4, *edges: Point, **values: Any) -> RoutingWorld:
    """Nodes around the first edge, by default the only one."""
    places = [(90.0 + 5.0 * n, 90.0) for n in range(nodes)]
    world = RoutingWorld(
        places, "access-point", values.pop("parameters", {}), edges=edges or [NEAR], **values
    )
    world.run(3.0)
    return world


def routing(world: RoutingWorld, node: int) -> AccessPoint:
    active = world.active(node)
    assert isinstance(active, AccessPoint)
    return active


def bound_to(world: RoutingWorld, node: int) -> int | None:
    coverage = routing(world, node).coverage()
    return None if coverage is None else coverage.edge


# -- being bound ------------------------------------------------------------------------------------------


def test_all_know_the_same_cells_and_each_other() -> None:
    world = world_of(4)
    for node in range(4):
        here = routing(world, node)
        coverage = here.coverage()
        assert coverage is not None
        assert (coverage.edge, coverage.cells) == (4, 9)
        assert here.serving()
        assert here.own_cell() == cell_of_node(node, 9)
        assert [(each.node, each.cell) for each in here.neighbours()] == [
            (other, cell_of_node(other, 9)) for other in range(4) if other != node
        ]


def test_without_an_edge_everything_is_reported_at_once() -> None:
    world = RoutingWorld([(90.0, 90.0), (95.0, 90.0)], "access-point")
    world.run(3.0)
    number = world.send(0, NodeAddress(1), NodeAddress(None, 3))
    world.tell(0, "flood")
    world.run(0.01)
    assert world.reported(number) == [NodeAddress(1), NodeAddress(None, 3)]
    here = routing(world, 0)
    assert (here.coverage(), here.grid(), here.own_cell(), here.serving()) == (None, None, None, False)
    assert not here.neighbours()


def test_moving_in_an_area_costs_no_messages() -> None:
    def controls(mps: float) -> list[int]:
        world = world_of(4)
        for node in range(4):
            world.walk(node, (150.0, 120.0), mps=mps)
        world.run(60.0)
        return [routing(world, node).counters.control for node in range(4)]

    still, moving = controls(0.001), controls(5.0)
    assert moving == still
    assert max(still) <= 6  # a probe, and a hello in 20 s


def test_a_node_of_another_world_is_not_bound() -> None:
    world = world_of(2, own={1: {"namespace": "other"}})
    assert bound_to(world, 0) == 2
    assert bound_to(world, 1) is None
    assert [each.world for each in routing(world, 1).worlds] == [""]
    world.access_points[0].service.add("other", "Other")
    world.run(6.0)
    assert bound_to(world, 1) == 2
    assert [*routing(world, 0).neighbours(), *routing(world, 1).neighbours()] == []


def test_leaving_a_world_is_told() -> None:
    world = world_of(3)
    relay = world.access_points[0].relay
    assert relay.members("") == (0, 1, 2)
    world.change(1, "access-point", namespace="other")
    world.run(0.5)
    assert relay.members("") == (0, 2)
    assert bound_to(world, 1) is None


def test_who_exchanges_its_routing_leaves_the_area() -> None:
    world = world_of(3)
    world.change(1, "one-hop")
    world.run(0.5)
    assert world.access_points[0].relay.members("") == (0, 2)


# -- losing an edge ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["kill", "radio"])
def test_an_idle_node_notices_that_its_edge_is_gone(how: str) -> None:
    world = world_of(3)
    edge = world.access_points[0]
    before = [node.changes for node in world.nodes]
    if how == "kill":
        edge.kill()
    else:
        edge.alive = False
    world.run(2.5)
    assert bound_to(world, 0) == 3
    world.run(2.0)
    assert [bound_to(world, node) for node in range(3)] == [None] * 3
    assert [node.changes for node in world.nodes] == [count + 1 for count in before]


def test_failed_unicasts_tell_sooner() -> None:
    world = world_of(2, parameters={"missed": 100})
    world.access_points[0].alive = False
    world.run(2.0)
    numbers = [world.send(0, NodeAddress(1)) for _ in range(3)]
    world.run(0.5)
    assert [world.reported(number) for number in numbers] == [[NodeAddress(1)]] * 3
    assert bound_to(world, 0) is None
    assert bound_to(world, 1) == 2, "a node that said nothing cannot know"


def test_a_moment_in_which_nothing_is_taken_is_no_loss() -> None:
    world = world_of(2)
    world.access_points[0].alive = False
    numbers = [world.send(0, NodeAddress(1)) for _ in range(10)]
    world.run(0.3)
    world.access_points[0].alive = True
    assert all(world.reported(number) for number in numbers)
    world.run(5.0)
    assert bound_to(world, 0) == 2


def test_failures_that_are_not_in_a_row_are_no_loss() -> None:
    world = world_of(2, parameters={"missed": 100})
    world.access_points[0].kill()
    world.run(2.0)
    for _ in range(5):
        world.access_points[0].alive = False
        world.send(0, NodeAddress(2))
        world.run(0.1)
        world.access_points[0].alive = True
        world.send(0, NodeAddress(2))
        world.run(0.1)
    assert bound_to(world, 0) == 2


def test_an_edge_that_returns_soon_is_the_same() -> None:
    """Its process has forgotten who was there; nodes that are not on its beacon say so."""
    world = world_of(4)
    changes = [node.changes for node in world.nodes]
    world.access_points[0].kill()
    world.access_points[0].restart()
    world.run(2.5)
    assert world.access_points[0].relay.members("") == (0, 1, 2, 3)
    assert [bound_to(world, node) for node in range(4)] == [4] * 4
    assert all(node.changes <= count + 4 for node, count in zip(world.nodes, changes, strict=True))


def test_what_was_said_to_a_lost_edge_is_doubtful() -> None:
    world = world_of(2)
    world.access_points[0].kill()
    doubted: list[NodeAddress] = []
    routing(world, 0).sink.doubtful = lambda body, target: doubted.append(target)  # type: ignore[method-assign]
    world.run(1.0)
    number = world.send(0, NodeAddress(1), NodeAddress(0))
    world.run(5.0)
    assert world.took(number) == [0]
    assert doubted == [NodeAddress(1)]


def test_a_node_that_the_edge_does_not_list_looks_for_another() -> None:
    world = world_of(2)
    world.access_points[0].relay.settings = world.access_points[0].relay.settings.model_copy(
        update={"most_members": 2}
    )
    late = RoutingWorld([(90.0, 90.0)] * 3, "access-point", edges=[NEAR, (110.0, 100.0)])
    full = late.access_points[0].relay
    full.settings = full.settings.model_copy(update={"most_members": 1})
    late.run(10.0)
    assert len(full.members("")) == 1
    assert len(late.access_points[1].relay.members("")) == 2


# -- hand-over --------------------------------------------------------------------------------------------


def test_a_node_that_moves_to_another_area_is_bound_there() -> None:
    world = world_of(4, NEAR, FAR)
    assert bound_to(world, 0) == 4
    before = world.nodes[0].changes
    world.walk(0, FAR, mps=30.0)
    world.run(20.0)
    assert bound_to(world, 0) == 5
    assert world.nodes[0].changes > before
    assert world.access_points[1].relay.members("") == (0,)
    for _ in range(2):
        number = world.send(1, NodeAddress(0))
        world.run(1.5)
        assert world.took(number) == []
        assert world.reported(number) == [NodeAddress(0)], "it is in the area of another edge"
    assert [each.node for each in routing(world, 1).neighbours()] == [2, 3]


def test_a_node_that_asks_belongs_to_no_edge() -> None:
    """Between two edges that both hear it, it is a member of one at a time."""
    world = RoutingWorld([(250.0, 100.0)], "access-point", edges=[(200.0, 100.0), (300.0, 100.0)])
    for _ in range(4):
        world.run(5.0)
        edge = bound_to(world, 0)
        assert edge is not None
        members = [each.relay.members("") for each in world.access_points]
        assert members[edge - 1] == (0,)
        assert members[2 - edge] == ()
        world.access_points[edge - 1].alive = False  # so that it does not hear the node ask
        world.run(5.0)
        assert bound_to(world, 0) == 3 - edge
        world.access_points[edge - 1].alive = True


# -- cell maps --------------------------------------------------------------------------------------------


def test_another_number_of_cells_is_taken_over() -> None:
    world = world_of(6)
    before = [node.changes for node in world.nodes]
    world.access_points[0].service.set_cells("", 4)
    world.run(0.5)
    for node in range(6):
        here, grid = routing(world, node), routing(world, node).grid()
        coverage = here.coverage()
        assert coverage is not None
        assert grid is not None
        assert (coverage.map_epoch, coverage.cells, grid.cells) == (2, 4, 4)
        assert here.own_cell() == cell_of_node(node, 4)
        assert world.nodes[node].changes == before[node] + 1
    for cell in range(4):
        number = world.send(0, NodeAddress(None, cell))
        world.run(0.5)
        (taken,) = world.took(number)
        populated = {cell_of_node(node, 4) for node in range(6)}
        assert cell_of_node(taken, 4) == min(populated, key=lambda each: (abs(each - cell), each))
    gone = world.send(0, NodeAddress(None, 7))
    world.run(0.5)
    assert world.reported(gone) == [NodeAddress(None, 7)]


# -- what is not believed ---------------------------------------------------------------------------------


def said(edge: int, body: EdgeAnswer | EdgeBeacon, namespace: str) -> Datagram:
    scope = DatagramScope.HOP
    return Datagram(edge << 32, NodeAddress(edge), (), scope, body, namespace=namespace, client=edge)


def test_an_answer_to_nothing_is_dropped() -> None:
    world = RoutingWorld([(90.0, 90.0)], "access-point")
    world.run(3.0)
    here = routing(world, 0)
    here.arrived(said(7, EdgeAnswer(1, 7, (WorldMap("", "", 3, 1),)), "@7"))
    assert here.coverage() is None
    assert here.counters.dropped[DropReason.UNKNOWN_REPORT] == 1


def test_old_beacons_and_those_of_others_change_nothing() -> None:
    world = world_of(2)
    here = routing(world, 0)
    known = [each.node for each in here.neighbours()]
    other = WorldMap("", "", 2, 9)
    here.arrived(said(2, EdgeBeacon(2, 0, other, (0, 5)), "@2"))  # an old one
    here.arrived(said(9, EdgeBeacon(9, 10**12, other, (0, 5)), "@9"))  # of another edge
    here.arrived(said(9, EdgeBeacon(2, 10**12, other, (0, 5)), "@2"))  # of a node that is not the edge
    here.arrived(said(2, EdgeBeacon(2, 10**12, other._replace(world="x"), (0, 5)), "x@2"))
    world.run(0.1)
    assert [each.node for each in here.neighbours()] == known
    assert here.coverage() == (2, 1, 9, "")


def test_what_does_not_come_through_the_edge_is_dropped() -> None:
    world = world_of(2)
    other = Datagram(
        1 << 32, NodeAddress(1, 5), (NodeAddress(0),), DatagramScope.ROUTED, Acknowledge(1),
        namespace="@2", client=1,
    )  # fmt: skip
    routing(world, 0).arrived(other)
    assert world.took(1) == []
    assert routing(world, 0).counters.dropped[DropReason.OTHER_WAY] == 1


# -- everything together ----------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(STEPS), st.integers(0, 5), st.integers(0, 5)),
        min_size=5, max_size=40,
    ),
    loss=st.sampled_from((0.0, 0.1, 0.3)),
    seed=st.integers(0, 1000),
)  # fmt: skip
def test_what_is_sent_arrives_once_or_is_reported_or_doubtful(
    steps: list[tuple[str, int, int]], loss: float, seed: int
) -> None:
    """Under losses, while nodes come and go, the edge ends and begins, and cells change."""
    world = RoutingWorld([(90.0 + 5.0 * n, 90.0) for n in range(6)], "access-point", edges=[NEAR], loss=loss,
                         seed=seed)  # fmt: skip
    doubtful: list[Report] = []
    for number in range(6):
        sink: Any = routing(world, number).sink
        sink.doubtful = lambda body, target, node=number: doubtful.append(Report(node, body.op, target))
    world.run(3.0)
    edge, runs = world.access_points[0], True
    sent: dict[int, tuple[int, NodeAddress]] = {}
    calm = loss == 0.0
    for step, a, b in steps:
        if step in ("send", "cell") and world.nodes[a].alive:
            target = NodeAddress(b) if step == "send" else NodeAddress(None, b)
            sent[world.send(a, target)] = a, target
        elif step == "flood" and world.nodes[a].alive:
            bound = [
                node for node in range(6) if bound_to(world, node) is not None and world.nodes[node].alive
            ]
            here, up = bound_to(world, a) is not None, runs
            number = world.tell(a, "flood")
            world.run(0.1)
            took = world.took(number)
            assert len(took) == len(set(took))
            assert a not in took
            if calm and here and up:
                assert took == [node for node in bound if node != a]
        elif step == "die":
            world.die(a)
        elif step == "revive":
            world.revive(a)
        elif step == "kill" and runs:
            edge.kill()
            runs = False
        elif step == "restart" and not runs:
            edge.restart()
            runs = True
        elif step == "cells":
            edge.service.set_cells("", b + 1)
        world.run(0.05 if step != "wait" else float(b))
    for node in range(6):
        world.revive(node)
    if not runs:
        edge.restart()
    world.run(15.0)
    for number, (node, target) in sent.items():
        takers = world.took(number)
        assert len(takers) <= 1, f"body {number} for {target} was taken by {takers}"
        if takers and target.node is not None:
            assert takers == [target.node]
        told = target in world.reported(number) or Report(node, number, target) in doubtful
        # A body that the process took with it, and a report to a node whose radio was off, are lost silently.
        excused = any(step == "kill" or (step == "die" and a == node) for step, a, _ in steps)
        assert takers or told or excused or not calm, f"{target} of {node} got lost silently"
    # All that was disturbed is over: the oracle is the plain one.
    after = [world.send(node, NodeAddress((node + 1) % 6)) for node in range(6)]
    world.run(5.0)
    if calm:
        for node, number in enumerate(after):
            assert world.took(number) == [(node + 1) % 6]
    assert {bound_to(world, node) for node in range(6)} <= {6, None}


def test_a_service_that_stores_nothing_drops_what_it_gets() -> None:
    world = world_of(2)
    service = world.access_points[0].service
    assert isinstance(service, BareService)
    number = world.send(0, NodeAddress(2))
    world.run(0.5)
    assert (service.dropped, world.reported(number)) == (1, [])
