"""Messages of every kind, as hypothesis draws them: whatever can be said."""

from __future__ import annotations

from math import isfinite
from typing import TypeVar

from hypothesis import strategies as st

from bypass.places.area_of_interest import AreaOfInterest
from bypass.protocol.messages import (
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
from bypass.protocol.session import Ack, Bye, Control, Hello, Kept, Missed, Ping, Refused, Reply, Welcome
from bypass.testing.strategies import events, interests, subscriptions
from tests import border_strategies, edge_strategies, storage_strategies

u32 = st.integers(0, 2**32 - 1)
u64 = st.integers(0, 2**64 - 1)
stamps = {"client": u32, "scheme": u32, "epoch": u32, "address": st.just(0) | u64}

finite = st.floats(allow_nan=False, allow_infinity=False)
points = st.tuples(finite, finite)
speeds = st.floats(width=32, allow_nan=False, allow_infinity=False)
bounds = st.lists(st.floats(allow_nan=False), min_size=2, max_size=2, unique=True).map(sorted)
rectangles = st.tuples(bounds, bounds).map(lambda xy: (xy[0][0], xy[1][0], xy[0][1], xy[1][1]))
texts = st.text(st.characters(codec="utf-8"), max_size=8)
lines = texts.filter(str.isprintable)
reasons = texts.map(lambda text: " ".join(text.split()))

updates = st.builds(ContextUpdate, points, st.none() | st.tuples(speeds, speeds), **stamps)
requests = st.builds(AssignmentRequest, points, **stamps)
assignments = st.builds(
    Assignment,
    u32,
    texts,
    st.lists(texts, max_size=9).map(tuple),
    st.none() | rectangles,
    st.none() | rectangles,
    st.lists(st.builds(Circle, texts, finite, finite, finite), max_size=3).map(tuple),
    **stamps,
)


Carrier = TypeVar("Carrier", Publish, Subscribe)


@st.composite
def carriers(draw: st.DrawFn, bare: st.SearchStrategy[Carrier]) -> Carrier:
    """A message with, at times, something that rides on it and so has its stamp."""
    message = draw(bare)
    riding = draw(st.none() | updates | requests | assignments)
    if riding is not None:
        riding.client, riding.scheme, riding.epoch = message.client, message.scheme, message.epoch
        riding.address = message.address
    message.piggyback = riding
    return message


def passed_on(publication: Publish) -> Publish:
    """As others get it: the address was for the broker."""
    publication.address = 0
    if publication.piggyback is not None:
        publication.piggyback.address = 0
    return publication


bare = st.builds(
    Publish,
    u64,
    events(),
    st.sampled_from(Kind),
    u64,
    st.none() | points,
    st.none() | texts,
    **stamps,
)
publishes = carriers(bare)
ends = st.none() | st.floats(0, 1e10)
around = st.builds(
    lambda interest, name: AreaOfInterest(interest.areas, interest.relative, name * interest.relative),
    interests(),
    lines,
)
wanted = st.builds(Subscribe, u32, subscriptions(), st.none() | u32, **stamps) | st.builds(
    Subscribe, u32, subscriptions(), interest=around, expires=ends, until=ends, **stamps
)
subscribes = carriers(wanted)
handles = st.lists(u32, max_size=40).map(tuple)
addresses = st.lists(u64, max_size=20).map(tuple)


@st.composite
def named(draw: st.DrawFn) -> Publish:
    """As a broker says whose it is."""
    publication = passed_on(draw(publishes))
    publication.publisher = draw(texts)
    return publication


notifies = st.builds(Notify, named(), handles, st.booleans(), st.booleans(), addresses, **stamps)
copies = st.lists(bare.map(passed_on), max_size=3).map(tuple)
places = st.none() | st.tuples(speeds, speeds)
frames = st.builds(Frame, u32, u32, places, copies, **stamps) | st.builds(
    Frame, u32, u32, places, ids=st.none() | addresses, **stamps
)
capabilities = st.lists(lines.filter(bool), max_size=3).map(tuple)
hellos = st.builds(Hello, lines, u64, handles, st.booleans(), capabilities, capabilities, **stamps)
keeping = st.lists(st.builds(Subscribe, u32, subscriptions(), st.none() | u32), max_size=3).map(tuple)
welcomes = st.builds(
    Welcome,
    u32,
    st.floats(0, exclude_min=True, allow_infinity=False),
    rectangles.filter(lambda bounds: all(map(isfinite, bounds))),
    st.none() | points,
    keeping,
    u64,
    st.binary(max_size=40),
    capabilities,
    u32,
    st.lists(st.builds(Missed, lines.filter(bool), u64), max_size=3).map(tuple),
    st.dictionaries(lines.filter(bool), u32, max_size=3),
    **stamps,
)
acks = st.builds(Ack, addresses, handles, **stamps)
refusals = st.one_of(
    st.builds(Refused, reasons, retry=st.floats(0, 1e6), **stamps),
    st.builds(Refused, reasons, id=u64, **stamps),
    st.builds(Refused, reasons, handle=u32, **stamps),
)
_messages: st.SearchStrategy[Message] = st.one_of(
    updates,
    requests,
    assignments,
    subscribes,
    st.builds(Unsubscribe, u32, **stamps),
    st.builds(AllowFollowing, st.lists(lines.filter(bool), max_size=3).map(tuple), st.booleans(), **stamps),
    st.builds(FollowedPlace, points, st.tuples(speeds, speeds), **stamps),
    publishes,
    notifies,
    st.builds(PlanMessage, st.binary(max_size=64), **stamps),
    st.builds(OutcomeMessage, st.binary(max_size=64), **stamps),
    frames,
    hellos,
    welcomes,
    st.builds(Kept, keeping, **stamps),
    st.builds(Missed, lines.filter(bool), u64, **stamps),
    acks,
    refusals,
    st.builds(Ping, st.booleans(), **stamps),
    st.builds(Bye, st.booleans(), **stamps),
    st.builds(Control, u32, lines.filter(bool), st.binary(max_size=64), **stamps),
    st.builds(Reply, u32, st.booleans(), st.binary(max_size=64), **stamps),
    storage_strategies.messages(**stamps),
    edge_strategies.one_of_edge_messages(**stamps),
    border_strategies.tasks(**stamps),
)


@st.composite
def any_message(draw: st.DrawFn) -> Message:
    """A message of any kind. A strategy of its own, because hypothesis writes strategies in words where it
    rejects what they drew, and warns of long ones."""
    return draw(_messages)


messages = any_message()
