"""Recall and precision of the schemes' rules where everybody is anywhere: closed forms exist for these.

In a town of side L with n × n cells of side g, and areas of radius r: two random points of a unit square are
within s of each other with probability F(s) = πs² − 8s³/3 + s⁴/2. So a cell gives precision F(r/g) and recall
F(r/g) / (n²·F(r/L)); all cells that an area touches give recall 1 and precision F(r/L) / q², where q is the
chance of touching along one axis.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from bypass.events.event import Event
from bypass.events.filters import Subscription, attr
from bypass.mechanisms.filters.indexes.channels import ChannelIndex, Layout
from bypass.mechanisms.filters.indexes.envelopes import EnvelopeIndex
from bypass.mechanisms.filters.indexes.index import Index
from bypass.mechanisms.filters.indexes.table import SubscriptionTable
from bypass.protocol.messages import Kind, Publish

ANY = Subscription.of(attr("n") >= 0)
SIDE, RADIUS = 1300.0, 125
SUBSCRIBERS, EVENTS = 3000, 700


def town(seed: int) -> tuple[SubscriptionTable, np.random.Generator]:
    random = np.random.default_rng(seed)
    table = SubscriptionTable()
    for client in range(SUBSCRIBERS):
        table.add(client, 1, ANY, RADIUS)
        x, y = random.uniform(0.0, SIDE, 2).tolist()
        table.locate(client, x, y, 0.0)
    return table, random


def recall_and_precision(
    table: SubscriptionTable, index: Index, random: np.random.Generator
) -> tuple[float, float]:
    rows = table.rows()
    index.insert(rows)
    concerned = notified = correct = 0
    for x, y in random.uniform(0.0, SIDE, (EVENTS, 2)):
        truth = (table.x[rows] - x) ** 2 + (table.y[rows] - y) ** 2 <= RADIUS**2
        found = index.match(Publish(1, Event(n=1), Kind.PLACED, 0, (float(x), float(y))))
        assert found is not None
        concerned += int(truth.sum())
        notified += len(found)
        correct += int(truth[found].sum())
    return correct / concerned, correct / notified


def near(s: float) -> float:
    return math.pi * s**2 - 8 / 3 * s**3 + s**4 / 2


@pytest.mark.parametrize(
    ("n", "recall", "precision"),
    [(2, 0.916, 0.098), (3, 0.835, 0.201), (5, 0.683, 0.457), (10, 0.360, 0.961), (20, 0.094, 1.0)],
)
def test_one_cell(n: int, recall: float, precision: float) -> None:
    if n < 10:  # beyond, areas are as large as cells and the formula ends
        assert near(RADIUS * n / SIDE) == pytest.approx(precision, abs=1e-3)
        assert near(RADIUS * n / SIDE) / (n * n * near(RADIUS / SIDE)) == pytest.approx(recall, abs=1e-3)
    table, random = town(seed=n)
    index = ChannelIndex(table, False, Layout((0.0, 0.0, SIDE, SIDE), n, 1), False, True)
    assert recall_and_precision(table, index, random) == pytest.approx((recall, precision), abs=0.02)


def touching(n: int) -> float:
    """The chance that a random area touches the cell of a random event, along one axis."""
    g = SIDE / n
    return sum(min(SIDE, (i + 1) * g + RADIUS) - max(0.0, i * g - RADIUS) for i in range(n)) / (n * SIDE)


@pytest.mark.parametrize(("n", "precision"), [(2, 0.075), (5, 0.213), (10, 0.358), (20, 0.514), (60, 0.681)])
def test_all_cells_that_an_area_touches(n: int, precision: float) -> None:
    assert near(RADIUS / SIDE) / touching(n) ** 2 == pytest.approx(precision, abs=1e-3)
    table, random = town(seed=n)
    index = ChannelIndex(table, False, Layout((0.0, 0.0, SIDE, SIDE), n, 1), True, True)
    found = recall_and_precision(table, index, random)
    assert found[0] == 1.0
    assert found[1] == pytest.approx(precision, abs=0.02)


def test_ever_smaller_cells_leave_the_square_around_the_area() -> None:
    assert near(RADIUS / SIDE) / touching(100_000) ** 2 == pytest.approx(0.797, abs=1e-3)


def test_discs_are_exact() -> None:
    table, random = town(seed=1)
    assert recall_and_precision(table, EnvelopeIndex(table, False), random) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("alpha", "precision"), [(0.5, 0.976), (1.0, 0.909), (1.5, 0.772), (2.0, 0.635), (2.5, 0.528)]
)
def test_envelopes_of_people_on_their_way(alpha: float, precision: float) -> None:
    """Speeds from 1 to 2 m/s; recall is 1, and the longer the envelope, the more others it has."""
    table, random = town(seed=5)
    rows = table.rows()
    for client in range(SUBSCRIBERS):
        speed, angle = random.uniform(1.0, 2.0), random.uniform(0.0, 2 * math.pi)
        x, y = random.uniform(0.0, 3000.0, 2).tolist()
        table.locate(client, x, y, 0.0, (speed * math.cos(angle), speed * math.sin(angle)))
    index = EnvelopeIndex(table, False, alpha)
    index.insert(rows)
    px, py = random.uniform(-700.0, 3700.0, (2, 5000))  # no envelope reaches beyond
    offsets, found = index.match_places(px, py)
    events = np.repeat(np.arange(len(px)), np.diff(offsets))
    in_disc = np.hypot(px[events] - table.x[found], py[events] - table.y[found]) <= RADIUS
    all_in_discs = sum(
        int((np.hypot(table.x[rows] - x, table.y[rows] - y) <= RADIUS).sum())
        for x, y in zip(px, py, strict=True)
    )
    assert int(in_disc.sum()) == all_in_discs
    assert in_disc.mean() == pytest.approx(precision, abs=0.02)
