"""Figures that can be added up in any order, to the last digit: all sums are of whole numbers.

Recall and precision are shares; their sums are kept in units of 2**-30, their percentiles to the nearest
1/10000. The result does not depend on the order or the machines on which parts are added up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from bypass.support.arrays import Ints
from bypass.support.kernel import kernel

UNIT = 2**30
BINS = 10_000
PERCENTILES = (2.5, 25, 50, 75, 97.5)

EVENTS, SUBSCRIBERS = range(2)  # columns of `overall`
NOTIFIED, CORRECT, RECALLS, RECALL, PRECISIONS, PRECISION = range(6)  # of `by_scheme`


@dataclass(eq=False)
class Totals:
    """Sums over events: of all (`overall`), by scheme, by cell, by cell and scheme; how often each share was
    met (`histogram`: scheme, recall or precision, share)."""

    overall: Ints
    by_scheme: Ints
    histogram: Ints
    by_cell: Ints
    by_cell_and_scheme: Ints

    @classmethod
    def empty(cls, schemes: int, cells: int) -> Self:
        """Nothing added up yet."""
        return cls(
            np.zeros(2, np.int64),
            np.zeros((schemes, 6), np.int64),
            np.zeros((schemes, 2, BINS + 1), np.int64),
            np.zeros((cells, 2), np.int64),
            np.zeros((cells, schemes, 6), np.int64),
        )

    def add_events(self, cell: Ints, subscribers: Ints, notified: Ints, correct: Ints) -> None:
        """Add events that belong to cells; `notified` and `correct` have a column for each scheme."""
        _add(
            cell, subscribers, notified, correct,
            self.overall, self.by_scheme, self.histogram, self.by_cell, self.by_cell_and_scheme,
        )  # fmt: skip

    def add(self, other: Totals) -> None:
        """Add the totals of another part."""
        self.overall += other.overall
        self.by_scheme += other.by_scheme
        self.histogram += other.histogram
        self.by_cell += other.by_cell
        self.by_cell_and_scheme += other.by_cell_and_scheme

    def figures(self, scheme: int) -> dict[str, Any]:
        """Recall, precision (means, percentiles) and deliveries of one scheme; None for what no event has."""
        sums = self.by_scheme[scheme]
        return {
            "recall": share(sums[RECALL], sums[RECALLS]),
            "precision": share(sums[PRECISION], sums[PRECISIONS]),
            "deliveries": int(sums[NOTIFIED]),
            "correct": int(sums[CORRECT]),
            "percentiles": {
                name: percentiles(self.histogram[scheme, which])
                for which, name in enumerate(("recall", "precision"))
            },
        }


def share(units: np.int64, count: np.int64) -> float | None:
    """The mean of shares; None if there are none."""
    return None if count == 0 else int(units) / UNIT / int(count)


def percentiles(histogram: Ints) -> dict[str, float | None]:
    """The smallest share that is at least as large as so many per cent of all."""
    total = int(histogram.sum())
    if total == 0:
        return {f"p{p:g}": None for p in PERCENTILES}
    reached = np.cumsum(histogram)
    ranks = [max(1, -(-total * round(p * 10) // 1000)) for p in PERCENTILES]
    return {
        f"p{p:g}": int(np.searchsorted(reached, rank)) / BINS
        for p, rank in zip(PERCENTILES, ranks, strict=True)
    }


@kernel
def _add(
    cell: Ints, subscribers: Ints, notified: Ints, correct: Ints,
    overall: Ints, by_scheme: Ints, histogram: Ints, by_cell: Ints, by_cell_and_scheme: Ints,
) -> None:  # fmt: skip
    for e in range(len(cell)):
        overall[EVENTS] += 1
        overall[SUBSCRIBERS] += subscribers[e]
        by_cell[cell[e], EVENTS] += 1
        by_cell[cell[e], SUBSCRIBERS] += subscribers[e]
        for s in range(notified.shape[1]):
            own, local = by_scheme[s], by_cell_and_scheme[cell[e], s]
            own[NOTIFIED] += notified[e, s]
            own[CORRECT] += correct[e, s]
            local[NOTIFIED] += notified[e, s]
            local[CORRECT] += correct[e, s]
            if subscribers[e] > 0:
                recall = correct[e, s] / subscribers[e]
                units = int(recall * UNIT + 0.5)
                own[RECALLS] += 1
                own[RECALL] += units
                local[RECALLS] += 1
                local[RECALL] += units
                histogram[s, 0, int(recall * BINS + 0.5)] += 1
            if notified[e, s] > 0:
                precision = correct[e, s] / notified[e, s]
                units = int(precision * UNIT + 0.5)
                own[PRECISIONS] += 1
                own[PRECISION] += units
                local[PRECISIONS] += 1
                local[PRECISION] += units
                histogram[s, 1, int(precision * BINS + 0.5)] += 1
