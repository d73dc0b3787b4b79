"""The subscription table against a plain dictionary of what it was told."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from bypass.events.filters import Subscription, attr
from bypass.mechanisms.filters.indexes import table as table_module
from bypass.mechanisms.filters.indexes.table import SubscriptionTable
from bypass.support.arrays import Ints

SUBSCRIPTIONS = [Subscription.of(attr("level") >= level) for level in range(3)]

clients = st.integers(0, 4)
handles = st.integers(1, 4)
coordinates = st.sampled_from((0.0, 1.0)) | st.floats(-1000, 1000)  # so that some stay where they are
vectors = st.none() | st.tuples(coordinates, coordinates)


class Listener:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.moves: list[list[int]] = []
        self.removals: list[list[int]] = []

    def moved(self, rows: Ints) -> None:
        self.moves.append(rows.tolist())

    def removed(self, rows: Ints) -> None:
        self.removals.append(rows.tolist())


class Table(RuleBasedStateMachine):
    @initialize()
    def create(self) -> None:
        self.table = SubscriptionTable()
        self.listener = Listener()
        self.table.listeners = (self.listener,)
        self.subscribed: dict[tuple[int, int], tuple[Subscription, int | None]] = {}
        self.rows: dict[tuple[int, int], int] = {}
        self.places: dict[int, tuple[float, ...]] = {}
        self.most = 0

    @rule(
        client=clients,
        handle=handles,
        wanted=st.sampled_from(SUBSCRIPTIONS),
        radius=st.none() | st.integers(1, 500),
    )
    def add(self, client: int, handle: int, wanted: Subscription, radius: int | None) -> None:
        row = self.table.add(client, handle, wanted, radius)
        assert self.rows.setdefault((client, handle), row) == row
        self.subscribed.setdefault((client, handle), (wanted, radius))
        self.most = max(self.most, len(self.rows))

    @rule(client=clients, handle=handles)
    def remove(self, client: int, handle: int) -> None:
        row = self.rows.pop((client, handle), None)
        self.subscribed.pop((client, handle), None)
        before = len(self.listener.removals)
        assert self.table.remove(client, handle) == row
        assert self.listener.removals[before:] == ([] if row is None else [[row]])

    @rule(client=clients)
    def remove_client(self, client: int) -> None:
        gone = {key: row for key, row in self.rows.items() if key[0] == client}
        before = len(self.listener.removals)
        self.table.remove_client(client)
        told = self.listener.removals[before:]
        assert [sorted(rows) for rows in told] == ([sorted(gone.values())] if gone else [])
        for key in gone:
            del self.rows[key], self.subscribed[key]
        self.places.pop(client, None)

    @rule(client=clients, x=coordinates, y=coordinates, vector=vectors, at=st.floats(0, 1e6))
    def locate(self, client: int, x: float, y: float, vector: tuple[float, float] | None, at: float) -> None:
        own = [row for key, row in self.rows.items() if key[0] == client]
        before = len(self.listener.moves)
        place = (x, y, *(vector or (0.0, 0.0)))
        elsewhere = self.places.get(client, ())[:4] != place
        assert self.table.locate(client, x, y, at, vector) == elsewhere
        told = [sorted(own)] if own and elsewhere else []
        assert [sorted(rows) for rows in self.listener.moves[before:]] == told
        self.places[client] = (*place, at)

    @invariant()
    def rows_are_what_was_told(self) -> None:
        t = self.table
        assert len(t) == len(self.rows)
        assert t.rows().tolist() == sorted(self.rows.values())
        assert len(set(self.rows.values())) == len(self.rows)
        for (client, handle), row in self.rows.items():
            wanted, radius = self.subscribed[client, handle]
            assert (t.client[row], t.handle[row], t.handles[row]) == (client, handle, (handle,))
            assert t.groups[t.group[row]] == wanted
            assert math.isnan(t.radius[row]) if radius is None else t.radius[row] == radius
            place = self.places.get(client)
            assert t.known[row] == (place is not None)
            assert (t.x[row], t.y[row], t.vx[row], t.vy[row]) == (place or (0.0,) * 4)[:4]

    @invariant()
    def questions_are_answered(self) -> None:
        t = self.table
        radii = {row: self.subscribed[key][1] for key, row in self.rows.items()}
        assert t.plain().tolist() == sorted(row for row, radius in radii.items() if radius is None)
        assert t.located().tolist() == sorted(row for row, radius in radii.items() if radius is not None)
        assert sorted(t.clients()) == sorted({client for client, _ in self.rows})
        for client in range(5):
            own = [row for key, row in self.rows.items() if key[0] == client]
            assert t.rows_of(client).tolist() == own
            assert t.located((client,)).tolist() == sorted(row for row in own if radii[row] is not None)
            assert sorted(t.radii(client)) == sorted({r for row in own if (r := radii[row]) is not None})
            place = self.places.get(client)
            assert t.place(client) == (None if place is None else (place[0], place[1], place[4]))
        more = any(sum(client == each for each, _ in self.rows) > 1 for client in range(5))
        assert t.shared or not more

    @invariant()
    def rows_and_groups_are_used_again(self) -> None:
        used = len(self.table.handles)
        assert used == self.most
        assert len(self.table.groups) <= len(SUBSCRIPTIONS)


TestTable = Table.TestCase
TestTable.settings = settings(max_examples=100, stateful_step_count=30, deadline=None, derandomize=True)


def test_columns_grow_without_losing_anything() -> None:
    table = SubscriptionTable()
    for client in range(1000):
        table.add(client, 1, SUBSCRIPTIONS[client % 3], client + 1)
        table.locate(client, float(client), -float(client), 0.0)
    rows = table.rows()
    assert table.client[rows].tolist() == list(range(1000))
    assert np.array_equal(table.x[rows], np.arange(1000.0))
    assert np.array_equal(table.radius[rows], np.arange(1, 1001))
    assert not table.shared


def steps(count: int) -> int:
    """Lines of the table that run while one client subscribes so often, says the same place with each
    subscription, moves after some and withdraws all. A column that is written at once is one of them."""
    lines = 0

    def trace(frame: FrameType, event: str, arg: object) -> Callable[..., Any] | None:
        nonlocal lines
        lines += event == "line"
        return trace if frame.f_code.co_filename == table_module.__file__ else None

    table = SubscriptionTable()
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        for handle in range(count):
            table.locate(1, float(handle // 100), 0.0, float(handle))
            table.add(1, handle, SUBSCRIPTIONS[handle % 3], 100)
            table.add(1, handle, SUBSCRIPTIONS[handle % 3], 100)
        for handle in range(count):
            table.remove(1, handle)
    finally:
        sys.settrace(before)
    assert not len(table)
    return lines


def test_a_client_with_many_subscriptions_takes_as_many_steps_for_each_as_one_with_few() -> None:
    assert steps(2000) <= 2.2 * steps(1000)


def test_a_place_that_is_said_again_moves_nobody() -> None:
    table, listener = SubscriptionTable(), Listener()
    table.listeners = (listener,)
    for handle in range(100):
        table.locate(1, 5.0, 6.0, float(handle))
        table.add(1, handle, SUBSCRIPTIONS[0], 100)
    assert listener.moves == []
    assert table.place(1) == (5.0, 6.0, 99.0)
    table.locate(1, 5.0, 7.0, 100.0)
    assert [len(rows) for rows in listener.moves] == [100]
