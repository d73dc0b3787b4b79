"""The retrieval of popular items: ranking, cycles, copies asked in turn, batches."""

from __future__ import annotations

from collections.abc import Callable, Collection

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.mechanisms.storage.infra.edge.popularity import PopularityTable
from bypass.mechanisms.storage.infra.edge.retrieval_cycle import RetrievalCycle, RetrievalSettings
from bypass.objects.metadata import Replica
from bypass.protocol.edge import Item, ItemKey
from bypass.transitions import TransitionFailed
from tests.mechanisms.storage.infra.edge_world import EdgeWorld, counted, item

W = "w"


class Node:
    """An edge whose clients answer as the test says; it counts requests and insertions."""

    def __init__(self, insertion: str = "batches", ranking: str = "popular", **settings: object) -> None:
        self.world = EdgeWorld()
        self.popularity = PopularityTable()
        self.engine = self.world.engine()
        registry = self.world.workshop.registry
        self.insertion = registry.create(self.engine, "edge", "insertion", insertion)
        self.ranking = registry.create(self.engine, "edge", "ranking", ranking)
        chosen = RetrievalSettings(period_s=30.0, slack_s=3.0)._replace(**settings)  # type: ignore[arg-type]
        self.retrieval = RetrievalCycle(
            self.world.host, self.popularity, self.ranking, self.insertion, self, chosen
        )
        self.asked: list[tuple[str, int, int]] = []
        self.inserted: list[tuple[float, list[str], bool]] = []
        self.cached: set[ItemKey] = set()
        self.deleted: set[ItemKey] = set()
        self.is_full = False
        """Whether the cache keeps nothing that comes now."""
        self.answer: Callable[[ItemKey, Replica, int], None] = lambda *_: None

    def ask(self, key: ItemKey, replica: Replica, cycle: int) -> None:
        self.asked.append((key.object.name, replica.node or 0, cycle))
        self.answer(key, replica, cycle)

    def is_cached(self, key: ItemKey) -> bool:
        return key in self.cached

    def has_room(self) -> bool:
        return not self.is_full

    def is_deleted(self, item: Item) -> bool:
        return item.key in self.deleted

    def insert(self, items: Collection[Item], batch: bool) -> None:
        self.inserted.append((self.world.clock.now(), [each.key.object.name for each in items], batch))
        if not self.is_full:
            self.cached.update(each.key for each in items)

    def report(self, of: Item, count: int = 1, *nodes: int) -> None:
        self.popularity.add(W, counted(of, count, *nodes or (1,)), self.retrieval.cycle)
        self.retrieval.arm()


X = item("x")


def test_nothing_is_decided_before_the_first_report_and_nothing_asked_the_first_time() -> None:
    node = Node()
    node.world.run(100.0)
    assert node.retrieval.cycle == 0
    node.report(X)
    node.retrieval.arm()
    node.world.run(31.0)
    assert (node.retrieval.cycle, node.asked) == (1, [])
    node.world.run(30.0)
    assert (node.retrieval.cycle, node.asked) == (2, [("x", 1, 2)])


def test_an_item_of_the_present_cycle_is_accepted_one_of_an_older_one_is_not() -> None:
    """Counter 10 and an item tagged with 10; counter 12 and an item tagged with 10."""
    node = Node(active_window=100)
    node.report(X)
    node.world.run(300.0)
    assert node.retrieval.cycle == 10
    node.retrieval.arrived(X, 10)
    assert set(node.retrieval.staged) == {X.key}
    node.retrieval.discard(lambda each: each == X)
    node.world.run(60.0)
    assert node.retrieval.cycle == 12
    node.retrieval.arrived(X, 10)
    assert (list(node.retrieval.staged), node.retrieval.late) == ([], 1)
    node.world.run(29.0)
    assert node.inserted == []


def test_copies_are_asked_for_in_turn() -> None:
    node = Node()
    node.report(X, 1, 1, 2, 3)
    node.answer = lambda key, replica, cycle: (
        node.retrieval.arrived(X, cycle) if replica.node == 3 else node.retrieval.failed(key, cycle)
    )
    node.world.run(60.0)
    assert [asked for _, asked, _ in node.asked] == [1, 2, 3]
    assert set(node.retrieval.staged) == {X.key}
    known = node.popularity.get(X.key)
    assert known is not None
    assert known.replicas == (Replica(3),)  # the others did not have it
    node.world.run(30.0)
    assert [names for _, names, _ in node.inserted] == [["x"]]


def test_an_item_that_nobody_gives_is_asked_for_again_once_there_is_a_copy() -> None:
    node = Node()
    node.report(X, 1, 1)
    node.answer = lambda key, replica, cycle: node.retrieval.failed(key, cycle)
    node.world.run(90.0)
    assert len(node.asked) == 1
    node.report(X, 1, 2)
    node.world.run(30.0)
    assert [asked for _, asked, _ in node.asked] == [1, 2]


def test_other_bytes_than_the_metadata_say_are_no_answer() -> None:
    node = Node()
    node.report(X, 1, 1, 2)
    node.world.run(60.0)
    node.retrieval.arrived(X._replace(data=b"other"), 2)
    assert (list(node.retrieval.staged), len(node.asked)) == ([], 2)
    node.retrieval.arrived(item("never asked for"), 2)
    assert list(node.retrieval.staged) == []


