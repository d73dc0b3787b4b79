"""GRID: equal cells over the broker's area; clients listen to, and publish in, the one they are in."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from typing import TYPE_CHECKING, Annotated, ClassVar, TypeAlias

from pydantic import Field

from bypass.mechanisms.filters.base.broker import FilterBroker
from bypass.mechanisms.filters.base.client import FilterClient
from bypass.mechanisms.filters.base.scheme import FilterScheme
from bypass.places.sensor import Fix
from bypass.protocol.messages import Assignment, AssignmentRequest, ContextMessage, Publish
from bypass.transitions import MechanismState

if TYPE_CHECKING:
    from bypass.mechanisms.filters.indexes.channel_areas import ChannelAreas
    from bypass.mechanisms.filters.indexes.channels import ChannelIndex, Layout, Rect


def holds(rect: Rect, x: float, y: float, margin: float = 0.0) -> bool:
    """Whether a rectangle holds a place, or the square of half side `margin` around it."""
    return rect[0] <= x - margin and rect[1] <= y - margin and x + margin < rect[2] and y + margin < rect[3]


class GridClient(FilterClient):
    """Asks for another channel when the client leaves the cell it was assigned, or the part of it in which
    its assignment holds."""

    def start(self) -> None:
        self.assignment: Assignment | None = None
        super().start()

    def bootstrap(self, fix: Fix) -> None:
        """Nothing: the broker assigns a channel right after the switch; `moved` asks if it did not."""

    def context(self, fix: Fix) -> ContextMessage:
        return AssignmentRequest((fix.x, fix.y))

    def moved(self, fix: Fix) -> None:
        if not self.covered(fix):
            self.report(fix)

    def covered(self, fix: Fix) -> bool:
        """Whether the assigned channels are still the right ones at this place."""
        return self._in_cell(fix.x, fix.y)

    def context_arrived(self, message: ContextMessage) -> None:
        if isinstance(message, Assignment):
            before, self.assignment = self.assignment, message
            # The broker lays channels out by places it knows, which may be older than what the client knows.
            if before is None or before.generation != message.generation:
                fix = self.host.location.current()
                if fix is not None:
                    self.moved(fix)

    def tag(self, publication: Publish) -> None:
        if self.assignment is None or publication.location is None:
            return
        if self._in_cell(*publication.location):
            publication.channel = self.assignment.publish
        elif self._interval is not None and (fix := self.host.location.current()) is not None:
            self.report(fix)

    def _in_cell(self, x: float, y: float) -> bool:
        assignment = self.assignment
        return assignment is not None and assignment.cell is not None and holds(assignment.cell, x, y)


class GridBroker(FilterBroker):
    """An event concerns the subscriptions whose owners are in its cell, and those with areas that touch it.
    `grid`² cells cover the region."""

    reports_places: ClassVar[bool] = False
    wide: ClassVar[bool] = False  # whether a subscription listens to all cells that its area touches

    # At most so many that an assignment of all channels still fits into one message.
    grid: Annotated[int, MechanismState("grid"), Field(ge=1, le=200)] = 5

    def start(self) -> None:
        self._told: dict[Hashable, tuple[float, ...]] = {}
        self.layout = self._lay_out()
        super().start()

    def make_index(self) -> ChannelIndex:
        from bypass.mechanisms.filters.indexes.channels import ChannelIndex

        return ChannelIndex(self.table, self.resolver, self.layout, self.wide, self.grace.seconds > 0)

    def make_area_index(self) -> ChannelAreas:
        from bypass.mechanisms.filters.indexes.channel_areas import ChannelAreas

        return ChannelAreas(self.table, self.layout, self.grace.seconds > 0)

    def set_grid(self, value: int) -> None:
        """Lay the channels out anew and tell every client its new ones."""
        self.grid = value
        self.layout = self._lay_out()
        self.rebuild()
        self.host.after(0.0, self.welcome, self.clients)

    def welcome(self, clients: Iterable[int]) -> None:
        for client in sorted(self.clients.intersection(clients)):
            if self.table.place(client) is not None:
                self._assign(client)

    def release(self, members: Collection[Hashable]) -> None:
        super().release(members)
        for member in members:
            self._told.pop(member, None)

    def gone(self, client: int) -> None:
        super().gone(client)
        self._told.pop(client, None)

    def reconnected(self, client: int) -> None:
        self._told.pop(client, None)

    def subscribed(self, client: int, row: int) -> None:
        super().subscribed(client, row)
        if self.table.place(client) is not None:
            self._assign(client, only_if_changed=True)

    def relocated(self, client: int) -> None:
        self.index.insert(self.table.located((client,)))

    def context_arrived(self, client: int, message: ContextMessage) -> None:
        super().context_arrived(client, message)
        self._assign(client, only_if_changed=not isinstance(message, AssignmentRequest))

    def _lay_out(self) -> Layout:
        from bypass.mechanisms.filters.indexes.channels import Layout

        return Layout(self.region.area, self.grid, self.region.next_generation())

    def _assign(self, client: int, only_if_changed: bool = False) -> None:
        place = self.table.place(client)
        assert place is not None
        x, y, _ = place
        layout = self.layout
        radii = self.table.radii(client) if self.wide else ()
        i, j = layout.cell(x, y)
        i0, i1, j0, j1 = layout.span(x, y, max(radii, default=0.0))
        cell = layout.bounds(i, i, j, j)
        if len(radii) > 1:  # clients compare their largest area alone with what the channels cover
            cell = layout.steady(x, y, (*radii, 0.0))
        told = (layout.generation, i, j, i0, i1, j0, j1, *cell)
        if only_if_changed and self._told.get(client) == told:
            return
        self._told[client] = told
        self.tell(
            client,
            Assignment(
                generation=layout.generation,
                publish=layout.name(i, j),
                channels=tuple(layout.name(a, b) for a in range(i0, i1 + 1) for b in range(j0, j1 + 1)),
                cell=cell,
                cover=layout.bounds(i0, i1, j0, j1),
            ),
        )


class Grid(FilterScheme):
    """Clients are assigned the channel of the cell that they are in; an event concerns whoever listens
    there."""

    flag: ClassVar[int] = 3
    memory: ClassVar[float | None] = 0.0
    kernels: ClassVar[str | type | None] = "bypass.mechanisms.filters.kernels.channels:ChannelKernels"
    Client: TypeAlias = GridClient
    Broker: TypeAlias = GridBroker
