"""A ranking by popularity that decays: each download counts half as much after some cycles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from pydantic import Field

from bypass.mechanisms.storage.infra.edge.policies.ranking import (
    RankingMechanism,
    active_items,
    most_by_world,
)
from bypass.ports.caches import KnownItems, Popularity
from bypass.protocol.edge import ItemKey
from bypass.transitions import MechanismState, TransferState

UNIT = 1 << 20
"""The weight of a download that was reported just now: weights are whole numbers, so that shares are."""


class DecayedDownloads(NamedTuple):
    """The decayed downloads of an item as they were in a cycle, and how many were counted for that."""

    weight: float
    cycle: int
    counted: int


class Decayed(RankingMechanism):
    """As `popular`, but a download that was reported `half_life` cycles ago counts half as much as one that
    is reported now: what many wanted long ago makes room for what some want now.

    Downloads that were reported before this mechanism was there count by the cycles in which they were, as
    far back as the edge knows these, and older ones as the oldest of those. Another half-life holds for the
    downloads of all items from their last report on.
    """

    half_life: Annotated[float, MechanismState(), Field(gt=0, le=10_000)] = 8.0
    weights: Annotated[dict[ItemKey, DecayedDownloads], TransferState("decayed downloads", optional=True)]

    def choose(self, known: KnownItems, cycle: int, active_window: int, limit: int) -> list[ItemKey]:
        items = list(known)
        self.weights = {key: self._counted(self.weights.get(key), found) for key, found in items}
        weights = {
            key: round(UNIT * self._weight(self.weights[key], cycle))
            for key in active_items(items, cycle, active_window)
        }
        return most_by_world(weights, weights, limit)

    def _weight(self, known: DecayedDownloads, cycle: int) -> float:
        return known.weight * self._factor(cycle - known.cycle)

    def _factor(self, cycles: int) -> float:
        return float(2.0 ** (-max(0, cycles) / self.half_life))

    def _counted(self, known: DecayedDownloads | None, found: Popularity) -> DecayedDownloads:
        """Count the downloads that were reported since the last time."""
        if known is None or known.counted > found.downloads:  # the edge has forgotten it in between
            known = DecayedDownloads(0.0, found.cycle, 0)
        new = found.downloads - known.counted
        if not new:
            return known
        weight = self._weight(known, found.cycle) + self._of_cycles(found.recent, new)
        return DecayedDownloads(weight, found.cycle, found.downloads)

    def _of_cycles(self, recent: Sequence[int], downloads: int) -> float:
        """The weight of the latest downloads, in the cycle in which the last of them were reported."""
        weight = 0.0
        for age, count in enumerate(recent):
            taken = min(count, downloads)
            weight += taken * self._factor(age)
            downloads -= taken
        return weight + downloads * self._factor(len(recent) - 1)
