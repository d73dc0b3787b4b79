"""Cells in small worlds: operations, empty cells both ways, losses, moves, crashes, parts that meet."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bypass.core.objects.operations import OperationResult
from bypass.errors import InvalidObject
from bypass.objects.metadata import Replica
from bypass.objects.query import MOST_ON_A_PAGE
from bypass.ports.datagrams import DatagramLoss, Failed
from bypass.protocol.datagrams import Datagram, NodeAddress
from bypass.protocol.storage import (
    Ask,
    CellUpdate,
    CopyObject,
    Delete,
    DigestKind,
    FoundObjects,
    Insert,
    JoinRequest,
    NodeState,
    OperationStatus,
    QueryRecord,
    StateDigest,
)
from tests.cells_world import CellsWorld
from tests.object_strategies import make_metadata

OK = [OperationStatus.OK]


def tag_of(world: CellsWorld, cell: int) -> str:
    """A tag that belongs to a cell."""
    grid = world.cells(world.alive()[0]).grid
    assert grid is not None
    return next(tag for n in range(10_000) if grid.cell_of_tag("", tag := f"tag{n}") == cell)


def keepers(world: CellsWorld, name: str) -> list[int]:
    """The nodes that keep an object's metadata."""
    return [
        node
        for node in world.alive()
        for state in world.cells(node).service.states.values()
        if any(each.key.name == name for each in state.catalogue)
    ]


def begun(cells: list[int], **options: Any) -> CellsWorld:
    world = CellsWorld(cells, 3, 3, **options)
    world.run(6.0)
    return world


def test_objects_are_found_retrieved_and_deleted() -> None:
    world = begun([cell for cell in range(9) for _ in range(2)])
    ends = [world.insert(node, f"o{node}", "a", f"t{node}") for node in range(3)]
    world.run(2.0)
    assert ends == [OK] * 3
    told = world.query(8, "a | t1")
    world.run(2.0)
    assert told.names == ["o2", "o1", "o0"]
    late = world.insert(17, "late", "a")
    world.run(1.0)
    assert late == OK
    assert told.names[-1] == "late"
    fetched = world.retrieve(9, told.metadata[0])
    world.run(2.0)
    assert fetched[0].data == b"x"
    assert told.metadata[0].key in world.access(9).store
    assert world.delete(2, "o2") is not None
    world.run(2.0)
    assert world.found_by(4, "a") == ["late", "o0", "o1"]
    assert told.metadata[0].key not in world.access(9).store, "copies obey tombstones"


def test_a_page_says_whether_there_is_more() -> None:
    world = begun([0, 4, 8])
    for number in range(3):
        world.insert(0, f"o{number}", "a")
    world.run(3.0)
    for limit, more in ((2, True), (3, False)):
        told = world.query(2, "a", limit=limit)
        world.run(3.0)
        assert told.own is not None
        assert (len(told.names), told.own.more_past) == (limit, more)


def test_pages_of_cells_that_give_less_than_was_asked_for_leave_nothing_out() -> None:
    world = CellsWorld([0, 4, 8], 3, 3, settings={"batch": 2})
    world.run(6.0)
    names = [f"o{number}" for number in range(10)]
    for number, name in enumerate(names):
        world.insert(0, name, tag_of(world, 0 if number < 5 else 8))
        world.run(1.0)
    told = world.query(1, f"{tag_of(world, 0)} | {tag_of(world, 8)}", limit=64)
    world.run(3.0)
    assert told.own is not None
    for _ in range(8):
        if told.own.more_past:
            world.access(1).more(told.own, 64)
            world.run(3.0)
    assert told.names == names[::-1]
    assert not told.own.more_past


def test_who_has_not_joined_its_cell_yet_answers_when_it_has() -> None:
    world = begun([0, 4, 8])
    tag = tag_of(world, 4)
    world.switch_off(1)
    world.run(10.0)
    ended = world.insert(0, "x", tag)
    world.run(3.0)
    assert ended == OK
    world.switch_on(1)
    world.run(0.5)
    told = world.query(1, tag)
    while not told.ended:
        world.run(0.1)
    assert (told.names, told.ended[0].ok) == (["x"], True)


