"""Loss by eviction: a full store evicts the oldest of a few random pages, which may all be fresh.

A page is fresh while it is within the window for which measurements have to stay. The store has lost a fresh
page if all that were picked are fresh.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

PICKS = 5
PAGE_BYTES = 4096


@dataclass(frozen=True, slots=True)
class LossTolerance:
    """At most the part `loss` of a window is lost with the probability `confidence`.

    A `loss` of 1 stands for a store that evicts the oldest page of all: it loses nothing by chance.
    """

    loss: float = 0.05
    confidence: float = 0.99
    picks: int = PICKS

    def __post_init__(self) -> None:
        """Raises ValueError."""
        if not 0 < self.loss <= 1:
            raise ValueError(f"loss is {self.loss}: expected more than 0, at most 1")
        if not 0 < self.confidence < 1:
            raise ValueError(f"confidence is {self.confidence}: expected between 0 and 1")
        if self.picks < 1:
            raise ValueError(f"picks is {self.picks}: expected at least 1")

    def probability(self, evictions: int) -> float:
        """The largest probability of losing a fresh page at one of so many evictions: with it, no more
        than the tolerated part is lost, with the confidence that is asked for."""
        from scipy.special import bdtri  # scipy takes long to import

        most = math.floor(self.loss * evictions)
        if most >= evictions:
            return 1.0
        return float(bdtri(most, evictions, self.confidence))

    def pages(self, fresh: int) -> int:
        """The fewest pages that a store needs for `fresh` ones to stay. Raises ValueError without any."""
        if fresh < 1:
            raise ValueError(f"{fresh} fresh pages: expected at least 1")
        allowed = self.probability(fresh)
        low, high = fresh, fresh
        while fresh_loss(fresh, high, self.picks) > allowed:
            low, high = high, 2 * high
        while low < high:
            middle = (low + high) // 2
            if fresh_loss(fresh, middle, self.picks) > allowed:
                low = middle + 1
            else:
                high = middle
        return high


def fresh_loss(fresh: int, pages: int, picks: int = PICKS) -> float:
    """The probability that all that are picked of `pages` are among the `fresh` ones."""
    return math.prod((fresh - pick) / (pages - pick) for pick in range(picks)) if fresh >= picks else 0.0


def evictions(window: float, load: float, page_bytes: int = PAGE_BYTES) -> int:
    """The pages that a full store evicts in `window` seconds under `load` bytes a second, at least 1."""
    return max(1, math.ceil(window * load / page_bytes))


def longest_window(budget: float, load: float, probability: float, picks: int = PICKS) -> float:
    """The seconds for which measurements stay in `budget` bytes under `load` bytes a second, if a fresh page
    may be lost with a `probability` at an eviction. Infinite without a load.

    It is an approximation for many pages.
    """
    return budget * probability ** (1 / picks) / load if load > 0 else math.inf
