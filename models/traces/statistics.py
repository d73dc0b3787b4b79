"""Statistics of a trace: speeds, pauses, visited cells, contacts and the gaps between them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bypass.errors import BypassError
from bypass.support.arrays import Floats, Ints

STILL = 0.01
"""Clients that are slower (m/s) from one sample to the next count as standing still."""

ROUNDING = 1e-6
"""By this share of the world's size may positions lie outside of it: traces keep them in single precision."""


class InvalidPositions(BypassError):
    """The arrays are no positions of clients in a world, or cannot be measured like this."""


@dataclass(frozen=True, eq=False)
class Statistics:
    """Measured on samples: what is seen at n samples in a row counts as n steps long, on average rightly.

    Pauses, contacts and gaps that the begin or the end of the trace cuts off have no known length and are
    left out of the lengths. Long ones are cut off more often, so a trace should be much longer than them.
    """

    clients: int
    samples: int
    step: float

    speeds: Floats
    """m/s, for each client and step on the way; steps with an end in a pause are not among them."""
    paused: float
    """Share of samples at which clients pause."""
    pauses: Floats
    """Lengths (s). A pause is noticed if it covers two samples."""

    visits: Ints
    """How often a client came into a cell, or began there: a row for each row of cells, from y = 0 on."""

    contacts: Floats
    """Lengths (s) of the times for which two clients are within reach of each other."""
    contacts_cut: int
    """Contacts, in addition to those, that the trace cuts off."""
    gaps: Floats
    """Lengths (s) of the times between two contacts of the same two clients."""
    neighbours: float
    """How many others are within a client's reach, on average."""

    @property
    def visited(self) -> float:
        """Share of cells in which anybody has ever been."""
        return float((self.visits > 0).mean())

    @property
    def gini(self) -> float:
        """Gini coefficient of the visits to cells: 0 if all have as many, nearly 1 if one has them all."""
        ordered = np.sort(self.visits, axis=None)
        ranks = np.arange(1, ordered.size + 1)
        return float((2 * ranks - ordered.size - 1) @ ordered / (ordered.size * ordered.sum()))

    def summary(self) -> dict[str, float | int | None]:
        """Plain numbers; None is the mean or a percentile of nothing."""
        return {
            "clients": self.clients,
            "samples": self.samples,
            "step_s": self.step,
            **_described("speed", "mps", self.speeds, (5, 50, 95)),
            "paused_share": self.paused,
            "pauses": len(self.pauses),
            **_described("pause", "s", self.pauses, (5, 50, 95)),
            "visits": int(self.visits.sum()),
            "visits_max": int(self.visits.max()),
            "visited_share": self.visited,
            "visits_gini": self.gini,
            "contacts": len(self.contacts),
            "contacts_cut": self.contacts_cut,
            **_described("contact", "s", self.contacts, (5, 50, 95)),
            "gaps": len(self.gaps),
            **_described("gap", "s", self.gaps, (5, 50, 95)),
            "neighbours_mean": self.neighbours,
        }


def _described(what: str, unit: str, values: Floats, percentiles: tuple[int, ...]) -> dict[str, float | None]:
    known = values.size > 0
    return {
        f"{what}_mean_{unit}": float(values.mean()) if known else None,
        **{f"{what}_p{p}_{unit}": float(np.percentile(values, p)) if known else None for p in percentiles},
    }


def statistics(
    x: npt.NDArray[np.floating[Any]],
    y: npt.NDArray[np.floating[Any]],
    step: float,
    *,
    reach: float = 88.0,
    cell: float = 20.0,
    size: tuple[float, float] | None = None,
) -> Statistics:
    """Measure positions (m): a row for each sample, `step` s apart, and a column for each client.

    Clients are in contact while they are at most `reach` (m) apart. Visits are counted in squares of `cell`
    (m) that cover the world from (0, 0) to `size` (m), or to the farthest positions if no size is given.
    Raises InvalidPositions.
    """
    xs, ys = (np.asarray(values).astype(np.float64, copy=False) for values in (x, y))
    width, height = _checked_size(xs, ys, size)
    for name, value in (("step", step), ("reach", reach), ("cell", cell)):
        if not (math.isfinite(value) and value > 0):
            raise InvalidPositions(f"{name} is {value}: expected a finite number above 0")
    lengths, cut, gaps, neighbours = _contacts(xs, ys, reach)
    speeds, paused, pauses = _movement(xs, ys, step)
    return Statistics(
        clients=xs.shape[1],
        samples=xs.shape[0],
        step=step,
        speeds=speeds,
        paused=paused,
        pauses=step * pauses.astype(np.float64),
        visits=_visits(xs, ys, cell, width, height),
        contacts=step * lengths.astype(np.float64),
        contacts_cut=cut,
        gaps=step * gaps.astype(np.float64),
        neighbours=neighbours,
    )


