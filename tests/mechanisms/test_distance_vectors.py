"""The table of the distance vector protocol: which announcements count, and when they are passed on."""

from __future__ import annotations

import math

import pytest

from bypass.mechanisms.routing.distance_vectors import BROKEN, MOST_NODES, WayTable
from bypass.protocol.datagrams import RouteEntry


@pytest.fixture
def table() -> WayTable:
    return WayTable(0, settling_s=5.0, weight=0.875)


def learn(table: WayTable, sender: int, *entries: tuple[int, int, int], at: float = 0.0) -> list[int]:
    return table.learn([RouteEntry(*each) for each in entries], sender, at, {9})


def test_a_new_way_is_used_and_announced_at_once(table: WayTable) -> None:
    assert learn(table, 1, (1, 0, 2), (9, 3, 8), at=1.0) == [9]
    assert (table.next_hop(9), table.metric(9)) == (1, 4)
    assert table.earliest == 1.0
    assert table.news(1.0) == [(0, 0, 0), (1, 1, 2), (9, 4, 8)]
    assert table.news(1.0) == []
    assert table.earliest == math.inf


def test_a_newer_number_counts_even_if_it_is_longer(table: WayTable) -> None:
    learn(table, 1, (9, 1, 8))
    learn(table, 2, (9, 5, 10))
    assert (table.next_hop(9), table.metric(9)) == (2, 6)
    learn(table, 1, (9, 1, 8))
    assert table.next_hop(9) == 2


def test_of_equal_numbers_the_shorter_way_counts(table: WayTable) -> None:
    learn(table, 1, (9, 4, 8))
    learn(table, 2, (9, 4, 8))
    assert table.next_hop(9) == 1
    learn(table, 3, (9, 2, 8))
    assert (table.next_hop(9), table.metric(9)) == (3, 3)


def test_another_length_settles_before_it_is_announced(table: WayTable) -> None:
    learn(table, 1, (9, 4, 8), at=0.0)
    table.news(0.0)
    learn(table, 2, (9, 2, 8), at=2.0)
    wait = 0.875 * 5.0 + 0.125 * 2.0
    assert table.earliest == pytest.approx(2.0 + wait)
    assert table.news(2.0 + wait - 0.01) == []
    assert table.news(2.0 + wait) == [(0, 0, 0), (9, 3, 8)]
    learn(table, 2, (9, 2, 10), at=10.0)  # of the same length: at once
    assert table.news(10.0) == [(0, 0, 0), (9, 3, 10)]


def test_a_lost_neighbour_breaks_what_goes_over_it(table: WayTable) -> None:
    learn(table, 1, (1, 0, 2), (9, 3, 8))
    learn(table, 2, (2, 0, 6))
    table.news(0.0)
    assert table.lose(1, 3.0)
    assert [table.next_hop(node) for node in (1, 2, 9)] == [None, 2, None]
    assert table.news(3.0) == [(0, 0, 0), (1, BROKEN, 3), (9, BROKEN, 9)]
    assert not table.lose(1, 3.0)
    learn(table, 2, (9, 1, 8))  # older than the loss
    assert table.next_hop(9) is None
    assert learn(table, 2, (9, 1, 10), at=4.0) == [9]
    assert table.news(4.0) == [(0, 0, 0), (9, 2, 10)]


def test_a_loss_counts_if_the_way_goes_there(table: WayTable) -> None:
    learn(table, 1, (9, 3, 8))
    table.news(0.0)
    learn(table, 2, (9, BROKEN, 9), at=1.0)
    assert table.next_hop(9) == 1
    learn(table, 1, (9, BROKEN, 9), at=1.0)
    assert table.next_hop(9) is None
    assert table.news(1.0) == [(0, 0, 0), (9, BROKEN, 9)]


def test_who_knows_better_than_a_loss_says_so(table: WayTable) -> None:
    learn(table, 1, (9, 3, 10))
    table.news(0.0)
    learn(table, 2, (9, BROKEN, 9), at=1.0)
    assert table.news(1.0) == [(0, 0, 0), (9, 4, 10)]


def test_the_own_number_is_even_grows_and_passes_what_others_say(table: WayTable) -> None:
    assert [table.whole(0.0)[0].sequence for _ in range(2)] == [2, 4]
    learn(table, 1, (0, BROKEN, 5))
    assert table.news(0.0) == [(0, 0, 6)]
    learn(table, 1, (0, 3, 40))  # from an earlier life
    assert table.news(0.0) == [(0, 0, 42)]


def test_ways_that_nobody_confirms_break_and_are_forgotten(table: WayTable) -> None:
    learn(table, 1, (9, 3, 8), (8, 3, 8), at=0.0)
    learn(table, 1, (9, 3, 8), at=40.0)
    table.expire(10.0, 55.0)
    assert [table.next_hop(node) for node in (8, 9)] == [None, 1]
    assert (8, BROKEN, 9) in table.whole(55.0)
    table.expire(60.0, 105.0)
    assert 8 not in [entry.destination for entry in table.whole(105.0)]


def test_lengths_are_bounded(table: WayTable) -> None:
    learn(table, 1, (9, BROKEN - 1, 8), (8, BROKEN - 2, 8))
    assert [table.next_hop(node) for node in (8, 9)] == [1, None]


def test_the_table_is_bounded(table: WayTable) -> None:
    learn(table, 1, *[(node, 1, 2) for node in range(1, MOST_NODES + 100)])
    assert len(table.whole(0.0)) == MOST_NODES + 1
