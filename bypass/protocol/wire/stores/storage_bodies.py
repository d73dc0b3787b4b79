"""The bodies of messages of stores; as in `bodies`. A message in another one has no stamp."""

from __future__ import annotations

from bypass.objects.metadata import Replica
from bypass.objects.query import MOST_ON_A_PAGE
from bypass.objects.tags import MOST_CONJUNCTIONS
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.edge import EdgeRelay
from bypass.protocol.storage import (
    LONGEST_DETAIL,
    Acknowledge,
    AddReplica,
    Ask,
    CellUpdate,
    Chunk,
    CopyObject,
    Delete,
    FoundObjects,
    Insert,
    OperationStatus,
    Remove,
    Retrieve,
    Retrieved,
    StorageMessage,
    Withdraw,
)
from bypass.protocol.wire import bypass_pb2 as pb
from bypass.protocol.wire.fields import extend, required
from bypass.protocol.wire.object_fields import (
    at_most,
    checked_conjunction,
    checked_length,
    checked_offset,
    checked_tags,
    few,
    key_of,
    many,
    object_data,
    optional_number,
    read_cursor,
    read_key,
    read_metadata,
    read_place,
    read_query,
    read_tombstone,
    write_cursor,
    write_key,
    write_metadata,
    write_place,
    write_query,
    write_tombstone,
)
from bypass.protocol.wire.stores.edge_bodies import EDGE_FORMS
from bypass.protocol.wire.stores.state_bodies import STATE_FORMS, Form
from bypass.protocol.wire.values import ValueTypes


def _write_insert(body: pb.Insert, message: Insert, values: ValueTypes) -> None:
    body.op = message.op
    write_metadata(body.metadata, message.metadata, values)
    if message.data is not None:
        body.data = object_data(message.data)


def _read_insert(body: pb.Insert, values: ValueTypes) -> Insert:
    metadata = read_metadata(required(body, "metadata"), values)
    return Insert(required(body, "op"), metadata, object_data(body.data) if body.HasField("data") else None)


def _write_chunk(body: pb.Chunk, message: Chunk, _: ValueTypes) -> None:
    body.op = message.op
    write_key(body.key, message.key)
    body.offset = checked_offset(message.offset)
    body.data = object_data(message.data)


def _read_chunk(body: pb.Chunk, _: ValueTypes) -> Chunk:
    return Chunk(required(body, "op"), key_of(body), checked_offset(body.offset), object_data(body.data))


def _write_copy_object(body: pb.CopyObject, message: CopyObject, values: ValueTypes) -> None:
    write_metadata(body.metadata, message.metadata, values)
    body.data = object_data(message.data)


def _read_copy_object(body: pb.CopyObject, values: ValueTypes) -> CopyObject:
    return CopyObject(read_metadata(required(body, "metadata"), values), object_data(body.data))


def _write_delete(body: pb.Delete, message: Delete, _: ValueTypes) -> None:
    body.op = message.op
    write_tombstone(body, message.key, message.opening)
    body.tags.extend(sorted(checked_tags(message.tags)))


def _read_delete(body: pb.Delete, _: ValueTypes) -> Delete:
    return Delete(required(body, "op"), *read_tombstone(body), frozenset(checked_tags(body.tags)))


def _write_remove(body: pb.Remove, message: Remove, _: ValueTypes) -> None:
    write_tombstone(body, message.key, message.opening)


def _read_remove(body: pb.Remove, _: ValueTypes) -> Remove:
    return Remove(*read_tombstone(body))


def _write_ask(body: pb.Ask, message: Ask, values: ValueTypes) -> None:
    body.op = message.op
    write_query(body.query, message.query, values)
    if message.conjunction is not None:
        body.conjunction = checked_conjunction(message.conjunction)
    if message.cell is not None:
        body.cell = message.cell
    if message.after is not None:
        write_cursor(body.after, message.after)
    body.limit = at_most("items on a page", message.limit, MOST_ON_A_PAGE)
    if message.since_us is not None:
        body.since_us = message.since_us
    body.live = message.live
    body.at_us = message.at_us
    if message.arrived is not None:
        body.arrived = message.arrived


