"""Events: attributes, which filters test, and a payload, which only applications read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, final

from bypass.errors import InvalidEvent, UnknownType, shown
from bypass.events.attributes import MAX_NAME, TYPES, AttributeTypes

if TYPE_CHECKING:
    from bypass.places.geo import PlanarLocation

MAX_ATTRIBUTES = 256
MAX_PAYLOAD = 65_536
_EXACT = TYPES.exact
MOST_SHOWN = 12  # attributes, where an event is shown in one line

Pairs: TypeAlias = tuple[tuple[str, Any], ...]


class Publisher(NamedTuple):
    """The publisher of an event: the client's number and, where a broker has told it, its name."""

    number: int
    name: str = ""

    def __str__(self) -> str:
        return self.name or f"client {self.number}"


class Origin(NamedTuple):
    """The circumstances of a publication; `at` is the publisher's time, in seconds since 1970."""

    id: int
    publisher: Publisher
    at: float
    location: tuple[float, float] | None
    altitude: float | None = None


@final
class Event:
    """An ordered list of named values, where a name may occur again, and opaque bytes. Never changes.

        Event(kind="hello", level=42)
        Event([("tag", "a"), ("tag", "b")], payload=b"...")

    Values are plain: an enumeration member or NumPy scalar becomes its number or string, a set is frozen.
    An attribute that is itself called "payload" is given as a pair or in a mapping. Equal events have equal
    attributes in equal order, and equal payloads, wherever they come from.

    One that was received says where, who and when: `location`, `publisher`, `at` and `id`, which are None for
    one that was not.

    Raises InvalidEvent for more than 256 attributes, a name that is not a string of 1 to 255 characters,
    a value of no registered type, or a payload that is not bytes or longer than 64 KiB.
    """

    __slots__ = ("_first", "_origin", "_pairs", "_payload", "_repeated", "_types")

    _first: dict[str, Any]  # the first value of each name; what matching reads
    _repeated: Pairs  # what is not in _first: almost always empty
    _pairs: Pairs | None  # all attributes, once somebody has asked for them
    _types: tuple[type, ...] | None  # of their values, likewise

    def __init__(
        self,
        attributes: Mapping[str, Any] | Iterable[tuple[str, Any]] = (),
        /,
        *,
        payload: bytes = b"",
        **named: Any,
    ) -> None:
        self._first = named
        self._repeated = ()
        self._pairs = self._types = None
        self._origin: Origin | None = None
        if attributes:
            self._pairs = _pairs(attributes, named, TYPES)
            self._first, self._repeated = _split(self._pairs)
        else:
            for name, value in named.items():
                if type(value) not in _EXACT or not 0 < len(name) <= MAX_NAME:
                    self._first = {_name(each): _value(each, named[each], TYPES) for each in named}
                    break
        count = len(self._first) + len(self._repeated)
        if count > MAX_ATTRIBUTES:
            raise InvalidEvent(f"event with {count} attributes: expected at most {MAX_ATTRIBUTES}")
        if not isinstance(payload, bytes):
            raise InvalidEvent(f"event payload {shown(payload)}: expected bytes")
        if len(payload) > MAX_PAYLOAD:
            raise InvalidEvent(f"event payload of {len(payload)} bytes: expected at most {MAX_PAYLOAD}")
        self._payload = payload

    @classmethod
    def of_types(
        cls,
        types: AttributeTypes,
        attributes: Mapping[str, Any] | Iterable[tuple[str, Any]],
        payload: bytes = b"",
    ) -> Event:
        """Make an event whose values may be of a system's own types. Raises as the constructor does."""
        return _restored(_pairs(attributes, {}, types), payload, None)

    @property
    def attributes(self) -> Pairs:
        """Names and values, in order."""
        if self._pairs is None:
            self._pairs = tuple(self._first.items())
        return self._pairs

    @property
    def value_types(self) -> tuple[type, ...]:
        """The classes of the values, in the order of the attributes."""
        if self._types is None:
            self._types = tuple([type(value) for _, value in self.attributes])
        return self._types

    @property
    def payload(self) -> bytes:
        """The bytes that only the application interprets."""
        return self._payload

    @property
    def id(self) -> int | None:
        """The number that `publish` gave, unique in the system."""
        return None if self._origin is None else self._origin.id

    @property
    def publisher(self) -> Publisher | None:
        """The client that published the event; `str(event.publisher)` always gives a name."""
        return None if self._origin is None else self._origin.publisher

    @property
    def at(self) -> float | None:
        """When it was published by the publisher's clock, in seconds since 1970."""
        return None if self._origin is None else self._origin.at

    @property
    def location(self) -> PlanarLocation | None:
        """Where it was published, in metres in the broker's plane; None also for one that belongs nowhere."""
        if self._origin is None or self._origin.location is None:
            return None
        from bypass.places.geo import PlanarLocation  # which takes long to import

        return PlanarLocation(*self._origin.location, altitude=self._origin.altitude)

    def published_as(self, origin: Origin) -> Event:
        """An equal event that says where it comes from."""
        event = object.__new__(Event)
        event._first, event._repeated, event._pairs = self._first, self._repeated, self._pairs
        event._payload, event._types = self._payload, self._types
        event._origin = origin
        return event

    def __getitem__(self, name: str) -> Any:
        """The first value of that name. Raises KeyError."""
        return self._first[name]

    def get(self, name: str, default: Any = None) -> Any:
        """The first value of that name, or `default`."""
        return self._first.get(name, default)

    def all(self, name: str) -> tuple[Any, ...]:
        """Every value of that name, in order."""
        return tuple(value for each, value in self.attributes if each == name)

    def __contains__(self, name: object) -> bool:
        return name in self._first

    def __iter__(self) -> Iterator[str]:
        """The names, each once, in order of their first occurrence."""
        return iter(self._first)

    def __reduce__(self) -> tuple[Any, tuple[Pairs, bytes, Origin | None]]:
        return _restored, (self.attributes, self.payload, self._origin)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Event):
            return NotImplemented
        mine, theirs = self._pairs or self.attributes, other._pairs or other.attributes
        return mine == theirs and self._payload == other._payload

    def __hash__(self) -> int:
        return hash((self._pairs or self.attributes, self._payload))

    def __repr__(self) -> str:
        parts = [f"{name}={shown(value)}" for name, value in self.attributes[:MOST_SHOWN]]
        if len(self.attributes) > MOST_SHOWN:
            parts.append(f"and {len(self.attributes) - MOST_SHOWN} more")
        if self.payload:
            parts.append(f"payload=<{len(self.payload)} bytes>")
        return f"Event({', '.join(parts)})"


