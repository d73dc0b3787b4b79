"""The rule engine in a live broker: it observes clients, and plans follow."""

from __future__ import annotations

from pathlib import Path

import pytest

from bypass.messages import ContextUpdate, PlanMessage
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
        until(lambda: service.followup.latest(1)[0]["plan"] == "enter-park")


def test_a_rule_book_that_is_none_is_refused_and_nothing_is_left_open(tmp_path: Path) -> None:
    book = tmp_path / "rules.yaml"
    book.write_text("rules: [{rule: x}]")
    with pytest.raises(InvalidRule), running(config(tmp_path, rules=book)):
        pass
    with running(config(tmp_path)):
        pass  # the store is free
