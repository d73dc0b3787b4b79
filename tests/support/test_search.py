"""Kernels search as numpy does."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bypass.support.search import count_up_to

SOME = st.integers(-5, 5)


@given(values=st.lists(SOME), value=SOME, kind=st.sampled_from([np.int64, np.float64]))
def test_as_many_are_counted_as_numpy_finds(values: list[int], value: int, kind: Any) -> None:
    ascending = np.sort(np.array(values, kind))
    assert count_up_to(ascending, kind(value)) == np.searchsorted(ascending, kind(value), side="right")
