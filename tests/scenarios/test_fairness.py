from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bypass.scenarios.figures.fairness import jain

COUNTS = st.lists(st.integers(0, 10**6), min_size=1, max_size=30).filter(any)


@pytest.mark.parametrize(
    ("counts", "index"),
    [([1, 1, 1, 1], 1.0), ([1, 0, 0, 0], 0.25), ([3, 1, 0, 0], 0.4), ([2, 2, 1, 1], 0.9)],
)
def test_known_values(counts: list[int], index: float) -> None:
    assert jain(np.array(counts)) == pytest.approx(index, abs=1e-12)


@pytest.mark.parametrize("counts", [[], [0], [0, 0, 0]])
def test_where_nobody_did_anything_there_is_no_fairness(counts: list[int]) -> None:
    assert math.isnan(jain(np.array(counts, np.int64)))


@given(COUNTS, st.integers(1, 1000))
def test_between_one_share_and_all_whatever_the_unit(counts: list[int], factor: int) -> None:
    index = jain(np.array(counts))
    assert 1 / len(counts) - 1e-9 <= index <= 1 + 1e-9
    assert jain(np.array(counts) * factor) == pytest.approx(index)
    assert jain(np.array(counts[::-1])) == pytest.approx(index)


def test_large_counts_do_not_overflow() -> None:
    assert jain(np.full(3, 2**62)) == pytest.approx(1.0)
