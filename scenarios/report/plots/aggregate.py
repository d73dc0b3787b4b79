"""Aggregation of values: percentiles in bins of time, means and counts in cells of the map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bypass.support.arrays import Floats, Ints

MapArea = tuple[float, float, float, float]

BAND_PERCENTILES = (5.0, 25.0, 50.0, 75.0, 95.0)


@dataclass(frozen=True, slots=True)
class Binned:
    """Values by bin: how many, their mean, and one row for each percentile; NaN where a bin is empty."""

    count: Ints
    mean: Floats
    percentiles: Floats

    @classmethod
    def of(cls, values: Floats, number: Ints, bins: int) -> Binned:
        """`number` is each value's bin, from 0 to `bins` - 1. Values that are NaN do not count."""
        valid = ~np.isnan(values)
        values, number = values[valid], number[valid]
        count = np.bincount(number, minlength=bins)
        filled = count > 0
        mean = np.full(bins, np.nan)
        mean[filled] = np.bincount(number, values, minlength=bins)[filled] / count[filled]
        percentiles = np.full((len(BAND_PERCENTILES), bins), np.nan)
        values = values[np.lexsort((values, number))]
        first = (np.cumsum(count) - count)[filled]
        for row, percentile in zip(percentiles, BAND_PERCENTILES, strict=True):
            place = (count[filled] - 1) * (percentile / 100)
            below = np.floor(place).astype(np.int64)
            above = np.minimum(below + 1, count[filled] - 1)
            low, high = values[first + below], values[first + above]
            row[filled] = low + (high - low) * (place - below)
        return cls(count, mean, percentiles)


def time_edges(duration_s: float) -> Floats:
    """Where the bins of a run's time begin, and the end: each is 10 s, in runs below 200 s 1 s; the last may
    be shorter."""
    width = 10.0 if duration_s >= 200 else 1.0
    return np.append(np.arange(0.0, duration_s, width), duration_s)


def bin_of(at_s: Floats, edges: Floats) -> Ints:
    """The bin of each moment; what is outside counts to the nearest."""
    found = np.searchsorted(edges, at_s, side="right") - 1
    return np.clip(found, 0, len(edges) - 2).astype(np.int64)


def cells(x: Floats, y: Floats, area: MapArea, size: float) -> tuple[Ints, tuple[int, int]]:
    """Each place's cell in a raster over the area, row by row from the bottom, and its (rows, columns).

    Places outside count to the nearest cell.
    """
    x0, y0, x1, y1 = area
    columns, rows = int(np.ceil((x1 - x0) / size)), int(np.ceil((y1 - y0) / size))
    column = np.clip(np.floor((x - x0) / size), 0, columns - 1).astype(np.int64)
    row = np.clip(np.floor((y - y0) / size), 0, rows - 1).astype(np.int64)
    return row * columns + column, (rows, columns)


def cell_means(x: Floats, y: Floats, values: Floats, area: MapArea, size: float) -> Floats:
    """The mean of the values in each cell, as rows from the bottom; NaN in cells without any."""
    valid = ~np.isnan(values)
    number, shape = cells(x[valid], y[valid], area, size)
    count = np.bincount(number, minlength=shape[0] * shape[1])
    sums = np.bincount(number, values[valid], minlength=shape[0] * shape[1])
    means = np.full(len(count), np.nan)
    np.divide(sums, count, out=means, where=count > 0)
    return means.reshape(shape)
