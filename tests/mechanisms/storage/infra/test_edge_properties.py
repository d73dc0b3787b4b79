"""Invariants of one service or two that short histories show, and exact vectors that need a whole one."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.mechanisms.storage.infra.cell_data import CellCounters
from bypass.mechanisms.storage.infra.edge.service import EdgeSettings
from bypass.objects.metadata import Replica
from bypass.objects.window import TimeWindow
from bypass.places.logical_cells import logical_grid
from bypass.protocol.edge import CellNeed, Downloaded, Item, ItemConsumed, ItemKey, Provision
from bypass.protocol.storage import StorageMessage
from tests.mechanisms.storage.infra.edge_world import counted, item
from tests.mechanisms.storage.infra.service_world import ServiceWorld, WorldEdge

FAST = EdgeSettings(
    retrieval_period_s=10.0, retrieval_slack_s=1.0, needs_period_s=5.0, slot_s=5.0, cell_data_period_s=5.0
)

quick = settings(derandomize=True, deadline=None, max_examples=25)


def of(edge: WorldEdge, name: str | int, tags: str = "a", world: str = "", at: int = 0) -> Item:
    return item(name, tags, world, at, edge.number)


# ---- 3, 4: reports


@quick
@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(0, 2), max_size=4),  # downloads of these items
            st.sampled_from(("taken", "lost", "twice", "acknowledgement lost", "late")),
            st.sets(st.integers(0, 2), max_size=1),  # a client that dies
        ),
        min_size=1,
        max_size=12,
    )
)
def test_each_download_is_counted_once_as_long_as_one_client_of_the_cell_lives(
    history: list[tuple[list[int], str, set[int]]],
) -> None:
    world = ServiceWorld(1, FAST)
    edge = world.edges[100]
    nodes = [edge.add_client(number) for number in range(3)]
    epoch = edge.epoch("")
    (cell,) = edge.index_cells(of(edge, 0).metadata)
    counters = {node.number: CellCounters("", epoch, cell, lambda _: cell) for node in nodes}
    items = [of(edge, number) for number in range(3)]
    expected: Counter[ItemKey] = Counter()
    delayed: list[tuple[int, StorageMessage]] = []
    for cycle, (downloads, fate, dies) in enumerate([*history, ([], "taken", set[int]())]):
        for each in downloads:
            expected[items[each].key] += 1
            for own in counters.values():
                own.downloaded(items[each].metadata, Replica(7))
        world.run(FAST.cell_data_period_s)
        for own in counters.values():
            own.close(cycle)
        if len(counters) > 1:
            for number in dies:
                counters.pop(number, None)
        stable, own = min(counters.items())
        bodies = own.messages(stable << 32 | cycle + 1)
        for _ in range({"lost": 0, "late": 0, "twice": 2}.get(fate, 1)):
            for body in bodies:
                edge.clients[stable].send(body)
        if fate == "late":
            delayed += [(stable, body) for body in bodies]
        else:
            for number, late in delayed:  # older ones come after this one
                edge.clients[number].send(late)
            delayed.clear()
        world.run(0.1)
        acknowledged = edge.clients[stable].acknowledged(stable << 32 | cycle + 1)
        assert acknowledged == (bool(bodies) and fate not in ("lost", "late"))
        if acknowledged and fate != "acknowledgement lost":
            cycles = [known.cycle for body in bodies for known in body.cycles]
            for other in counters.values():
                other.confirm(cycles)
    assert {each.key: edge.service.popularity.downloads(each.key) for each in items} == {
        each.key: expected[each.key] for each in items
    }


# ---- 5: late items


@quick
@given(st.lists(st.floats(0.0, 25.0), min_size=1, max_size=8))
def test_items_of_an_older_cycle_are_never_inserted(delays: list[float]) -> None:
    world = ServiceWorld(1, FAST.model_copy(update={"client_timeout_s": 60.0}))
    edge = world.edges[100]
    client = edge.add_client(1)
    items = [of(edge, number) for number in range(len(delays))]
    for each, delay in zip(items, delays, strict=True):
        client.copies[each.metadata.key] = each
        client.delays[each.metadata.key] = delay
    client.report(0, [counted(each, 1, 1) for each in items])
    world.run(70.0)
    retrieval = edge.service.popular.retrieval
    for each, delay in zip(items, delays, strict=True):
        if delay < 8.9:
            assert each.key in edge.service.caches.local
        elif delay > 10.0:
            assert each.key not in edge.service.caches.local
    assert retrieval.late >= sum(delay > 10.1 for delay in delays)


def test_an_answer_of_another_cycle_than_it_was_asked_for_is_discarded() -> None:
    """An answer of cycle 10 is taken in cycle 10, and discarded in cycle 12."""
    for cycle, taken in ((10, True), (12, False)):
        world = ServiceWorld(1, FAST)
        edge = world.edges[100]
        client = edge.add_client(1)
        one = of(edge, "one")
        world.run(1.0)
        client.report(0)
        retrieval = edge.service.popular.retrieval
        while retrieval.cycle < cycle - 1:
            world.run(1.0)
        client.report(int(world.clock.now() // 5), [counted(one, 1, 1)])
        client.copies[one.metadata.key] = one
        client.delays[one.metadata.key] = 60.0
        while retrieval.cycle < cycle:
            world.run(1.0)
        world.run(1.0)
        (asked,) = [each for each in client.inbox if type(each).__name__ == "Download"]
        client.send(Downloaded(asked.op, one, 10))  # type: ignore[attr-defined]
        world.run(FAST.retrieval_period_s - 1.0)
        assert (one.key in edge.service.caches.local) == taken


# ---- 8, 10: what goes to other edges


def provided(world: ServiceWorld, receiver: int) -> list[list[str]]:
    """The names that an edge is sent from now on, by times."""
    found: list[list[str]] = []

    def watch(sender: int, at: int, body: StorageMessage) -> None:
        if isinstance(body, Provision) and at == receiver:
            found.append([each.key.object.name for each in body.items])

    world.watchers.append(watch)
    return found


def test_the_published_example_of_entries_between_two_edges() -> None:
    """Room for 50, 70 of 100 subscriptions: 35 items."""
    world = ServiceWorld(2, FAST.model_copy(update={"prefetch_data_entries": 50}))
    here, there = world.edges[100], world.edges[101]
    client = there.add_client(2)
    here.service.caches.insert_local([of(here, number) for number in range(40)])
    client.report(0, needs=[CellNeed("a", 70), CellNeed("b", 30)])
    sent = provided(world, 101)
    world.run(20.0)
    assert len(sent[0]) == 35
    assert len(there.service.caches.prefetch.data) == 35


@quick
@given(st.integers(0, 4), st.sets(st.integers(0, 4), min_size=1))
def test_what_a_peer_has_used_is_left_out_so_many_times_for_it_alone(times: int, used: set[int]) -> None:
    world = ServiceWorld(3, FAST.model_copy(update={"consumed_ignored": times}))
    here = world.edges[100]
    items = [of(here, number) for number in range(5)]
    here.service.caches.insert_local(items)
    for number in (101, 102):
        world.edges[number].add_client(number).report(0, needs=[CellNeed("a", 1)])
    sent = {number: provided(world, number) for number in (101, 102)}
    while not sent[101]:
        world.run(1.0)
    for each in used:
        here.service.from_edge(101, ItemConsumed(items[each].key))
    world.run((times + 2) * 3 * FAST.slot_s)
    left = sorted({str(number) for number in range(5)} - {str(each) for each in used})
    everything = [str(number) for number in range(5)]
    without = times if left else 0
    assert [sorted(each) for each in sent[101][1 : 1 + without]] == [left] * without
    assert sorted(sent[101][1 + without]) == everything
    assert all(sorted(each) == everything for each in sent[102])


@quick
@given(
    st.lists(st.tuples(st.integers(0, 20), st.sampled_from(("a", "b", "ab"))), max_size=12), st.integers(1, 6)
)
def test_provisions_fit_the_room_and_the_windows_of_the_receiver(
    published: list[tuple[int, str]], room: int
) -> None:
    world = ServiceWorld(2, FAST.model_copy(update={"prefetch_data_entries": room}))
    here, there = world.edges[100], world.edges[101]
    here.service.caches.insert_local(
        [of(here, number, tags, at=at) for number, (at, tags) in enumerate(published)]
    )
    windows = {"a": TimeWindow(5, 10**12), "b": TimeWindow(None, 10**12)}
    there.add_client(1).report(0, needs=[CellNeed(tag, 1, window) for tag, window in windows.items()])
    sent = provided(world, 101)
    world.run(20.0)
    for names in sent:
        assert len(names) == len(set(names)) <= room
        for name in names:
            at, tags = published[int(name)]
            assert any(windows[tag].holds(at) for tag in tags)


# ---- 15, and curves


def test_unpublishing_succeeds_everywhere_with_any_number_of_edges_and_clients() -> None:
    for edges, clients in ((1, 1), (2, 3), (3, 6)):
        world = ServiceWorld(edges, FAST)
        items: list[Item] = []
        for edge in world.edges.values():
            for number in range(clients):
                edge.add_client(10 * edge.number + number)
            some = [of(edge, f"{edge.number}-{number}") for number in range(4)]
            items += some
            for each in some:
                edge.index(each.metadata)
            edge.service.caches.insert_local(some)
            for cell in range(9):
                edge.clients[10 * edge.number].report(0, needs=[CellNeed("a", 1)], cell=cell)
        world.run(60.0)
        first = world.edges[100].clients[1000]
        for each in items:
            first.delete(each)
        world.run(60.0)
        for edge in world.edges.values():
            assert edge.clients[10 * edge.number].ask() == []
            assert not any(len(cache) for cache in edge.service.caches.all())
            assert not any(state.objects for state in edge.cell_states.values())


def test_the_curve_of_an_over_used_cell_with_a_whole_edge() -> None:
    """100 items, a subscription each second for 300 s, 5 more items at the edge every 10 s: the cell sends
    10,500 items instead of 30,000, and the edge the others."""
    world = ServiceWorld(1, FAST.model_copy(update={"cells": 1}))
    edge = world.edges[100]
    client = edge.add_client(1)
    client.report(0)
    items = [of(edge, number) for number in range(100)]
    for each in items:
        edge.index(each.metadata)
    by_cell = []
    for second in range(300):
        if second and second % 10 == 0 and second <= 200:
            edge.service.popular.insert(items[second // 2 - 5 : second // 2], batch=True)
            world.run(0.5)
        state = edge.state("", 0)
        at_edge = {key.object for key in state.at_edge}
        of_cell = [key for key in state.objects if key not in at_edge]
        of_edge = [each.key for each in client.ask()]
        assert len(of_cell) + len(of_edge) == len({*of_cell, *of_edge}) == 100
        by_cell.append(len(of_cell))
    assert by_cell == [max(0, 100 - 5 * (second // 10)) for second in range(300)]
    assert (sum(by_cell), 300 * len(items)) == (10_500, 30_000)


def test_the_published_example_of_two_worlds_in_one_cache() -> None:
    world = ServiceWorld(1, FAST.model_copy(update={"local_entries": 200}))
    edge = world.edges[100]
    insert = edge.service.popular.insert
    insert([of(edge, number, world="gallery") for number in range(150)], batch=True)
    insert([of(edge, number, world="myapp") for number in range(50)], batch=True)
    sizes = []
    for batch in range(5):
        new = [of(edge, f"{batch}-{number}", world="gallery") for number in range(20)]
        new += [of(edge, f"{batch}-{number}", world="myapp") for number in range(80)]
        insert(new, batch=True)
        sizes.append(
            (edge.service.caches.local.sizes()["gallery"], edge.service.caches.local.sizes()["myapp"])
        )
    assert sizes == [(113, 87), (89, 111), (73, 127), (62, 138), (55, 145)]


# ---- 18


@quick
@given(
    st.integers(1, 40),
    st.sets(st.sampled_from("abcdef"), min_size=1),
    st.sets(st.sampled_from("abcdef"), min_size=1),
)
def test_a_common_tag_means_a_common_cell(cells: int, published: set[str], subscribed: set[str]) -> None:
    edge = ServiceWorld(1, FAST.model_copy(update={"cells": cells})).edges[100]
    of_object = edge.index_cells(of(edge, "x", "".join(published)).metadata)
    grid = logical_grid(cells)
    for tag in published & subscribed:
        assert grid.cell_of_tag("", tag) in of_object
    assert of_object <= set(range(edge.cells("")))