def _restored(pairs: Pairs, payload: bytes, origin: Origin | None) -> Event:
    event = Event(payload=payload)
    event._first, event._repeated = _split(pairs)
    if len(pairs) > MAX_ATTRIBUTES:
        raise InvalidEvent(f"event with {len(pairs)} attributes: expected at most {MAX_ATTRIBUTES}")
    event._pairs, event._origin = pairs, origin
    return event


def _pairs(attributes: Any, named: dict[str, Any], types: AttributeTypes) -> Pairs:
    items = getattr(attributes, "items", None)
    try:
        pairs = [(name, value) for name, value in (attributes if items is None else items())]
    except (TypeError, ValueError) as error:
        raise InvalidEvent(
            f"event attributes {shown(attributes)}: expected a mapping or pairs of name and value"
        ) from error
    pairs.extend(named.items())
    for name, value in pairs:
        if type(value) not in types.exact or type(name) is not str or not 0 < len(name) <= MAX_NAME:
            return tuple((_name(name), _value(name, value, types)) for name, value in pairs)
    return tuple(pairs)


def _name(name: Any) -> str:
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME:
        raise InvalidEvent(
            f"event attribute name {shown(name)}: expected a string of 1 to {MAX_NAME} characters"
        )
    return str.__str__(name)


def _value(name: str, value: Any, types: AttributeTypes) -> Any:
    try:
        return types.plain(value)
    except UnknownType as error:
        raise InvalidEvent(f"event attribute {name!r}: {error}") from None


def _split(pairs: Pairs) -> tuple[dict[str, Any], Pairs]:
    """The first occurrence of every name, and the others."""
    first = dict(pairs)
    if len(first) == len(pairs):
        return first, ()
    first, repeated = {}, []
    for name, value in pairs:
        if name in first:
            repeated.append((name, value))
        else:
            first[name] = value
    return first, tuple(repeated)