@pytest.mark.parametrize("seed", [2, 4, 8, 11])
def test_what_a_node_receives_before_it_has_joined_its_cell_is_told(seed: int) -> None:
    """It has no queries yet; others of the cell take what it tells them for matched."""
    world = begun([0, 0, 4, 8], settings={"listen_s": 3.0}, seed=seed)
    tag = tag_of(world, 0)
    told = world.query(3, tag)
    world.run(3.0)
    world.switch_off(1)
    world.run(10.0 + 0.37 * seed)  # others compare at other times
    world.switch_on(1)
    for number in range(16):
        world.insert(2, f"o{number}", tag)
        world.run(0.25)
    world.run(30.0)
    assert sorted(told.names) == sorted(f"o{number}" for number in range(16))


def test_what_came_for_a_cell_that_others_keep_is_left_out_when_a_node_joins() -> None:
    """All nodes begin at once, and insert before they know each other: each takes itself for the nearest."""
    world = CellsWorld([0, 1, 2], 3, 1)
    world.run(0.001)
    for node in range(3):
        for cell in range(3):
            world.insert(node, f"{node}-{cell}", tag_of(world, cell))
    world.run(10.0)
    assert [world.cells(node).hand_over.floods for node in range(3)] == [1, 1, 1]
    told = world.query(0, " | ".join(tag_of(world, cell) for cell in range(3)))
    world.run(10.0)
    assert sorted(told.names) == [f"{node}-{cell}" for node in range(3) for cell in range(3)]


def test_an_acknowledged_object_is_at_a_second_node_though_broadcasts_are_lost() -> None:
    world = begun([0, 4, 4, 4, 8])
    world.drop_body = lambda _, datagram: isinstance(datagram.body, CellUpdate) and not datagram.targets
    tag = tag_of(world, 4)
    ended = world.insert(0, "x", tag)
    world.run(2.0)
    assert ended == OK
    assert len(keepers(world, "x")) == 2
    world.run(12.0)
    assert keepers(world, "x") == [1, 2, 3], "comparisons heal the rest"


def test_a_query_with_negations_alone_is_refused() -> None:
    world = begun([0, 4])
    told = world.query(0, "a | ~b")
    world.run(1.0)
    assert [each.status for each in told.ended] == [OperationStatus.UNSUPPORTED]


def test_keys_leave_with_the_last_node_and_come_back_with_the_first() -> None:
    world = begun([0, 1, 2, 3, 4, 5, 6, 7, 8, 7])
    tag = tag_of(world, 4)
    ended, told = world.insert(0, "x", tag), world.query(2, tag)
    world.run(3.0)
    assert ended == OK
    assert keepers(world, "x") == [4]
    world.walk(4, world.place_in(8, 4), 2.0)
    world.run(40.0)
    assert keepers(world, "x") == [1], "of equally near cells the one with the smallest number"
    world.insert(6, "y", tag)
    world.run(2.0)
    world.walk(9, world.place_in(4, 9), 2.0)
    world.run(40.0)
    assert keepers(world, "x") == keepers(world, "y") == [9]
    world.insert(6, "z", tag)
    world.run(2.0)
    assert told.names == ["x", "y", "z"]


def test_a_cell_that_vanishes_is_built_up_again_from_holders_and_subscribers() -> None:
    world = begun([0, 1, 2, 3, 4, 5, 6, 7, 8])
    tag = tag_of(world, 4)
    ended, told = world.insert(0, "x", tag), world.query(8, tag)
    world.run(3.0)
    assert ended == OK
    world.die(4)
    world.run(10.0)
    assert keepers(world, "x") == [1]
    world.insert(2, "y", tag)
    world.run(2.0)
    assert told.names == ["x", "y"]


def test_a_cell_is_mourned_though_holders_have_registered_some_of_its_objects_meanwhile() -> None:
    """Its nearest neighbour took a copy that was registered for all that the cell had had."""
    world = begun([8, 4, 1, 3])
    tag = tag_of(world, 8)
    ends = [world.insert(node, f"o{node}", tag) for node in (1, 2, 3)]
    world.run(3.0)
    assert ends == [OK] * 3
    world.die(0)
    while any(8 in world.cells(node).hand_over.populated for node in (1, 2, 3)):
        world.run(0.1)
    world.cells(2).repair.offer_own([8])
    world.run(12.0)
    assert world.found_by(1, tag) == ["o1", "o2", "o3"]


