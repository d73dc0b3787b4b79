"""The body of a datagram; as in `bodies`."""

from __future__ import annotations

from bypass.errors import shown
from bypass.objects.metadata import check_namespace
from bypass.protocol.datagrams import (
    MOST_FRAGMENTS,
    MOST_ROUTES,
    MOST_TARGETS,
    Beacon,
    Datagram,
    DatagramScope,
    Fragment,
    NodeAddress,
    Recovery,
    RouteEntry,
    RouteTable,
    Undeliverable,
)
from bypass.protocol.storage import LONGEST_DATA, StorageMessage
from bypass.protocol.wire import bypass_pb2 as pb
from bypass.protocol.wire.fields import required
from bypass.protocol.wire.object_fields import at_most, optional_number, read_place, write_place
from bypass.protocol.wire.storage_bodies import read_storage, write_storage
from bypass.protocol.wire.values import ValueTypes

_SCOPES = {scope.value: scope for scope in DatagramScope}


def write_datagram(body: pb.Datagram, message: Datagram, values: ValueTypes) -> None:
    if message.origin.node != message.id >> 32:
        raise ValueError(
            f"origin {shown(message.origin.node)} of datagram {message.id}: expected {message.id >> 32}"
        )
    body.id = message.id
    if message.origin.cell is not None:
        body.origin_cell = message.origin.cell
    at_most("targets", len(message.targets), MOST_TARGETS)
    for target in message.targets:
        write_place(body.targets.add(), *target)
    body.scope = message.scope
    body.hops = message.hops
    if message.recovery is not None:
        _write_recovery(body.recovery, message.recovery)
    body.initiator = message.initiator
    check_namespace(message.namespace)
    body.namespace = message.namespace
    write_body(body, message, values)


def write_body(body: pb.Datagram, message: Datagram, values: ValueTypes) -> None:
    """Write the part of a datagram that all hops leave as it is."""
    match message.body:
        case StorageMessage() as stored:
            write_storage(body.storage, stored, values)
        case Beacon(cell, moving, cells):
            body.beacon.SetInParent()
            if cell is not None:
                body.beacon.cell = cell
            body.beacon.moving, body.beacon.cells = moving, cells
        case RouteTable(entries):
            body.routes.SetInParent()
            at_most("routes", len(entries), MOST_ROUTES)
            for destination, metric, sequence in entries:
                body.routes.entries.add(destination=destination, metric=metric, sequence=sequence)
        case Undeliverable(datagram, target):
            body.undeliverable.datagram = datagram
            write_place(body.undeliverable.target, *target)
        case Fragment(part, parts, data):
            _check_fragment(part, parts, data)
            body.fragment.part, body.fragment.parts, body.fragment.data = part, parts, data
        case other:
            raise TypeError(
                f"body {shown(other)}: expected a message of a store or of routing, or a fragment"
            )


def _write_recovery(body: pb.Recovery, recovery: Recovery) -> None:
    body.SetInParent()
    body.entered, (body.first_from, body.first_to), body.previous, crossed = recovery
    if crossed is not None:
        first, second = crossed
        body.crossed.extend((first, second))


def _read_recovery(body: pb.Recovery) -> Recovery:
    if len(body.crossed) not in (0, 2):
        raise ValueError(f"crossed {shown(list(body.crossed))}: expected two cells, or none")
    crossed = (body.crossed[0], body.crossed[1]) if body.crossed else None
    return Recovery(body.entered, (body.first_from, body.first_to), body.previous, crossed)


def read_datagram(body: pb.Datagram, values: ValueTypes) -> Datagram:
    number = required(body, "id")
    if body.scope not in _SCOPES:
        raise ValueError(f"scope {body.scope}: expected one of {', '.join(map(str, _SCOPES))}")
    at_most("targets", len(body.targets), MOST_TARGETS)
    check_namespace(body.namespace)
    return Datagram(
        number,
        NodeAddress(number >> 32, optional_number(body, "origin_cell")),
        tuple([NodeAddress(*read_place(each)) for each in body.targets]),
        _SCOPES[body.scope],
        _read_body(body, values),
        required(body, "hops"),
        _read_recovery(body.recovery) if body.HasField("recovery") else None,
        required(body, "initiator"),
        body.namespace,
    )


def _read_body(
    body: pb.Datagram, values: ValueTypes
) -> StorageMessage | Beacon | RouteTable | Undeliverable | Fragment:
    match body.WhichOneof("body"):
        case "storage":
            return read_storage(body.storage, values)
        case "beacon":
            return Beacon(optional_number(body.beacon, "cell"), body.beacon.moving, body.beacon.cells)
        case "routes":
            at_most("routes", len(body.routes.entries), MOST_ROUTES)
            return RouteTable(tuple([_read_route(each) for each in body.routes.entries]))
        case "undeliverable":
            target = NodeAddress(*read_place(required(body.undeliverable, "target")))
            return Undeliverable(required(body.undeliverable, "datagram"), target)
        case "fragment":
            fragment = body.fragment
            _check_fragment(fragment.part, fragment.parts, fragment.data)
            return Fragment(fragment.part, fragment.parts, fragment.data)
    raise ValueError("datagram without a body: expected storage, beacon, routes, undeliverable or fragment")


def _read_route(entry: pb.RouteEntry) -> RouteEntry:
    return RouteEntry(required(entry, "destination"), required(entry, "metric"), required(entry, "sequence"))


def _check_fragment(part: int, parts: int, data: bytes) -> None:
    if not 0 <= part < parts <= MOST_FRAGMENTS:
        raise ValueError(
            f"fragment {shown(part)} of {shown(parts)}: expected a smaller one of 1 to {MOST_FRAGMENTS}"
        )
    at_most("bytes of a fragment", len(data), LONGEST_DATA)
