"""Error texts for messages that cannot travel, and for bytes that are no message."""

from __future__ import annotations

import re
from dataclasses import replace
from math import inf, nan
from typing import Any

import pytest

from bypass.events.attributes import INTEGER
from bypass.events.event import Event
from bypass.events.filters import Subscription, attr
from bypass.protocol.messages import (
    MOST_TOGETHER,
    Assignment,
    Circle,
    ContextMessage,
    ContextUpdate,
    Frame,
    Message,
    Notify,
    Publish,
    Subscribe,
    Unsubscribe,
)
from bypass.protocol.session import Ack, Control, Hello, Refused, Reply, Welcome
from bypass.protocol.wire import (
    MOST_IDS,
    PROTOCOL_VERSION,
    MalformedMessage,
    decode,
    digest_size,
    encode,
    frame_size,
    piggyback_size,
)
from bypass.protocol.wire import bypass_pb2 as pb

PUBLISH = Publish(1, Event(kind="a"))
WANTED = Subscription([attr("a") == 1])
WELCOME = Welcome(0, 5.0, (0.0, 0.0, 1300.0, 1300.0))


class Foreign(Message):
    """A message of another library."""


class ForeignContext(ContextMessage):
    """As above."""


UNENCODABLE: list[tuple[Message, str]] = [
    (replace(PUBLISH, client=-1), "Publish.client -1: expected an integer from 0 to 4294967295"),
    (
        replace(PUBLISH, id=2**64),
        "Publish.id 18446744073709551616: expected an integer from 0 to 18446744073709551615",
    ),
    (
        Notify(replace(PUBLISH, epoch=2**32), (1,)),
        "Publish.epoch 4294967296: expected an integer from 0 to 42",
    ),
    (Notify(PUBLISH, (1, -2)), "Notify: handles (1, -2): Value out of range: -2"),
    (Unsubscribe(2**32), "Unsubscribe.handle 4294967296: "),
    (Subscribe(1, Subscription([attr("a") == 1]), -5), "Subscribe.radius -5: "),
    (Assignment(-1, "c"), "Assignment.generation -1: "),
    (replace(PUBLISH, piggyback=Assignment(-1, "c")), "Assignment.generation -1: "),
    (
        replace(PUBLISH, event=Event(big=2**63)),
        "Publish: attribute 'big' 9223372036854775808: Value out of range",
    ),
    (
        replace(PUBLISH, event=Event(s={2**63})),
        "Publish: attribute 's' frozenset({9223372036854775808}): element 9223",
    ),
    (
        replace(PUBLISH, event=Event(s="\ud800")),
        "Publish: attribute 's' '\\ud800': 'utf-8' codec can't encode",
    ),
    (replace(PUBLISH, location=(nan, 1.0)), "Publish: location (nan, 1.0): expected 2 finite numbers"),
    (replace(PUBLISH, location=(10**400, 1.0)), "Publish: int too large to convert to float"),
    (ContextUpdate((0.0, -inf)), "ContextUpdate: location (0.0, -inf): expected 2 finite numbers"),
    (ContextUpdate((0.0, 0.0), (1e39, 0.0)), "ContextUpdate: vector [inf, 0.0]: expected 2 finite numbers"),
    (
        Assignment(1, "c", cell=(0.0, 0.0, nan, 1.0)),
        "Assignment: cell [0.0, 0.0, nan, 1.0]: expected x0 < x1 and y0 < y1",
    ),
    (
        Assignment(1, "c", circles=(Circle("c", 0, 0, inf),)),
        "Assignment: circle [0, 0, inf]: expected 3 finite",
    ),
    (replace(PUBLISH, address=-1), "Publish.address -1: expected an integer from 0 to 18446744073709551615"),
    (Unsubscribe(1, address=2**64), "Unsubscribe.address 18446744073709551616: expected an integer from 0"),
    (Notify(PUBLISH, (1,), targets=(-2,)), "Notify: targets (-2,): Value out of range: -2"),
    (Frame(2**32), "Frame.port 4294967296: expected an integer from 0 to 4294967295"),
    (Frame(0, -1), "Frame.scope -1: "),
    (Frame(0, place=(nan, 0.0)), "Frame: place [nan, 0.0]: expected 2 finite numbers"),
    (Frame(0, place=(0.0, 1e39)), "Frame: place [0.0, inf]: expected 2 finite numbers"),
    (Frame(0, publications=(PUBLISH, replace(PUBLISH, client=-3))), "Publish.client -3: expected an integer"),
    (Frame(0, publications=(PUBLISH,) * 17), "Frame: 17 publications: expected at most 16"),
    (Frame(0, ids=(1, 2**64)), "Frame: ids (1, 18446744073709551616): Value out of range"),
    (Frame(0, ids=(1,) * 1025), "Frame: 1025 ids: expected at most 1024"),
    (
        Frame(0, publications=(PUBLISH,), ids=()),
        "Frame: 1 publications and 0 ids: expected publications or a digest",
    ),
    (
        Hello("phone", 2**64),
        "Hello.life 18446744073709551616: expected an integer from 0 to 1844674407370955",
    ),
    (Hello("phone", 1, (-1,)), "Hello: handles (-1,): Value out of range: -1"),
    (Hello("x" * 201, 1), "Hello: name of 201 characters: expected 0 to 200 printable ones"),
    (Hello("a\nb", 1), "Hello: name of 3 characters: expected 0 to 200 printable ones"),
    (replace(WELCOME, published=-1), "Welcome.published -1: expected an integer from 0 to 4294967295"),
    (replace(WELCOME, missed=2**64), "Welcome.missed 18446744073709551616: expected an integer from 0 to 18"),
    (replace(WELCOME, heartbeat=0.0), "Welcome: heartbeat 0.0: expected finite seconds above 0"),
    (replace(WELCOME, heartbeat=inf), "Welcome: heartbeat inf: expected finite seconds above 0"),
    (replace(WELCOME, heartbeat=nan), "Welcome: heartbeat nan: expected finite seconds above 0"),
    (replace(WELCOME, area=(0, 0, 0, 1)), "Welcome: area [0, 0, 0, 1]: expected x0 < x1 and y0 < y1"),
    (replace(WELCOME, area=(0, 0, inf, 1)), "Welcome: area [0, 0, inf, 1]: expected 4 finite numbers"),
    (replace(WELCOME, origin=(nan, 1.0)), "Welcome: origin [nan, 1.0]: expected 2 finite numbers"),
    (
        replace(WELCOME, kept=(Subscribe(1, WANTED), Subscribe(-1, WANTED))),
        "Subscribe.handle -1: expected an integer from 0 to 4294967295",
    ),
    (Ack((2**64,)), "Ack: ids (18446744073709551616,): Value out of range"),
    (Ack((), (-1,)), "Ack: handles (-1,): Value out of range"),
    (Refused("no", id=2**64), "Refused.id 18446744073709551616: expected an integer from 0"),
    (Refused("no", handle=2**32), "Refused.handle 4294967296: expected an integer from 0 to 4294967295"),
    (Refused("no", 1, 2), "Refused: id 1 and handle 2: expected one of them at most"),
    (Refused("\ud800"), "Refused: 'utf-8' codec can't encode"),
    (Control(2**32, "status"), "Control.request 4294967296: expected an integer from 0 to 4294967295"),
    (Control(1, ""), "Control: command of 0 characters: expected 1 to 200 printable ones"),
    (Reply(-1, True), "Reply.request -1: expected an integer from 0 to 4294967295"),
    (Foreign(), "message of class Foreign: expected one of Publish, Notify, "),
    (
        replace(PUBLISH, piggyback=ForeignContext()),
        "message of class ForeignContext: expected one of Publish, ",
    ),
]


