"""Objects, queries and their parts on the wire; and metadata alone, as stores keep it.

Writers and readers raise as those of `bodies`. Constructors of `bypass.objects`
check its bounds.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Any, TypeVar

from google.protobuf.message import Error as ProtobufError

from bypass.errors import BypassError, shown
from bypass.events.event import Event
from bypass.objects.formula_text import check_tag
from bypass.objects.metadata import (
    LARGEST_OBJECT,
    LONGEST_ATTRIBUTES,
    MOST_TAGS,
    Metadata,
    ObjectKey,
    Replica,
    StoredObject,
    Tombstone,
    check_key,
    check_opening,
)
from bypass.objects.query import ObjectQuery, PageCursor
from bypass.objects.tags import MOST_CONJUNCTIONS, TagFormula
from bypass.objects.window import TimeWindow
from bypass.protocol.storage import LONGEST_DATA, MOST_ITEMS, MOST_NAMED
from bypass.protocol.wire import bypass_pb2 as pb
from bypass.protocol.wire.fields import finite, read_pair, required
from bypass.protocol.wire.subscriptions import read_filters, write_filters
from bypass.protocol.wire.values import VALUE_TYPES, ValueTypes

_parsed = lru_cache(maxsize=256)(TagFormula.parse)
"""Subscribers ask again and again for the same."""


def at_most(what: str, number: int, most: int) -> int:
    if number > most:
        raise ValueError(f"{number} {what}: expected at most {most}")
    return number


def optional_number(body: Any, field: str) -> Any:
    return getattr(body, field) if body.HasField(field) else None


def write_key(body: pb.ObjectKey, key: ObjectKey) -> None:
    check_key(key)
    body.owner, body.name = key


def read_key(body: pb.ObjectKey) -> ObjectKey:
    key = ObjectKey(required(body, "owner"), body.name)
    check_key(key)
    return key


def key_of(body: Any) -> ObjectKey:
    """The key that a body is about."""
    return read_key(required(body, "key"))


def write_place(body: pb.Replica | pb.NodeAddress, node: int | None, cell: int | None) -> None:
    """A node, a cell, or both."""
    body.SetInParent()
    if node is not None:
        body.node = node
    if cell is not None:
        body.cell = cell


def read_place(body: pb.Replica | pb.NodeAddress) -> tuple[int | None, int | None]:
    return optional_number(body, "node"), optional_number(body, "cell")


def checked_tags(tags: Collection[str], most: int = MOST_TAGS) -> Collection[str]:
    """These tags, unless they are too many or cannot be some."""
    at_most("tags", len(tags), most)
    for tag in tags:
        check_tag(tag)
    return tags


def write_metadata(body: pb.Metadata, metadata: Metadata, values: ValueTypes) -> None:
    write_key(body.key, metadata.key)
    body.tags.extend(sorted(metadata.tags))
    body.published_us = metadata.published_us
    body.size = metadata.size
    body.digest = metadata.digest
    body.commitment = metadata.commitment
    body.summary = metadata.summary
    if metadata.place is not None:
        body.x, body.y = metadata.place
    if metadata.attributes is not None:
        body.attributes.SetInParent()
        values.write(body.attributes.values.add, metadata.attributes.attributes)
        _check_attributes(body.attributes)
    for replica in metadata.replicas:
        write_place(body.replicas.add(), *replica)
    body.namespace = metadata.namespace
    if metadata.source is not None:
        body.source = metadata.source


def read_metadata(body: pb.Metadata, values: ValueTypes) -> Metadata:
    return Metadata(
        key_of(body),
        frozenset(body.tags),
        required(body, "published_us"),
        body.size,
        body.digest,
        body.commitment,
        body.summary,
        read_pair("place", body, "x", "y"),
        _read_attributes(body.attributes, values) if body.HasField("attributes") else None,
        tuple([Replica(*read_place(each)) for each in body.replicas]),
        body.namespace,
        optional_number(body, "source"),
    )


def _read_attributes(body: pb.Attributes, values: ValueTypes) -> Event:
    _check_attributes(body)
    return Event.of_types(values.attributes, [(each.name, values.read(each)) for each in body.values])


def _check_attributes(body: pb.Attributes) -> None:
    """The constructor of metadata cannot know how long values of an application's own types are."""
    at_most("bytes of attributes", body.ByteSize(), 2 * LONGEST_ATTRIBUTES)


