"""The bodies of messages about the state of nodes and cells, and about plans; as in `bodies`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from bypass.errors import shown
from bypass.protocol.storage import (
    MOST_PARTS,
    CountsRequest,
    Decision,
    DigestKind,
    JoinRequest,
    MoveNode,
    NodeCounts,
    NodeState,
    PlanCopy,
    PlanRequest,
    QueryRecord,
    StateDigest,
    StorageMessage,
)
from bypass.protocol.wire import bypass_pb2 as pb
from bypass.protocol.wire.fields import extend, required
from bypass.protocol.wire.object_fields import (
    checked_conjunction,
    few,
    many,
    object_data,
    optional_number,
    read_key,
    read_metadata,
    read_object,
    read_query,
    read_tombstone,
    write_key,
    write_metadata,
    write_object,
    write_query,
    write_tombstone,
)
from bypass.protocol.wire.values import ValueTypes


def _write_move_node(body: pb.MoveNode, message: MoveNode, _: ValueTypes) -> None:
    body.node = message.node
    if message.cell is not None:
        body.cell = message.cell
    extend("queries", body.queries, many("queries", message.queries))
    for key in many("keys", message.keys):
        write_key(body.keys.add(), key)
    body.at_us = message.at_us


def _read_move_node(body: pb.MoveNode, _: ValueTypes) -> MoveNode:
    keys = [read_key(each) for each in many("keys", body.keys)]
    return MoveNode(
        required(body, "node"),
        optional_number(body, "cell"),
        tuple(many("queries", body.queries)),
        tuple(keys),
        required(body, "at_us"),
    )


def _write_join_request(body: pb.JoinRequest, message: JoinRequest, _: ValueTypes) -> None:
    if message.cell is not None:
        body.cell = message.cell
    extend("cells", body.cells, many("cells", message.cells))


def _read_join_request(body: pb.JoinRequest, _: ValueTypes) -> JoinRequest:
    return JoinRequest(optional_number(body, "cell"), tuple(many("cells", body.cells)))


def _write_node_state(body: pb.NodeState, message: NodeState, values: ValueTypes) -> None:
    _check_part(message.part, message.parts)
    if message.cell is not None:
        body.cell = message.cell
    for metadata in few("objects' metadata", message.metadata):
        write_metadata(body.metadata.add(), metadata, values)
    for record in few("queries", message.queries):
        _write_record(body.queries.add(), record, values)
    for tombstone in many("tombstones", message.tombstones):
        write_tombstone(body.tombstones.add(), *tombstone)
    extend("withdrawn", body.withdrawn, many("withdrawn queries", message.withdrawn))
    for stored in few("objects", message.objects):
        write_object(body.objects.add(), stored, values)
    body.part, body.parts = message.part, message.parts


def _read_node_state(body: pb.NodeState, values: ValueTypes) -> NodeState:
    _check_part(body.part, body.parts)
    return NodeState(
        optional_number(body, "cell"),
        tuple([read_metadata(each, values) for each in few("objects' metadata", body.metadata)]),
        tuple([_read_record(each, values) for each in few("queries", body.queries)]),
        tuple([read_tombstone(each) for each in many("tombstones", body.tombstones)]),
        tuple(many("withdrawn queries", body.withdrawn)),
        tuple([read_object(each, values) for each in few("objects", body.objects)]),
        body.part,
        body.parts,
    )


def _write_record(body: pb.QueryRecord, record: QueryRecord, values: ValueTypes) -> None:
    write_query(body.query, record.query, values)
    if record.conjunction is not None:
        body.conjunction = checked_conjunction(record.conjunction)
    if record.cell is not None:
        body.cell = record.cell
    body.at_us = record.at_us


def _read_record(body: pb.QueryRecord, values: ValueTypes) -> QueryRecord:
    query = read_query(required(body, "query"), values)
    number = checked_conjunction(body.conjunction) if body.HasField("conjunction") else None
    return QueryRecord(query, number, optional_number(body, "cell"), required(body, "at_us"))


def _write_state_digest(body: pb.StateDigest, message: StateDigest, _: ValueTypes) -> None:
    body.cell = message.cell
    extend("entries", body.entries, many("entries", message.entries))
    body.kind = message.kind


def _read_state_digest(body: pb.StateDigest, _: ValueTypes) -> StateDigest:
    return StateDigest(required(body, "cell"), tuple(many("entries", body.entries)), DigestKind(body.kind))


def _write_plan_request(body: pb.PlanRequest, message: PlanRequest, _: ValueTypes) -> None:
    body.epoch, body.scheme, body.initiator = message.decision


def _read_plan_request(body: pb.PlanRequest, _: ValueTypes) -> PlanRequest:
    return PlanRequest(Decision(*[required(body, field) for field in ("epoch", "scheme", "initiator")]))


def _write_plan_copy(body: pb.PlanCopy, message: PlanCopy, _: ValueTypes) -> None:
    body.plan = object_data(message.plan)


def _read_plan_copy(body: pb.PlanCopy, _: ValueTypes) -> PlanCopy:
    return PlanCopy(object_data(body.plan))


def _write_counts_request(body: pb.CountsRequest, _: CountsRequest, __: ValueTypes) -> None:
    body.SetInParent()


def _read_counts_request(_: pb.CountsRequest, __: ValueTypes) -> CountsRequest:
    return CountsRequest()


def _write_node_counts(body: pb.NodeCounts, message: NodeCounts, _: ValueTypes) -> None:
    body.SetInParent()
    for name in _COUNTED:
        setattr(body, name, getattr(message, name))


def _read_node_counts(body: pb.NodeCounts, _: ValueTypes) -> NodeCounts:
    return NodeCounts(*[getattr(body, name) for name in _COUNTED])


def _check_part(part: int, parts: int) -> None:
    if not 0 <= part < parts <= MOST_PARTS:
        raise ValueError(f"part {shown(part)} of {shown(parts)}: expected a smaller one of 1 to {MOST_PARTS}")


_COUNTED = tuple(field.name for field in pb.NodeCounts.DESCRIPTOR.fields)

Form: TypeAlias = tuple[str, Callable[[Any, Any, ValueTypes], None], Callable[[Any, ValueTypes], Any]]
"""The field for a message, what fills it, and what makes a message of it."""

STATE_FORMS: dict[type[StorageMessage], Form] = {
    MoveNode: ("move_node", _write_move_node, _read_move_node),
    JoinRequest: ("join_request", _write_join_request, _read_join_request),
    NodeState: ("node_state", _write_node_state, _read_node_state),
    StateDigest: ("state_digest", _write_state_digest, _read_state_digest),
    PlanRequest: ("plan_request", _write_plan_request, _read_plan_request),
    PlanCopy: ("plan_copy", _write_plan_copy, _read_plan_copy),
    CountsRequest: ("counts_request", _write_counts_request, _read_counts_request),
    NodeCounts: ("node_counts", _write_node_counts, _read_node_counts),
}
"""By class."""
