"""Buckets behave like a plain multimap, whatever is put in and taken out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.mechanisms.filters.indexes.buckets import Buckets
from bypass.support.arrays import Ints

pytestmark = pytest.mark.slow

KEYS = 7

keys = st.integers(0, KEYS - 1)
rows = st.integers(0, 40)
placements = st.dictionaries(rows, st.sets(keys, min_size=1), max_size=12)
steps = st.lists(
    st.tuples(st.just("put"), placements) | st.tuples(st.just("take"), st.sets(rows)), max_size=12
)


def numbers(values: object) -> Ints:
    return np.array([*values], np.int64)  # type: ignore[misc]


def put(buckets: Buckets, placed: dict[int, set[int]]) -> None:
    offsets = np.cumsum([0, *map(len, placed.values())])
    buckets.insert(numbers(placed), offsets, numbers(key for own in placed.values() for key in own))


@given(steps, st.sets(keys))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_equal_to_a_multimap(
    steps: list[tuple[str, dict[int, set[int]] | set[int]]], wanted: set[int]
) -> None:
    buckets = Buckets(KEYS)
    model: dict[int, set[int]] = {}
    for _, what in steps:
        if isinstance(what, dict):
            buckets.remove(numbers(what))
            put(buckets, what)
            model.update(what)
        else:
            buckets.remove(numbers(what))
            for row in what:
                model.pop(row, None)
        assert buckets.members().tolist() == sorted(model)
        assert buckets.counts.tolist() == [sum(key in own for own in model.values()) for key in range(KEYS)]
    assert buckets.rows(numbers(sorted(wanted))).tolist() == sorted(
        row for row, own in model.items() if own & wanted
    )
    for row in range(50):
        assert buckets.keys(row) == sorted(model.get(row, ()))
        assert (row in buckets) == (row in model)


def test_freed_entries_are_used_again() -> None:
    buckets = Buckets(KEYS)
    for row in range(200):
        put(buckets, {row: {row % KEYS, (row + 1) % KEYS}})
        buckets.remove(numbers([row]))
    assert len(buckets.entries) == 16
    assert buckets.members().tolist() == []


def test_taking_out_what_was_never_in_changes_nothing() -> None:
    buckets = Buckets(KEYS)
    put(buckets, {3: {1}})
    buckets.remove(numbers([0, 7, 10_000]))
    assert buckets.members().tolist() == [3]
    assert buckets.rows(numbers([1])).tolist() == [3]
