"""The subscriptions in an edge's area by world and tag, and the message about them for other edges."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from bypass.objects.window import ALWAYS, TimeWindow
from bypass.protocol.edge import CellNeed, SubscriptionNeeds, TagNeed
from bypass.protocol.storage import MOST_NAMED


class TimeEnvelope(Enum):
    """How closely the windows of subscriptions are told to others."""

    SINGLE = "single"
    """One window holds all of them, as in the source: one subscription without bounds opens it for all."""
    BY_TAG = "by-tag"
    """Each tag of a world has one."""


class NeedsTable:
    """The number of subscriptions by world and tag: the sum of what cells have reported last.

    A subscription counts once for each tag by which it is indexed. A tag whose subscriptions all ended by
    their windows does not count any more.
    """

    def __init__(self) -> None:
        self._cells: dict[tuple[str, int], tuple[CellNeed, ...]] = {}

    def replace(self, world: str, cell: int, needs: tuple[CellNeed, ...]) -> None:
        """Take all subscriptions of a cell."""
        self._cells[world, cell] = needs

    def forget_world(self, world: str) -> None:
        """Forget all of a world: its cells report anew."""
        for place in [place for place in self._cells if place[0] == world]:
            del self._cells[place]

    def needs(self, now_us: int) -> list[TagNeed]:
        """All tags that are subscribed to, by world and tag."""
        found: dict[tuple[str, str], TagNeed] = {}
        for world, tag, count, window in self._subscribed(now_us):
            known = found.get((world, tag))
            if known is not None:
                count, window = known.subscriptions + count, known.window.hull(window)
            found[world, tag] = TagNeed(world, tag, count, window)
        return [found[each] for each in sorted(found)]

    def total(self, now_us: int) -> int:
        """The number of subscriptions in all worlds, as they count for tags."""
        return sum(each.subscriptions for each in self.needs(now_us))

    def message(
        self, capacity: int, now_us: int, envelope: TimeEnvelope = TimeEnvelope.BY_TAG
    ) -> SubscriptionNeeds | None:
        """Tell others of the needs; None if there are none. `capacity` is how many items there is room for.

        Of more than MOST_NAMED tags those with the most subscriptions are told.
        """
        needs = self.needs(now_us)
        if not needs:
            return None
        total = sum(each.subscriptions for each in needs)
        window = needs[0].window
        for each in needs:
            window = window.hull(each.window)
        told = sorted(needs, key=lambda each: (-each.subscriptions, each.world, each.tag))[:MOST_NAMED]
        if envelope is TimeEnvelope.SINGLE:
            told = [each._replace(window=ALWAYS) for each in told]
        return SubscriptionNeeds(total, capacity, tuple(told), window)

    def _subscribed(self, now_us: int) -> Iterator[tuple[str, str, int, TimeWindow]]:
        for (world, _), needs in self._cells.items():
            for tag, count, window in needs:
                if count and not window.ended(now_us):
                    yield world, tag, count, window
