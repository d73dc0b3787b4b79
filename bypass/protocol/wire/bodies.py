"""The body of every kind of message: how its fields map to those of `bypass.proto`.

Writers fill a body that is empty, readers make a message of it. Both raise TypeError or ValueError, and
readers also what events, filters and subscriptions raise, for what cannot or must not travel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import isfinite
from types import ModuleType
from typing import Any

from bypass.errors import shown
from bypass.events.attributes import TYPES
from bypass.events.event import Event
from bypass.protocol.messages import (
    MOST_TOGETHER,
    AllowFollowing,
    Assignment,
    AssignmentRequest,
    Circle,
    ContextUpdate,
    FollowedPlace,
    Frame,
    Kind,
    Message,
    Notify,
    OutcomeMessage,
    PlanMessage,
    Publish,
    Subscribe,
    Unsubscribe,
)
from bypass.protocol.scheme_context import PackedFields, SchemeContext
from bypass.protocol.wire import bypass_pb2 as pb
from bypass.protocol.wire.fields import extend, finite, read_pair, rectangle, required
from bypass.protocol.wire.following_bodies import (
    read_allow_following,
    read_followed_place,
    write_allow_following,
    write_followed_place,
)
from bypass.protocol.wire.session_bodies import SESSION_READERS, SESSION_WRITERS
from bypass.protocol.wire.subscriptions import read_subscribe, write_subscribe
from bypass.protocol.wire.values import PLAIN, ValueTypes

MOST_IDS = 1024
"""How many events a digest can name."""


def stamp(message: Message, client: int, scheme: int, epoch: int, address: int = 0) -> None:
    """Say who sent the message, with which configuration, and where the sender is reached from nearby."""
    message.client = client
    message.scheme = scheme
    message.epoch = epoch
    message.address = address


def _write_location(body: Any, location: tuple[float, float]) -> None:
    x, y = location
    if not (isfinite(x) and isfinite(y)):
        raise ValueError(f"location {shown(location)}: expected 2 finite numbers")
    body.x = x
    body.y = y


def _read_location(body: Any) -> tuple[float, float]:
    x = required(body, "x")
    y = required(body, "y")
    if not (isfinite(x) and isfinite(y)):
        raise ValueError(f"location {(x, y)}: expected 2 finite numbers")
    return x, y


def _write_publish(body: pb.Publish, message: Publish, values: ValueTypes) -> None:
    body.id = message.id
    body.at_us = message.at_us
    body.kind = message.kind  # type: ignore[assignment] # the same numbers
    if message.location is not None:
        _write_location(body, message.location)
    if message.channel is not None:
        body.channel = message.channel
    event = message.event
    values.write(body.attributes.add, event.attributes)
    body.payload = event.payload
    if message.z is not None:
        body.z = finite("z", (message.z,), 1)[0]
    if message.area is not None:
        _areas().write_area(body.area, message.area)
    if message.lifetime is not None:
        body.lifetime_us = message.lifetime


_KINDS = {kind.value: kind for kind in Kind}  # looked up, not made: the enumeration takes ten times as long


def _read_event(body: pb.Publish, values: ValueTypes) -> Event:
    pairs = [  # most values are plain: to ask for these costs a call less here
        (each.name, getattr(each, kind) if (kind := each.WhichOneof("value")) in PLAIN else values.read(each))
        for each in body.attributes
    ]
    if values.attributes is not TYPES:
        return Event.of_types(values.attributes, pairs, body.payload)
    named = dict(pairs)
    if len(named) == len(pairs) and "payload" not in named:  # nearly always, and the fastest way
        return Event(payload=body.payload, **named)
    return Event(pairs, payload=body.payload)


def _read_publish(body: pb.Publish, values: ValueTypes) -> Publish:
    placed = body.HasField("x") or body.HasField("y")
    message = Publish(
        required(body, "id"),
        _read_event(body, values),
        _KINDS.get(body.kind) or Kind(body.kind),
        body.at_us,
        _read_location(body) if placed else None,
        body.channel if body.HasField("channel") else None,
    )
    if body.HasField("z"):
        message.z = finite("z", (body.z,), 1)[0]
    if body.HasField("area"):
        message.area = _areas().read_area(body.area)
    if body.HasField("lifetime_us"):
        message.lifetime = body.lifetime_us
    return message


@cache
def _areas() -> ModuleType:
    """How areas are written and read; loaded when there is one."""
    from bypass.protocol.wire import area_fields

    return area_fields


def _write_copy(body: pb.Notify | pb.Copy, publication: Publish, values: ValueTypes) -> None:
    """A publication and the stamp that its envelope had, except for the address."""
    _write_publish(body.publication, publication, values)
    body.publisher = publication.client
    body.publisher_scheme = publication.scheme
    body.publisher_epoch = publication.epoch


def _read_copy(body: pb.Notify | pb.Copy, values: ValueTypes) -> Publish:
    publication = _read_publish(required(body, "publication"), values)
    stamp(publication, required(body, "publisher"), body.publisher_scheme, body.publisher_epoch)
    return publication


def _write_notify(body: pb.Notify, message: Notify, values: ValueTypes) -> None:
    _write_copy(body, message.publication, values)
    extend("handles", body.handles, message.handles)
    body.unfiltered = message.unfiltered
    body.relay = message.relay
    extend("targets", body.targets, message.targets)
    body.publisher_name = message.publication.publisher


def _read_notify(body: pb.Notify, values: ValueTypes) -> Notify:
    publication = _read_copy(body, values)
    publication.publisher = body.publisher_name
    return Notify(publication, tuple(body.handles), body.unfiltered, body.relay, tuple(body.targets))


def _check_frame(publications: Sequence[Any], ids: Sequence[int] | None) -> None:
    if len(publications) > MOST_TOGETHER:
        raise ValueError(f"{len(publications)} publications: expected at most {MOST_TOGETHER}")
    if ids is None:
        return
    if len(ids) > MOST_IDS:
        raise ValueError(f"{len(ids)} ids: expected at most {MOST_IDS}")
    if publications:
        raise ValueError(
            f"{len(publications)} publications and {len(ids)} ids: expected publications or a digest"
        )


def _write_frame(body: pb.Frame, message: Frame, values: ValueTypes) -> None:
    _check_frame(message.publications, message.ids)
    body.port = message.port
    body.scope = message.scope
    if message.place is not None:
        body.x, body.y = message.place
        finite("place", (body.x, body.y), 2)  # after rounding: single precision has less room
    for publication in message.publications:
        _write_copy(body.publications.add(), publication, values)
    if message.ids is not None:
        body.digest.SetInParent()  # an empty digest is one
        extend("ids", body.digest.ids, message.ids)


def _read_frame(body: pb.Frame, values: ValueTypes) -> Frame:
    ids = body.digest.ids if body.HasField("digest") else None
    _check_frame(body.publications, ids)
    return Frame(
        required(body, "port"),
        body.scope,
        read_pair("place", body, "x", "y"),
        tuple([_read_copy(each, values) for each in body.publications]),
        None if ids is None else tuple(ids),
    )


def _write_unsubscribe(body: pb.Unsubscribe, message: Unsubscribe, _: ValueTypes) -> None:
    body.handle = message.handle


def _read_unsubscribe(body: pb.Unsubscribe, _: ValueTypes) -> Unsubscribe:
    return Unsubscribe(required(body, "handle"))


def _write_context_update(body: pb.ContextUpdate, message: ContextUpdate, _: ValueTypes) -> None:
    _write_location(body, message.location)
    if message.vector is not None:
        body.vx, body.vy = message.vector
        finite("vector", (body.vx, body.vy), 2)  # after rounding: single precision has less room
    if message.at is not None:
        body.at = finite("at", (message.at,), 1)[0]
    if message.z is not None:
        body.z = finite("z", (message.z,), 1)[0]


def _read_context_update(body: pb.ContextUpdate, _: ValueTypes) -> ContextUpdate:
    return ContextUpdate(
        _read_location(body),
        read_pair("vector", body, "vx", "vy"),
        finite("at", (body.at,), 1)[0] if body.HasField("at") else None,
        finite("z", (body.z,), 1)[0] if body.HasField("z") else None,
    )


def _write_assignment_request(body: pb.AssignmentRequest, message: AssignmentRequest, _: ValueTypes) -> None:
    _write_location(body, message.location)


def _read_assignment_request(body: pb.AssignmentRequest, _: ValueTypes) -> AssignmentRequest:
    return AssignmentRequest(_read_location(body))


def _write_assignment(body: pb.Assignment, message: Assignment, _: ValueTypes) -> None:
    body.generation = message.generation
    body.publish = message.publish
    body.channels.extend(message.channels)
    if message.cell is not None:
        body.cell.extend(rectangle("cell", message.cell))
    if message.cover is not None:
        body.cover.extend(rectangle("cover", message.cover))
    for circle in message.circles:
        x, y, radius = finite("circle", (circle.x, circle.y, circle.radius), 3)
        body.circles.add(channel=circle.channel, x=x, y=y, radius=radius)


def _read_assignment(body: pb.Assignment, _: ValueTypes) -> Assignment:
    circles = [
        Circle(each.channel, *finite("circle", (each.x, each.y, each.radius), 3)) for each in body.circles
    ]
    return Assignment(
        body.generation,
        body.publish,
        tuple(body.channels),
        rectangle("cell", body.cell) if body.cell else None,
        rectangle("cover", body.cover) if body.cover else None,
        tuple(circles),
    )


Contexts = Mapping[int, type[SchemeContext]]
"""The messages that schemes which are not built in declare, by the numbers of the schemes."""


def _write_scheme_context(body: pb.SchemeContext, message: SchemeContext, _: ValueTypes) -> None:
    if not message.of_scheme:
        raise ValueError("of_scheme 0: expected the number that the broker has given the scheme")
    packed = message.packed()
    body.scheme = message.of_scheme
    body.numbers.extend(packed.numbers)
    body.reals.extend(packed.reals)
    body.texts.extend(packed.texts)


def read_scheme_context(body: pb.SchemeContext, contexts: Contexts) -> SchemeContext:
    declared = contexts.get(body.scheme)
    if declared is None:
        known = ", ".join(map(str, contexts)) or "none"
        raise ValueError(f"scheme {body.scheme}: expected one whose context is known here: {known}")
    message = declared.unpacked(PackedFields([*body.numbers], [*body.reals], [*body.texts]))
    message.of_scheme = body.scheme
    return message


def _write_plan(body: pb.Plan, message: PlanMessage, _: ValueTypes) -> None:
    body.content = message.plan


def _read_plan(body: pb.Plan, _: ValueTypes) -> PlanMessage:
    return PlanMessage(body.content)


def _write_outcome(body: pb.Outcome, message: OutcomeMessage, _: ValueTypes) -> None:
    body.content = message.outcome


def _read_outcome(body: pb.Outcome, _: ValueTypes) -> OutcomeMessage:
    return OutcomeMessage(body.content)


BodyWriter = tuple[str, Callable[[Any, Any, ValueTypes], None]]

WRITERS: dict[type[Message], BodyWriter] = {
    Publish: ("publish", _write_publish),
    Notify: ("notify", _write_notify),
    ContextUpdate: ("context_update", _write_context_update),
    AssignmentRequest: ("assignment_request", _write_assignment_request),
    Assignment: ("assignment", _write_assignment),
    Subscribe: ("subscribe", write_subscribe),
    Unsubscribe: ("unsubscribe", _write_unsubscribe),
    AllowFollowing: ("allow_following", write_allow_following),
    FollowedPlace: ("followed_place", write_followed_place),
    PlanMessage: ("plan", _write_plan),
    OutcomeMessage: ("outcome", _write_outcome),
    Frame: ("frame", _write_frame),
    **SESSION_WRITERS,
}
"""By class: the envelope's field for such a message, and what fills it; see `all_writers`."""