def _read_ask(body: pb.Ask, values: ValueTypes) -> Ask:
    query = read_query(required(body, "query"), values)
    return Ask(
        required(body, "op"),
        query,
        checked_conjunction(body.conjunction) if body.HasField("conjunction") else None,
        optional_number(body, "cell"),
        read_cursor(body, "after"),
        at_most("items on a page", body.limit, MOST_ON_A_PAGE),
        optional_number(body, "since_us"),
        body.live,
        body.at_us,
        arrived=optional_number(body, "arrived"),
    )


def _write_withdraw(body: pb.Withdraw, message: Withdraw, _: ValueTypes) -> None:
    body.op = message.op
    body.query = message.query
    body.tags.extend(checked_tags(message.tags, MOST_CONJUNCTIONS))


def _read_withdraw(body: pb.Withdraw, _: ValueTypes) -> Withdraw:
    return Withdraw(
        required(body, "op"), required(body, "query"), tuple(checked_tags(body.tags, MOST_CONJUNCTIONS))
    )


def _write_found(body: pb.FoundObjects, message: FoundObjects, values: ValueTypes) -> None:
    body.op = message.op
    body.query = message.query
    for each in few("items", message.items):
        write_metadata(body.items.add(), each, values)
    if message.next is not None:
        write_cursor(body.next, message.next)
    body.more = message.more
    if message.conjunction is not None:
        body.conjunction = checked_conjunction(message.conjunction)
    body.arrived = message.arrived
    for key in many("keys", message.held):
        write_key(body.held.add(), key)


def _read_found(body: pb.FoundObjects, values: ValueTypes) -> FoundObjects:
    return FoundObjects(
        required(body, "op"),
        required(body, "query"),
        tuple([read_metadata(each, values) for each in few("items", body.items)]),
        read_cursor(body, "next"),
        body.more,
        checked_conjunction(body.conjunction) if body.HasField("conjunction") else None,
        arrived=body.arrived,
        held=tuple([read_key(each) for each in many("keys", body.held)]),
    )


def _write_retrieve(body: pb.Retrieve, message: Retrieve, _: ValueTypes) -> None:
    body.op = message.op
    write_key(body.key, message.key)
    body.offset = checked_offset(message.offset)
    if message.length is not None:
        body.length = checked_length(message.length)


def _read_retrieve(body: pb.Retrieve, _: ValueTypes) -> Retrieve:
    length = checked_length(body.length) if body.HasField("length") else None
    return Retrieve(required(body, "op"), key_of(body), checked_offset(body.offset), length)


def _write_retrieved(body: pb.Retrieved, message: Retrieved, _: ValueTypes) -> None:
    body.op = message.op
    write_key(body.key, message.key)
    if message.data is not None:
        body.data = object_data(message.data)
    body.offset = checked_offset(message.offset)


def _read_retrieved(body: pb.Retrieved, _: ValueTypes) -> Retrieved:
    data = object_data(body.data) if body.HasField("data") else None
    return Retrieved(required(body, "op"), key_of(body), data, checked_offset(body.offset))


def _write_acknowledge(body: pb.Acknowledge, message: Acknowledge, _: ValueTypes) -> None:
    body.op = message.op
    body.status = message.status
    body.detail = _line(message.detail)
    extend("cells", body.cells, few("cells", message.cells))


def _read_acknowledge(body: pb.Acknowledge, _: ValueTypes) -> Acknowledge:
    cells = tuple(few("cells", body.cells))
    return Acknowledge(required(body, "op"), OperationStatus(body.status), _line(body.detail), cells)


def _write_add_replica(body: pb.AddReplica, message: AddReplica, _: ValueTypes) -> None:
    body.op = message.op
    write_key(body.key, message.key)
    write_place(body.replica, *message.replica)
    body.tags.extend(sorted(checked_tags(message.tags)))


