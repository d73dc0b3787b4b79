"""Cells in small worlds: operations, empty cells both ways, losses, moves, crashes, parts that meet."""

from __future__ import annotations

from bypass.protocol.storage import CellUpdate, OperationStatus
from tests.cells_world import CellsWorld

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


def begun(cells: list[int], **options: float) -> CellsWorld:
    world = CellsWorld(cells, 3, 3, **options)  # type: ignore[arg-type]
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


def test_without_repair_a_vanished_cell_is_lost() -> None:
    world = begun([0, 1, 2, 3, 4, 5, 6, 7, 8], settings={"as_published": True})  # type: ignore[arg-type]
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
