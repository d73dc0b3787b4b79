"""Energies add up to the published shares of a battery, of a tablet and of a phone."""

from __future__ import annotations

import pytest

from bypass.models.storage.energy import OPERATIONS, TABLET, WORST_CASE, EnergyUse
from bypass.models.storage.phone_energy import (
    BYTE_J,
    CELL_NODES,
    FROM_EDGE_J,
    IDLE_W,
    OPERATION_NAMES,
    PHONE,
    PHONE_AIDED,
    RECIPIENT,
    RECIPIENT_AIDED,
    ROUTER,
    SENDER,
    SENDER_AIDED,
    mean,
    over_used,
)


def test_ten_minutes_of_the_worst_case() -> None:
    assert WORST_CASE.total == 2580
    assert WORST_CASE.percent == pytest.approx(2.69, abs=0.005)
    assert WORST_CASE.minutes_of(50) == pytest.approx(186, abs=0.5)
    assert WORST_CASE.minutes_of(50) / 60 > 3


def test_a_minute_in_a_closed_loop() -> None:
    """Standby and an idle application as published; loops of 18 operations, which 2 J for an insertion stand
    for."""
    assert TABLET.budget(EnergyUse(60)).total == pytest.approx(67)
    assert TABLET.budget(EnergyUse(60, {"insert": 18})).total == pytest.approx(103)
    for name in ("delete", "subscribe", "unsubscribe", "retrieve", "page"):
        assert TABLET.budget(EnergyUse(60, {name: 18})).total == pytest.approx(90)


def test_moderate_use_lasts_well_over_six_hours() -> None:
    moderate = TABLET.budget(EnergyUse(600, {"insert": 20, "delete": 20}, {"insert": 100}, maintenance=100))
    assert moderate.minutes_of(50) > 6 * 60
    assert moderate.total == pytest.approx(moderate.issue + 1.5 * 200)


def test_a_budget_counts_each_purpose_by_itself() -> None:
    use = EnergyUse(
        10, {"insert": 2, "retrieve": 3}, {"subscribe": 4}, 5, from_edge=2, looks=6, reports=7, forwarded=8,
        sent_bytes=9_000_000,
    )  # fmt: skip
    budget = PHONE_AIDED.budget(use)
    own = 2 * 440 / 761 + 440 / 782 + 2 * 440 / 873
    assert budget.issue == pytest.approx(10 * IDLE_W + own)
    assert budget.process == pytest.approx(4 * 440 / 812)
    assert budget.maintain == pytest.approx(5 * mean(RECIPIENT_AIDED) + 6 * 0.068 + 7 * 0.516)
    assert budget.forward == pytest.approx(8 * mean(ROUTER))
    assert budget.send == pytest.approx(9e6 * BYTE_J)
    assert budget.total == pytest.approx(
        budget.issue + budget.process + budget.maintain + budget.forward + budget.send
    )
    with pytest.raises(KeyError, match="dream"):
        PHONE.budget(EnergyUse(1, {"dream": 1}))


def test_the_table_of_a_phone_has_the_printed_means() -> None:
    """0.55 J to issue an operation, 0.51 J to process one, 0.89 J to pass it on, which is 46 % of the two J
    that one takes; 1.1 to 1.4 J with infrastructure, a download from it 0.5 J."""
    assert mean(SENDER) == pytest.approx(0.55, abs=0.005)
    assert mean(RECIPIENT) == pytest.approx(0.51, abs=0.005)
    assert mean(ROUTER) == pytest.approx(0.89, abs=0.005)
    whole = mean(SENDER) + mean(RECIPIENT) + mean(ROUTER)
    assert whole == pytest.approx(2, abs=0.06)
    assert mean(ROUTER) / whole == pytest.approx(0.46, abs=0.005)
    aided = {name: SENDER_AIDED[name] + RECIPIENT_AIDED[name] for name in OPERATION_NAMES}
    assert all(1.05 < joules < 1.45 for joules in aided.values())
    assert pytest.approx(0.5, abs=0.005) == FROM_EDGE_J
    dearer = [SENDER_AIDED[name] / SENDER[name] - 1 for name in ("subscribe", "delete")]
    assert sum(dearer) / 2 == pytest.approx(0.61, abs=0.01)
    assert set(SENDER) == set(RECIPIENT) == set(ROUTER) == set(OPERATIONS)


def test_power_and_bytes_are_fitted_to_what_was_measured_at_a_cell() -> None:
    """884 and 499 J a node, 2 and 1 % of the battery: these go in. By the table alone a node would spend more
    with infrastructure than without."""
    budgets = {
        aided: [(PHONE_AIDED if aided else PHONE).budget(use) for use in over_used(aided=aided)]
        for aided in (False, True)
    }
    joules = {aided: sum(each.total for each in own) / CELL_NODES for aided, own in budgets.items()}
    assert joules == {False: pytest.approx(884), True: pytest.approx(499)}
    assert [round(own[0].percent) for own in budgets.values()] == [2, 1]
    assert pytest.approx(0.376, abs=0.0005) == IDLE_W
    assert pytest.approx(6.203e-7, rel=0.0005) == BYTE_J
    by_table = [sum(each.process + each.maintain for each in own) for own in budgets.values()]
    assert by_table[1] / by_table[0] == pytest.approx(1.12, abs=0.005)
    assert sum(use.sent_bytes for use in over_used(aided=False)) == 30_000 * 100_000
    assert sum(use.sent_bytes for use in over_used(aided=True)) == 10_500 * 100_000
