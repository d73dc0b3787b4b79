"""The messages between clients and broker, and between clients nearby, as plain slotted objects.

Events and subscriptions travel in messages that every filter scheme understands; what only one scheme
understands is a `ContextMessage`, which may ride on another message (`piggyback`) to save a packet.
`scheme` and `epoch` say which configuration the sender had; the network proxy stamps them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, ClassVar

from bypass.events.event import Event, Origin, Publisher
from bypass.events.filters import Subscription
from bypass.places.area_of_interest import AreaOfInterest

if TYPE_CHECKING:
    from bypass.places.areas import Area
    from bypass.places.sensor import Fix
    from bypass.protocol.borders import BorderWatch

MOST_TOGETHER = 16
"""Publications in one frame at most."""


class Kind(IntEnum):
    """The kind of an event's place: none, the publisher's position, or a place that the publisher chose.

    One of kind BORDER is a watched client's report to its broker, and for nobody else.
    """

    PLAIN = 0
    LOCAL = 1
    PLACED = 2
    BORDER = 3


@dataclass(slots=True)
class Message:
    """Base of all messages. `client` is the client's number, whichever way the message travels.

    `address` is where devices nearby reach the sender, 0 if they do not.
    """

    client: int = field(default=0, kw_only=True)
    scheme: int = field(default=0, kw_only=True)
    epoch: int = field(default=0, kw_only=True)
    address: int = field(default=0, kw_only=True)


@dataclass(slots=True)
class ContextMessage(Message):
    """Base of what belongs to one filter scheme's own protocol."""


@dataclass(slots=True)
class ContextUpdate(ContextMessage):
    """Client to broker: where the client is and, for schemes that want it, how it moves (m, m/s).

    A client that is watched says when (s, by its clock) it was there, and at which altitude (m) if it knows.
    """

    location: tuple[float, float]
    vector: tuple[float, float] | None = None
    at: float | None = None
    z: float | None = None


@dataclass(slots=True)
class AssignmentRequest(ContextMessage):
    """Client to broker: the client left what its channels cover and asks for new ones."""

    location: tuple[float, float]


@dataclass(slots=True)
class FollowedPlace(ContextMessage):
    """Client to broker, under any filter scheme: where a client is whom others may follow, and how it moves
    (m, m/s), or moved last if it stands: a broker that was started again does not know where it looks."""

    location: tuple[float, float]
    vector: tuple[float, float] = (0.0, 0.0)


@dataclass(slots=True)
class AllowFollowing(Message):
    """Client to broker: the clients that may follow this one, instead of those before; `everybody`: all."""

    names: tuple[str, ...] = ()
    everybody: bool = False


@dataclass(slots=True)
class Circle:
    """One attraction point's channel as the client must know it."""

    channel: str
    x: float
    y: float
    radius: float


@dataclass(slots=True)
class Assignment(ContextMessage):
    """Broker to client: the channel to publish in, the channels to listen to, and what they cover.

    `cell` and `cover` are rectangles (x0, y0, x1, y1): `cell` is where `publish` is the right channel and
    where each of several areas touches no other cells than it did; `cover` is what `channels` cover together,
    which the client's largest area must not leave. `circles` is sent when the channel map is new to the
    client. `generation` numbers the channel layout.
    """

    generation: int
    publish: str
    channels: tuple[str, ...] = ()
    cell: tuple[float, float, float, float] | None = None
    cover: tuple[float, float, float, float] | None = None
    circles: tuple[Circle, ...] = ()


@dataclass(slots=True)
class Subscribe(Message):
    """Client to broker. `radius` (m) is None for a subscription without a place; one with `interest` has
    areas instead, which a later message about the same handle may change. It ends in `expires` seconds, None:
    not by itself.

    With a `watch` it is told of border events, and of nothing else.

    `until` (s, by the clock of a broker) is when it ends as the store of that broker knows it; clients say
    and hear nothing of it.
    """

    handle: int
    subscription: Subscription
    radius: int | None = None
    piggyback: ContextMessage | None = None
    watch: BorderWatch | None = field(default=None, kw_only=True)
    interest: AreaOfInterest | None = None
    expires: float | None = None
    until: float | None = None