@pytest.mark.parametrize(("message", "said"), UNENCODABLE)
def test_what_cannot_travel_is_named(message: Message, said: str) -> None:
    with pytest.raises(MalformedMessage, match=f"^{re.escape(said)}"):
        encode(message)


def test_the_size_of_a_rider_that_cannot_travel_is_refused_too() -> None:
    with pytest.raises(MalformedMessage, match=r"^Publish: location \(nan, 0.0\): "):
        piggyback_size(replace(PUBLISH, piggyback=ContextUpdate((nan, 0.0))))


def test_the_sizes_of_frames_that_cannot_travel_are_refused_too() -> None:
    large = replace(PUBLISH, event=Event(payload=bytes(65536)))
    assert frame_size((large,) * 15, True) == len(encode(Frame(0, publications=(large,) * 15))) + 10
    with pytest.raises(MalformedMessage, match=r"^Frame of 1049\d{3} bytes: expected at most"):
        frame_size((large,) * MOST_TOGETHER, True)
    with pytest.raises(MalformedMessage, match=r"^Frame: 17 publications: "):
        frame_size((PUBLISH,) * (MOST_TOGETHER + 1), True)
    with pytest.raises(MalformedMessage, match=r"^Frame: 1025 ids: "):
        digest_size(MOST_IDS + 1, True)


