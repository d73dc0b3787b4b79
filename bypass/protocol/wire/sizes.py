"""Sizes of messages in bytes, without encoding each: for whoever accounts traffic.

Applications publish few shapes of events very often: each shape is encoded once.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from contextlib import suppress
from functools import cache, lru_cache

from bypass.events.event import Event
from bypass.objects.metadata import LONGEST_NAME
from bypass.places.areas import Area
from bypass.protocol.datagrams import (
    MOST_TARGETS,
    Beacon,
    Datagram,
    DatagramScope,
    NodeAddress,
    RouteEntry,
    RouteTable,
    Search,
)
from bypass.protocol.messages import MOST_TOGETHER, Frame, Kind, Message, Notify, Publish
from bypass.protocol.wire import bypass_pb2 as pb
from bypass.protocol.wire.codec import (
    CODEC,
    MAX_MESSAGE_BYTES,
    REFUSALS,
    Codec,
    MalformedMessage,
    encode,
)


def encoded_size(message: Message, codec: Codec = CODEC) -> int:
    """How many bytes `encode` makes of the message. Raises as `encode` does."""
    if type(message) is Publish and message.piggyback is None and (shape := _shape(message)) is not None:
        return _publish_size(*shape, message.address != 0)
    return len(codec.encode(message))


def notify_size(
    publication: Publish,
    handles: int,
    unfiltered: bool,
    relay: bool = False,
    targets: int = 0,
    codec: Codec = CODEC,
) -> int:
    """The size of every notification of `publication` for so many handles and targets, whoever gets it.

    One look at the publication serves all its notifications: clients, handles, targets and epochs do not make
    a difference, nor do scheme flags below 128. Raises as `encode` does.
    """
    if publication.piggyback is None and (shape := _shape(publication)) is not None:
        return _notify_size(*shape, publication.epoch == 0, handles, unfiltered, relay, targets)
    return len(codec.encode(Notify(publication, (0,) * handles, unfiltered, relay, (0,) * targets)))


def frame_size(publications: Sequence[Publish], placed: bool, codec: Codec = CODEC) -> int:
    """The size of every frame without an address that has these publications; of a hello if there are none.

    Clients, epochs, scopes and where the place is do not make a difference, nor do ports and flags below 128.
    Raises as `encode` does.
    """
    body = _PLACED if placed else _BARE
    for publication in publications:
        shape = _shape(publication)
        if shape is None:
            break
        body += _copy_size(*shape)
    else:
        size = _AROUND + _varint_size(body) + body  # its length is a varint
        if size <= MAX_MESSAGE_BYTES and len(publications) <= MOST_TOGETHER:
            return size
    return len(codec.encode(_frame(placed, publications)))


@cache  # it has few arguments that it does not refuse
def digest_size(ids: int, placed: bool) -> int:
    """The size of every digest of so many events; otherwise as `frame_size`."""
    return len(encode(_frame(placed, (), (0,) * ids)))


def datagram_size(datagram: Datagram, codec: Codec = CODEC) -> int:
    """The size of a datagram, whose body is encoded at the first hop alone.

    Raises as `encode` does there; at later hops, and in announcements of routing, numbers out of range are
    not noticed.
    """
    header = _header_size(datagram)
    if not datagram.body_size:
        content = datagram.body
        metrics = [metric for _, metric, _ in content.entries] if type(content) is RouteTable else []
        if metrics and (longest := max(metrics)) <= _MIDDLE:
            long = sum([metric > _SHORT for metric in metrics]) if longest > _SHORT else 0
            datagram.body_size = _table_size(len(metrics), long)
        elif type(content) is Beacon:
            count = 1 + _varint_size(content.count) if content.count else 0
            told = (content.cell, content.moving, content.cells, content.around, content.island)
            datagram.body_size = _beacon_size(*told, content.gap) + count
        else:
            datagram.body_size = _datagram_body_size(datagram, codec)
    body = datagram.body_size + header
    size = (
        _ENVELOPE
        + _varint_size(datagram.scheme)
        + 2
        + _varint_size(body)
        + body
        + (10 if datagram.address else 0)
    )
    if size > MAX_MESSAGE_BYTES:
        raise MalformedMessage(f"Datagram of {size} bytes: expected at most {MAX_MESSAGE_BYTES}")
    return size


_ENVELOPE = 2 + 5 + 1 + 5
"""Version, client, epoch, and the tag of the scheme."""
_SHORT, _MIDDLE = 127, 16_383
"""The largest numbers that take one byte, and two."""


def _datagram_body_size(datagram: Datagram, codec: Codec = CODEC) -> int:
    if _has_plain_header(datagram):
        from bypass.protocol.wire.stores.datagram_bodies import write_body

        body = pb.Datagram()
        with suppress(*REFUSALS):
            write_body(body, datagram, codec.values)
            return body.ByteSize()
    return pb.Envelope.FromString(codec.encode(datagram)).datagram.ByteSize() - _header_size(datagram)


def _has_plain_header(datagram: Datagram) -> bool:
    """Whether nothing but its body can keep a datagram from being encoded; it can be so, too, if not."""
    node, cell = datagram.origin
    targets, namespace = datagram.targets, datagram.namespace
    if datagram.recovery is not None or len(targets) > MOST_TARGETS or len(namespace) > LONGEST_NAME:
        return False
    try:
        _NUMBERS(
            datagram.id, node, cell or 0, datagram.scope, datagram.hops, datagram.initiator,
            datagram.client, datagram.scheme, datagram.epoch,
        )  # fmt: skip
        for target in targets:
            _TARGET(target[0] or 0, target[1] or 0)
    except struct.error:
        return False
    return namespace.isascii() and node == datagram.id >> 32


_NUMBERS, _TARGET = struct.Struct("=Q8I").pack, struct.Struct("=2I").pack


@lru_cache(maxsize=4096)
def _table_size(entries: int, long: int) -> int:
    """The size of a table of ways, of which so many have metrics that take two bytes."""
    metrics = (*[_SHORT + 1] * long, *[0] * (entries - long))
    table = RouteTable(tuple([RouteEntry(0, metric, 0) for metric in metrics]))
    return _datagram_body_size(Datagram(0, NodeAddress(0), (), DatagramScope.HOP, table))


@lru_cache(maxsize=4096)
def _beacon_size(cell: int | None, moving: bool, cells: int, around: int, island: int, gap: int) -> int:
    """The size of a beacon without its count, which is another one in each."""
    beacon = Beacon(cell, moving, cells, around, island, 0, gap)
    return _datagram_body_size(Datagram(0, NodeAddress(0), (), DatagramScope.HOP, beacon))


def _header_size(datagram: Datagram) -> int:
    """The bytes of a datagram's fields besides its body."""
    size = 9 + 5 + 1 + _varint_size(datagram.hops) + _optional_size(datagram.origin.cell)
    size += 2 if datagram.scope else 0
    if not (datagram.targets or datagram.recovery or datagram.namespace):  # as announcements of routing
        return size
    for node, cell in datagram.targets:
        size += 2 + (0 if node is None else 5) + _optional_size(cell)
    if isinstance(datagram.recovery, Search):
        entered_at, visited, trail = datagram.recovery
        search = (1 + _varint_size(entered_at) if entered_at else 0) + 2 * len(visited)
        search += sum((0 if node is None else 5) + _optional_size(cell) for node, cell in visited)
        search += 1 + _varint_size(4 * len(trail)) + 4 * len(trail) if trail else 0
        size += 2 + _varint_size(search) + search
    elif datagram.recovery is not None:
        entered, (first, second), previous, crossed, gap = datagram.recovery
        size += (
            2 + 2 * gap + sum(1 + _varint_size(cell) for cell in (entered, first, second, previous) if cell)
        )
        size += 2 + sum(map(_varint_size, crossed)) if crossed else 0
    if datagram.namespace:
        size += 2 + len(datagram.namespace.encode())
    return size


