"""Harmful messages about areas and borders are refused or dropped, and counted; others notice nothing."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bypass import Area, Event
from bypass.core.borders.border_events import border_event
from bypass.core.borders.client.watching import wanted_kinds
from bypass.live.broker.service import Service
from bypass.places.area_of_interest import AreaOfInterest
from bypass.places.borders import BorderOptions
from bypass.protocol.borders import MOST_FENCES, BorderTask, BorderWatch
from bypass.protocol.messages import (
    AllowFollowing,
    ContextUpdate,
    FollowedPlace,
    Kind,
    Message,
    Notify,
    Publish,
    Subscribe,
)
from bypass.protocol.session import Ack, Refused
from bypass.protocol.wire import bypass_pb2 as pb
from bypass.protocol.wire import encode
from tests.live.brokers import ANYTHING, Peer, config, in_loop, peers, running

pytestmark = pytest.mark.slow

KNOWS = ("areas", "borders")
REPORT = {"turn": 1, "events": [], "states": [], "last": None, "final": False, "number": 1}
ZONE = Area.circle((50, 50), 40)
FAR = 1.7e308
BUS_EVENTS = [("exit", "bus"), ("enter", "bus"), ("exit", "bus")]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with running(config(tmp_path)) as service:
        yield service


@pytest.fixture
def make() -> Iterator[Any]:
    with peers() as make:
        yield make


@pytest.fixture(autouse=True)
def no_surprises(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Nothing that clients say may be an error of the broker's."""
    yield
    said = [each for each in caplog.get_records("call") if each.levelno >= logging.ERROR]
    assert not said, [record.getMessage() for record in said]


def counted(service: Service) -> dict[str, int]:
    counters: dict[str, int] = in_loop(service, lambda: dict(service.server.counters))
    return counters


def raw(peer: Peer, message: Message) -> pb.Envelope:
    """A message on its way, to be damaged."""
    message.client, message.scheme, message.epoch = peer.number, peer.scheme, peer.epoch
    envelope = pb.Envelope()
    envelope.ParseFromString(encode(message))
    return envelope


def subscribe_damaged(envelope: pb.Envelope, kind: str) -> None:
    """One damage to the area of a subscription."""
    area = envelope.subscribe.interest.areas[0]
    if kind == "numbers":
        del area.numbers[-1]
    elif kind == "shape":
        area.shape = 99  # type: ignore[assignment]
    elif kind == "rings":
        area.rings.append(10**6)
    elif kind == "huge":
        area.numbers[0] = 2**63 - 1
    elif kind == "crossing":
        x0, y0, _, _, *rest = area.numbers
        area.numbers[:] = [x0, y0, 0, 0, *rest]
    elif kind == "band":
        area.lowest, area.highest = 5, -5
    elif kind == "none":
        area.Clear()
    else:
        envelope.subscribe.interest.areas.extend([area] * 65)


@pytest.mark.parametrize("kind", ["numbers", "shape", "rings", "huge", "crossing", "band", "none", "many"])
def test_malformed_areas_are_refused(make: Any, service: Service, kind: str) -> None:
    peer: Peer = make(service.server.endpoints[0], "mallory", capabilities=KNOWS)
    area = Area.polygon([(0, 0), (10, 0), (10, 10), (0, 10)])
    envelope = raw(
        peer, Subscribe(7, ANYTHING, None, ContextUpdate((1.0, 1.0)), interest=AreaOfInterest((area,)))
    )
    subscribe_damaged(envelope, kind)
    peer.socket.send(envelope.SerializeToString())
    refused = peer.get(Refused)
    assert refused.handle == 7, refused
    assert counted(service).get("malformed", 0) + counted(service).get("refused", 0) == 1
    peer.subscribe(8)


def watch(everybody: bool = True) -> Subscribe:
    terms = BorderWatch(
        BorderOptions(frozenset({"enter", "exit"}), None, 0.0, 0.0, True, 1.0), (("zone", ZONE),),
        whom=None if everybody else ("bus",),
    )  # fmt: skip
    return Subscribe(5, wanted_kinds(terms), watch=terms)


def test_watches_of_too_much_are_refused(make: Any, service: Service) -> None:
    peer: Peer = make(service.server.endpoints[0], "mallory", capabilities=KNOWS)
    envelope = raw(peer, watch())
    fences = envelope.subscribe.watch.fences
    for number in range(MOST_FENCES):
        fences.add(name=str(number)).area.CopyFrom(fences[0].area)
    peer.socket.send(envelope.SerializeToString())
    refused = peer.get(Refused)
    assert refused.handle == 5
    assert in_loop(service, lambda: service.server.broker.borders.figures()["watches"]) == 0
    peer.subscribe(8)