def _read_add_replica(body: pb.AddReplica, _: ValueTypes) -> AddReplica:
    replica = Replica(*read_place(required(body, "replica")))
    return AddReplica(required(body, "op"), key_of(body), replica, frozenset(checked_tags(body.tags)))


def _write_cell_update(body: pb.CellUpdate, message: CellUpdate, values: ValueTypes) -> None:
    _write_inner(body.body, message, message.body, values)
    body.op = message.op
    if message.confirmer is not None:
        body.confirmer = message.confirmer


def _read_cell_update(body: pb.CellUpdate, values: ValueTypes) -> CellUpdate:
    return CellUpdate(
        _read_inner("cell_update", body.body, values), body.op, optional_number(body, "confirmer")
    )


def _write_relay(body: pb.Relay, message: EdgeRelay, values: ValueTypes) -> None:
    write_place(body.target, *message.target)
    _write_inner(body.body, message, message.body, values)


def _read_relay(body: pb.Relay, values: ValueTypes) -> EdgeRelay:
    target = NodeAddress(*read_place(required(body, "target")))
    return EdgeRelay(target, _read_inner("relay", body.body, values))


def _write_inner(
    body: pb.Storage, outer: StorageMessage, message: StorageMessage, values: ValueTypes
) -> None:
    if isinstance(message, _AROUND):
        outer_name, name = type(outer).__name__, type(message).__name__
        raise ValueError(f"{name} in a {outer_name}: expected another message")
    write_storage(body, message, values)


def _read_inner(outer: str, body: pb.Storage, values: ValueTypes) -> StorageMessage:
    name = body.WhichOneof("body")
    if name in ("cell_update", "relay"):  # before it is read: a sender could nest them without end
        raise ValueError(f"{name} in a {outer}: expected another message")
    return read_storage(body, values)


_AROUND = (CellUpdate, EdgeRelay)
"""Messages around others."""


def _line(text: str) -> str:
    """On one line: it ends up in somebody else's log."""
    return " ".join(text[:LONGEST_DETAIL].split())


_FORMS: dict[type[StorageMessage], Form] = {
    Insert: ("insert", _write_insert, _read_insert),
    Chunk: ("chunk", _write_chunk, _read_chunk),
    CopyObject: ("copy_object", _write_copy_object, _read_copy_object),
    Delete: ("delete", _write_delete, _read_delete),
    Remove: ("remove", _write_remove, _read_remove),
    Ask: ("ask", _write_ask, _read_ask),
    Withdraw: ("withdraw", _write_withdraw, _read_withdraw),
    FoundObjects: ("found", _write_found, _read_found),
    Retrieve: ("retrieve", _write_retrieve, _read_retrieve),
    Retrieved: ("retrieved", _write_retrieved, _read_retrieved),
    Acknowledge: ("acknowledge", _write_acknowledge, _read_acknowledge),
    AddReplica: ("add_replica", _write_add_replica, _read_add_replica),
    CellUpdate: ("cell_update", _write_cell_update, _read_cell_update),
    EdgeRelay: ("relay", _write_relay, _read_relay),
    **STATE_FORMS,
    **EDGE_FORMS,
}
"""By class."""

_READERS = {field: read for field, _, read in _FORMS.values()}


def write_storage(body: pb.Storage, message: StorageMessage, values: ValueTypes) -> None:
    field, write, _ = _FORMS[type(message)]
    part = getattr(body, field)
    part.SetInParent()  # some have nothing to say but that they are there
    write(part, message, values)


def read_storage(body: pb.Storage, values: ValueTypes) -> StorageMessage:
    field = body.WhichOneof("body")
    if field is None:
        raise ValueError(f"no message of a store: expected one of {', '.join(_READERS)}")
    message = _READERS[field](getattr(body, field), values)
    assert isinstance(message, StorageMessage)
    return message


STORAGE_MESSAGES = tuple(_FORMS)
"""The classes of all messages of stores."""