def _optional_size(number: int | None) -> int:
    return 0 if number is None else 1 + _varint_size(number)


def _varint_size(number: int) -> int:
    return 1 if 0 <= number <= _SHORT else (number.bit_length() + 6) // 7 or 1


Extras = tuple[bool, Area | None, bool]
"""Whether there is an altitude, the area, whether there is a lifetime."""
PublishShape = tuple[Event, tuple[type, ...], Kind, bool, str | None, int, Extras | None]
_PLAIN_TYPES = frozenset((int, float, str, bool))


def _shape(publication: Publish) -> PublishShape | None:
    """All that the size of a publication depends on, besides what rides on it: the rest has a fixed width.

    None if the size is not worth remembering. Types, because 1 and 1.0 are equal but not equally long.
    """
    event = publication.event
    types = event.value_types
    if not _PLAIN_TYPES.issuperset(types):
        return None
    return (
        event,
        types,
        publication.kind,
        publication.location is None,
        publication.channel,
        publication.scheme,
        None
        if publication.z is None and publication.area is None and publication.lifetime is None
        else (publication.z is not None, publication.area, publication.lifetime is not None),
    )


@lru_cache(maxsize=1024)
def _publish_size(
    event: Event,
    types: tuple[type, ...],  # noqa: ARG001 - tells equal events apart
    kind: Kind,
    placeless: bool,
    channel: str | None,
    scheme: int,
    extras: Extras | None,
    addressed: bool,
) -> int:
    publication = _of_shape(event, kind, placeless, channel, scheme, extras, 1)
    publication.address = int(addressed)
    return len(encode(publication))