def test_a_deleted_item_is_not_staged() -> None:
    node = Node()
    node.report(X)
    node.world.run(60.0)
    node.deleted.add(X.key)
    node.retrieval.arrived(X, 2)
    assert (list(node.retrieval.staged), len(node.popularity)) == ([], 0)


@pytest.mark.parametrize(
    ("insertion", "values", "expected"),
    [
        ("batches", {"count": 1}, [(27.0, ["0", "1", "2", "3"], True)]),
        ("batches", {"count": 2}, [(13.5, ["0", "1"], True), (27.0, ["2", "3"], True)]),
        ("batches", {}, [(9.0, ["0", "1"], True), (18.0, ["2"], True), (27.0, ["3"], True)]),
        (
            "at-arrival",
            {},
            [(1.0, ["0"], False), (8.0, ["1"], False), (15.0, ["2"], False), (22.0, ["3"], False)],
        ),
    ],
)
def test_items_are_inserted_in_batches_or_as_they_arrive(
    insertion: str, values: dict[str, int], expected: list[tuple[float, list[str], bool]]
) -> None:
    """They arrive 1, 8, 15 and 22 s after the second decision; the last one at 29 s is too late."""
    node = Node(insertion)
    node.engine.transition("insertion", insertion, set=values)
    items = [item(number) for number in range(5)]
    for each in items:
        node.report(each)
    node.world.run(61.0)
    for each in items[:4]:
        node.retrieval.arrived(each, 2)
        node.world.run(7.0)
    if insertion == "batches":
        node.retrieval.arrived(items[4], 2)  # at 29 s
    assert [(round(at - 60.0, 3), names, batch) for at, names, batch in node.inserted] == expected
    node.world.run(5.0)
    assert node.retrieval.cycle == 3
    assert len(node.inserted) == len(expected)


def test_staged_items_survive_an_exchange_of_the_insertion() -> None:
    """Items staged for batches are inserted with the next one; those that arrive then, at once."""
    node = Node()
    items = [item(number) for number in range(3)]
    for each in items:
        node.report(each)
    node.world.run(61.0)
    node.retrieval.arrived(items[0], 2)
    node.engine.transition("insertion", "at-arrival")
    node.retrieval.arrived(items[1], 2)
    node.world.run(9.0)
    assert [names for _, names, _ in node.inserted] == [["1"], ["0"]]
    node.engine.transition("insertion", "batches", set={"count": 6})
    node.retrieval.arrived(items[2], 2)
    node.world.run(20.0)
    assert [names for _, names, _ in node.inserted] == [["1"], ["0"], ["2"]]
    with pytest.raises(TransitionFailed):
        node.engine.set("insertion", count=0)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(1, 5), st.floats(0.0, 80.0)), min_size=3, max_size=25),
    st.sampled_from(("at-arrival", "batches")),
)
def test_nothing_of_an_older_cycle_is_inserted(reports: list[tuple[int, int, float]], insertion: str) -> None:
    """Answers take up to 80 s, so that many come in a later cycle."""
    node = Node(insertion, active_window=1, limit=3)
    delays = iter([delay for _, _, delay in reports] * 20)
    asked: dict[ItemKey, int] = {}

    def answer(key: ItemKey, replica: Replica, cycle: int) -> None:
        asked[key] = cycle
        of = item(key.object.name)
        node.world.host.after(next(delays), node.retrieval.arrived, of, cycle)

    node.answer = answer
    in_cycle: list[tuple[int, int]] = []
    real = node.insert

    def insert(items: Collection[Item], batch: bool) -> None:
        in_cycle.extend((asked[each.key], node.retrieval.cycle) for each in items)
        real(items, batch)

    node.insert = insert  # type: ignore[method-assign]
    for name, count, _ in reports:
        node.report(item(name), count)
        node.world.run(11.0)
        assert node.retrieval.requested <= 3
    assert all(tag == cycle for tag, cycle in in_cycle)


def test_requests_are_bounded_with_ranking_and_grow_without() -> None:
    """20 new items a cycle, each downloaded once, of which clients give none. (The source has at most 70
    requests a cycle with ranking, and ever more without.)"""
    requests = {}
    for ranking in ("popular", "everything"):
        node = Node(ranking=ranking, limit=50, active_window=3)
        per_cycle = []
        for cycle in range(10):
            for number in range(20):
                node.report(item(f"{cycle}-{number}"))
            node.world.run(30.0)
            per_cycle.append(node.retrieval.requested)
        requests[ranking] = per_cycle
    assert requests["popular"] == [0, 40, *[50] * 8]
    assert requests["everything"] == [0, *range(40, 201, 20)]


@pytest.mark.parametrize("insertion", ["batches", "at-arrival"])
def test_what_a_full_cache_did_not_keep_is_asked_for_again_when_it_was_downloaded_more(
    insertion: str,
) -> None:
    node = Node(insertion, active_window=100)
    node.answer = lambda _, __, cycle: node.retrieval.arrived(X, cycle)
    node.is_full = True
    node.report(X)
    node.world.run(200.0)
    assert node.asked == [("x", 1, 2)]
    node.report(X)
    node.world.run(100.0)
    assert [cycle for _, _, cycle in node.asked] == [2, 7]
    node.is_full = False
    node.world.run(60.0)
    assert [cycle for _, _, cycle in node.asked] == [2, 7, 11]
    assert node.cached == {X.key}
