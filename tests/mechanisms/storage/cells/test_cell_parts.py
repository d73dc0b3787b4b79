"""The parts of cells that need no network."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bypass.mechanisms.storage.cells.state.cell_state import CellState, StateBounds
from bypass.mechanisms.storage.cells.state.conjunctions import cells_of, divide
from bypass.mechanisms.storage.cells.state.placement import is_closer, misplaced, orphans, proxy_of
from bypass.mechanisms.storage.cells.state.replica_list import candidates, united, with_replica
from bypass.mechanisms.storage.cells.state.state_parts import chunks, divided
from bypass.mechanisms.storage.cells.state.subscribers import TRY_S, Reach, Subscribers
from bypass.objects.metadata import Metadata, ObjectKey, Replica, Tombstone, content_hash
from bypass.objects.query import ObjectQuery
from bypass.objects.tags import TagFormula
from bypass.places.cell_grid import CellGrid
from bypass.protocol.storage import FoundObjects, QueryRecord

GRID = CellGrid(0.0, 0.0, 40.0, 4, 4)
BOUNDS = StateBounds(100, 3, 100, 2, 3)
NOTE = FoundObjects(0, 7 << 32 | 1, ())


def described(name: str, *tags: str, owner: int = 1, replicas: tuple[Replica, ...] = ()) -> Metadata:
    return Metadata(
        ObjectKey(owner, name), frozenset(tags), 1, 0, content_hash(b""), content_hash(name.encode()),
        replicas=replicas,
    )  # fmt: skip


def asked(formula: str, number: int = 1, subscriber: int = 7) -> ObjectQuery:
    return ObjectQuery(subscriber << 32 | number, subscriber, TagFormula.parse(formula))


def test_equally_near_cells_are_told_apart_by_their_numbers() -> None:
    assert proxy_of(GRID, 5, (4, 6, 1, 9)) == 1
    assert is_closer(GRID, 1, 4, 5)
    assert not is_closer(GRID, 4, 1, 5)
    assert proxy_of(GRID, 5, ()) is None
    assert misplaced(GRID, (0, 15), 5, (10, 5)) == [15]


@given(st.sets(st.integers(0, 15), min_size=2))
def test_orphans_are_the_cells_for_which_a_lost_one_was_nearest(populated: set[int]) -> None:
    lost = min(populated)
    expected = [cell for cell in range(16) if proxy_of(GRID, cell, populated) == lost]
    assert orphans(GRID, lost, populated - {lost}) == expected


def test_the_entry_of_the_active_cell_never_leaves_the_list() -> None:
    metadata = described("x", "a", replicas=(Replica(None, 3),))
    for node in range(10):
        metadata = with_replica(metadata, Replica(node, node), 3)
    assert metadata.replicas == (Replica(None, 3), Replica(9, 9), Replica(8, 8))
    moved = with_replica(metadata, Replica(8, 1), 3)
    assert moved.replicas == (Replica(None, 3), Replica(8, 1), Replica(9, 9))
    other = described("x", "a", replicas=(Replica(None, 3), Replica(4, 4)))
    assert united(other, moved, 3).replicas == (Replica(None, 3), Replica(4, 4), Replica(8, 1))


def test_the_nearest_copy_is_tried_first_and_the_owner_last() -> None:
    replicas = (Replica(None, 15), Replica(4, 0), Replica(5, 14))
    assert candidates(replicas, GRID, 11, 1) == [
        Replica(None, 15),
        Replica(5, 14),
        Replica(4, 0),
        Replica(1, 15),
    ]


def test_a_query_is_divided_the_same_way_again_and_again() -> None:
    query = asked("a & b & e | a & ~c | d")
    divided_query = divide(query)
    assert divided_query is not None
    assert divided_query == divide(query)
    assert all(each.key in each.query.formula.conjunctions()[0].positive for each in divided_query)
    assert set(cells_of(divided_query, GRID)) == {GRID.cell_of_tag("", each.key) for each in divided_query}
    assert divide(asked("a | ~b")) is None
    keys = {found[0].key for n in range(1, 50) if (found := divide(asked("a & b & c", n))) is not None}
    assert keys == {"a", "b", "c"}


def test_a_subscriber_is_suspect_then_failed_and_tried_again() -> None:
    subscribers = Subscribers()
    subscribers.locate(7, 1, 10)
    assert subscribers.may_send(7, NOTE, 0.0, 5.0, 2)
    for _ in range(3):
        subscribers.undelivered(7, NOTE, 0.0, 30.0, 2)
    entry = subscribers.get(7)
    assert entry is not None
    assert entry.reach is Reach.SUSPECT
    assert len(entry.pending) == 2
    assert subscribers.dropped == 1
    assert not subscribers.may_send(7, NOTE, 1.0, 5.0, 2)
    assert subscribers.locate(7, 2, 9) == ()
    assert entry.cell == 1, "what is older changes nothing"
    assert len(subscribers.locate(7, 2, 11)) == 2
    entry = subscribers.get(7)
    assert entry is not None
    assert entry.reach is Reach.REACHABLE
    subscribers.undelivered(7, NOTE, 2.0, 30.0, 2)
    assert subscribers.expire(31.9) == []
    assert subscribers.expire(32.0) == [7]
    entry = subscribers.get(7)
    assert entry is not None
    assert entry.reach is Reach.FAILED
    assert not entry.pending
    assert subscribers.may_send(7, NOTE, 40.0, 5.0, 2)
    assert not subscribers.may_send(7, NOTE, 41.0, 5.0, 2)


def test_a_try_that_does_not_come_back_has_reached_the_subscriber() -> None:
    subscribers = Subscribers()
    subscribers.locate(7, 1, 10)
    for _ in range(2):
        subscribers.undelivered(7, NOTE, 0.0, 30.0, 5)
    assert subscribers.retry(4.0, 5.0) == []
    assert len(subscribers.retry(5.0, 5.0)) == 1
    assert len(subscribers.retry(5.0 + TRY_S, 5.0)) == 1
    entry = subscribers.get(7)
    assert entry is not None
    assert entry.reach is Reach.REACHABLE


def test_states_with_the_same_content_have_the_same_fold_whatever_the_order() -> None:
    items = [described(name, "a", owner=owner) for owner in (1, 2) for name in "xy"]
    record = QueryRecord(asked("a"), 0, 3, 5)
    one, other = CellState(3), CellState(3)
    for each in items:
        assert one.add(each, BOUNDS)
    assert one.register(record, BOUNDS)
    assert other.register(record._replace(at_us=1), BOUNDS)
    for each in reversed(items):
        assert other.add(each, BOUNDS)
    assert one.fold != other.fold, "one knows a later place of the subscriber"
    other.move(record.query.id, 3, 5)
    assert one.fold == other.fold
    one.remove(items[0].key)
    one.entomb(Tombstone(items[0].key, b"x"))
    assert len(one) == len(other)
    assert one.fold != other.fold


def test_what_one_node_can_make_grow_is_bounded_and_refusals_are_counted() -> None:
    state = CellState(0)
    assert [state.add(described(f"o{n}", "a"), BOUNDS) for n in range(5)] == [True] * 3 + [None] * 2
    assert state.add(described("o9", "a", owner=2), BOUNDS)
    records = [QueryRecord(asked("a", n), 0, 1, 1) for n in range(1, 4)]
    assert [state.register(each, BOUNDS) for each in records] == [True, True, None]
    assert state.refused == 3
    assert [each.query.id & 3 for each in state.concerned(described("z", "a"))] == [1, 2]
    state.withdraw(records[0].query.id)
    assert state.register(records[2], BOUNDS)


def test_parts_hold_everything_and_are_numbered() -> None:
    items = [described(f"o{n}", "a") for n in range(130)]
    parts = divided(4, items)
    assert [each.key for part in parts for each in part.metadata] == [each.key for each in items]
    assert [(each.part, each.parts) for each in parts] == [(n, len(parts)) for n in range(len(parts))]
    assert len(divided(4)) == 1
    assert [len(each) for each in chunks(range(2100))] == [1024, 1024, 52]