def test_without_repair_a_vanished_cell_is_lost() -> None:
    world = begun([0, 1, 2, 3, 4, 5, 6, 7, 8], settings={"as_published": True})
    tag = tag_of(world, 4)
    world.insert(0, "x", tag)
    world.run(3.0)
    world.die(4)
    world.run(10.0)
    assert keepers(world, "x") == []


def test_notifications_follow_a_subscriber_that_moves() -> None:
    world = begun([0, 1, 2, 3, 4, 5, 6, 7, 8, 0])
    told = world.query(9, "a")
    world.run(2.0)
    world.walk(9, world.place_in(8, 9), 4.0)
    for number in range(10):
        world.insert(3, f"o{number}", "a")
        world.run(3.0)
    world.run(10.0)
    assert sorted(told.names) == [f"o{number}" for number in range(10)]


def test_parts_of_the_network_that_meet_find_what_is_in_the_other() -> None:
    world = begun([0, 1, 2, 3, 4, 5, 6, 7, 8, 1, 4, 7])
    told = world.query(0, "a")
    world.run(2.0)
    left = {0, 1, 3, 6, 9}
    world.cut = lambda a, b: (a in left) != (b in left)
    world.run(20.0)
    ends = [world.insert(node, f"o{node}", "a") for node in (0, 8)]
    world.run(20.0)
    assert ends == [OK, OK]
    world.cut = lambda _a, _b: False
    world.run(12.0)
    assert world.found_by(3, "a") == world.found_by(5, "a") == ["o0", "o8"]
    world.insert(5, "after", "a")
    world.run(3.0)
    assert {"o0", "after"} <= set(told.names)


def test_nodes_that_others_have_connected_all_along_have_nothing_to_compare_when_they_meet() -> None:
    """Nodes that walk come into reach of each other all the time: all would offer all that they have."""
    world = begun([0, 1, 4, 8])
    world.cut = lambda a, b: {a, b} == {0, 3}
    world.run(20.0)
    world.cut = lambda _a, _b: False
    world.run(12.0)
    assert [world.cells(node).encounters.meetings for node in range(4)] == [0] * 4
    world.cut = lambda a, b: (a == 3) != (b == 3)
    world.run(20.0)
    world.cut = lambda _a, _b: False
    world.run(12.0)
    assert sum(world.cells(node).encounters.meetings for node in range(4)) > 0


def test_a_cell_that_others_stood_in_for_while_it_was_out_of_reach_is_mourned() -> None:
    """Node 0 stood in for the cell of the tag while that had a node of its own beyond a cut."""
    world = begun([0, 4, 1])
    world.cut = lambda a, b: (a == 0) != (b == 0)
    world.run(10.0)
    assert world.found_by(0, "a", 3.0) == []
    told = world.query(1, "a")
    world.run(2.0)
    world.cut = lambda _a, _b: False
    world.run(10.0)
    world.die(2)
    world.run(10.0)
    world.insert(1, "after", "a")
    world.run(3.0)
    assert told.names == ["after"]


def test_objects_are_found_where_cells_do_not_touch() -> None:
    """Some pairs of cells hear each other over one or two empty ones, others do not."""
    tags = ("a", "b", "c", "d", "e", "f", "g", "h")
    world = CellsWorld([4, 8, 9, 16, 22, 26, 34], 6, 6)
    world.run(6.0)
    told = [world.query(node, " | ".join(tags)) for node in range(7)]
    world.run(2.0)
    ends = [world.insert(node, f"{tag}{node}", tag) for tag in tags for node in range(7)]
    world.run(3.0)
    assert ends == [OK] * len(ends)
    names = sorted(f"{tag}{node}" for tag in tags for node in range(7))
    assert [sorted(each.names) for each in told] == [names] * 7
    assert world.found_by(6, " | ".join(tags), 5.0) == names


