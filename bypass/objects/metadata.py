"""The description of a stored object: its key, tags, time, owner, hashes, and who has copies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from hashlib import blake2b
from math import isfinite
from typing import Any, NamedTuple

from bypass.errors import InvalidFormula, InvalidObject, shown
from bypass.events.event import Event
from bypass.objects.formula_text import check_tag
from bypass.objects.window import FIRST_US, LAST_US

MOST_TAGS = 32
LONGEST_NAME = 128
"""Bytes of an object's name, and of a namespace."""
LONGEST_SUMMARY = 8192
LARGEST_OBJECT = 64 << 20
"""Bytes; larger ones than a message can hold travel in chunks."""
MOST_ATTRIBUTES = 32
LONGEST_ATTRIBUTES = 4096
"""Bytes of names and values."""
MOST_REPLICAS = 16
HASH_BYTES = 32
LONGEST_OPENING = 64

_FIXED_BYTES, _TAG_BYTES = 640, 68
"""Bytes of names, hashes and copies, at most; and of a tag."""

MOST_NODES = 2**32
"""Nodes and cells have numbers below this."""


class ObjectKey(NamedTuple):
    """The name of an object, unique in the system: the owner's number, and a name that the owner chose."""

    owner: int
    name: str

    def __str__(self) -> str:
        return f"{self.owner}/{self.name}"


class Replica(NamedTuple):
    """A node that has a copy, and its cell where cells are used. `node` None stands for all nodes of the
    cell."""

    node: int | None
    cell: int | None = None


def content_hash(data: bytes) -> bytes:
    """BLAKE2b-256: of an object's bytes, and of the secret that a deletion opens."""
    return blake2b(data, digest_size=HASH_BYTES).digest()


@dataclass(frozen=True, slots=True)
class Metadata:
    """All that is told about an object without its bytes. Raises InvalidObject beyond the limits of objects.

    `digest` is the hash of the bytes, `commitment` the hash of a secret that only the owner has: a deletion
    must open it. `summary` is a small description, such as a thumbnail. `place` is in metres. `source` is the
    number of the edge in whose area it was published, None if there was none; it never changes.
    """

    key: ObjectKey
    tags: frozenset[str]
    published_us: int
    size: int
    digest: bytes
    commitment: bytes
    summary: bytes = b""
    place: tuple[float, float] | None = None
    attributes: Event | None = None
    replicas: tuple[Replica, ...] = ()
    namespace: str = ""
    source: int | None = None

    def __post_init__(self) -> None:
        check_key(self.key)
        check_tags(self.tags)
        check_namespace(self.namespace)
        if self.source is not None:
            _check_number("source", self.source, 0, MOST_NODES - 1)
        _check_number("published_us", self.published_us, FIRST_US, LAST_US)
        _check_number("size", self.size, 0, LARGEST_OBJECT)
        _check_bytes("digest", self.digest, HASH_BYTES, HASH_BYTES)
        _check_bytes("commitment", self.commitment, HASH_BYTES, HASH_BYTES)
        _check_bytes("summary", self.summary, 0, LONGEST_SUMMARY)
        if self.place is not None:
            check_point("place", self.place)
        if self.attributes is not None:
            _check_attributes(self.attributes)
        _check_replicas(self.replicas)

    def with_replicas(self, replicas: tuple[Replica, ...]) -> Metadata:
        """The same with another list of copies; the rest is not checked again. Raises InvalidObject."""
        _check_replicas(replicas)
        other = object.__new__(Metadata)
        for name in _UNCHANGED:
            object.__setattr__(other, name, getattr(self, name))
        object.__setattr__(other, "replicas", replicas)
        return other

    def opened_by(self, opening: bytes) -> bool:
        """Whether a deletion with this opening is the owner's."""
        return content_hash(opening) == self.commitment

    @property
    def told_bytes(self) -> int:
        """As many bytes as it takes to tell of the object, or some more."""
        size = _FIXED_BYTES + len(self.summary) + _TAG_BYTES * len(self.tags)
        return size if self.attributes is None else size + 2 * _attributes_size(self.attributes)

    def describes(self, data: bytes) -> bool:
        """Whether these are the bytes of the object."""
        return len(data) == self.size and content_hash(data) == self.digest


_UNCHANGED = tuple(each.name for each in fields(Metadata) if each.name != "replicas")


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object: its metadata and its bytes. Raises InvalidObject unless they belong together."""

    metadata: Metadata
    data: bytes

    def __post_init__(self) -> None:
        if not self.metadata.describes(self.data):
            raise InvalidObject(
                f"object {self.metadata.key} of {len(self.data)} bytes: "
                f"expected the {self.metadata.size} bytes that its metadata has the hash of"
            )

    @property
    def key(self) -> ObjectKey:
        """The object's key."""
        return self.metadata.key


