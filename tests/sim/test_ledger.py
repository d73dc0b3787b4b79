"""The ledger against counting by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.events.event import Event
from bypass.protocol.messages import Kind, Publish
from bypass.sim.clock import VirtualClock
from bypass.sim.ledger import COLUMNS, Ledger

CLIENTS = 5
HORIZON = 3  # seconds

subsets = st.lists(st.booleans(), min_size=CLIENTS, max_size=CLIENTS)
deliveries = st.lists(st.tuples(st.integers(0, CLIENTS - 1), st.integers(0, 5)), max_size=8)
histories = st.lists(st.tuples(subsets, deliveries), max_size=20)


def second(n: float) -> int:
    return round(n * 1_000_000)


@given(histories, st.sets(st.integers(1, 30)))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_equal_to_counting_by_hand(
    history: list[tuple[list[bool], list[tuple[int, int]]]], settled: set[int]
) -> None:
    """One event a second; deliveries some seconds after it, in any order and repeatedly."""
    clock = VirtualClock()
    ledger = Ledger(CLIENTS, clock, HORIZON)
    for number, (truth, arrivals) in enumerate(history):
        publication = Publish(1000 + number, Event(n=1), Kind.LOCAL, second(number), (1.0, 2.0))
        clock.at(
            second(number), ledger.published, 1000 + number, second(number), 1, 4, (1.0, 2.0), np.array(truth)
        )
        for client, delay in arrivals:
            clock.at(second(number + delay), ledger.notified, client, publication)
    for moment in settled:
        clock.at(second(moment + 0.5), ledger.settle)
    clock.run_until(second(40))
    columns = ledger.columns()
    assert columns["id"].tolist() == [1000 + n for n in range(len(history))]
    assert columns["at_us"].tolist() == [second(n) for n in range(len(history))]
    for number, (truth, arrivals) in enumerate(history):
        first: dict[int, int] = {}
        for client, delay in sorted(arrivals, key=lambda arrival: arrival[1]):
            if delay <= HORIZON:
                first.setdefault(client, delay)
        right = [delay for client, delay in first.items() if truth[client]]
        assert columns["subscribers"][number] == sum(truth)
        assert columns["notified"][number] == len(first)
        assert columns["correct"][number] == len(right)
        if right:
            assert columns["delay_us"][number] == pytest.approx(second(sum(right)) / len(right))
        else:
            assert math.isnan(columns["delay_us"][number])


def test_columns_have_their_types_even_without_events() -> None:
    columns = Ledger(CLIENTS, VirtualClock()).columns()
    assert {name: column.dtype for name, column in columns.items()} == {
        name: np.dtype(kind) for name, kind in COLUMNS.items()
    }
    assert all(len(column) == 0 for column in columns.values())


def test_many_open_events() -> None:
    clock = VirtualClock()
    ledger = Ledger(CLIENTS, clock, 1000.0)
    nobody = np.zeros(CLIENTS, np.bool_)
    for number in range(500):
        ledger.published(number, number, 2, 0, (0.5, 0.5), nobody)
        ledger.notified(number % CLIENTS, Publish(number, Event(n=1), Kind.PLACED, 0, (0.5, 0.5)))
    ledger.settle()
    columns = ledger.columns()
    assert columns["notified"].tolist() == [1] * 500
    assert columns["correct"].tolist() == [0] * 500
    assert columns["x"].tolist() == [0.5] * 500


def test_what_was_not_entered_is_not_counted() -> None:
    ledger = Ledger(CLIENTS, VirtualClock())
    ledger.notified(0, Publish(7, Event(n=1)))
    ledger.settle()
    assert len(ledger.columns()["id"]) == 0


def test_a_ledger_goes_on_after_it_was_read() -> None:
    clock = VirtualClock()
    ledger = Ledger(CLIENTS, clock, HORIZON)
    everybody = np.ones(CLIENTS, np.bool_)
    for number in range(3):
        ledger.published(number, 0, 1, 0, (0.0, 0.0), everybody)
        ledger.notified(number, Publish(number, Event(n=1)))
        assert ledger.columns()["notified"].tolist() == [1] * (number + 1)
