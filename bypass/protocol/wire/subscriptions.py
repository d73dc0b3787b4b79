"""Subscriptions on the wire; as in `bodies`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf

from bypass.errors import shown
from bypass.events.attributes import ANYTHING, Attribute
from bypass.events.filters import AnyOf, Filter, Negation, Subscription, Term, any_of
from bypass.events.operators import EXISTS
from bypass.places.area_of_interest import MOST_AREAS, AreaOfInterest
from bypass.protocol.messages import Subscribe
from bypass.protocol.wire import bypass_pb2 as pb
from bypass.protocol.wire.area_fields import read_area, write_area
from bypass.protocol.wire.fields import required
from bypass.protocol.wire.values import ValueTypes


def write_subscribe(body: pb.Subscribe, message: Subscribe, values: ValueTypes) -> None:
    body.handle = message.handle
    if message.radius is not None:
        body.radius = message.radius
    write_filters(body.filters.add, message.subscription, values)
    if message.watch is not None:
        from bypass.protocol.wire.border_bodies import write_watch  # a client that watches nobody needs none

        write_watch(body.watch, message.watch)
    if message.interest is not None:
        _write_interest(body.interest, message.interest)
    if message.expires is not None:
        body.expires = _seconds("expires", message.expires)
    if message.until is not None:
        body.until = _seconds("until", message.until)


def _write_interest(body: pb.AreaOfInterest, interest: AreaOfInterest) -> None:
    for area in interest.areas:
        write_area(body.areas.add(), area)
    body.relative = interest.relative
    body.around = interest.around


def _read_interest(body: pb.AreaOfInterest) -> AreaOfInterest:
    if not 0 < len(body.areas) <= MOST_AREAS:
        raise ValueError(f"{len(body.areas)} areas: expected 1 to {MOST_AREAS}")
    interest = AreaOfInterest(tuple([read_area(each) for each in body.areas]), body.relative, body.around)
    if interest.around and not interest.relative:
        raise ValueError(f"areas around {shown(interest.around)}: expected relative ones")
    if interest.relative and interest.places:
        raise ValueError(f"place {shown(interest.places[0])} that moves: expected an area around (0, 0)")
    return interest


def _seconds(what: str, number: float) -> float:
    if not 0 <= number < inf:
        raise ValueError(f"{what} {shown(number)}: expected finite seconds from 0")
    return number


def write_filters(new: Callable[[], pb.Filter], subscription: Subscription, values: ValueTypes) -> None:
    """Fill one `new()` with each term of a subscription."""
    for each in (*subscription.filters, *subscription.compounds):
        _write_term(new(), each, values)


def _write_term(out: pb.Filter, term: Term, values: ValueTypes) -> None:
    if isinstance(term, AnyOf):
        out.op = "or"
        for each in term.alternatives:
            _write_conjunction(out.operands.add(), each, values)
    elif isinstance(term, Negation):
        out.op = "not"
        _write_conjunction(out.operands.add(), term.of, values)
    elif term.attribute.type is ANYTHING:
        out.op = term.op
        out.operand.name = term.attribute.name
    else:
        out.type = values.called(term.attribute.type.name).name
        out.op = term.op
        values.write(lambda: out.operand, [(term.attribute.name, term.value)])


def _write_conjunction(out: pb.Filter, subscription: Subscription, values: ValueTypes) -> None:
    terms = (*subscription.filters, *subscription.compounds)
    if len(terms) == 1:
        _write_term(out, terms[0], values)
        return
    out.op = "and"
    for each in terms:
        _write_term(out.operands.add(), each, values)


def read_subscribe(body: pb.Subscribe, values: ValueTypes) -> Subscribe:
    radius = body.radius if body.HasField("radius") else None
    interest = _read_interest(body.interest) if body.HasField("interest") else None
    if radius is not None and interest is not None:
        raise ValueError(f"radius {radius} beside areas: expected one of them")
    message = Subscribe(
        required(body, "handle"),
        read_filters(body.filters, values),
        radius,
        None,
        interest,
        _seconds("expires", body.expires) if body.HasField("expires") else None,
        _seconds("until", body.until) if body.HasField("until") else None,
    )
    if body.HasField("watch"):
        from bypass.protocol.wire.border_bodies import read_watch

        message.watch = read_watch(body.watch)
    return message


def read_filters(filters: Iterable[pb.Filter], values: ValueTypes) -> Subscription:
    """The subscription whose terms these are. Raises EmptySubscription for none."""
    terms: list[Term] = []
    for each in filters:
        if each.operands:
            within = _read_operands(each, values)
            terms += (*within.filters, *within.compounds)
        else:
            terms.append(_read_filter(each, values))
    return Subscription(terms)


def _read_operands(each: pb.Filter, values: ValueTypes) -> Subscription:
    match each.op, len(each.operands):
        case "and", _:
            return read_filters(each.operands, values)
        case "or", _:
            return any_of([read_filters((operand,), values) for operand in each.operands])
        case "not", 1:
            return ~read_filters(each.operands, values)
    raise ValueError(
        f"operator {shown(each.op)} with {len(each.operands)} operands: expected and, or, or not with one"
    )


def _read_filter(each: pb.Filter, values: ValueTypes) -> Filter:
    if each.op == EXISTS and not each.type:
        return Filter(Attribute(each.operand.name, ANYTHING), None, EXISTS)
    attribute = Attribute(each.operand.name, values.called(each.type))
    return Filter(attribute, values.read(each.operand), each.op, values.operators)
