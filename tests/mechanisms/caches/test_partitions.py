"""Partitions give the figures that are published, and those that follow from their rules."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bypass.mechanisms import Registry
from bypass.mechanisms.caches.partition import WHOLE, InvalidCount
from bypass.mechanisms.caches.quotas import tag_quotas
from bypass.ports.caches import Partitioning
from bypass.transitions import Engine


def partition(name: str, **values: Any) -> tuple[Engine, Partitioning]:
    engine = Engine("node")
    made: Partitioning = Registry().create(engine, "edge", "partition", name, set=values)
    return engine, made


def test_the_published_example_and_what_follows_from_it() -> None:
    """Vieira 2018, 4.7.1: 150 and 50 of 200 entries, 20 and 80 puts. The same puts again tend to their own
    proportion, 40 to 160."""
    _, amc = partition("amc", capacity=200)
    entries = {"gallery": 150, "myapp": 50}
    series = []
    for _ in range(40):
        entries = dict(amc.divide(entries, {"gallery": 20, "myapp": 80}))
        series.append((entries["gallery"], entries["myapp"]))
    assert series[:5] == [(113, 87), (89, 111), (73, 127), (62, 138), (55, 145)]
    assert series[-1] == series[-2]
    assert series[-1] == (41, 159)  # rounding stops it one short of 40 and 160


def test_sizes_add_up_where_each_rounded_by_itself_does_not() -> None:
    """Each rounded to the nearest gives 27, 25 and 49 after sixty single puts: 101 of 100."""
    _, amc = partition("amc", capacity=100)
    entries = {"a": 60, "b": 30, "c": 10}
    assert amc.divide(entries, {"c": 1}) == {"a": 59, "b": 30, "c": 11}
    for _ in range(60):
        entries = dict(amc.divide(entries, {"c": 1}))
        assert sum(entries.values()) == 100
    assert entries["c"] == 35


def test_containers_grow_by_one_until_the_cache_is_full() -> None:
    _, amc = partition("amc", capacity=3, limit=2)
    entries: dict[Any, int] = {}
    for part, expected in (
        ("a", {"a": 1}),
        ("b", {"a": 1, "b": 1}),
        ("a", {"a": 2, "b": 1}),
        ("b", {"a": 2, "b": 1}),  # full: the first put above the limit
        ("b", {"a": 1, "b": 2}),  # the second: 2 and 1 + 2 of 3
    ):
        sizes = dict(amc.grow(entries, part))
        assert sizes == expected
        entries[part] = min(entries.get(part, 0) + 1, sizes[part])
        entries = {each: min(count, sizes.get(each, 0)) for each, count in entries.items()}


def test_a_full_container_takes_what_another_does_not_need() -> None:
    """An entry of a is deleted; its room is of use to b."""
    _, amc = partition("amc", capacity=4)
    assert amc.divide({}, {"a": 3, "b": 1}) == {"a": 3, "b": 1}
    assert amc.grow({"a": 2, "b": 1}, "b") == {"a": 2, "b": 2}


def test_a_part_of_which_nothing_is_left_is_forgotten() -> None:
    _, amc = partition("amc", capacity=2)
    assert amc.divide({}, {"a": 1, "b": 1}) == {"a": 1, "b": 1}
    assert amc.grow({"b": 1}, "c") == {"b": 1, "c": 1}
    assert amc.divide({"b": 0, "c": 1}, {}) == {"c": 1}


def test_any_number_of_parts_takes_no_more_room_than_the_capacity() -> None:
    engine, amc = partition("amc", capacity=5)
    amc.divide({}, {"a": 5})
    for number in range(1000):
        amc.grow({"a": 5}, f"part {number}")
    assert len(engine.active("partition").excess) <= 5  # type: ignore[attr-defined]


def shares(name: str, rates: tuple[int, int, int], **values: Any) -> list[int]:
    """Sizes of three parts after many batches with these numbers of puts."""
    _, made = partition(name, capacity=100, **values)
    entries: dict[Any, int] = {}
    for _ in range(60):
        sizes = made.divide(entries, {"a": rates[0], "b": rates[1], "c": rates[2]})
        entries = dict(sizes)
    return [entries[part] for part in "abc"]


def test_parts_share_by_their_puts() -> None:
    """Vieira 2018, 5.3.3, has 34 % for each of three worlds at 1/1/1, 72 % at 2/1/1, and 1 to 2 % for the
    others at 5/1/1. The formula alone gives shares in proportion to puts: there downloads, which decide what
    is put, grow faster than publications."""
    assert shares("amc", (10, 10, 10)) == [34, 33, 33]
    assert shares("amc", (20, 10, 10)) == [50, 25, 25]
    assert shares("amc", (50, 10, 10)) == [72, 14, 14]
    assert shares("amc", (1960, 20, 20)) == [98, 1, 1]  # starved
    assert shares("bounded-amc", (1960, 20, 20), least=10) == [80, 10, 10]
    assert shares("bounded-amc", (20, 10, 10), least=10) == [50, 25, 25]


def test_too_many_least_sizes_are_cut_alike() -> None:
    _, bounded = partition("bounded-amc", capacity=10, least=5)
    assert bounded.divide({}, {"a": 100, "b": 5, "c": 5}) == {"a": 4, "b": 3, "c": 3}


def test_flat_has_one_container_for_all() -> None:
    _, flat = partition("flat", capacity=7)
    assert flat.container("a") == flat.container("b") == WHOLE
    assert flat.divide({WHOLE: 3}, {WHOLE: 100}) == flat.grow({}, WHOLE) == {WHOLE: 7}


def test_sizes_and_puts_above_the_limit_move_in_a_transition() -> None:
    engine, made = partition("amc", capacity=4, limit=3)
    made.divide({}, {"a": 3, "b": 1})
    entries = {"a": 3, "b": 1}
    assert made.grow(entries, "b") == made.grow(entries, "b") == entries
    engine.transition("partition", "bounded-amc", set={"limit": 3, "least": 1})
    assert made.grow(entries, "b") == {"a": 2, "b": 2}  # the third: 3 and 1 + 3 of 4, a has the first name
    engine.set("partition", capacity=2)
    assert made.grow({"a": 1, "b": 1}, "a") == {"a": 1, "b": 1}
    engine.transition("partition", "flat")
    assert made.grow({}, WHOLE) == {WHOLE: 2}
    engine.transition("partition", "amc")
    assert made.grow({"b": 2}, "b") == {"b": 2}  # it learns what is there


def test_wrong_numbers_are_refused() -> None:
    _, amc = partition("amc")
    with pytest.raises(InvalidCount, match=r"^puts of 'a' -1: expected a whole number from 0 on$"):
        amc.divide({}, {"a": -1})


def test_quotas_of_tags() -> None:
    """Vieira 2018, 4.6: 70 of 100 subscriptions are for GOAL, and 50 entries fit: 35 of it."""
    needs = {"GOAL": 70, "MATCH": 30}
    assert tag_quotas(50, needs, {"GOAL": 40, "MATCH": 8}, 100) == {"GOAL": 35, "MATCH": 8}
    assert tag_quotas(50, needs, {"GOAL": 20}, 100) == {"GOAL": 20}
    assert tag_quotas(50, {"GOAL": 1}, {"GOAL": 9}, 100) == {}
    assert tag_quotas(50, needs, {"GOAL": 40}, 0) == {}
    with pytest.raises(InvalidCount, match="subscriptions of 'GOAL' -1"):
        tag_quotas(50, {"GOAL": -1}, {}, 100)


COUNTS = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 300), max_size=6)


@given(capacity=st.integers(0, 200), needs=COUNTS, available=COUNTS, total=st.integers(0, 400))
def test_quotas_fit(capacity: int, needs: dict[Any, int], available: dict[Any, int], total: int) -> None:
    """Even if subscriptions count at several tags, so that there are more of them than the total says."""
    quotas = tag_quotas(capacity, needs, available, total)
    assert sum(quotas.values()) <= capacity
    for tag, quota in quotas.items():
        assert 0 < quota <= min(available[tag], capacity * needs[tag] // total)
