"""Subscriptions on the wire; as in `bodies`."""

from __future__ import annotations

from collections.abc import Iterable

from bypass.errors import shown
from bypass.events.attributes import ANYTHING, Attribute
from bypass.events.filters import AnyOf, Filter, Negation, Subscription, Term, any_of
from bypass.events.operators import EXISTS
from bypass.protocol.messages import Subscribe
from bypass.protocol.wire import bypass_pb2 as pb
from bypass.protocol.wire.fields import required
from bypass.protocol.wire.values import read_value, type_called, write_values


def write_subscribe(body: pb.Subscribe, message: Subscribe) -> None:
    body.handle = message.handle
    if message.radius is not None:
        body.radius = message.radius
    for each in (*message.subscription.filters, *message.subscription.compounds):
        _write_term(body.filters.add(), each)


def _write_term(out: pb.Filter, term: Term) -> None:
    if isinstance(term, AnyOf):
        out.op = "or"
        for each in term.alternatives:
            _write_conjunction(out.operands.add(), each)
    elif isinstance(term, Negation):
        out.op = "not"
        _write_conjunction(out.operands.add(), term.of)
    elif term.attribute.type is ANYTHING:
        out.op = term.op
        out.operand.name = term.attribute.name
    else:
        out.type = type_called(term.attribute.type.name).name
        out.op = term.op
        write_values(lambda: out.operand, [(term.attribute.name, term.value)])


def _write_conjunction(out: pb.Filter, subscription: Subscription) -> None:
    terms = (*subscription.filters, *subscription.compounds)
    if len(terms) == 1:
        _write_term(out, terms[0])
        return
    out.op = "and"
    for each in terms:
        _write_term(out.operands.add(), each)


def read_subscribe(body: pb.Subscribe) -> Subscribe:
    radius = body.radius if body.HasField("radius") else None
    return Subscribe(required(body, "handle"), _read_conjunction(body.filters), radius)


def _read_conjunction(filters: Iterable[pb.Filter]) -> Subscription:
    terms: list[Term] = []
    for each in filters:
        if each.operands:
            within = _read_operands(each)
            terms += (*within.filters, *within.compounds)
        else:
            terms.append(_read_filter(each))
    return Subscription(terms)


def _read_operands(each: pb.Filter) -> Subscription:
    match each.op, len(each.operands):
        case "and", _:
            return _read_conjunction(each.operands)
        case "or", _:
            return any_of([_read_conjunction((operand,)) for operand in each.operands])
        case "not", 1:
            return ~_read_conjunction(each.operands)
    raise ValueError(
        f"operator {shown(each.op)} with {len(each.operands)} operands: expected and, or, or not with one"
    )


def _read_filter(each: pb.Filter) -> Filter:
    if each.op == EXISTS and not each.type:
        return Filter(Attribute(each.operand.name, ANYTHING), None, EXISTS)
    return Filter(Attribute(each.operand.name, type_called(each.type)), read_value(each.operand), each.op)
