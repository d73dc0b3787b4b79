"""Each wrong filter scheme is caught by the suite, and by the test that is there for it."""

from __future__ import annotations

import pytest

from bypass import FilterScheme
from bypass.testing.suites.filter_schemes import FilterSchemeSuite
from tests.testing.catching import failures
from tests.testing.wrong_schemes import MovesOnce, OneEach, StartsEmpty


@pytest.mark.parametrize(
    ("scheme", "test"),
    [
        (MovesOnce, "test_nobody_whom_an_event_concerns_misses_it"),
        (OneEach, "test_nobody_whom_an_event_concerns_misses_it"),
        (StartsEmpty, "test_transitions_lose_nothing"),
    ],
)
def test_a_wrong_scheme_is_caught(scheme: type[FilterScheme], test: str) -> None:
    suite = type("Wrong", (FilterSchemeSuite,), {"mechanism": scheme, "capabilities": {"live": False}})
    found = failures(suite)
    assert "was told not to all whom it concerns" in found[test]
    assert "test_clients_need_no_arrays" not in found
