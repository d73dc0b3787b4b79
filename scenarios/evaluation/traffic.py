"""What the context of each scheme costs on the network, in the bytes of the real encoding."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from bypass.events.event import Event
from bypass.mechanisms.filters.indexes.channels import Layout
from bypass.protocol.messages import Assignment, AssignmentRequest, ContextUpdate, Kind, Publish
from bypass.protocol.wire import encoded_size, piggyback_size
from bypass.scenarios.evaluation.replay import OUTSIDE, REQUESTS, RIDING, SCHEME, STATE, unpacked
from bypass.scenarios.evaluation.schemes import Scheme, SchemeCatalogue
from bypass.sim.cellular import CellularModel
from bypass.support.arrays import Ints


@dataclass
class ContextMessages:
    """Messages counted: fixes, what was sent by grid and for circles, and which channels were assigned.

    `assigned` counts the spans of each grid; sets of circles are counted by how many circles they have.
    """

    fixes: int = 0
    sent: Ints = field(default_factory=lambda: np.zeros((1, 3), np.int64))
    assigned: list[Counter[int]] = field(default_factory=list)

    @classmethod
    def none(cls, grids: int) -> ContextMessages:
        """Nothing was sent yet."""
        return cls(0, np.zeros((grids + 1, 3), np.int64), [Counter() for _ in range(grids + 1)])

    def assign(self, changes: Ints, set_sizes: Ints) -> None:
        """The broker answers these changes with new channels."""
        for scheme, counter in enumerate(self.assigned):
            states = changes[changes[:, SCHEME] == scheme, STATE]
            if scheme == len(self.assigned) - 1:
                states = set_sizes[states]
            counter.update(
                dict(zip(*(each.tolist() for each in np.unique(states, return_counts=True)), strict=True))
            )

    def add(self, other: ContextMessages) -> None:
        """Add what somebody else has counted."""
        self.fixes += other.fixes
        self.sent += other.sent
        for counter, more in zip(self.assigned, other.assigned, strict=True):
            counter.update(more)


def context_bytes(
    messages: ContextMessages, schemes: tuple[Scheme, ...], catalogue: SchemeCatalogue
) -> list[dict[str, int]]:
    """Context messages and their bytes, up to the broker and down from it, for each scheme."""
    header = CellularModel().header
    place = (0.1, 0.1)
    request = encoded_size(AssignmentRequest(place)) + header
    event = Event(kind="event", payload=b"")
    riding = piggyback_size(Publish(1, event, Kind.LOCAL, 1, place, piggyback=AssignmentRequest(place)))
    report = encoded_size(ContextUpdate(place)) + header
    vector = encoded_size(ContextUpdate(place, place)) + header
    figures: list[dict[str, int]] = [{} for _ in schemes]
    for row, number in enumerate(catalogue.order.tolist()):
        scheme, grid = schemes[number], row - len(catalogue.ahead)
        if grid < 0:
            size = vector if scheme.kind == "ste" else report
            figures[number] = _figures(messages.fixes, messages.fixes * size, 0, 0)
            continue
        grid = min(grid, len(catalogue.grid))  # all schemes with circles share one count
        sent, assigned = messages.sent[grid].tolist(), messages.assigned[grid]
        reports = sent[OUTSIDE] if scheme.kind == "multi" else 0
        if grid < len(catalogue.grid):
            layout = Layout(catalogue.area, int(catalogue.grid[grid]), 1)
            down = sum(count * (_grid_answer(layout, span) + header) for span, count in assigned.items())
        else:
            down = sum(count * (_circle_answer(circles) + header) for circles, count in assigned.items())
        figures[number] = _figures(
            sent[REQUESTS] + sent[RIDING] + reports,
            sent[REQUESTS] * request + sent[RIDING] * riding + reports * report,
            sum(assigned.values()),
            down,
        )
    return figures


def _figures(up: int, up_bytes: int, down: int, down_bytes: int) -> dict[str, int]:
    return {"messages_up": up, "bytes_up": up_bytes, "messages_down": down, "bytes_down": down_bytes}


def _grid_answer(layout: Layout, span: int) -> int:
    i0, i1, j0, j1, i, j = unpacked(span)
    return encoded_size(
        Assignment(
            generation=1,
            publish=layout.name(i, j),
            channels=tuple(layout.name(a, b) for a in range(i0, i1 + 1) for b in range(j0, j1 + 1)),
            cell=layout.bounds(i, i, j, j),
            cover=layout.bounds(i0, i1, j0, j1),
        )
    )


def _circle_answer(circles: int) -> int:
    """Sizes differ by a byte where circles have numbers of several digits; that is not counted."""
    names = tuple(f"a1:{k}" for k in range(circles)) or ("a1:other",)
    return encoded_size(Assignment(generation=1, publish=names[0], channels=names))
