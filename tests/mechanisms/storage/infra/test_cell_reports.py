"""Stability, election, the counts of cells, and what an edge makes of them."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.mechanisms.storage.infra.cell_data import MOST_PENDING, CellCounters
from bypass.mechanisms.storage.infra.edge.area import EdgeArea
from bypass.mechanisms.storage.infra.edge.needs import NeedsTable, TimeEnvelope
from bypass.mechanisms.storage.infra.edge.popularity import PopularityTable
from bypass.mechanisms.storage.infra.election import StableElection
from bypass.objects.metadata import Replica
from bypass.objects.window import ALWAYS, TimeWindow
from bypass.protocol.edge import CellCycle, CellData, CellHello, CellNeed, ItemKey, TagNeed
from tests.mechanisms.storage.infra.edge_world import counted, item

W = "w"
PERIOD = 10.0


def hello(index: int, confirmed: tuple[int, ...] = ()) -> CellHello:
    return CellHello(W, 1, 0, index, confirmed)


def election(own: int, joined_at: float = 0.0) -> StableElection:
    return StableElection(own, joined_at, warm_up_s=30.0, lifetime_s=15.0)


def test_the_highest_index_is_elected_and_of_equal_ones_the_lowest_number() -> None:
    one, two = election(1), election(2)
    one.heard(2, hello(68), 30.0)
    two.heard(1, hello(77), 30.0)
    assert (one.is_elected(77, 30.0), two.is_elected(68, 30.0)) == (True, False)
    one.heard(2, hello(77), 30.0)
    assert (one.is_elected(77, 30.0), two.is_elected(77, 30.0)) == (True, False)


def test_two_elect_themselves_where_a_hello_is_on_its_way() -> None:
    """Node 1 has 77 and heard 68 of node 2, which is being charged since then and has 81."""
    one, two = election(1), election(2)
    one.heard(2, hello(68), 30.0)
    two.heard(1, hello(77), 30.0)
    assert (one.is_elected(77, 31.0), two.is_elected(81, 31.0)) == (True, True)
    one.heard(2, hello(81), 32.0)
    assert (one.is_elected(77, 32.0), two.is_elected(81, 32.0)) == (False, True)


def test_nobody_is_elected_while_it_warms_up_and_silent_neighbours_do_not_count() -> None:
    late = election(9, joined_at=100.0)
    assert (late.is_elected(100, 129.9), late.is_elected(100, 130.0)) == (False, True)
    late.heard(1, hello(100), 131.0)
    assert (late.is_elected(90, 146.0), late.is_elected(90, 146.1)) == (False, True)
    late.heard(1, hello(100), 150.0)
    late.lost(1)
    assert late.is_elected(90, 150.0)
    late.moved(200.0)
    assert not late.is_elected(100, 229.0)


# ---- counts of a cell


def cell_of(tag: str) -> int:
    return {"a": 0, "b": 1}.get(tag, 2)


def counters(cell: int = 0) -> CellCounters:
    return CellCounters(W, 1, cell, cell_of)


def downloads(data: list[CellData]) -> dict[int, int]:
    return {each.cycle: sum(of.downloads for of in each.downloads) for one in data for each in one.cycles}


def test_a_download_counts_in_the_cell_of_the_first_tag_alone() -> None:
    cells = [counters(cell) for cell in range(3)]
    of = item("x", "bac")
    for each in cells:
        each.downloaded(of.metadata, Replica(5))
        each.downloaded(of.metadata, Replica(6))
        each.close(0)
    assert [downloads(each.messages(1)) for each in cells] == [{0: 2}, {0: 0}, {0: 0}]
    (count,) = cells[0].messages(1)[0].cycles[0].downloads
    assert count.replicas == (Replica(6), Replica(5))


def test_subscriptions_are_those_that_are_left() -> None:
    counts = counters()
    counts.subscribed(1, "a", TimeWindow(5, 20))
    counts.subscribed(1, "a", TimeWindow(5, 20))
    counts.subscribed(2, "a", TimeWindow(0, 10))
    counts.subscribed(2, "b", ALWAYS)
    counts.close(0)
    assert counts.messages(1)[0].needs == (CellNeed("a", 2, TimeWindow(0, 20)), CellNeed("b", 1))
    counts.unsubscribed(2, "b")
    counts.unsubscribed(2, "b")
    counts.expire(10)
    assert counts.messages(1)[0].needs == (CellNeed("a", 1, TimeWindow(5, 20)),)


def test_cycles_wait_until_they_are_confirmed() -> None:
    counts, of = counters(), item("x")
    for cycle in range(3):
        for _ in range(cycle + 1):
            counts.downloaded(of.metadata, Replica(5))
        counts.close(cycle)
    assert downloads(counts.messages(1)) == {0: 1, 1: 2, 2: 3}
    counts.confirm([2])
    assert downloads(counts.messages(1)) == {0: 1, 1: 2}
    counts.confirm([3])  # another client of the cell was earlier
    counts.close(3)
    assert (downloads(counts.messages(1)), counts.confirmed) == ({0: 1, 1: 2}, (2, 3))


def test_who_comes_within_a_cycle_does_not_report_it() -> None:
    counts, of = counters(), item("x")
    counts.downloaded(of.metadata, Replica(5))
    counts.moved(2, 0, first_cycle=8)
    counts.downloaded(of.metadata, Replica(5))
    counts.close(7)
    counts.close(8)
    assert downloads(counts.messages(1)) == {8: 0}
    assert counts.messages(1)[0].map_epoch == 2


def test_counts_have_bounds() -> None:
    counts = counters()
    for number in range(1030):
        counts.downloaded(item(number).metadata, Replica(5))
    assert counts.uncounted == 6
    counts.close(0)
    for cycle in range(1, MOST_PENDING + 2):
        counts.close(cycle)
    assert (len(counts.pending), counts.given_up) == (MOST_PENDING, 2)
    data = counts.messages(1)
    assert max(len(each.cycles) for each in data) == 64
    assert [each.cycle for one in data for each in one.cycles] == list(counts.pending)


# ---- what an edge makes of them


def area(now: float = 1e6, cells: int = 9) -> EdgeArea:
    found = EdgeArea(PopularityTable(most_replicas=2), NeedsTable(), lambda: now, PERIOD)
    found.set_map(W, 1, cells)
    return found


def data(cell: int, *cycles: CellCycle, needs: tuple[CellNeed, ...] = (), epoch: int = 1) -> CellData:
    return CellData(1, W, epoch, cell, cycles, needs)


def test_a_cycle_of_a_cell_is_merged_once() -> None:
    known, of = area(), item("x")
    record = CellCycle(5, (counted(of, 3, 7),))
    assert known.merge(data(0, record, needs=(CellNeed("a", 2),)), 4) == 1
    assert known.merge(data(0, record, needs=(CellNeed("a", 9),)), 5) == 0
    assert known.needs.total(0) == 2
    assert known.merge(data(1, record), 4) == 1  # another cell
    found = known.popularity.get(of.key)
    assert found is not None
    assert (found.downloads, found.cycle, found.replicas) == (6, 4, (Replica(7),))


def test_an_older_cycle_is_merged_later_but_does_not_bring_old_subscriptions_back() -> None:
    known, of = area(), item("x")
    known.merge(data(0, CellCycle(6, (counted(of),)), needs=(CellNeed("a", 1),)), 1)
    assert known.merge(data(0, CellCycle(5, (counted(of),)), needs=(CellNeed("a", 8),)), 1) == 1
    assert (known.popularity.downloads(of.key), known.needs.total(0)) == (2, 1)


def test_data_that_do_not_fit_the_cell_map_are_ignored() -> None:
    known, of = area(now=100.0, cells=2), item("x")
    record = CellCycle(5, (counted(of),))
    assert known.merge(data(2, record), 1) == 0
    assert known.merge(data(0, record, epoch=2), 1) == 0
    assert known.merge(CellData(1, "unknown", 1, 0, (record,)), 1) == 0
    assert known.merge(data(0, CellCycle(11)), 1) == 0  # it begins at 110 s
    assert known.merge(data(0, CellCycle(10), needs=(CellNeed("a", 3),)), 1) == 1
    known.set_map(W, 2, 4)
    assert known.needs.total(0) == 0
    assert known.merge(data(3, record, epoch=2), 1) == 1


def test_replicas_are_the_latest_few() -> None:
    known, of = area(), item("x")
    known.merge(data(0, CellCycle(1, (counted(of, 1, 1, 2),)), CellCycle(2, (counted(of, 1, 3),))), 1)
    found = known.popularity.get(of.key)
    assert found is not None
    assert found.replicas == (Replica(3), Replica(1))


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.data())
def test_no_counts_are_lost_or_doubled_as_long_as_one_client_of_the_cell_lives(choose: st.DataObject) -> None:
    """Four clients count the same; in each cycle some die, some elect themselves, some messages and hellos
    are lost, and messages come late or twice. The last one reports in the end."""
    known, of = area(), item("x")
    alive = {node: counters() for node in range(4)}
    late: list[CellData] = []
    total = 0
    for cycle in range(6):
        total += cycle + 1
        for each in alive.values():
            for _ in range(cycle + 1):
                each.downloaded(of.metadata, Replica(5))
            each.close(cycle)
        for node in sorted(choose.draw(st.sets(st.sampled_from(sorted(alive)), max_size=len(alive) - 1))):
            if choose.draw(st.booleans()):  # it has reported before it died
                late.extend(alive[node].messages(1))
            del alive[node]
        elected = choose.draw(st.sampled_from(sorted(alive)))
        for message in alive[elected].messages(1):
            if choose.draw(st.booleans()):
                known.merge(message, cycle)
                alive[elected].confirm(each.cycle for each in message.cycles)
        for node in sorted(alive):
            if choose.draw(st.booleans()):
                alive[node].confirm(alive[elected].confirmed)
    for message in choose.draw(st.permutations(late)):
        known.merge(message, 9)
    last = choose.draw(st.sampled_from(sorted(alive)))
    for message in alive[last].messages(1):
        known.merge(message, 9)
    assert known.popularity.downloads(of.key) == total


def test_needs_are_the_sum_of_all_cells_less_those_that_are_over() -> None:
    table = NeedsTable()
    table.replace(W, 0, (CellNeed("a", 2, TimeWindow(5, 20)), CellNeed("b", 1)))
    table.replace(W, 1, (CellNeed("a", 3, TimeWindow(0, 10)),))
    table.replace("v", 1, (CellNeed("a", 1, TimeWindow(0, 30)),))
    assert table.needs(0) == [
        TagNeed("v", "a", 1, TimeWindow(0, 30)),
        TagNeed(W, "a", 5, TimeWindow(0, 20)),
        TagNeed(W, "b", 1),
    ]
    assert [table.total(now) for now in (0, 10, 20, 30)] == [7, 4, 2, 1]
    table.replace(W, 0, ())
    assert table.total(0) == 4


def test_one_open_subscription_opens_a_single_envelope_for_all_tags() -> None:
    table = NeedsTable()
    assert table.message(50, 0) is None
    table.replace(W, 0, (CellNeed("a", 2, TimeWindow(5, 20)), CellNeed("b", 3)))
    single = table.message(50, 0, TimeEnvelope.SINGLE)
    by_tag = table.message(50, 0)
    assert single is not None
    assert by_tag is not None
    assert (single.total, single.capacity, single.window) == (5, 50, ALWAYS)
    assert [each.window for each in single.needs] == [ALWAYS, ALWAYS]
    assert {each.tag: each.window for each in by_tag.needs} == {"a": TimeWindow(5, 20), "b": ALWAYS}


def test_the_table_of_popularity_forgets_what_was_reported_the_longest_time_ago() -> None:
    table = PopularityTable(most_items=2)
    for name in ("x", "y", "x", "z"):
        table.add(W, counted(item(name)), 1)
    assert [key.object.name for key, _ in table] == ["x", "z"]
    table.lose_replica(ItemKey(W, item("x").metadata.key, 1), Replica(1))
    table.forget(item("x").key)
    assert (table.downloads(item("x").key), len(table)) == (0, 1)
