"""Which mechanisms were in use around each attraction point."""

from __future__ import annotations

import math

import pytest

from bypass.places.region import Place
from bypass.scenarios.figures.areas import Stay, by_area, stays
from bypass.scenarios.figures.usage import ClientExecution, JoinOrLeave
from bypass.transitions import Record

PLACES = (Place("park", 0.0, 0.0, 50.0), Place("square", 500.0, 0.0, 20.0), Place("bridge", 900.0, 0.0, 20.0))
KINDS = ("nothing", "unicast", "broadcast")


def execution(at: float, client: int, target: str, x: float, outcome: str = "done") -> ClientExecution:
    record = Record("1", "plan", "who", "why", proxy="gateway", host=f"client-{client}", at=at, target=target)
    record.outcome = outcome  # type: ignore[assignment] # one of the results
    return ClientExecution(record, x, 0.0)


def test_a_stay_lasts_until_the_next_transition_or_until_the_client_leaves() -> None:
    executions = [
        execution(10.0, 0, "unicast", 40.0),
        execution(20.0, 0, "broadcast", 60.0),
        execution(30.0, 0, "nothing", 70.0),
        execution(40.0, 1, "unicast", 510.0),
        execution(45.0, 1, "broadcast", 510.0, outcome="failed"),
        execution(90.0, 2, "unicast", 490.0),
        execution(105.0, 2, "broadcast", 490.0),
    ]
    attendance = [JoinOrLeave(0.0, 1, True), JoinOrLeave(60.0, 1, False)]
    assert stays("gateway", executions, attendance, PLACES, 100.0) == [
        [Stay(10.0, 20.0, "unicast"), Stay(20.0, 30.0, "broadcast")],
        [Stay(40.0, 60.0, "unicast"), Stay(90.0, 100.0, "unicast")],
        [],
    ]
    assert stays("direct", executions, (), PLACES, 100.0) == [[], [], []]
    assert stays("gateway", executions, (), (), 100.0) == []


def test_shares_are_of_the_clients_time_at_each_place() -> None:
    found = [
        [Stay(0.0, 10.0, "unicast"), Stay(0.0, 30.0, "broadcast")],
        [Stay(5.0, 10.0, "unicast")],
        [],
    ]
    figures = by_area(PLACES, found, KINDS)
    assert figures["places"]["park"] == {"seconds": 40.0, "unicast": 0.25, "broadcast": 0.75}
    assert figures["places"]["square"] == {"seconds": 5.0, "unicast": 1.0, "broadcast": 0.0}
    assert figures["places"]["bridge"]["seconds"] == 0.0
    assert math.isnan(figures["places"]["bridge"]["unicast"])
    assert (figures["visited"], figures["without"]) == (2, {"unicast": 0, "broadcast": 1})


def test_together_is_the_share_of_time_in_which_a_client_does_what_most_do() -> None:
    alike = [Stay(0.0, 10.0, "unicast"), Stay(5.0, 10.0, "unicast"), Stay(10.0, 30.0, "broadcast")]
    assert by_area(PLACES[:1], [alike], KINDS)["together"] == pytest.approx(1.0)
    # For 10 of 20 s one of three does something else; for the other 10 s all three do the same.
    mixed = [Stay(0.0, 20.0, "unicast"), Stay(0.0, 20.0, "unicast"), Stay(0.0, 10.0, "broadcast")]
    mixed += [Stay(10.0, 20.0, "unicast")]
    assert by_area(PLACES[:1], [mixed], KINDS)["together"] == pytest.approx(50.0 / 60.0)
    assert math.isnan(by_area(PLACES[:1], [[]], KINDS)["together"])