def test_an_object_is_fetched_though_the_list_of_its_copies_is_old() -> None:
    """Metadata that another mechanism has told of names no copies, and copies may be forgotten."""
    world = begun(list(range(9)))
    tag = tag_of(world, 8)
    told = world.query(0, tag)
    assert world.insert(4, "x", tag, data=b"bytes") == []
    world.run(2.0)
    (metadata,) = told.metadata
    for node, copies in ((1, ()), (2, (Replica(None, 6),)), (3, (Replica(7, 7), Replica(5, 5)))):
        ended = world.retrieve(node, replace(metadata, replicas=copies))
        world.run(1.0)
        assert [(each.status, each.data) for each in ended] == [(OperationStatus.OK, b"bytes")]


def test_an_object_that_nobody_has_is_not_found() -> None:
    world = begun(list(range(9)), settings={"active": "off"})
    tag = tag_of(world, 8)
    told = world.query(0, tag)
    world.insert(4, "x", tag)
    world.run(10.0)
    world.access(4).store.release(told.metadata[0].key)
    ended = world.retrieve(0, told.metadata[0])
    world.run(1.0)
    assert [each.status for each in ended] == [OperationStatus.NOT_FOUND]


class LostAcknowledgements(CellsWorld):
    """Of the bodies of some kinds, the first radio that takes one is not heard to: another one is tried."""

    doubled: tuple[type, ...] = ()

    def unicast(self, node: int, datagram: Datagram, neighbour: int, failed: Failed) -> None:
        super().unicast(node, datagram, neighbour, failed)
        if isinstance(datagram.body, self.doubled) and not self.sends[datagram.id]:
            self.sends[datagram.id] += 1
            self.clock.after(0.02, failed, DatagramLoss.UNACKNOWLEDGED)


def test_bodies_that_two_nodes_take_are_done_once() -> None:
    """Where an acknowledgement is lost, two nodes of a cell do the same; nobody is told twice for that."""
    world = LostAcknowledgements([0, 2, 8, 8, 8], 3, 3)
    world.run(6.0)
    tag = tag_of(world, 8)
    world.doubled = (Ask, Insert, Delete, FoundObjects)
    told = world.query(0, tag)
    world.run(2.0)
    taken = sum(world.sends.values())
    assert [each.status for each in told.ended] == OK
    ends = [world.insert(1, "x", tag), world.insert(1, "y", tag)]
    world.run(2.0)
    assert sum(world.sends.values()) >= taken + 4, "requests and notifications were not doubled"
    assert told.own is not None
    assert (sorted(told.names), ends) == (["x", "y"], [OK, OK])
    assert told.own.duplicates > 0
    assert world.delete(1, "x") == []
    world.run(2.0)
    assert world.found_by(0, tag, 3.0) == ["y"]
    folds = {world.cells(node).service.states[8].fold for node in (2, 3, 4)}
    assert len(folds) == 1, "nodes of the cell disagree"


def test_a_node_that_has_lost_its_store_makes_other_names() -> None:
    """Its clock may show the same time again."""
    world = begun([0, 1, 2])
    before = world.access(1).new_name()
    world.switch_off(1)
    world.lose_store(1)
    world.switch_on(1)
    assert world.access(1).new_name() != before


def test_a_deleted_name_is_not_taken_again_by_a_node_that_has_lost_its_store() -> None:
    world = begun([0, 1, 2, 3, 4, 5])
    assert world.insert(1, "x", "a") == []
    world.run(2.0)
    world.delete(1, "x")
    world.run(2.0)
    world.switch_off(1)
    world.lose_store(1)
    world.switch_on(1)
    world.run(20.0)
    with pytest.raises(InvalidObject, match="was deleted: expected a name that is new"):
        world.insert(1, "x", "a")
    assert world.found_by(4, "a") == []


def test_a_node_that_was_off_brings_its_objects_and_queries_back() -> None:
    world = begun([0, 1, 2, 3, 4, 5])
    told = world.query(3, "a")
    ended = world.insert(3, "x", "b")
    world.run(2.0)
    assert ended == OK
    world.switch_off(3)
    world.run(20.0)
    world.insert(0, "while-off", "a")
    world.run(5.0)
    world.switch_on(3)
    world.run(15.0)
    assert told.names == ["while-off"]
    assert world.found_by(1, "b") == ["x"]