@cache
def all_writers() -> Mapping[type[Message], BodyWriter]:
    """All writers by class, those of stores and borders included: a client that stores nothing, and is not
    watched, does not load these."""
    from bypass.protocol.borders import BorderTask
    from bypass.protocol.datagrams import Datagram
    from bypass.protocol.wire.border_bodies import write_border_task
    from bypass.protocol.wire.stores.datagram_bodies import write_datagram
    from bypass.protocol.wire.stores.storage_bodies import STORAGE_MESSAGES, write_storage

    stored: BodyWriter = ("storage", write_storage)
    own: dict[type[Message], BodyWriter] = {
        Datagram: ("datagram", write_datagram),
        BorderTask: ("border_task", write_border_task),
    }
    return {**WRITERS, **own, **dict.fromkeys(STORAGE_MESSAGES, stored)}


def _read_datagram(body: pb.Datagram, values: ValueTypes) -> Message:
    from bypass.protocol.wire.stores.datagram_bodies import read_datagram

    return read_datagram(body, values)


def _read_storage(body: Any, values: ValueTypes) -> Message:
    from bypass.protocol.wire.stores.storage_bodies import read_storage

    return read_storage(body, values)


def _read_border_task(body: pb.BorderTask, values: ValueTypes) -> Message:
    from bypass.protocol.wire.border_bodies import read_border_task

    return read_border_task(body, values)


def writer_of(message: Message) -> BodyWriter:
    """The envelope's field for a message, and what fills it. Raises KeyError for a class that cannot
    travel."""
    if isinstance(message, SchemeContext):
        return SCHEME_CONTEXT, _write_scheme_context
    return WRITERS.get(type(message)) or all_writers()[type(message)]


SCHEME_CONTEXT = "scheme_context"

READERS: dict[str, Callable[[Any, ValueTypes], Message]] = {
    "publish": _read_publish,
    "notify": _read_notify,
    "context_update": _read_context_update,
    "assignment_request": _read_assignment_request,
    "assignment": _read_assignment,
    "subscribe": read_subscribe,
    "unsubscribe": _read_unsubscribe,
    "allow_following": read_allow_following,
    "followed_place": read_followed_place,
    "plan": _read_plan,
    "outcome": _read_outcome,
    "frame": _read_frame,
    **SESSION_READERS,
    "datagram": _read_datagram,
    "storage": _read_storage,
    "border_task": _read_border_task,
}
"""By field of the envelope: what makes a message of it."""