@lru_cache(maxsize=1024)
def _notify_size(
    event: Event,
    types: tuple[type, ...],  # noqa: ARG001
    kind: Kind,
    placeless: bool,
    channel: str | None,
    scheme: int,
    extras: Extras | None,
    first_epoch: bool,
    handles: int,
    unfiltered: bool,
    relay: bool,
    targets: int,
) -> int:
    publication = _of_shape(event, kind, placeless, channel, scheme, extras, 0 if first_epoch else 1)
    return len(encode(Notify(publication, (0,) * handles, unfiltered, relay, (0,) * targets)))


@lru_cache(maxsize=1024)
def _copy_size(
    event: Event,
    types: tuple[type, ...],  # noqa: ARG001
    kind: Kind,
    placeless: bool,
    channel: str | None,
    scheme: int,
    extras: Extras | None,
) -> int:
    """Count the bytes that a publication adds to the body of a frame."""
    publication = _of_shape(event, kind, placeless, channel, scheme, extras, 1)
    return _body_size(_frame(False, (publication,))) - _BARE


def _of_shape(
    event: Event,
    kind: Kind,
    placeless: bool,
    channel: str | None,
    scheme: int,
    extras: Extras | None,
    epoch: int,
) -> Publish:
    location = None if placeless else (0.0, 0.0)
    publication = Publish(0, event, kind, 0, location, channel, scheme=scheme, epoch=epoch)
    if extras is not None:
        high, publication.area, mortal = extras
        publication.z = 0.0 if high else None
        publication.lifetime = 0 if mortal else None
    return publication


def _frame(placed: bool, publications: Sequence[Publish] = (), ids: tuple[int, ...] | None = None) -> Frame:
    return Frame(0, place=(0.0, 0.0) if placed else None, publications=tuple(publications), ids=ids)


def _body_size(frame: Frame) -> int:
    return pb.Envelope.FromString(encode(frame)).frame.ByteSize()


_BARE = _body_size(_frame(False))
_PLACED = _body_size(_frame(True))
_AROUND = len(encode(_frame(False))) - 1 - _BARE
"""Of a frame all but its body and the length of that, which took one byte here."""