def test_cells_of_another_size_have_the_same_objects_and_queries() -> None:
    world = begun([cell for cell in range(9) for _ in range(2)])
    told = world.query(1, "a")
    for node in range(4):
        world.insert(node, f"o{node}", "a", f"t{node}")
    world.run(3.0)
    for node in world.alive():
        world.nodes[node].engine.transition("routing", "cells", set={"side": 60.0})
    world.run(12.0)
    world.insert(9, "after", "a")
    world.run(4.0)
    assert world.found_by(12, "a") == ["after", "o0", "o1", "o2", "o3"]
    assert sorted(told.names) == ["after", "o0", "o1", "o2", "o3"]


@pytest.mark.parametrize("cell", [9, 10**9])
def test_messages_about_cells_that_the_grid_lacks_are_dropped(cell: int) -> None:
    """Their sender has another grid, or makes cells up."""
    world = begun([0, 0, 4, 8])
    told = world.query(0, "a")
    metadata = make_metadata(3, "x", frozenset({"a"}))
    bodies = [
        NodeState(cell, (metadata,)),
        StateDigest(cell, (1, 2), DigestKind.COMPARE),
        JoinRequest(cell, (cell,)),
        CellUpdate(NodeState(cell, (metadata,))),
    ]
    node = world.storages[1]
    for body in bodies:
        node.received(body, NodeAddress(0, 0), NodeAddress(1, 0))
    node.received(Insert(5, metadata), NodeAddress(0, 0), NodeAddress(None, cell))
    copied = make_metadata(3, "y", frozenset({"a"}), copies=(Replica(None, cell),))
    node.received(CopyObject(copied, b"data"), NodeAddress(0, 0), NodeAddress(1, 0))
    world.die(3)  # the others look around
    world.run(30.0)
    assert world.cells(1).outside == len(bodies) + 1
    assert all(0 <= each < 9 for each in world.cells(1).service.states)
    assert copied.key in world.access(1).store
    assert "x" not in told.names
    world.insert(2, "z", "a")
    world.run(2.0)
    assert "z" in told.names


def test_notifications_of_more_matches_than_a_page_has_are_divided() -> None:
    world = CellsWorld([0, 1], 2, 1)
    world.run(5.0)
    told = world.query(1, "a")
    world.run(5.0)
    sizes: list[int] = []

    def note(_: int, datagram: Datagram) -> bool:
        if isinstance(datagram.body, FoundObjects):
            sizes.append(len(datagram.body.items))
        return False

    world.drop_body = note
    assert told.own is not None
    missed = [make_metadata(0, f"x{n}") for n in range(MOST_ON_A_PAGE + 6)]
    world.cells(0).service.notify(QueryRecord(told.own.query, 0, 1), missed)
    world.run(5.0)
    assert sizes == [MOST_ON_A_PAGE, 6]
    assert sorted(told.names) == sorted(each.key.name for each in missed)


def test_a_node_tells_of_copies_that_it_has_fetched_and_not_of_those_of_each_cell_that_it_was_in() -> None:
    """They would become more with each cell that it comes to, and be told to all cells of their tags."""
    world = begun([0, 0, 8, 8, 4])
    told = world.query(0, tag_of(world, 5))
    ends = [world.insert(node, f"o{node}", tag_of(world, 5)) for node in (1, 2)]
    world.run(3.0)
    assert ends == [OK] * 2
    fetched: list[OperationResult] = []
    world.access(0).retrieve(next(each for each in told.metadata if each.key.name == "o2"), fetched.append)
    world.run(3.0)
    assert [each.ok for each in fetched] == [True]

    def copies(node: int) -> tuple[set[str], set[str]]:
        """Those that are here, and those that are told."""
        cells = world.cells(node)
        return {each.key.name for each in cells.store.replicas}, {
            each.key.name for each in cells.cell_copies.to_tell()
        }

    assert copies(0) == ({"o1", "o2"}, {"o1", "o2"})
    assert copies(3) == ({"o2"}, set()), "node 2 has the smaller number"
    world.walk(0, world.place_in(4, 0), 5.0)
    world.run(20.0)
    assert world.cells(0).cell == 4
    assert copies(0) == ({"o1", "o2"}, {"o2"})
    world.die(1)
    world.run(12.0)
    assert set(world.found_by(2, tag_of(world, 5))) == {"o1", "o2"}