def _checked_size(x: Floats, y: Floats, size: tuple[float, float] | None) -> tuple[float, float]:
    if x.ndim != 2 or x.shape != y.shape or x.shape[0] < 2 or x.shape[1] < 1:
        raise InvalidPositions(
            f"x and y have shapes {x.shape} and {y.shape}: expected (samples, clients) twice, and two samples"
        )
    sides = []
    for name, values, side in zip("xy", (x, y), size or (math.inf, math.inf), strict=True):
        if (
            wrong := np.argwhere(~(np.isfinite(values) & (values >= 0) & (values <= side * (1 + ROUNDING))))
        ).size:
            sample, client = wrong[0]
            raise InvalidPositions(
                f"{name} of client {client} at sample {sample} is {values[sample, client]}:"
                f" expected a finite number from 0 to {side}"
            )
        sides.append(side if size else float(values.max()))
    return sides[0], sides[1]


def _movement(x: Floats, y: Floats, step: float) -> tuple[Floats, float, Ints]:
    """Speeds on the way, the share of samples in pauses, and how many samples each pause covers."""
    speeds = np.hypot(np.diff(x, axis=0), np.diff(y, axis=0)) / step
    still = speeds < STILL
    pausing = np.zeros(x.shape, np.bool_)
    pausing[:-1] |= still
    pausing[1:] |= still
    # A step from or into a pause is only partly walked: its speed is nobody's.
    on_the_way = speeds[~(pausing[:-1] | pausing[1:])]
    changes = np.diff(np.pad(still.T.astype(np.int8), ((0, 0), (1, 1))))
    begin, end = np.nonzero(changes == 1)[1], np.nonzero(changes == -1)[1]
    whole = (begin > 0) & (end < len(still))
    return on_the_way, float(pausing.mean()), (end - begin + 1)[whole]


def _visits(x: Floats, y: Floats, cell: float, width: float, height: float) -> Ints:
    columns, rows = max(1, math.ceil(width / cell)), max(1, math.ceil(height / cell))
    column = np.minimum((x / cell).astype(np.int64), columns - 1)
    row = np.minimum((y / cell).astype(np.int64), rows - 1)
    cells = row * columns + column
    comes = np.ones(cells.shape, np.bool_)
    comes[1:] = cells[1:] != cells[:-1]
    return np.bincount(cells[comes], minlength=rows * columns).reshape(rows, columns)


def _contacts(x: Floats, y: Floats, reach: float) -> tuple[Ints, int, Ints, float]:
    """In samples: lengths of whole contacts, the number of cut ones, lengths of gaps; and mean neighbours."""
    from scipy.spatial import cKDTree  # scipy takes long to import

    samples, clients = x.shape
    before, changes, pairs = np.empty(0, np.int64), [], 0
    for at in range(samples):
        tree = cKDTree(np.column_stack([x[at], y[at]]), compact_nodes=False, balanced_tree=False)
        a, b = tree.query_pairs(reach, output_type="ndarray").T
        now = np.sort(a.astype(np.int64) * clients + b)
        changes.append(np.setxor1d(before, now, assume_unique=True))
        pairs += len(now)
        before = now
    changes.append(before)
    pair = np.concatenate(changes)
    at_sample = np.repeat(np.arange(samples + 1), [len(change) for change in changes])
    # Of each pair, the changes in their order are a begin, an end, a begin, an end ...
    order = np.argsort(pair, kind="stable")
    begin, end, pair = at_sample[order][::2], at_sample[order][1::2], pair[order][::2]
    whole = (begin > 0) & (end < samples)
    gaps = (begin[1:] - end[:-1])[pair[1:] == pair[:-1]]
    return (end - begin)[whole], int((~whole).sum()), gaps, 2 * pairs / (samples * clients)
