"""The body of a datagram; as in `bodies`."""

from __future__ import annotations

from bypass.errors import shown
from bypass.objects.metadata import check_namespace
from bypass.protocol.datagrams import (
    MOST_FRAGMENTS,
    MOST_GAP,
    MOST_MEMBERS,
    MOST_ROUTES,
    MOST_SEARCHED,
    MOST_TARGETS,
    SIGNATURE_BYTES,
    AreaHello,
    Beacon,
    Datagram,
    DatagramScope,
    EdgeAnswer,
    EdgeBeacon,
    EdgeProbe,
    Fragment,
    NodeAddress,
    Recovery,
    RouteEntry,
    RouteTable,
    RoutingMessage,
    Search,
    Undeliverable,
)
from bypass.protocol.storage import LONGEST_DATA, StorageMessage
from bypass.protocol.wire import bypass_pb2 as pb
from bypass.protocol.wire.fields import required
from bypass.protocol.wire.object_fields import at_most, optional_number, read_place, write_place
from bypass.protocol.wire.stores.edge_bodies import read_world, read_worlds, write_world, write_worlds
from bypass.protocol.wire.stores.storage_bodies import read_storage, write_storage
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
    if isinstance(message.recovery, Search):
        _write_search(body.search, message.recovery)
    elif message.recovery is not None:
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
        case Beacon(cell, moving, cells, around, island, count, gap):
            _check_beacon(around, gap)
            body.beacon.SetInParent()
            if cell is not None:
                body.beacon.cell = cell
            body.beacon.moving, body.beacon.cells = moving, cells
            body.beacon.around, body.beacon.gap = around, gap
            body.beacon.island, body.beacon.count = island, count
        case RouteTable(entries):
            body.routes.SetInParent()
            at_most("routes", len(entries), MOST_ROUTES)
            for destination, metric, sequence in entries:
                body.routes.entries.add(destination=destination, metric=metric, sequence=sequence)
        case Undeliverable(datagram, target):
            body.undeliverable.datagram = datagram
            write_place(body.undeliverable.target, *target)
        case EdgeProbe(nonce):
            body.edge_probe.nonce = nonce
        case EdgeAnswer():
            _write_answer(body.edge_answer, message.body)
        case EdgeBeacon():
            _write_edge_beacon(body.edge_beacon, message.body)
        case AreaHello(world, leaving, visiting):
            hello = body.area_hello
            hello.SetInParent()
            check_namespace(world)
            hello.world, hello.leaving, hello.visiting = world, leaving, visiting
        case Fragment(part, parts, data):
            _check_fragment(part, parts, data)
            body.fragment.part, body.fragment.parts, body.fragment.data = part, parts, data
        case other:
            raise TypeError(
                f"body {shown(other)}: expected a message of a store or of routing, or a fragment"
            )


def _write_recovery(body: pb.Recovery, recovery: Recovery) -> None:
    body.SetInParent()
    body.entered, (body.first_from, body.first_to), body.previous, crossed, body.gap = recovery
    if crossed is not None:
        first, second = crossed
        body.crossed.extend((first, second))


def _read_recovery(body: pb.Recovery) -> Recovery:
    if len(body.crossed) not in (0, 2):
        raise ValueError(f"crossed {shown(list(body.crossed))}: expected two cells, or none")
    crossed = (body.crossed[0], body.crossed[1]) if body.crossed else None
    return Recovery(body.entered, (body.first_from, body.first_to), body.previous, crossed, body.gap)


def _write_search(body: pb.Search, search: Search) -> None:
    at_most("visited", len(search.visited), MOST_SEARCHED)
    at_most("trail", len(search.trail), MOST_SEARCHED)
    body.SetInParent()
    body.entered = search.entered
    for node, cell in search.visited:
        write_place(body.visited.add(), node, cell)
    body.trail.extend(search.trail)


