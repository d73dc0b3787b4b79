"""Outages around a transition, on series whose outage is known."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.scenarios.figures.figures import around_transition
from bypass.scenarios.figures.measures import Around
from bypass.scenarios.figures.outages import WIDTH_MS

AT_S = 20.0
END_S = 40.0
EVENTS_S = np.arange(0.0, END_S, 0.004) + 0.002
QUIET = {f"context_{way}": np.zeros(round(END_S), np.int64) for way in ("up", "down")}
BINS_MS = 2 * WIDTH_MS  # an outage begins and ends within bins

levels = st.floats(0.4, 1.0)


def series(recall: Any, at_s: Any = EVENTS_S, subscribers: int = 1000) -> dict[str, Any]:
    """Events with so many subscribers each, all published in the order given."""
    correct = np.rint(np.broadcast_to(recall, at_s.shape) * subscribers).astype(np.int64)
    return {
        "at_us": np.rint(at_s * 1e6).astype(np.int64),
        "subscribers": np.full(at_s.shape, subscribers),
        "notified": correct,
        "correct": correct,
    }


def with_outage(start: float, end: float, before: float, after: float, left: float = 0.0) -> dict[str, Any]:
    """One level before a transition and one after it, and recall `left` from `start` to before `end`."""
    usual = np.where(EVENTS_S < AT_S, before, after)
    lost = (AT_S + start <= EVENTS_S) & (AT_S + end > EVENTS_S)
    return series(np.where(lost, left, usual))


def around(events: dict[str, Any]) -> dict[str, float]:
    return around_transition(events, QUIET, AT_S)


@given(start=st.floats(-3.0, 0.45), length=st.floats(0.06, 9.0), before=levels, after=levels)
@settings(max_examples=100, deadline=None)
def test_an_outage_counts_wherever_it_is_and_however_long(
    start: float, length: float, before: float, after: float
) -> None:
    """Its length is right but for the bins that it begins and ends in, and so is what it costs."""
    if start + length < -0.4:  # over long before the transition
        length = -0.4 - start + 0.06
    end = start + length
    found = around(with_outage(start, end, before, after))
    wanted_before, wanted_after = min(end, 0.0) - min(start, 0.0), max(end, 0.0) - max(start, 0.0)
    assert found["outage_before_ms"] == pytest.approx(1000 * wanted_before, abs=BINS_MS)
    assert found["outage_after_ms"] == pytest.approx(1000 * wanted_after, abs=BINS_MS)
    assert found["recall_dip_s"] == pytest.approx(length * min(before, after), abs=0.03)


@given(start=st.floats(-0.4, 0.4), before=levels)
@settings(max_examples=50, deadline=None)
def test_an_outage_for_ever_lasts_until_the_end(start: float, before: float) -> None:
    events = with_outage(start, END_S, before, before)
    found = around(events)
    lasted = END_S - AT_S - max(start, 0.0)
    assert found["outage_after_ms"] == pytest.approx(1000 * lasted, abs=BINS_MS)
    assert found["recall_dip_s"] == pytest.approx(before * (END_S - AT_S - start), rel=0.05)
    lost = Around.of(events, AT_S, "next").summary()["recall_lost_s"]
    assert lost == pytest.approx(before * (6.0 - start), abs=0.1)


@given(before=levels, after=levels, late=st.floats(-0.1, 0.4))
@settings(max_examples=50, deadline=None)
def test_another_level_is_no_cost_and_no_outage(before: float, after: float, late: float) -> None:
    found = around(series(np.where(AT_S + late > EVENTS_S, before, after)))
    assert found["outage_before_ms"] == found["outage_after_ms"] == 0.0
    assert found["recall_dip_s"] == pytest.approx(0.0, abs=1e-3)


def test_a_better_level_makes_up_for_no_loss() -> None:
    """As when GOSSIP gives way to PLAN-B: 158 ms without anything are more than 100 ms of full recall."""
    found = around(with_outage(0.0, 0.158, 0.85, 0.95))
    assert found["recall_dip_s"] == pytest.approx(0.158 * 0.85, abs=0.005)
    assert found["outage_after_ms"] == pytest.approx(158, abs=BINS_MS)


@pytest.mark.parametrize("left", [0.0, 0.4])
def test_what_is_missing_counts_by_how_much(left: float) -> None:
    found = around(with_outage(-0.05, 0.15, 0.8, 0.8, left))
    assert found["recall_dip_s"] == pytest.approx(0.2 * (0.8 - left), abs=0.005)


def test_silence_is_no_outage() -> None:
    """Where nobody publishes nothing is lost: the bins beyond the last lost publication do not count."""
    recall = np.where((EVENTS_S >= AT_S) & (EVENTS_S < AT_S + 0.1), 0.0, 1.0)
    loud = (EVENTS_S < AT_S + 0.1) | (EVENTS_S >= AT_S + 3.0)
    assert around(series(recall[loud], EVENTS_S[loud]))["outage_after_ms"] == pytest.approx(100)


def test_without_publications_nothing_is_known() -> None:
    quiet = np.abs(EVENTS_S - AT_S) > 1.0
    found = around(series(1.0, EVENTS_S[quiet]))
    assert all(math.isnan(found[name]) for name in ("outage_before_ms", "outage_after_ms", "recall_dip_s"))


def test_chance_makes_no_loss() -> None:
    """With 300 events a second that reach 80 % of 8 subscribers on average nothing adds up."""
    rng = np.random.default_rng(4)
    at = np.sort(rng.uniform(0.0, END_S, round(300 * END_S)))
    for _ in range(20):
        found = around(series(rng.binomial(8, 0.8, len(at)) / 8, at, 8))
        assert found["outage_before_ms"] == found["outage_after_ms"] == 0.0
        assert abs(found["recall_dip_s"]) < 0.04
