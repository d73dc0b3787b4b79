"""The body of every kind of message: how its fields map to those of `bypass.proto`.

Writers fill a body that is empty, readers make a message of it. Both raise TypeError or ValueError, and
readers also what events, filters and subscriptions raise, for what cannot or must not travel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any

from bypass.adhoc import MOST_TOGETHER
from bypass.attributes import Attribute
from bypass.errors import shown
from bypass.events import Event
from bypass.filters import Filter, Subscription
from bypass.messages import (
    Assignment,
    AssignmentRequest,
    Circle,
    ContextUpdate,
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
from bypass.wire import bypass_pb2 as pb
from bypass.wire.values import read_value, type_called, write_values

MOST_IDS = 1024
"""How many events a digest can name."""


def stamp(message: Message, client: int, scheme: int, epoch: int, address: int = 0) -> None:
    """Say who sent the message, with which configuration, and where the sender is reached from nearby."""
    message.client = client
    message.scheme = scheme
    message.epoch = epoch
    message.address = address


def _required(body: Any, field: str) -> Any:
    if not body.HasField(field):
        raise ValueError(f"{field} is missing")
    return getattr(body, field)


def _finite(what: str, numbers: Sequence[float], length: int) -> tuple[Any, ...]:
    if len(numbers) != length or not all(map(isfinite, numbers)):
        raise ValueError(f"{what} {shown(list(numbers))}: expected {length} finite numbers")
    return tuple(numbers)


def _read_pair(what: str, body: Any, x: str, y: str) -> tuple[Any, ...] | None:
    """Both or neither."""
    if not (body.HasField(x) or body.HasField(y)):
        return None
    return _finite(what, (_required(body, x), _required(body, y)), 2)


def _rectangle(what: str, bounds: Sequence[float]) -> tuple[Any, ...]:
    """The outermost cells of a grid reach to infinity, so bounds may be infinite."""
    if len(bounds) != 4 or not (bounds[0] < bounds[2] and bounds[1] < bounds[3]):
        raise ValueError(f"{what} {shown(list(bounds))}: expected x0 < x1 and y0 < y1 as [x0, y0, x1, y1]")
    return tuple(bounds)


def _extend(what: str, field: Any, numbers: Sequence[int]) -> None:
    try:
        field.extend(numbers)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} {shown(numbers)}: {error}") from error


def _write_location(body: Any, location: tuple[float, float]) -> None:
    x, y = location
    if not (isfinite(x) and isfinite(y)):
        raise ValueError(f"location {shown(location)}: expected 2 finite numbers")
    body.x = x
    body.y = y


def _read_location(body: Any) -> tuple[float, float]:
    x = _required(body, "x")
    y = _required(body, "y")
    if not (isfinite(x) and isfinite(y)):
        raise ValueError(f"location {(x, y)}: expected 2 finite numbers")
    return x, y


def _write_publish(body: pb.Publish, message: Publish) -> None:
    body.id = message.id
    body.at_us = message.at_us
    body.kind = message.kind  # type: ignore[assignment] # the same numbers
    if message.location is not None:
        _write_location(body, message.location)
    if message.channel is not None:
        body.channel = message.channel
    event = message.event
    write_values(body.attributes.add, event.attributes)
    body.payload = event.payload


def _read_publish(body: pb.Publish) -> Publish:
    placed = body.HasField("x") or body.HasField("y")
    return Publish(
        _required(body, "id"),
        Event([(value.name, read_value(value)) for value in body.attributes], payload=body.payload),
        Kind(body.kind),
        body.at_us,
        _read_location(body) if placed else None,
        body.channel if body.HasField("channel") else None,
    )


def _write_copy(body: pb.Notify | pb.Copy, publication: Publish) -> None:
    """A publication and the stamp that its envelope had, except for the address."""
    _write_publish(body.publication, publication)
    body.publisher = publication.client
    body.publisher_scheme = publication.scheme
    body.publisher_epoch = publication.epoch


def _read_copy(body: pb.Notify | pb.Copy) -> Publish:
    publication = _read_publish(_required(body, "publication"))
    stamp(publication, _required(body, "publisher"), body.publisher_scheme, body.publisher_epoch)
    return publication


def _write_notify(body: pb.Notify, message: Notify) -> None:
    _write_copy(body, message.publication)
    _extend("handles", body.handles, message.handles)
    body.unfiltered = message.unfiltered
    body.relay = message.relay
    _extend("targets", body.targets, message.targets)


def _read_notify(body: pb.Notify) -> Notify:
    return Notify(_read_copy(body), tuple(body.handles), body.unfiltered, body.relay, tuple(body.targets))


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


def _write_frame(body: pb.Frame, message: Frame) -> None:
    _check_frame(message.publications, message.ids)
    body.port = message.port
    body.scope = message.scope
    if message.place is not None:
        body.x, body.y = message.place
        _finite("place", (body.x, body.y), 2)  # after rounding: single precision has less room
    for publication in message.publications:
        _write_copy(body.publications.add(), publication)
    if message.ids is not None:
        body.digest.SetInParent()  # an empty digest is one
        _extend("ids", body.digest.ids, message.ids)


def _read_frame(body: pb.Frame) -> Frame:
    ids = body.digest.ids if body.HasField("digest") else None
    _check_frame(body.publications, ids)
    return Frame(
        _required(body, "port"),
        body.scope,
        _read_pair("place", body, "x", "y"),
        tuple(map(_read_copy, body.publications)),
        None if ids is None else tuple(ids),
    )


def _write_subscribe(body: pb.Subscribe, message: Subscribe) -> None:
    body.handle = message.handle
    if message.radius is not None:
        body.radius = message.radius
    for each in message.subscription.filters:
        _write_filter(body.filters.add(), each)


def _write_filter(out: pb.Filter, each: Filter) -> None:
    out.type = type_called(each.attribute.type.name).name
    out.op = each.op
    write_values(lambda: out.operand, [(each.attribute.name, each.value)])


def _read_subscribe(body: pb.Subscribe) -> Subscribe:
    filters = [
        Filter(Attribute(each.operand.name, type_called(each.type)), read_value(each.operand), each.op)
        for each in body.filters
    ]
    radius = body.radius if body.HasField("radius") else None
    return Subscribe(_required(body, "handle"), Subscription(filters), radius)


def _write_unsubscribe(body: pb.Unsubscribe, message: Unsubscribe) -> None:
    body.handle = message.handle


def _read_unsubscribe(body: pb.Unsubscribe) -> Unsubscribe:
    return Unsubscribe(_required(body, "handle"))


def _write_context_update(body: pb.ContextUpdate, message: ContextUpdate) -> None:
    _write_location(body, message.location)
    if message.vector is not None:
        body.vx, body.vy = message.vector
        _finite("vector", (body.vx, body.vy), 2)  # after rounding: single precision has less room


def _read_context_update(body: pb.ContextUpdate) -> ContextUpdate:
    return ContextUpdate(_read_location(body), _read_pair("vector", body, "vx", "vy"))


def _write_assignment_request(body: pb.AssignmentRequest, message: AssignmentRequest) -> None:
    _write_location(body, message.location)


def _read_assignment_request(body: pb.AssignmentRequest) -> AssignmentRequest:
    return AssignmentRequest(_read_location(body))


def _write_assignment(body: pb.Assignment, message: Assignment) -> None:
    body.generation = message.generation
    body.publish = message.publish
    body.channels.extend(message.channels)
    if message.cell is not None:
        body.cell.extend(_rectangle("cell", message.cell))
    if message.cover is not None:
        body.cover.extend(_rectangle("cover", message.cover))
    for circle in message.circles:
        x, y, radius = _finite("circle", (circle.x, circle.y, circle.radius), 3)
        body.circles.add(channel=circle.channel, x=x, y=y, radius=radius)


def _read_assignment(body: pb.Assignment) -> Assignment:
    circles = [
        Circle(each.channel, *_finite("circle", (each.x, each.y, each.radius), 3)) for each in body.circles
    ]
    return Assignment(
        body.generation,
        body.publish,
        tuple(body.channels),
        _rectangle("cell", body.cell) if body.cell else None,
        _rectangle("cover", body.cover) if body.cover else None,
        tuple(circles),
    )


def _write_plan(body: pb.Plan, message: PlanMessage) -> None:
    body.content = message.plan


def _read_plan(body: pb.Plan) -> PlanMessage:
    return PlanMessage(body.content)


def _write_outcome(body: pb.Outcome, message: OutcomeMessage) -> None:
    body.content = message.outcome


def _read_outcome(body: pb.Outcome) -> OutcomeMessage:
    return OutcomeMessage(body.content)


WRITERS: dict[type[Message], tuple[str, Callable[[Any, Any], None]]] = {
    Publish: ("publish", _write_publish),
    Notify: ("notify", _write_notify),
    ContextUpdate: ("context_update", _write_context_update),
    AssignmentRequest: ("assignment_request", _write_assignment_request),
    Assignment: ("assignment", _write_assignment),
    Subscribe: ("subscribe", _write_subscribe),
    Unsubscribe: ("unsubscribe", _write_unsubscribe),
    PlanMessage: ("plan", _write_plan),
    OutcomeMessage: ("outcome", _write_outcome),
    Frame: ("frame", _write_frame),
}
"""By class: the envelope's field for such a message, and what fills it."""

READERS: dict[str, Callable[[Any], Message]] = {
    "publish": _read_publish,
    "notify": _read_notify,
    "context_update": _read_context_update,
    "assignment_request": _read_assignment_request,
    "assignment": _read_assignment,
    "subscribe": _read_subscribe,
    "unsubscribe": _read_unsubscribe,
    "plan": _read_plan,
    "outcome": _read_outcome,
    "frame": _read_frame,
}
"""By field of the envelope: what makes a message of it."""