def _read_search(body: pb.Search) -> Search:
    at_most("visited", len(body.visited), MOST_SEARCHED)
    at_most("trail", len(body.trail), MOST_SEARCHED)
    visited = tuple([NodeAddress(*read_place(each)) for each in body.visited])
    return Search(body.entered, visited, tuple(body.trail))


def _read_way(body: pb.Datagram) -> Recovery | Search | None:
    if body.HasField("search"):
        return _read_search(body.search)
    return _read_recovery(body.recovery) if body.HasField("recovery") else None


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
        _read_way(body),
        required(body, "initiator"),
        body.namespace,
    )


def _read_body(body: pb.Datagram, values: ValueTypes) -> StorageMessage | RoutingMessage | Fragment:
    match body.WhichOneof("body"):
        case "storage":
            return read_storage(body.storage, values)
        case "beacon":
            beacon = body.beacon
            _check_beacon(beacon.around, beacon.gap)
            return Beacon(
                optional_number(beacon, "cell"), beacon.moving, beacon.cells, beacon.around,
                beacon.island, beacon.count, beacon.gap,
            )  # fmt: skip
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
        case "edge_probe":
            return EdgeProbe(required(body.edge_probe, "nonce"))
        case "edge_answer":
            return _read_answer(body.edge_answer)
        case "edge_beacon":
            return _read_edge_beacon(body.edge_beacon)
        case "area_hello":
            check_namespace(body.area_hello.world)
            hello = body.area_hello
            return AreaHello(hello.world, hello.leaving, hello.visiting)
    raise ValueError("datagram without a body: expected a message of a store or of routing, or a fragment")


def _write_answer(body: pb.EdgeAnswer, answer: EdgeAnswer) -> None:
    body.nonce, body.edge, body.signature = answer.nonce, answer.edge, _signature(answer.signature)
    write_worlds(body.worlds, answer.worlds)


def _read_answer(body: pb.EdgeAnswer) -> EdgeAnswer:
    worlds = read_worlds(body.worlds)
    return EdgeAnswer(required(body, "nonce"), required(body, "edge"), worlds, _signature(body.signature))


def _write_edge_beacon(body: pb.EdgeBeacon, beacon: EdgeBeacon) -> None:
    body.edge, body.sequence, body.signature = beacon.edge, beacon.sequence, _signature(beacon.signature)
    write_world(body.world, beacon.world)
    at_most("members", len(beacon.members), MOST_MEMBERS)
    body.members.extend(beacon.members)
    at_most("visitors", len(beacon.visitors), MOST_MEMBERS)
    body.visitors.extend(beacon.visitors)


def _read_edge_beacon(body: pb.EdgeBeacon) -> EdgeBeacon:
    at_most("members", len(body.members), MOST_MEMBERS)
    at_most("visitors", len(body.visitors), MOST_MEMBERS)
    return EdgeBeacon(
        required(body, "edge"),
        required(body, "sequence"),
        read_world(required(body, "world")),
        tuple(body.members),
        _signature(body.signature),
        tuple(body.visitors),
    )


def _signature(signature: bytes) -> bytes:
    if len(signature) not in (0, SIGNATURE_BYTES):
        raise ValueError(f"signature of {len(signature)} bytes: expected {SIGNATURE_BYTES}, or none")
    return signature


def _check_beacon(around: int, gap: int) -> None:
    if not 0 <= around < 256:
        raise ValueError(f"around {around}: expected 0 to 255")
    if not 0 <= gap <= MOST_GAP:
        raise ValueError(f"gap {gap}: expected 0 to {MOST_GAP}")


def _read_route(entry: pb.RouteEntry) -> RouteEntry:
    return RouteEntry(required(entry, "destination"), required(entry, "metric"), required(entry, "sequence"))


def _check_fragment(part: int, parts: int, data: bytes) -> None:
    if not 0 <= part < parts <= MOST_FRAGMENTS:
        raise ValueError(
            f"fragment {shown(part)} of {shown(parts)}: expected a smaller one of 1 to {MOST_FRAGMENTS}"
        )
    at_most("bytes of a fragment", len(data), LONGEST_DATA)
