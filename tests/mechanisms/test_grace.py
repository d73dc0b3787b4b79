"""A replaced index goes on matching for the grace period, and then no longer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from bypass.events.event import Event
from bypass.events.filters import Subscription, attr
from bypass.mechanisms.filters.base.grace import Grace
from bypass.mechanisms.filters.indexes.envelopes import EnvelopeIndex
from bypass.mechanisms.filters.indexes.table import SubscriptionTable
from bypass.places.sensor import Fix, LocationRequest
from bypass.protocol.messages import Kind, Publish
from bypass.sim.clock import VirtualClock
from bypass.support.units import MICROSECONDS

if TYPE_CHECKING:
    from tests.conftest import World

ANY = Subscription.of(attr("n") >= 0)


class Setting:
    """Three people at (0, 0) in one index, with a radius of 10 m."""

    def __init__(self, seconds: float) -> None:
        self.clock = VirtualClock()
        self.grace = Grace(seconds, self.clock.after)
        self.table = SubscriptionTable()
        self.index = EnvelopeIndex(self.table, False)
        self.table.listeners = (self.index, self.grace)
        for client in range(3):
            self.table.add(client, 1, ANY, 10)
            self.table.locate(client, 0.0, 0.0, 0.0)
        self.index.insert(self.table.rows())

    def run(self, until: float) -> None:
        self.clock.run_until(round(until * MICROSECONDS))

    def members(self) -> list[int]:
        return self.index.members().tolist()  # type: ignore[no-any-return]

    def match(self, x: float = 0.0) -> list[list[int]]:
        return [rows.tolist() for rows in self.grace.match(Publish(1, Event(n=1), Kind.PLACED, 0, (x, 0.0)))]


def rows(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(numbers, np.int64)


def test_a_replaced_index_is_kept_for_the_grace_period() -> None:
    setting = Setting(1.0)
    setting.grace.retire(setting.index)
    setting.table.listeners = (setting.grace,)
    assert setting.grace.overlapping
    assert setting.match() == [[0, 1, 2]]
    setting.run(0.999)
    assert setting.match() == [[0, 1, 2]]
    setting.run(1.001)
    assert setting.match() == []
    assert not setting.grace.overlapping


def test_a_replaced_index_still_follows_people() -> None:
    setting = Setting(1.0)
    setting.grace.retire(setting.index)
    setting.table.listeners = (setting.grace,)
    setting.table.locate(1, 500.0, 0.0, 0.1)
    setting.table.remove(2, 1)
    assert setting.match() == [[0]]
    assert setting.match(500.0) == [[1]]


def test_without_grace_it_is_forgotten_at_once() -> None:
    setting = Setting(0.0)
    setting.grace.release(setting.index, rows(0))
    assert setting.members() == [1, 2]
    setting.grace.retire(setting.index)
    assert setting.match() == []
    assert not setting.grace.overlapping


def test_who_moved_elsewhere_lingers() -> None:
    setting = Setting(1.0)
    setting.grace.release(setting.index, rows(0, 2))
    assert setting.grace.overlapping
    setting.run(0.999)
    assert setting.members() == [0, 1, 2]
    setting.run(1.001)
    assert setting.members() == [1]
    assert not setting.grace.overlapping


def test_who_comes_back_stays() -> None:
    setting = Setting(1.0)
    setting.grace.release(setting.index, rows(0, 2))
    setting.run(0.5)
    setting.grace.keep(setting.index, rows(0))
    setting.run(2.0)
    assert setting.members() == [0, 1]
    assert not setting.grace.overlapping


def test_who_leaves_again_gets_a_whole_period() -> None:
    setting = Setting(1.0)
    setting.grace.release(setting.index, rows(0))
    setting.run(0.5)
    setting.grace.keep(setting.index, rows(0))
    setting.grace.release(setting.index, rows(0))
    setting.run(1.2)
    assert setting.members() == [0, 1, 2]
    setting.run(1.6)
    assert setting.members() == [1, 2]


def test_a_row_that_is_used_again_does_not_linger() -> None:
    setting = Setting(1.0)
    setting.grace.release(setting.index, rows(0))
    setting.run(0.5)
    setting.table.remove(0, 1)
    assert setting.table.add(7, 1, ANY, 10) == 0
    setting.table.locate(7, 0.0, 0.0, 0.5)
    setting.index.insert(rows(0))
    setting.run(2.0)
    assert setting.members() == [0, 1, 2]


@pytest.mark.parametrize("grace", [0.0, 1.0])
def test_reports_under_way_are_translated_or_dropped(new_world: type[World], grace: float) -> None:
    """The broker changes its scheme in the instant in which a client reports that it has moved."""
    world = new_world([(100.0, 100.0)], grace=grace)
    world.subscribe(0, 50)
    world.run()

    def change(fix: Fix) -> None:
        if world.schemes()[0].name == "radial":
            world.execute(to="grid")

    world.put(0, (700.0, 700.0))
    world.clients[0].host.location.request(LocationRequest(interval=1.0), change)
    while world.broker.late_context == 0:
        world.run(0.005)
    known = world.broker.table.place(0)
    assert known is not None
    assert known[:2] == ((700.0, 700.0) if grace else (100.0, 100.0))
    world.run(3.0)
    assert world.broker.late_context == 1
    known = world.broker.table.place(0)
    assert known is not None
    assert known[:2] == (700.0, 700.0)


@pytest.mark.parametrize("source", ["radial", "ste", "multi"])
@pytest.mark.parametrize("target", ["grid", "egrid", "attract"])
def test_the_old_scheme_falls_silent(new_world: type[World], source: str, target: str) -> None:
    world = new_world([(600.0, 600.0)], scheme=source)
    world.subscribe(0, 50)
    world.run(3.0)
    world.execute(to=target)
    world.run(2.0)
    world.up.clear()
    world.run(10.0)
    assert world.up == []
