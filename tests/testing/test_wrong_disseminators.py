"""Each wrong dissemination mechanism is caught by the suite, and by the test that is there for it."""

from __future__ import annotations

import pytest

from bypass import Disseminator
from bypass.testing.suites.dissemination import DisseminationSuite
from tests.testing.catching import failures
from tests.testing.wrong_disseminators import GoesDeaf, KeepsToItself, LosesThread, NeverStops, TellsTwice


@pytest.mark.parametrize(
    ("mechanism", "test", "problem"),
    [
        (TellsTwice, "test_nobody_is_told_twice", "listeners were told again"),
        (KeepsToItself, "test_events_get_as_far_as_they_should", "of those within reach heard"),
        (NeverStops, "test_an_event_comes_to_an_end", "devices sent"),
    ],
)
def test_a_wrong_mechanism_is_caught(mechanism: type[Disseminator], test: str, problem: str) -> None:
    found = failures(type("Wrong", (DisseminationSuite,), {"mechanism": mechanism}))
    assert [*found] == [test]
    assert problem in found[test]


@pytest.mark.parametrize("mechanism", [GoesDeaf, LosesThread])
def test_one_that_does_not_tell_of_later_events_is_caught(mechanism: type[Disseminator]) -> None:
    test = "test_everybody_in_reach_hears"
    found = failures(type("Wrong", (DisseminationSuite,), {"mechanism": mechanism}), test)
    assert "was heard by" in found[test]