def envelope(**fields: Any) -> pb.Envelope:
    return pb.Envelope(version=PROTOCOL_VERSION, client=1, scheme=0, epoch=0, **fields)


def welcome(**fields: Any) -> dict[str, Any]:
    """The fields of a greeting that is understood, with others."""
    return {"published": 1, "heartbeat": 5.0, "area": [0, 0, 1, 1], **fields}


UNDECODABLE: list[tuple[pb.Envelope, str]] = [
    (envelope(), "without a body: expected one of publish, notify, "),
    (envelope(publish=pb.Publish(at_us=1)), "publish message: id is missing"),
    (envelope(publish=pb.Publish(id=1, y=1.0)), "publish message: x is missing"),
    (envelope(publish=pb.Publish(id=1, x=nan, y=1.0)), "publish message: location (nan, 1.0): "),
    (envelope(publish={"id": 1, "kind": 9}), "publish message: 9 is not a valid Kind"),
    (
        envelope(publish={"id": 1, "attributes": [{"name": "a"}]}),
        "publish message: attribute 'a': value is missing",
    ),
    (
        envelope(
            publish={"id": 1, "attributes": [{"name": "a", "set": {"elements": [{"set": {}}]}}]},
        ),
        "publish message: set in a set: expected other elements",
    ),
    (
        envelope(publish={"id": 1, "attributes": [{"name": "a", "set": {"elements": [{}]}}]}),
        "publish message: element: value is missing",
    ),
    (
        envelope(publish={"id": 1, "attributes": [{"text": "a"}]}),
        "publish message: event ",
    ),
    (
        envelope(publish=pb.Publish(id=1, payload=bytes(65537))),
        "publish message: event ",
    ),
    (envelope(notify=pb.Notify(publisher=1)), "notify message: publication is missing"),
    (
        envelope(subscribe=pb.Subscribe(handle=1)),
        "subscribe message: subscription ",
    ),
    (
        envelope(subscribe={"handle": 1, "filters": [{"operand": {"name": "a", "integer": 1}}]}),
        "subscribe message: attribute type '': expected one of integer, float, string, boolean, set",
    ),
    (
        envelope(
            subscribe={
                "handle": 1,
                "filters": [{"operand": {"name": "a\nb", "text": "c"}, "type": INTEGER.name, "op": "="}],
            },
        ),
        "subscribe message: filter ",
    ),
    (envelope(unsubscribe=pb.Unsubscribe()), "unsubscribe message: handle is missing"),
    (envelope(context_update=pb.ContextUpdate(x=1)), "context_update message: y is missing"),
    (
        envelope(context_update={"x": 1, "y": 1, "vy": 1}),
        "context_update message: vx is missing",
    ),
    (
        envelope(assignment={"cover": [1, 2, 3]}),
        "assignment message: cover [1.0, 2.0, 3.0]: expected x0 < x1",
    ),
    (envelope(frame={}), "frame message: port is missing"),
    (envelope(frame={"port": 1, "x": 1}), "frame message: y is missing"),
    (envelope(frame={"port": 1, "y": 1}), "frame message: x is missing"),
    (envelope(frame={"port": 1, "x": inf, "y": 1}), "frame message: place [inf, 1.0]: expected 2 finite"),
    (
        envelope(frame={"port": 1, "publications": [{"publisher": 1}]}),
        "frame message: publication is missing",
    ),
    (
        envelope(frame={"port": 1, "publications": [{"publication": {"id": 1}}]}),
        "frame message: publisher is missing",
    ),
    (
        envelope(frame={"port": 1, "publications": [{}] * 17}),
        "frame message: 17 publications: expected at most 16",
    ),
    (
        envelope(frame={"port": 1, "digest": {"ids": [1] * 1025}}),
        "frame message: 1025 ids: expected at most 1024",
    ),
    (
        envelope(frame={"port": 1, "publications": [{}], "digest": {}}),
        "frame message: 1 publications and 0 ids: expected publications or a digest",
    ),
    (
        envelope(frame={"port": 1}, riding_context_update={"x": 1, "y": 1}),
        "frame message: riding_context_update: expected only publications and subscriptions",
    ),
    (
        envelope(unsubscribe={"handle": 1}, riding_assignment_request={"x": 1, "y": 1}),
        "unsubscribe message: riding_assignment_request: expected only publications and subscriptions",
    ),
    (
        envelope(ping={}, riding_assignment_request={"x": 1, "y": 1}),
        "ping message: riding_assignment_request: expected only publications and subscriptions",
    ),
    (envelope(hello={"name": "phone"}), "hello message: life is missing"),
    (envelope(hello={"name": "x" * 201, "life": 1}), "hello message: name of 201 characters: expected 0 to"),
    (envelope(hello={"name": "a\nb", "life": 1}), "hello message: name of 3 characters: expected 0 to 200"),
    (envelope(welcome=welcome(published=None)), "welcome message: published is missing"),
    (envelope(welcome=welcome(heartbeat=None)), "welcome message: heartbeat 0.0: expected finite seconds"),
    (envelope(welcome=welcome(heartbeat=-1.0)), "welcome message: heartbeat -1.0: expected finite seconds"),
    (envelope(welcome=welcome(heartbeat=nan)), "welcome message: heartbeat nan: expected finite seconds"),
    (envelope(welcome=welcome(area=None)), "welcome message: area []: expected 4 finite numbers"),
    (envelope(welcome=welcome(area=[0, 0, 1])), "welcome message: area [0.0, 0.0, 1.0]: expected 4 finite"),
    (
        envelope(welcome=welcome(area=[0, 0, inf, 1])),
        "welcome message: area [0.0, 0.0, inf, 1.0]: expected 4",
    ),
    (envelope(welcome=welcome(area=[0, 0, 1, 0])), "welcome message: area [0.0, 0.0, 1.0, 0.0]: expected x0"),
    (envelope(welcome=welcome(origin=[1])), "welcome message: origin [1.0]: expected 2 finite numbers"),
    (envelope(welcome=welcome(origin=[1, nan])), "welcome message: origin [1.0, nan]: expected 2 finite"),
    (
        envelope(welcome=welcome(kept=[{"handle": 1}])),
        "welcome message: subscription to (): expected at least",
    ),
    (envelope(refused={"reason": "no"}), "refused message: what is refused is missing"),
    (envelope(control={"command": "status"}), "control message: request is missing"),
    (
        envelope(control={"request": 1}),
        "control message: command of 0 characters: expected 1 to 200 printable",
    ),
    (
        envelope(control={"request": 1, "command": "a\x1b[2J"}),
        "control message: command of 5 characters: expected 1 to 200 printable",
    ),
    (envelope(reply={"ok": True}), "reply message: request is missing"),
]


@pytest.mark.parametrize(("damaged", "said"), UNDECODABLE)
def test_what_is_no_message_is_named(damaged: pb.Envelope, said: str) -> None:
    with pytest.raises(MalformedMessage, match=re.escape(said)) as caught:
        decode(damaged.SerializeToString())
    assert len(str(caught.value).splitlines()) == 1
