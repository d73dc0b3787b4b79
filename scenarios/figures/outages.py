"""Outages around transitions: for how long publications reached almost nobody, and what recall that cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bypass.scenarios.figures.measures import LOST, Columns, between, mean, recall

WIDTH_MS = 20  # of the bins in which an outage is looked for: what is shorter may go unseen
NEAR_MS = 500  # an outage that has nothing to do with a transition is farther away from it
DIP_S = (-0.1, 0.5)  # around a transition: one latency before it, and until all have executed it
LEVEL_S = 5.0  # before and after that, recall is as usual


@dataclass(frozen=True, slots=True)
class Outage:
    """A stretch whose publications reached almost nobody, in milliseconds relative to a transition.

    It is whole bins; without an outage both ends are 0. `healed` says whether later ones reached somebody.
    """

    start_ms: float = 0.0
    end_ms: float = 0.0
    healed: bool = True

    @property
    def before_ms(self) -> float:
        """How much of it was before the transition."""
        return min(self.end_ms, 0.0) - min(self.start_ms, 0.0)

    @property
    def after_ms(self) -> float:
        """How much of it was after the transition."""
        return max(self.end_ms, 0.0) - max(self.start_ms, 0.0)


def outage(events: Columns, at_s: float) -> Outage | None:
    """The longest outage that comes within 0.5 s of a transition; None if nothing was published there.

    Bins in which nothing was published, or nothing that concerned anybody, say nothing: they belong to an
    outage that goes on behind them.
    """
    shares = recall(events)
    known = ~np.isnan(shares)
    number = (events["at_us"][known] - round(at_s * 1e6)) // (1000 * WIDTH_MS)
    bins, own = np.unique(number, return_inverse=True)
    near = NEAR_MS // WIDTH_MS
    if not np.any((bins >= -near) & (bins < near)):
        return None
    lost = np.bincount(own, shares[known]) / np.bincount(own) < LOST
    edges = np.flatnonzero(np.diff(lost, prepend=False, append=False))
    found = [
        Outage(float(WIDTH_MS * bins[first]), float(WIDTH_MS * (bins[last] + 1)), bool(last + 1 < len(bins)))
        for first, last in zip(edges[::2], edges[1::2] - 1, strict=True)
        if bins[first] < near and bins[last] >= -near
    ]
    return max(found, key=lambda each: each.end_ms - each.start_ms, default=Outage())


def dip(events: Columns, at_s: float, found: Outage) -> float:
    """Seconds of full recall that are missing around a transition, its outage included.

    Recall is expected to be as in the seconds before up to some moment, and from then on as in the seconds
    after: the moment that fits best. So the change from one level to another costs nothing, and a better
    level makes up for no loss. In the outage it is the worse of both; after one that does not heal, the level
    before, and before one that was there from the beginning, the level after. Gains count against losses, so
    that chance does not add up to a loss; it may be slightly below 0. NaN if no level is known.
    """
    margin = -DIP_S[0]
    start_s, end_s = found.start_ms / 1000.0, found.end_ms / 1000.0
    first = at_s + min(DIP_S[0], start_s - margin)
    last = at_s + max(DIP_S[1], end_s + margin if found.healed else end_s)
    before = mean(recall(between(events, first - LEVEL_S, first)))
    after = mean(recall(between(events, last, last + LEVEL_S)))
    if not found.healed or np.isnan(after):
        after = before
    if np.isnan(before):
        before = after
    near = between(events, first, last)
    time_s, shares = near["at_us"] / 1e6 - at_s, recall(near)
    lost = (start_s <= time_s) & (time_s < end_s)
    changing = _expected(np.where(lost, np.nan, shares), before, after)
    return mean(np.where(lost, min(before, after), changing) - shares) * (last - first)


def _expected(shares: NDArray[np.float64], before: float, after: float) -> NDArray[np.float64]:
    """One level and, from where on that fits better, another one."""
    fit = np.nancumsum((shares - before) ** 2 - (shares - after) ** 2)
    change = int(np.argmin(np.append(0.0, fit)))
    return np.where(np.arange(len(shares)) < change, before, after)
