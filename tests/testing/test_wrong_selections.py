"""Each wrong selection of gateways is caught by the suite, and by the test that is there for it."""

from __future__ import annotations

import pytest

from bypass import GatewayChoice
from bypass.testing.suites.gateway_selections import GatewaySelectionSuite
from tests.testing.catching import failures
from tests.testing.wrong_selections import Dice, Faithful, SameAgain


@pytest.mark.parametrize(
    ("mechanism", "test", "problem"),
    [
        (SameAgain, "test_everybody_is_a_gateway_or_has_one", "have no gateway and are none"),
        (Faithful, "test_nobody_is_lost_when_gateways_leave", "are gateways: expected some of"),
        (Dice, "test_a_selection_is_the_same_each_time", ""),  # which hypothesis may call flaky
    ],
)
def test_a_wrong_selection_is_caught(mechanism: type[GatewayChoice], test: str, problem: str) -> None:
    found = failures(type("Wrong", (GatewaySelectionSuite,), {"mechanism": mechanism}))
    assert problem in found[test]
