"""The items that an edge is believed to have: those in whose place cells send keys."""

from __future__ import annotations

from bypass.protocol.edge import ItemKey, StorageChange
from bypass.transitions.recent import Recent


class EdgeHoldings(Recent[ItemKey, None]):
    """The items that the edge of this area has said to have, and has not said to have dropped.

    What is forgotten here does no harm: it is sent although the edge has it. What the edge has dropped
    without a word is fetched by who asked.
    """

    LIMIT = 16_384

    def take(self, change: StorageChange) -> None:
        """The edge has said what it has, or has not any more."""
        for item in change.items:
            if change.stored:
                self[item] = None
            else:
                self.pop(item, None)