def test_allowances_with_too_many_names_are_malformed(make: Any, service: Service) -> None:
    peer: Peer = make(service.server.endpoints[0], "mallory", capabilities=KNOWS)
    envelope = raw(peer, AllowFollowing(("alice",)))
    envelope.allow_following.names.extend(str(number) for number in range(1000))
    peer.socket.send(envelope.SerializeToString())
    peer.settle()
    assert counted(service)["malformed"] == 1


def test_tasks_are_not_what_clients_say(make: Any, service: Service) -> None:
    peer: Peer = make(service.server.endpoints[0], "mallory", capabilities=KNOWS)
    peer.send(BorderTask(1, True, 1.0))
    peer.settle()
    assert counted(service)["malformed"] == 1


def report(peer: Peer, content: str) -> Message:
    peer.published += 1
    number = peer.number << 32 | peer.published
    peer.send(Publish(number, Event(payload=content.encode()), Kind.BORDER))
    answers = peer.settle()
    return next(each for each in answers if isinstance(each, Ack | Refused))


@pytest.mark.parametrize(
    "content",
    [
        "", "[]", "{}", '{"turn":1e999}',
        json.dumps({**REPORT, "last": [10**400, 0, 0, None]}),
        json.dumps({**REPORT, "events": [[1e999, "enter", "zone", 0, 0, 0, 0, "moved"]]}),
        json.dumps({**REPORT, "states": [[1, {"zone": [True, 1e999, False, True, None, None]}]]}),
        json.dumps({**REPORT, "states": [[1, {"zone": [True, 10**400, False, True, None, None]}]]}),
        "[" * 60_000,
    ],
)  # fmt: skip
def test_reports_that_are_none_are_refused(make: Any, service: Service, content: str) -> None:
    peer: Peer = make(service.server.endpoints[0], "mallory", capabilities=KNOWS)
    assert isinstance(report(peer, content), Refused)
    assert counted(service)["malformed"] == 1


def test_reports_that_nobody_asked_for_are_counted(make: Any, service: Service) -> None:
    """A watcher is told nothing of a client that says that it has found something for that watch."""
    alice = make(service.server.endpoints[0], "alice", capabilities=KNOWS)
    alice.send(watch())
    assert 5 in alice.get(Ack).handles or alice.get(Refused)
    peer: Peer = make(service.server.endpoints[0], "mallory", capabilities=KNOWS)
    events = [[number, "enter", "zone", 0, 0, 0, 0, "moved"] for number in range(3)]
    turn = 10**300
    assert isinstance(report(peer, json.dumps({**REPORT, "turn": turn, "events": events})), Ack)
    figures = in_loop(service, service.server.broker.borders.figures)
    assert figures["undelivered"] == {"unwatched": 3}
    assert not [each for each in alice.settle() if isinstance(each, Notify)]


def test_places_beyond_all_bounds_cost_others_nothing(make: Any, service: Service) -> None:
    """The borders of a circle are looked for on a way that is too long for its square to be a number."""
    endpoint = service.server.endpoints[0]
    alice = make(endpoint, "alice", capabilities=KNOWS)
    bus, mallory = (make(endpoint, name, capabilities=KNOWS) for name in ("bus", "mallory"))
    for peer in (bus, mallory):
        peer.send(AllowFollowing(("alice",)))
        peer.subscribe(1, at=(50.0, 50.0))
    for name in ("bus", "mallory"):
        terms = BorderWatch(BorderOptions(frozenset({"enter", "exit"})), (("zone", ZONE),), whom=(name,))
        alice.send(Subscribe(5 + len(name), wanted_kinds(terms), watch=terms))
        alice.get(Ack)
    for x in (1e200, 50.0, -1e200, FAR, 0.0, -FAR):
        bus.send(ContextUpdate((50.0 if x > 0 else 500.0, 50.0)))
        bus.settle()
        mallory.send(FollowedPlace((x, -x)))
        mallory.send(ContextUpdate((x, -x)))
        mallory.settle()
    told = [border_event(alice.get(Notify).publication.event) for _ in BUS_EVENTS]
    assert [(each.kind, each.name) for each in told] == BUS_EVENTS
