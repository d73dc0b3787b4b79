"""Each wrong routing mechanism is caught by the suite, and by the tests that are there for it."""

from __future__ import annotations

from typing import Any

import pytest

from bypass.mechanisms.routing.base import RoutingMechanism
from bypass.testing.suites.routing import RoutingSuite
from tests.testing.catching import failures
from tests.testing.wrong_routing import DeliversTwice, LoopsForEver, LosesSilently

ONE_HOP = {"multihop": False, "settled_s": 0.1, "patience_s": 2.0}
DSDV = {"settled_s": 20.0, "patience_s": 60.0}


@pytest.mark.parametrize(
    ("mechanism", "capabilities", "test", "problem"),
    [
        (DeliversTwice, ONE_HOP, "test_a_node_gets_a_body_once", "was taken by"),
        (DeliversTwice, ONE_HOP, "test_losses_do_no_harm", "handed over twice"),
        (LosesSilently, DSDV, "test_all_is_delivered_or_reported", "expected one"),
        (LosesSilently, DSDV, "test_who_never_was_there_is_reported", "reported: []"),
        (LoopsForEver, {}, "test_nothing_goes_on_for_ever", "and went on"),
    ],
)
def test_a_wrong_mechanism_is_caught(
    mechanism: type[RoutingMechanism], capabilities: dict[str, Any], test: str, problem: str
) -> None:
    suite = type("Wrong", (RoutingSuite,), {"mechanism": mechanism, "capabilities": capabilities})
    assert problem in failures(suite, test)[test]


@pytest.mark.parametrize(
    ("mechanism", "capabilities"), [(DeliversTwice, ONE_HOP), (LosesSilently, DSDV), (LoopsForEver, {})]
)
def test_a_wrong_mechanism_does_the_rest_right(
    mechanism: type[RoutingMechanism], capabilities: dict[str, Any]
) -> None:
    tests = ("test_neighbours_and_no_others_are_told", "test_a_flood_gets_to_everybody_once")
    suite = type("Wrong", (RoutingSuite,), {"mechanism": mechanism, "capabilities": capabilities})
    assert failures(suite, *tests) == {}