@dataclass(slots=True)
class Unsubscribe(Message):
    """Client to broker: forget this handle."""

    handle: int


@dataclass(slots=True)
class Publish(Message):
    """Client to broker: one event. `id` is unique in the system; `at_us` is the publication time. `publisher`
    is the name of who has published it, as brokers say; clients do not. `z` is the altitude of `location`
    (m), None if it is not known. With an `area`, the event is for who is there; `lifetime` microseconds after
    `at_us` it is for nobody any more, unless that is None.

    Two things do not travel, a broker notes them when it takes the event: `raw` is its body as it came,
    `repeated` says that it was taken, and refused, before.
    """

    id: int
    event: Event
    kind: Kind = Kind.PLAIN
    at_us: int = 0
    location: tuple[float, float] | None = None
    channel: str | None = None
    piggyback: ContextMessage | None = None
    publisher: str = ""
    z: float | None = field(default=None, kw_only=True)
    area: Area | None = field(default=None, kw_only=True)
    lifetime: int | None = field(default=None, kw_only=True)
    raw: bytes = field(default=b"", kw_only=True, repr=False, compare=False)
    repeated: bool = field(default=False, kw_only=True, repr=False, compare=False)
    _received: Event | None = field(default=None, init=False, repr=False, compare=False)

    def expired(self, now: float) -> bool:
        """Whether its lifetime has passed at this time in seconds."""
        return self.lifetime is not None and now * 1e6 > self.at_us + self.lifetime

    def is_for(self, fix: Fix | None) -> bool:
        """Whether it is for who is there; None, who does not know it, takes what comes, and so does everybody
        if the area is a place whose shape is not known here."""
        area = self.area
        return area is None or fix is None or area.shape is None or area.contains(fix.x, fix.y, fix.z)

    def received(self) -> Event:
        """The event as subscribers get it, with its origin. Every call gives the same object."""
        if self._received is None:
            publisher = Publisher(self.client, self.publisher)
            origin = Origin(self.id, publisher, self.at_us / 1e6, self.location, self.z)
            self._received = self.event.published_as(origin)
        return self._received


@dataclass(slots=True)
class Notify(Message):
    """Broker to client: an event and the client's handles that it matches.

    `unfiltered` marks handles whose area the broker could not test: the client tests it itself.
    `relay` makes the client a gateway: it passes the event on to devices nearby, to those at the addresses in
    `targets` where it can address them one by one.
    """

    publication: Publish
    handles: tuple[int, ...]
    unfiltered: bool = False
    relay: bool = False
    targets: tuple[int, ...] = ()


@dataclass(slots=True)
class PlanMessage(Message):
    """Broker to client: an execution plan in its wire form."""

    plan: bytes


@dataclass(slots=True)
class OutcomeMessage(Message):
    """Client to broker: what became of a plan, in its wire form."""

    outcome: bytes


@dataclass(slots=True)
class Frame(Message):
    """Client to clients nearby: events, or a digest of those that the sender has heard, or just hello.

    `scheme` is the flag of the sender's dissemination mechanism, `epoch` the number of the decision that it
    follows, and `scope` the area which that decision is about (0: everywhere). `place` is where the sender
    is.
    """

    port: int
    scope: int = 0
    place: tuple[float, float] | None = None
    publications: tuple[Publish, ...] = ()
    ids: tuple[int, ...] | None = None


@dataclass(slots=True)
class StorageMessage(Message):
    """Base of all messages of stores, which are in `bypass.protocol.storage`."""

    measured: ClassVar[bool] = False
    """Whether a way of such a message counts as one of an operation: those of upkeep are of other lengths."""