class Tombstone(NamedTuple):
    """The mark that an object was deleted: `opening` is the secret to which its metadata was committed."""

    key: ObjectKey
    opening: bytes


def check_key(key: ObjectKey) -> None:
    """Raise InvalidObject unless this can be the key of an object."""
    if not isinstance(key, ObjectKey):  # applications pass what they like
        raise InvalidObject(f"object {shown(key)}: expected the ObjectKey that inserting it gave")
    if not (isinstance(key.owner, int) and 0 <= key.owner < MOST_NODES):
        raise InvalidObject(f"object's owner {shown(key.owner)}: expected a number of 32 bits")
    length = _bytes_of("object's name", key.name)
    if not 0 < length <= LONGEST_NAME:
        raise InvalidObject(f"object's name of {length} bytes: expected 1 to {LONGEST_NAME}")
    if not key.name.isprintable():
        raise InvalidObject(f"object's name {shown(key.name)}: expected printable text")


def check_tags(tags: Iterable[str]) -> None:
    """Raise InvalidObject unless these can be the tags of an object: 1 to 32, of 1 to 64 bytes each."""
    if not isinstance(tags, frozenset):
        raise InvalidObject(f"object's tags {shown(tags)}: expected a frozenset")
    if not 0 < len(tags) <= MOST_TAGS:
        raise InvalidObject(f"object with {len(tags)} tags: expected 1 to {MOST_TAGS}")
    for each in tags:
        try:
            check_tag(each)
        except InvalidFormula as error:
            raise InvalidObject(f"object's {error}") from None


def check_namespace(namespace: str) -> None:
    """Raise InvalidObject unless this can be the name of a namespace; the empty one is common to all."""
    length = _bytes_of("namespace", namespace)
    if length > LONGEST_NAME:
        raise InvalidObject(f"namespace of {length} bytes: expected at most {LONGEST_NAME}")


def check_point(what: str, point: tuple[float, ...]) -> None:
    """Raise InvalidObject unless this is a pair of finite numbers."""
    if len(point) != 2 or not all(isinstance(each, (int, float)) and isfinite(each) for each in point):
        raise InvalidObject(f"{what} {shown(point)}: expected 2 finite numbers")


def check_opening(opening: bytes) -> None:
    """Raise InvalidObject unless this can be the secret of an object."""
    _check_bytes("opening", opening, 1, LONGEST_OPENING)


def _check_replicas(replicas: tuple[Replica, ...]) -> None:
    if len(replicas) > MOST_REPLICAS:
        raise InvalidObject(f"{len(replicas)} replicas: expected at most {MOST_REPLICAS}")


def _check_number(what: str, number: int, least: int, most: int) -> None:
    if type(number) is not int or not least <= number <= most:
        raise InvalidObject(f"object's {what} {shown(number)}: expected {least} to {most}")


def check_given(data: bytes, tags: Iterable[str]) -> None:
    """Raise InvalidObject for data that are no bytes, and for one text instead of several tags."""
    if not isinstance(data, bytes):
        raise InvalidObject(f"object's data {shown(data)}: expected bytes")
    if isinstance(tags, str) or not isinstance(tags, Iterable):
        raise InvalidObject(f"object's tags {shown(tags)}: expected several, such as {{'beach', 'sunset'}}")


def _check_bytes(what: str, data: bytes, least: int, most: int) -> None:
    if not isinstance(data, bytes):
        raise InvalidObject(f"object's {what} {shown(data)}: expected bytes")
    if not least <= len(data) <= most:
        expected = most if least == most else f"{least} to {most}"
        raise InvalidObject(f"object's {what} of {len(data)} bytes: expected {expected}")


def _bytes_of(what: str, text: str) -> int:
    try:
        return len(text.encode())
    except (AttributeError, UnicodeEncodeError):
        raise InvalidObject(f"{what} {shown(text)}: expected a text") from None


def _check_attributes(attributes: Event) -> None:
    if not isinstance(attributes, Event):
        raise InvalidObject(f"object's attributes {shown(attributes)}: expected an Event")
    if attributes.payload:
        raise InvalidObject(
            f"object's attributes with {len(attributes.payload)} bytes of payload: expected none"
        )
    if len(attributes.attributes) > MOST_ATTRIBUTES:
        raise InvalidObject(
            f"object with {len(attributes.attributes)} attributes: expected at most {MOST_ATTRIBUTES}"
        )
    size = _attributes_size(attributes)
    if size > LONGEST_ATTRIBUTES:
        raise InvalidObject(f"object's attributes of {size} bytes: expected at most {LONGEST_ATTRIBUTES}")


def _attributes_size(attributes: Event) -> int:
    return sum(len(name) + _length(value) for name, value in attributes.attributes)


def _length(value: Any) -> int:
    if isinstance(value, str):
        return len(value.encode())
    if isinstance(value, frozenset):
        return sum(map(_length, value))
    return 8
