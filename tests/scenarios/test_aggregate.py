from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bypass.scenarios.report.plots.aggregate import (
    BAND_PERCENTILES,
    Binned,
    bin_of,
    cell_means,
    cells,
    time_edges,
)

AREA = (0.0, 0.0, 100.0, 60.0)
SHARES = st.one_of(st.just(np.nan), st.floats(0, 1))


@given(st.lists(st.tuples(SHARES, st.integers(0, 4)), max_size=40))
def test_bins_equal_brute_force(rows: list[tuple[float, int]]) -> None:
    values, number = np.array([v for v, _ in rows], float), np.array([n for _, n in rows], np.int64)
    binned = Binned.of(values, number, 5)
    for i in range(5):
        own = [v for v, n in rows if n == i and not np.isnan(v)]
        assert binned.count[i] == len(own)
        if own:
            assert binned.mean[i] == pytest.approx(np.mean(own))
            assert binned.percentiles[:, i] == pytest.approx(np.percentile(own, BAND_PERCENTILES))
        else:
            assert np.isnan(binned.mean[i])
            assert np.isnan(binned.percentiles[:, i]).all()


@given(st.floats(0.01, 3000))
def test_time_is_cut_into_bins_without_gaps(duration: float) -> None:
    edges = time_edges(duration)
    widths = np.diff(edges)
    assert edges[0] == 0
    assert edges[-1] == duration
    assert (widths > 0).all()
    assert widths[:-1] == pytest.approx(10 if duration >= 200 else 1)


@given(st.floats(0.5, 500), st.floats(0, 1))
def test_a_moment_lies_in_its_bin(duration: float, share: float) -> None:
    edges, at = time_edges(duration), duration * share
    number = bin_of(np.array([at]), edges)[0]
    assert edges[number] <= at <= edges[number + 1]


PLACES = st.lists(st.tuples(st.floats(-5, 105), st.floats(-5, 65), SHARES), max_size=40)


@given(PLACES, st.sampled_from([7.0, 10.0, 20.0, 33.0]))
def test_cell_means_equal_brute_force(rows: list[tuple[float, float, float]], size: float) -> None:
    x, y, values = np.array(rows, float).reshape(-1, 3).T
    means = cell_means(x, y, values, AREA, size)
    found = defaultdict(list)
    for px, py, value in rows:
        column = min(max(int(px // size), 0), means.shape[1] - 1)
        row = min(max(int(py // size), 0), means.shape[0] - 1)
        if not np.isnan(value):
            found[row, column].append(value)
    for row in range(means.shape[0]):
        for column in range(means.shape[1]):
            expected = np.mean(found[row, column]) if found[row, column] else np.nan
            assert means[row, column] == pytest.approx(expected, nan_ok=True)


def test_cells_cover_the_area_to_its_upper_edges() -> None:
    number, shape = cells(np.array([0.0, 100.0]), np.array([0.0, 60.0]), AREA, 30.0)
    assert shape == (2, 4)
    assert number.tolist() == [0, 7]
