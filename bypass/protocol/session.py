"""Messages between a live broker and its clients about their connection: greetings, receipts, refusals,
requests.

A session is the broker's memory of one client: it outlives connections and, if it is durable, processes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bypass.events.attributes import ANYTHING, AREA, BOOLEAN, PLACE
from bypass.protocol.messages import Message, Publish, Subscribe

KEPT_PARTS = "kept-parts"
"""The capability to take kept subscriptions apart from the welcome, in any number of messages."""

RETRY = "retry"
"""The capability to come again after a refusal that is for a while only."""

TEMPORARY = "temporary"
"""The capability to say of refused publications and subscriptions, too, when they may be asked for again: a
refusal that does not is final. Earlier brokers never say."""

OBSOLETE = "obsolete"
"""The capability to know this outcome of a plan."""

EXPRESSIONS = "expressions"
"""The capability to read alternatives, negations and questions for existence in subscriptions."""

RICH_EVENTS = "rich-events"
"""The capability to read truth values among attributes, and the publisher's name in notifications."""

MISSED = "missed"
"""The capability to be told why events were given up, and of more of them while connected."""

SCHEMES = "schemes"
"""The capability to be told numbers of filter schemes that are not built in, and to read what they say."""

OBJECTS = "objects"
"""The capability to store objects, to find them by their tags, and to send them in parts."""

BORDERS = "borders"
"""The capability to watch borders of areas, and to be watched."""

AREAS = "areas"
"""The capability to read areas and lifetimes of subscriptions and publications, who may follow whom, and
places and areas among attributes."""

WINDOW = 2000
WINDOW_BYTES = 1 << 20  # compiled into kernels
"""Events, and bytes of them, that may be on their way to a client at a time; others wait in the store."""

CAPABILITIES: tuple[str, ...] = (
    KEPT_PARTS,
    RETRY,
    TEMPORARY,
    OBSOLETE,
    EXPRESSIONS,
    RICH_EVENTS,
    MISSED,
    SCHEMES,
    OBJECTS,
    AREAS,
    BORDERS,
)
"""Names of the forms beyond version 0.1.0 that this version understands, as client and as broker. A form goes
only to a peer that has named it in its greeting."""


LONGEST_NAME = 200


def is_name(text: object, least: int = 0) -> bool:
    """Whether a session, a command or a capability can have this name: `least` to `LONGEST_NAME` printable
    characters. Clients and brokers refuse others."""
    return isinstance(text, str) and least <= len(text) <= LONGEST_NAME and text.isprintable()


_WITH_AREAS = (PLACE.python, AREA.python)


def needed(message: Publish | Subscribe) -> frozenset[str]:
    """The capabilities without which a peer cannot read a message."""
    if isinstance(message, Publish):
        classes = {value.__class__ for _, value in message.event.attributes}
        areas = not classes.isdisjoint(_WITH_AREAS)
        areas = areas or message.area is not None or message.lifetime is not None
        return frozenset((RICH_EVENTS,) * (bool in classes) + (AREAS,) * areas)
    subscription = message.subscription
    types = {each.attribute.type for each in subscription.all_filters()}
    expressions = bool(subscription.compounds) or ANYTHING in types
    areas = message.interest is not None or message.expires is not None or PLACE in types or AREA in types
    forms = {EXPRESSIONS: expressions, RICH_EVENTS: BOOLEAN in types, AREAS: areas}
    forms[BORDERS] = message.watch is not None
    return frozenset(form for form, is_used in forms.items() if is_used)


@dataclass(slots=True)
class Hello(Message):
    """Client to broker, first on every connection.

    `life` is drawn at random by each process. `handles` are all that it has subscribed so far: those of its
    earlier connections that it does not name are withdrawn. `durable` sessions are kept while nobody is
    connected. `capabilities` are the forms that the client understands, `schemes` the filter schemes that it
    has besides the built-in ones.
    """

    name: str
    life: int
    handles: tuple[int, ...] = ()
    durable: bool = True
    capabilities: tuple[str, ...] = ()
    schemes: tuple[str, ...] = ()


@dataclass(slots=True)
class Missed(Message):
    """Broker to client: `count` events for this client were given up for a reason, all in all."""

    reason: str
    count: int


@dataclass(slots=True)
class Welcome(Message):
    """Broker to client: the answer. `client`, `scheme` and `epoch` are what the broker has for the client.

    `published` is the number of the client's latest event that is known, `heartbeat` how often (s) to say
    something, `origin` latitude and longitude of the region's plane. `kept` are subscriptions of earlier
    lives, `missed` counts events for this client that were given up, and `missed_by` by reason. `settings`
    are parameters, as JSON, for every filter scheme that has them. `capabilities` are the forms that the
    broker understands. Kept subscriptions that are not here follow in so many `kept_parts`. `schemes` are the
    numbers of filter schemes that are not built in, by name.
    """

    published: int
    heartbeat: float
    area: tuple[float, float, float, float]
    origin: tuple[float, float] | None = None
    kept: tuple[Subscribe, ...] = ()
    missed: int = 0
    settings: bytes = b""
    capabilities: tuple[str, ...] = ()
    kept_parts: int = 0
    missed_by: tuple[Missed, ...] = ()
    schemes: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Kept(Message):
    """Broker to client: one of the parts that a welcome has announced, after it and before anything else."""

    kept: tuple[Subscribe, ...]


@dataclass(slots=True)
class Ack(Message):
    """To a client: these publications, subscriptions and withdrawals are safe. To a broker: these events have
    reached the application."""

    ids: tuple[int, ...] = ()
    handles: tuple[int, ...] = ()


@dataclass(slots=True)
class Refused(Message):
    """Broker to client: a publication, a subscription or, without either, the connection was refused.

    `retry` is after how many seconds it may be asked for again; 0: it would be refused again.
    """

    reason: str
    id: int | None = None
    handle: int | None = None
    retry: float = 0.0


@dataclass(slots=True)
class Ping(Message):
    """Says that the sender is still here; if it `asks`, the receiver answers with a ping."""

    asks: bool = False


@dataclass(slots=True)
class Bye(Message):
    """From a client: it leaves, for good with `forget`. From a broker: it shuts down."""

    forget: bool = False


@dataclass(slots=True)
class Control(Message):
    """Client to broker: an operator's request, its arguments as JSON."""

    request: int
    command: str
    content: bytes = b""


@dataclass(slots=True)
class Reply(Message):
    """Broker to client: the answer to a request as JSON; without `ok`, what was wrong with it."""

    request: int
    ok: bool
    content: bytes = b""
