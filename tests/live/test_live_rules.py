"""The rule engine in a live broker: it observes clients, and plans follow."""

from __future__ import annotations

from pathlib import Path

import pytest

from bypass.ports.state_info import EXPECTED_DELAY
from bypass.protocol.messages import ContextUpdate, PlanMessage
from bypass.protocol.session import Bye
from bypass.transitions import InvalidRule, Plan
from tests.live.brokers import config, in_loop, peers, running, until

RULES = """
rules:
  - rule: enter
    on: location
    when: place == 'park' and scheme == 'radial'
    plan:
      plan: enter-park
      why: "client {client} came to the park"
      actions:
        - {proxy: filter, to: ste, members: ["{client}"]}
"""


def test_a_rule_moves_a_client_that_comes_to_a_place(tmp_path: Path) -> None:
    book = tmp_path / "rules.yaml"
    book.write_text(RULES)
    region = {"area": [0, 0, 1000, 1000], "places": [{"name": "park", "x": 500, "y": 500, "radius": 50}]}
    with running(config(tmp_path, rules=book, region=region)) as service, peers() as make:
        walker, sitter = (make(service.server.endpoints[0], name) for name in ("walker", "sitter"))
        walker.subscribe(at=(10.0, 10.0))
        sitter.subscribe(at=(10.0, 10.0))
        walker.send(ContextUpdate((500.0, 510.0)))
        plan = Plan.from_bytes(walker.get(PlanMessage).plan)
        assert plan.why == f"client {walker.number} came to the park"
        broker = service.server.broker
        assert in_loop(service, lambda: broker.scheme_of(walker.number).name) == "ste"
        assert in_loop(service, lambda: broker.scheme_of(sitter.number).name) == "radial"
        until(lambda: service.plans.latest(1)[0]["plan"] == "enter-park")


LEAVE = """
from bypass import Rule

LIST = [
    Rule.model_validate({
        "rule": "leave", "on": "location", "when": "place == None and scheme == 'ste'",
        "plan": {"actions": [{"proxy": "filter", "to": "radial", "members": ["{client}"]}]},
    })
]
"""


def test_rules_come_of_several_sources(tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(RULES)
    (tmp_path / "leave.py").write_text(LEAVE)
    sources = [str(tmp_path / "rules.yaml"), f"{tmp_path}/leave.py:LIST"]
    region = {"area": [0, 0, 1000, 1000], "places": [{"name": "park", "x": 500, "y": 500, "radius": 50}]}
    with running(config(tmp_path, rules=sources, region=region)) as service, peers() as make:
        walker = make(service.server.endpoints[0], "walker")
        walker.subscribe(at=(10.0, 10.0))
        broker = service.server.broker
        for place, scheme in (((500.0, 510.0), "ste"), ((10.0, 10.0), "radial")):
            walker.send(ContextUpdate(place))
            walker.get(PlanMessage)
            assert in_loop(service, lambda: broker.scheme_of(walker.number).name) == scheme


def test_a_rule_book_that_is_none_is_refused_and_nothing_is_left_open(tmp_path: Path) -> None:
    book = tmp_path / "rules.yaml"
    book.write_text("rules: [{rule: x}]")
    with pytest.raises(InvalidRule), running(config(tmp_path, rules=book)):
        pass
    with running(config(tmp_path)):
        pass  # the store is free


PATIENCE = """
parameters: {patience: 0.001}
rules:
  - rule: bypass-the-wait
    on: location
    when: delay != None and delay > patience and scheme == 'radial'
    plan:
      why: events for client {client} wait for {delay} s
      actions: [{proxy: filter, to: ste, members: ["{client}"]}]
"""


def test_a_rule_knows_whom_events_wait_for(tmp_path: Path) -> None:
    """Who was away for a while makes events wait; who has never left does not, and nobody asked."""
    book = tmp_path / "rules.yaml"
    book.write_text(PATIENCE)
    with running(config(tmp_path, rules=book)) as service, peers() as make:
        endpoint = service.server.endpoints[0]
        publisher, stays, goes = (make(endpoint, name) for name in ("publisher", "stays", "goes"))
        for peer in (stays, goes):
            peer.subscribe(at=(10.0, 10.0))
        for _ in range(5):
            publisher.publish(at=(10.0, 10.0))
        for peer in (stays, goes):
            for _ in range(5):
                peer.event()
            peer.settle()
        delays = service.server.deliveries.delays
        sis, now = service.server.broker.host.state_info, service.server.loop.now
        there = now()
        goes.send(Bye())
        goes.get(Bye)
        assert in_loop(service, lambda: sis.get(EXPECTED_DELAY, goes.number)) is None
        left = now()
        until(lambda: now() - left > 0.05)  # nothing else says that time has passed
        back = make(endpoint, "goes", handles=(1,))
        known = in_loop(service, lambda: delays.centre(goes.number, now()))
        assert known is not None
        assert 0.05 < known.off < now() - there
        for peer in (stays, back):
            peer.send(ContextUpdate((20.0, 10.0)))
        assert "wait for" in Plan.from_bytes(back.get(PlanMessage).plan).why
        stays.settle()
        broker = service.server.broker
        numbers = (stays.number, goes.number)
        names = in_loop(service, lambda: [broker.scheme_of(number).name for number in numbers])
        assert names == ["radial", "ste"]


NUMBERED = """
rules:
  - rule: enter
    on: location
    when: place == 'park' and before == 0
    plan:
      plan: enter-park
      scope: "{area}"
      decision: "{next_decision}"
      actions: [{proxy: direct, to: flooding, members: ["{client}"]}]
"""


def test_decisions_of_rules_are_numbered_on_after_a_restart(tmp_path: Path) -> None:
    """Clients take a number that comes again for an old decision."""
    book = tmp_path / "rules.yaml"
    book.write_text(NUMBERED)
    region = {"area": [0, 0, 1000, 1000], "places": [{"name": "park", "x": 500, "y": 500, "radius": 50}]}
    settings = config(tmp_path, rules=book, region=region)
    decisions = []
    with peers() as make:
        for life in (1, 2):
            with running(settings) as service:
                walker = make(service.server.endpoints[0], f"walker-{life}")
                walker.subscribe(at=(10.0, 10.0))
                walker.send(ContextUpdate((500.0, 510.0)))
                decisions.append(Plan.from_bytes(walker.get(PlanMessage).plan).decision)
    assert decisions == [1, 2]
