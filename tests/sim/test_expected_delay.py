"""The broker of a simulated system knows how long events wait for its clients, and rules may ask."""

from __future__ import annotations

import pytest

from bypass.core.adaptation import Adaptation
from bypass.ports.state_info import EXPECTED_DELAY
from bypass.transitions import RuleBook
from tests.vicinity import Vicinity

PATIENCE = """
parameters: {patience: 5}
rules:
  - rule: bypass-the-wait
    on: location
    when: delay != None and delay > patience and scheme == 'radial'
    plan:
      why: events for client {client} wait for {delay} s
      actions: [{proxy: filter, to: ste, members: ["{client}"]}]
"""


def test_rules_move_those_whom_events_wait_for() -> None:
    """Client 1 comes and goes, client 2 stays: the rule concerns the first alone, once it is known."""
    world = Vicinity([(100.0, 100.0), (120.0, 100.0), (140.0, 100.0)], {"mode": "cloud"}, scheme="radial")
    rules = Adaptation(world.broker, RuleBook.from_yaml(PATIENCE), ()).rules
    world.subscribe_all(200)
    sis = world.broker.host.state_info
    for _ in range(10):
        world.run(1.0)
        world.publish_local(0)
    world.run(2.0)
    known = sis.get(EXPECTED_DELAY, 1)
    assert known is not None
    assert known.at == world.now
    assert 0.0 < known.value < 0.01
    world.system.leave(1)
    assert sis.get(EXPECTED_DELAY, 1) is None
    world.run(24.0)
    world.system.join(1)
    known = sis.get(EXPECTED_DELAY, 1)
    assert known is not None
    assert known.value == pytest.approx(24.0**2 / (12.0 + 24.0), rel=0.01)
    assert not rules.firings
    world.subscribe(1, 200)
    world.run(2.0)
    [firing] = rules.firings
    assert (firing.rule, firing.subject, firing.error) == ("bypass-the-wait", 1, "")
    assert firing.facts["delay"] > 5.0
    assert [world.scheme_of(client).name for client in range(3)] == ["radial", "ste", "radial"]