def metadata_to_bytes(metadata: Metadata, values: ValueTypes = VALUE_TYPES) -> bytes:
    """Metadata for a store. Raises ValueError for values that cannot travel."""
    body = pb.Metadata()
    write_metadata(body, metadata, values)
    return body.SerializeToString()


def metadata_from_bytes(data: bytes, values: ValueTypes = VALUE_TYPES) -> Metadata:
    """The metadata of which `metadata_to_bytes` made these bytes. Raises ValueError for others."""
    try:
        return read_metadata(pb.Metadata.FromString(data), values)
    except (BypassError, TypeError, ValueError, ProtobufError) as error:
        raise ValueError(f"metadata {shown(data)}: {error}") from error


def write_query(body: pb.ObjectQuery, query: ObjectQuery, values: ValueTypes) -> None:
    body.id = query.id
    body.formula = str(query.formula)
    if query.window.start_us is not None:
        body.start_us = query.window.start_us
    if query.window.end_us is not None:
        body.end_us = query.window.end_us
    if query.near is not None:
        body.near.extend(query.near)
    if query.where is not None:
        write_filters(body.where.add, query.where, values)
    body.namespace = query.namespace


def read_query(body: pb.ObjectQuery, values: ValueTypes) -> ObjectQuery:
    number = required(body, "id")
    return ObjectQuery(
        number,
        number >> 32,
        _parsed(body.formula),
        TimeWindow(optional_number(body, "start_us"), optional_number(body, "end_us")),
        finite("near", body.near, 3) if body.near else None,
        read_filters(body.where, values) if body.where else None,
        body.namespace,
    )


def write_cursor(body: pb.PageCursor, cursor: PageCursor) -> None:
    body.published_us = cursor.published_us
    write_key(body.key, cursor.key)


def read_cursor(body: Any, field: str) -> PageCursor | None:
    """The position in a field of a body; None if it is absent."""
    if not body.HasField(field):
        return None
    cursor = getattr(body, field)
    return PageCursor(required(cursor, "published_us"), key_of(cursor))


def write_tombstone(body: pb.Tombstone | pb.Remove | pb.Delete, key: ObjectKey, opening: bytes) -> None:
    check_opening(opening)
    write_key(body.key, key)
    body.opening = opening


def read_tombstone(body: pb.Tombstone | pb.Remove | pb.Delete) -> Tombstone:
    check_opening(body.opening)
    return Tombstone(key_of(body), body.opening)


def write_object(body: pb.StoredObject, stored: StoredObject, values: ValueTypes) -> None:
    write_metadata(body.metadata, stored.metadata, values)
    body.data = stored.data


def read_object(body: pb.StoredObject, values: ValueTypes) -> StoredObject:
    return StoredObject(read_metadata(required(body, "metadata"), values), body.data)


_Items = TypeVar("_Items", bound=Collection[Any])


def few(what: str, items: _Items) -> _Items:
    at_most(what, len(items), MOST_ITEMS)
    return items


def many(what: str, items: _Items) -> _Items:
    at_most(what, len(items), MOST_NAMED)
    return items


def object_data(data: bytes) -> bytes:
    at_most("bytes of an object", len(data), LONGEST_DATA)
    return data


def checked_conjunction(number: int) -> int:
    """Check the number of a conjunction; the query beside it may be that conjunction alone."""
    if not 0 <= number < MOST_CONJUNCTIONS:
        raise ValueError(f"conjunction {shown(number)}: expected 0 to {MOST_CONJUNCTIONS - 1}")
    return number


def checked_offset(offset: int) -> int:
    return at_most("bytes before these", offset, LARGEST_OBJECT)


def checked_length(length: int) -> int:
    if not 0 < length <= LONGEST_DATA:
        raise ValueError(f"length {shown(length)}: expected 1 to {LONGEST_DATA}")
    return length
