"""Subscriptions on the wire; as in `bodies`."""

from __future__ import annotations

from bypass.attributes import Attribute
from bypass.filters import Filter, Subscription
from bypass.messages import Subscribe
from bypass.wire import bypass_pb2 as pb
from bypass.wire.fields import required
from bypass.wire.values import read_value, type_called, write_values


def write_subscribe(body: pb.Subscribe, message: Subscribe) -> None:
    body.handle = message.handle
    if message.radius is not None:
        body.radius = message.radius
    for each in message.subscription.filters:
        _write_filter(body.filters.add(), each)


def _write_filter(out: pb.Filter, each: Filter) -> None:
    out.type = type_called(each.attribute.type.name).name
    out.op = each.op
    write_values(lambda: out.operand, [(each.attribute.name, each.value)])


def read_subscribe(body: pb.Subscribe) -> Subscribe:
    filters = [
        Filter(Attribute(each.operand.name, type_called(each.type)), read_value(each.operand), each.op)
        for each in body.filters
    ]
    radius = body.radius if body.HasField("radius") else None
    return Subscribe(required(body, "handle"), Subscription(filters), radius)
