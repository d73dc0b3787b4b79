"""Counts of gateways, and of copies around them, against a run that can be counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from bypass.ports.local_access import GATEWAY_PORT
from bypass.scenarios.figures.gateway_watch import EVENT_COLUMNS, GatewayUse, GatewayWatch
from tests.vicinity import Vicinity, row


def watched(selection: str = "dkc-leach", **values: float) -> tuple[Vicinity, GatewayWatch]:
    """Client 0 publishes, far from six others that are in reach of each other."""
    world = Vicinity(
        [(900.0, 900.0), *row(6, 5.0)],
        {"mode": "gateway", "gateway": "broadcast", "gateway_logic": "relay"},
    )
    watch = GatewayWatch(world.system)
    world.system.monitor.register(watch)
    world.broker.engine.transition("gateway-selection", selection, set=values)
    world.subscribe_all()
    world.run(2.0)
    return world, watch


def test_without_gateways_there_is_nothing_to_say() -> None:
    world, watch = watched(smallest=100)
    world.publish(0)
    world.run(2.0)
    use = watch.use()
    assert use.times.tolist() == [0] * 7
    assert {name: len(column) for name, column in use.events.items()} == dict.fromkeys(
        ("at_us", "x", "y", "gateways", "recipients", "attempts"), 0
    )
    assert use.summary() == {
        "events": 0,
        "per_event": None,
        "share": None,
        "fairness": None,
        "attempts": None,
        "most_attempts": None,
        "attempts_where_most": None,
    }


def test_gateways_and_copies_are_counted() -> None:
    world, watch = watched(share=0.5)
    at = world.system.clock.now_us
    numbers = []
    for n in range(4):
        numbers.append(world.clients[0].publish(world._event({})) if n % 2 else None)
        if numbers[-1] is None:
            world.publish(0, (55.0, 500.0))
        world.run(2.0)
    use = watch.use()
    assert use.events["gateways"].tolist() == [3] * 4
    assert use.events["recipients"].tolist() == [6] * 4
    assert use.events["at_us"].tolist() == [at + 2_000_000 * n for n in range(4)]
    assert use.events["x"][::2].tolist() == [55.0] * 2
    assert np.isnan(use.events["x"][1::2]).all()
    assert use.times.sum() == 12
    assert use.times[0] == 0
    # Each gateway that serves somebody is heard by all others, unless two of them speak at once.
    assert (use.events["attempts"] <= 3.0).all()
    assert use.events["attempts"].mean() > 1.0
    for number, attempts in zip(numbers, use.events["attempts"].tolist(), strict=True):
        if number is not None:
            told = {client for event, client, _ in world.tap.relays if event == number}
            told |= {client for event, client, _ in world.tap.notifications if event == number}
            served = [n for n in range(1, 7) if n not in told]
            copies = world.copies(number, GATEWAY_PORT)
            assert attempts == pytest.approx(np.mean([copies[n] for n in served]))
    summary = use.summary()
    assert (summary["events"], summary["per_event"], summary["share"]) == (4, 3.0, 0.5)
    # In turn: each of the six was gateway twice; the publisher, far away, never was.
    assert summary["fairness"] == pytest.approx(6 / 7)
    assert summary["attempts"] == pytest.approx(use.events["attempts"].mean())


def test_what_has_not_settled_is_not_counted() -> None:
    world, watch = watched(share=0.5)
    world.publish(0)
    world.run(0.5)
    use = watch.use()
    assert use.events["gateways"].tolist() == [3]
    assert np.isnan(use.events["attempts"]).all()
    assert use.summary()["attempts"] is None


def test_who_serves_nobody_makes_no_attempt() -> None:
    world, watch = watched(share=1.0)
    world.publish(0)
    world.run(2.0)
    use = watch.use()
    assert use.events["gateways"].tolist() == use.events["recipients"].tolist() == [6]
    assert np.isnan(use.events["attempts"]).all()


def test_watching_changes_nothing() -> None:
    world, _ = watched()
    plain = Vicinity(
        [(900.0, 900.0), *row(6, 5.0)],
        {"mode": "gateway", "gateway": "broadcast", "gateway_logic": "relay"},
    )
    plain.broker.engine.transition("gateway-selection", "dkc-leach")
    plain.subscribe_all()
    plain.run(2.0)
    for each in (world, plain):
        for _ in range(5):
            each.publish(0)
            each.run(0.4)
        each.run(2.0)
    assert world.deliveries == plain.deliveries
    assert world.frames() == plain.frames()


def test_copies_are_told_apart_by_place() -> None:
    columns = {name: np.zeros(60) for name in EVENT_COLUMNS}
    columns["x"] = np.repeat([5.0, 15.0, 45.0], [15, 15, 30])  # the first two are in the same cell
    columns["attempts"] = np.repeat([1.0, 3.0, 1.5], [15, 15, 30])
    columns["attempts"][-1] = np.nan
    use = GatewayUse(columns | {"recipients": np.ones(60)}, np.ones(3, np.int64))
    assert use.summary()["attempts_where_most"] == 2.0
    columns["x"][:15] = 25.0  # in cells of their own, too few to say something
    assert use.summary()["attempts_where_most"] == 1.5
