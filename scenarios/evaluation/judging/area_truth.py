"""The ground truth of an evaluation whose clients have areas: everybody in whose area an event lies."""

from __future__ import annotations

import numpy as np

from bypass.mechanisms.filters.indexes.areas.grid import AreaGrid
from bypass.mechanisms.filters.kernels.client_tree import ClientTree
from bypass.mechanisms.filters.kernels.ground_truth import GroundTruth
from bypass.mechanisms.filters.kernels.window import Window
from bypass.scenarios.evaluation.subscribed_areas import SubscribedAreas
from bypass.support.arrays import Ints

NOBODY: Ints = np.empty(0, np.int64)


class AreaTruth:
    """Finds the clients that events concern, of so many clients that have these areas."""

    def __init__(self, areas: SubscribedAreas, clients: int) -> None:
        self._grid = AreaGrid()
        members: dict[int, list[int]] = {}
        for client, each in areas.own.items():
            for number in dict.fromkeys(self._grid.hold(each).tolist()):
                members.setdefault(number, []).append(client)
        self._members = {number: np.array(own, np.int64) for number, own in members.items()}
        for number in self._grid.hold(areas.everybody).tolist():
            self._members[number] = np.arange(clients)

    def find(self, window: Window, crowd: ClientTree) -> GroundTruth:
        """Find everybody in whose areas the events of a window lie, but for their publishers."""
        events = window.events
        offsets, numbers = self._grid.at_many(events.x, events.y)
        singles = []
        for e, publisher in enumerate(events.client.tolist()):
            held = [self._members[number] for number in numbers[offsets[e] : offsets[e + 1]].tolist()]
            clients = np.unique(np.concatenate(held)) if held else NOBODY
            singles.append(crowd.place_of[clients[clients != publisher]])
        counts = np.array([len(each) for each in singles], np.int64)
        none = np.zeros(len(counts) + 1, np.int64)
        starts = np.concatenate((none[:1], np.cumsum(counts)))
        listed = np.concatenate(singles).astype(np.int64) if singles else NOBODY
        return GroundTruth(counts, np.arange(len(counts)), none, NOBODY, starts, listed)
