"""The stability of clients, by either mechanism; a client exchanges them, and is told it by its link."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.core import Client
from bypass.mechanisms import Registry
from bypass.mechanisms.families import STABILITY, STABILITY_PROXY
from bypass.ports.proxies import Stability, StabilityReading
from bypass.transitions import Action, Engine, InvalidPlan, Plan
from tests.vicinity import Vicinity, row


def stability(name: str, **values: Any) -> Stability:
    made: Stability = Registry().create(Engine("node"), "client", STABILITY_PROXY, name, set=values)
    return made


@pytest.mark.parametrize(
    ("battery", "charging", "stillness", "in_cell_s", "expected"),
    [
        (1.0, False, 1.0, 300.0, 100),
        (0.0, False, 0.0, 0.0, 0),
        (0.1, True, 0.0, 0.0, 50),
        (0.5, False, 1.0, 150.0, 65),
        (0.68, False, 0.8, 150.0, 68),
        (0.1, True, 0.7, 150.0, 81),
        (2.0, False, -1.0, 1e9, 70),
    ],
)
def test_weighted(battery: float, charging: bool, stillness: float, in_cell_s: float, expected: int) -> None:
    reading = StabilityReading(battery, charging, stillness, in_cell_s, 99.0, 99)
    assert stability("weighted").index(reading) == expected


@pytest.mark.parametrize(
    ("battery", "charging", "speed", "neighbours", "expected"),
    [
        (1.0, False, 0.0, 8, 100),
        (1.0, False, 0.0, 4, 90),
        (1.0, False, 1 / 3, 0, 65),  # 150 s for 50 m: half of the longest time that counts
        (0.5, False, 1.0, 2, 35),  # 25 + 5 + 5
        (0.14, False, 0.0, 8, 0),  # it may end soon
        (0.14, True, 0.0, 8, 100),
        (2.0, False, -1.0, 99, 100),
    ],
)
def test_hdum(battery: float, charging: bool, speed: float, neighbours: int, expected: int) -> None:
    assert (
        stability("hdum").index(StabilityReading(battery, charging, 0.0, 0.0, speed, neighbours)) == expected
    )


def test_the_parameters_of_hdum() -> None:
    reading = StabilityReading(0.3, False, 0.0, 0.0, 1.0, 4)
    found = [stability("hdum", **each).index(reading) for each in ({"reach_m": 300.0}, {"enough": 4})]
    assert found == [55, 40]  # 15 + 30 + 10, 15 + 5 + 20
    assert stability("hdum", least_charge=0.31).index(reading) == 0


readings = st.builds(
    StabilityReading,
    st.floats(-1.0, 2.0),
    st.booleans(),
    st.floats(-1.0, 2.0),
    st.floats(-1.0, 1e9),
    st.floats(-1.0, 1e6) | st.just(1e-320),
    st.integers(0, 10_000),
)


@pytest.mark.parametrize("name", Registry().kinds(STABILITY))
@settings(derandomize=True, deadline=None, max_examples=100)
@given(readings, st.floats(0.0, 1.0), st.integers(0, 10))
def test_an_index_is_a_whole_number_up_to_100_and_more_is_not_less(
    name: str, reading: StabilityReading, more: float, neighbours: int
) -> None:
    made = stability(name)
    index = made.index(reading)
    assert isinstance(index, int)
    assert 0 <= index <= 100
    assert made.index(reading) == index
    better = reading._replace(
        battery=reading.battery + more,
        stillness=reading.stillness + more,
        in_cell_s=reading.in_cell_s + 100 * more,
        neighbours=reading.neighbours + neighbours,
    )
    assert made.index(better) >= index
    assert made.index(reading._replace(speed=max(0.0, reading.speed))) == index
    assert made.index(reading._replace(speed=2 * abs(reading.speed))) <= index
    assert made.index(reading._replace(charging=True)) >= index


def told(client: Client, reading: StabilityReading) -> int:
    return client.node.link.stability(reading)


LOW = StabilityReading(0.1, False, 1.0, 300.0)


def test_a_plan_exchanges_it_at_a_client(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "from bypass.mechanisms.storage.infra.stability import StabilityMechanism\n\n\n"
        "class Newcomers(StabilityMechanism):\n"
        "    def weigh(self, reading):\n        return 7.0 / (1.0 + reading.in_cell_s)\n"
    )
    world = Vicinity(row(1), registry=Registry([f"{tmp_path}/own.py:Newcomers"]))
    client = world.clients[0]
    client.carry_out(Plan(plan="p", actions=(Action(proxy="stability", to="hdum"),)))
    assert told(client, LOW) == 0
    client.carry_out(Plan(plan="p", actions=(Action(proxy="stability", set={"least_charge": 0.0}),)))
    assert told(client, LOW) == 35
    client.carry_out(Plan(plan="p", actions=(Action(proxy="stability", to="weighted"),)))
    assert told(client, LOW) == 55
    client.carry_out(Plan(plan="p", actions=(Action(proxy="stability", to="newcomers"),)))
    assert [told(client, LOW), told(client, LOW._replace(in_cell_s=1.0))] == [2, 100]  # never more
    with pytest.raises(InvalidPlan, match="expected actions of routing and storage"):
        client.decide(Plan(plan="p", actions=(Action(proxy="stability", to="hdum"),)))
