"""ATTRACT: one channel for each attraction point, and one for everywhere else."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeAlias, cast

from pydantic import Field

from bypass.mechanisms.filters.base.broker import FilterBroker
from bypass.mechanisms.filters.base.client import FilterClient
from bypass.mechanisms.filters.base.scheme import FilterScheme
from bypass.places.geo import within
from bypass.places.sensor import Fix
from bypass.protocol.messages import (
    Assignment,
    AssignmentRequest,
    Circle,
    ContextMessage,
    ContextUpdate,
    Publish,
)
from bypass.transitions import MechanismState, TransferState

if TYPE_CHECKING:
    from bypass.mechanisms.filters.indexes.circles import CircleIndex
    from bypass.mechanisms.filters.indexes.index import Index
    from bypass.places.region import Region
    from bypass.support.arrays import Ints

EVERYWHERE = (-math.inf, -math.inf, math.inf, math.inf)

Extension = Literal["none", "max", "mean"] | Annotated[float, Field(ge=0)]


@dataclass
class KnownChannels:
    """The channel map as a client knows it, and the channels it listens to there."""

    generation: int
    elsewhere: str
    circles: tuple[Circle, ...]
    mine: frozenset[str]

    def around(self, x: float, y: float) -> list[Circle]:
        """The circles that hold a place, the one it lies deepest in first."""
        inside = [c for c in self.circles if within(x, y, c.x, c.y, c.radius)]
        return sorted(inside, key=lambda c: math.hypot(x - c.x, y - c.y) / c.radius)


class AttractClient(FilterClient):
    """Asks for other channels when the client enters or leaves a circle.

    `enable_updates`: go on reporting places inside the circles, for those who need to know.
    """

    known: Annotated[KnownChannels | None, TransferState("known_channels", optional=True)] = None
    enable_updates: Annotated[bool, MechanismState("enable_updates")] = False

    def context(self, fix: Fix) -> ContextMessage:
        return AssignmentRequest((fix.x, fix.y))

    def bootstrap(self, fix: Fix) -> None:
        """Say nothing: the broker sends the channel map right after the switch."""
        if self.known is not None:
            self.moved(fix)

    def moved(self, fix: Fix) -> None:
        if self.known is None or self._channels_at(fix) != self.known.mine:
            self.report(fix)
        elif self.update_due(fix, inside=self.known.elsewhere not in self.known.mine):
            self.reported = fix
            self.host.link.send_context(ContextUpdate((fix.x, fix.y)))

    def update_due(self, fix: Fix, inside: bool) -> bool:  # noqa: ARG002 - for schemes that look at it
        """Whether to report a place at which the channels are still the right ones."""
        return inside and self.enable_updates

    def context_arrived(self, message: ContextMessage) -> None:
        if not isinstance(message, Assignment):
            return
        known = self.known
        new = known is None or known.generation != message.generation
        if message.circles or message.cover is not None:
            elsewhere = f"a{message.generation}:other"
            self.known = KnownChannels(
                message.generation, elsewhere, message.circles, frozenset(message.channels)
            )
        elif known is not None and known.generation == message.generation:
            known.mine = frozenset(message.channels)
        fix = self.host.location.current()
        # The broker assigns channels by places it knows, which may be older than what the client knows.
        if new and fix is not None:
            self.moved(fix)

    def tag(self, publication: Publish) -> None:
        if self.known is not None and publication.location is not None:
            around = self.known.around(*publication.location)
            publication.channel = around[0].channel if around else self.known.elsewhere

    def _channels_at(self, fix: Fix) -> frozenset[str]:
        assert self.known is not None
        channels = frozenset(c.channel for c in self.known.around(fix.x, fix.y))
        return channels or frozenset((self.known.elsewhere,))


@dataclass
class ChannelMap:
    """The circles of a region under the names that they have now, and who has been told them."""

    generation: int
    circles: tuple[Circle, ...]
    informed: set[Hashable] = field(default_factory=set)


class CircleBroker(FilterBroker):
    """The base of the broker's parts of ATTRACT and MULTI: the channel map and its protocol.

    `extension` enlarges the circles when places of events are looked up, by the largest (`max`) or the
    average (`mean`) radius of this scheme's subscriptions, or by a number of metres.
    """

    reports_places: ClassVar[bool] = False

    channels_by_place: ClassVar[bool] = True

    channels: Annotated[ChannelMap | None, TransferState("channels", optional=True)] = None
    extension: Annotated[Extension, MechanismState("extension")] = "none"

    def start(self) -> None:
        if self.channels is None:
            self.channels = self._new_map()
        super().start()
        self._extend()

    def use_region(self, region: Region) -> None:
        """Have channels for the places that there are now: clients are told, and the former channels go on
        for the grace period."""
        super().use_region(region)
        self.channels = self._new_map()
        self.rebuild()
        self._extend()
        self.welcome(self.clients)

    def make_circles(self) -> CircleIndex:
        """An empty index of the circles."""
        from bypass.mechanisms.filters.indexes.circles import CircleIndex

        assert self.channels is not None
        return CircleIndex(
            self.table, self.resolver, self.channels.circles, self.channels.generation, self.grace.seconds > 0
        )

    def make_area_index(self) -> Index:
        from bypass.mechanisms.filters.indexes.circle_areas import CircleAreas

        return CircleAreas(self.circles)

    @property
    def circles(self) -> CircleIndex:
        """The index of the circles, also where it is only a part of the scheme's index."""
        return cast("CircleIndex", self.index)

    def set_extension(self, value: Extension) -> None:
        """Enlarge the circles by more or less from now on."""
        self.extension = value
        self._extend()

    def welcome(self, clients: Iterable[int]) -> None:
        for client in sorted(self.clients.intersection(clients)):
            if self.table.place(client) is not None:
                self._assign(client)

    def gone(self, client: int) -> None:
        super().gone(client)
        assert self.channels is not None
        self.channels.informed.discard(client)
        self._extend()

    def release(self, members: Collection[Hashable]) -> None:
        super().release(members)
        assert self.channels is not None
        self.channels.informed.difference_update(members)  # who leaves the scheme forgets its map

    def reconnected(self, client: int) -> None:
        assert self.channels is not None
        self.channels.informed.discard(client)

    def subscribed(self, client: int, row: int) -> None:
        super().subscribed(client, row)
        assert self.channels is not None
        if self.table.place(client) is not None and client not in self.channels.informed:
            self._assign(client)

    def unsubscribed(self) -> None:
        self._extend()

    def relocated(self, client: int) -> None:
        self.index.insert(self.table.located((client,)))

    def context_arrived(self, client: int, message: ContextMessage) -> None:
        super().context_arrived(client, message)
        if isinstance(message, AssignmentRequest):
            self._assign(client)

    def _new_map(self) -> ChannelMap:
        """The circles of the region as it is, under names that no others had."""
        generation = self.region.next_generation()
        places = enumerate(self.region.places)
        return ChannelMap(
            generation, tuple(Circle(f"a{generation}:{k}", p.x, p.y, p.radius) for k, p in places)
        )

    def _assign(self, client: int) -> None:
        place = self.table.place(client)
        assert place is not None
        assert self.channels is not None
        inside = self.circles.around(place[0], place[1])
        names = tuple(self.channels.circles[k].channel for k in inside) or (self.circles.elsewhere,)
        circles = () if client in self.channels.informed else self.channels.circles
        self.channels.informed.add(client)
        self.tell(
            client,
            Assignment(
                generation=self.channels.generation,
                publish=names[0],
                channels=names,
                cover=None if self.channels.circles else EVERYWHERE,
                circles=circles,
            ),
        )

    def _take(self, rows: Ints) -> None:
        super()._take(rows)
        self._extend()

    def _extend(self) -> None:
        if isinstance(self.extension, float):
            self.circles.extension = self.extension
        elif self.extension == "none":
            self.circles.extension = 0.0
        else:
            radii = self.table.radius[self.index.members()]
            metres = radii.max if self.extension == "max" else radii.mean
            self.circles.extension = float(metres()) if len(radii) else 0.0


class AttractBroker(CircleBroker):
    """An event concerns the members of the attraction points it lies in, or everybody who is in none."""

    def make_index(self) -> CircleIndex:
        return self.make_circles()


class Attract(FilterScheme):
    """Clients are assigned the channels of the attraction points that they are at, or that of everywhere
    else."""

    flag: ClassVar[int] = 5
    memory: ClassVar[float | None] = 0.0
    kernels: ClassVar[str | type | None] = "bypass.mechanisms.filters.kernels.circles:CircleKernels"
    Client: TypeAlias = AttractClient
    Broker: TypeAlias = AttractBroker
