"""A ranking by patterns of access: items are popular, too, whose downloads go like those of popular ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Annotated

from pydantic import Field

from bypass.mechanisms.storage.infra.edge.policies.ranking import (
    RankingMechanism,
    active_items,
    key_order,
    most_by_world,
)
from bypass.ports.caches import RECENT_CYCLES, KnownItems, Popularity
from bypass.protocol.edge import ItemKey
from bypass.transitions import MechanismState

LEVELS = 3
ROUNDS = 16

Shape = tuple[int, ...]
"""The downloads of the latest cycles, the last one first, in parts of the largest of them: 0 to LEVELS."""
LevelMeans = tuple[float, ...]


class Clustered(RankingMechanism):
    """Chooses as `popular`, of fewer items: of the active ones a `top` share of each world is popular by its
    downloads, and the others if their downloads in the last `pattern` cycles go like those of popular ones.

    Those of all active items are divided into at most `clusters` by k-means. A cluster is a popular one if
    the share of its items that are at the top is at least as large as that of all items.
    """

    top: Annotated[float, MechanismState(), Field(gt=0, le=1)] = 0.2
    pattern: Annotated[int, MechanismState(), Field(ge=2, le=RECENT_CYCLES)] = 4
    clusters: Annotated[int, MechanismState(), Field(ge=1, le=32)] = 8

    def choose(self, known: KnownItems, cycle: int, active_window: int, limit: int) -> list[ItemKey]:
        active = active_items(known, cycle, active_window)
        if not active:
            return []
        downloads = {key: found.downloads for key, found in active.items()}
        top = self._top(downloads)
        shapes = {key: self._shape(found, cycle) for key, found in active.items()}
        cluster_of = self._clusters_of(Counter(shapes.values()), shapes[top[0]])
        sizes = Counter(cluster_of[shape] for shape in shapes.values())
        tops = Counter(cluster_of[shapes[key]] for key in top)
        popular = {number for number in tops if tops[number] * len(active) >= len(top) * sizes[number]}
        at_top = frozenset(top)
        among = [key for key in active if key in at_top or cluster_of[shapes[key]] in popular]
        return most_by_world(downloads, among, limit)

    def _top(self, downloads: Mapping[ItemKey, int]) -> list[ItemKey]:
        """The items at the top of each world, the one with the most downloads of all first."""
        counts = Counter(key.world for key in downloads)
        room = {world: ceil(self.top * count) for world, count in counts.items()}
        top = []
        for key in sorted(downloads, key=lambda key: (-downloads[key], key_order(key))):
            if room[key.world]:
                room[key.world] -= 1
                top.append(key)
        return top

    def _shape(self, found: Popularity, cycle: int) -> Shape:
        """Without the number of downloads, which has decided on the top."""
        counts = (*[0] * (cycle - found.cycle), *found.recent, *[0] * self.pattern)[: self.pattern]
        most = max(1, *counts)
        return tuple((2 * LEVELS * count + most) // (2 * most) for count in counts)

    def _clusters_of(self, shapes: Mapping[Shape, int], first: Shape) -> dict[Shape, int]:
        """Divide shapes, of which there are so many each, beginning with `first` and those that are the
        furthest from all before them."""
        order = sorted(shapes)
        centres: list[LevelMeans] = [first]
        apart = {shape: _distance(shape, first) for shape in order}
        while len(centres) < min(self.clusters, len(order)):
            furthest = max(order, key=apart.__getitem__)  # of equally far ones the first
            centres.append(furthest)
            apart = {shape: min(apart[shape], _distance(shape, furthest)) for shape in order}
        found: dict[Shape, int] = {}
        for _ in range(ROUNDS):
            nearest = {shape: _nearest(shape, centres) for shape in order}
            if nearest == found:
                break
            found = nearest
            centres = [
                _mean([shape for shape in order if found[shape] == number], shapes) or centre
                for number, centre in enumerate(centres)
            ]
        return found


def _nearest(shape: Shape, centres: Sequence[LevelMeans]) -> int:
    return min(range(len(centres)), key=lambda number: _distance(shape, centres[number]))


def _distance(one: LevelMeans, other: LevelMeans) -> float:
    return sum((a - b) * (a - b) for a, b in zip(one, other, strict=True))


def _mean(members: Sequence[Shape], counts: Mapping[Shape, int]) -> LevelMeans:
    """The middle of shapes; empty if there are none."""
    total = sum(counts[shape] for shape in members)
    return tuple(
        sum(counts[shape] * level for shape, level in zip(members, levels, strict=True)) / total
        for levels in zip(*members, strict=True)
    )
