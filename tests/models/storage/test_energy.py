"""The energy budget adds up to the published shares of a battery."""

from __future__ import annotations

import pytest

from bypass.models.storage.energy import WORST_CASE, budget


def test_ten_minutes_of_the_worst_case() -> None:
    assert WORST_CASE.total == 2580
    assert WORST_CASE.percent == pytest.approx(2.69, abs=0.005)
    assert WORST_CASE.minutes_of(50) == pytest.approx(186, abs=0.5)
    assert WORST_CASE.minutes_of(50) / 60 > 3


def test_a_minute_in_a_closed_loop() -> None:
    """Standby and an idle application as published; loops of 18 operations, which 2 J for an insertion stand
    for."""
    assert budget(60, 0, 0, 0, 0).total == pytest.approx(67)
    assert budget(60, 18, 0, 0, 0).total == pytest.approx(103)
    assert budget(60, 0, 18, 0, 0).total == pytest.approx(90)


def test_moderate_use_lasts_well_over_six_hours() -> None:
    moderate = budget(600, inserts=20, others=20, processed=100, maintenance=100)
    assert moderate.minutes_of(50) > 6 * 60
    assert moderate.total == pytest.approx(moderate.issue + 1.5 * 200)
