"""The cost formulas give the published figures, and what was derived from them."""

from __future__ import annotations

from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bypass.models.storage.costs import (
    TIME_GROWTH,
    Demand,
    Design,
    Extent,
    InvalidCosts,
    TimeGrowth,
    cell_change,
    copies,
    cost,
    costs,
    local_beats_cells,
    local_beats_server,
    notifications_per_node,
    switch_cost,
)

FIRST = Demand(inserts=1000, retrieves=500, subscriptions=200, notifications=2000)
SECOND = Demand(inserts=100, retrieves=100, subscriptions=1000, notifications=500)
numbers = st.floats(0, 1e6)
demands = st.builds(Demand, *[numbers] * 6, st.floats(1, 5), st.floats(1, 5))
extents = st.builds(Extent.plain, st.floats(10, 1000), st.floats(1, 10))


@pytest.mark.parametrize(
    ("demand", "nodes", "expected"),
    [
        (FIRST, 16, (21600.0, 15200.0, 22087.7)),
        (FIRST, 36, (32400.0, 25200.0, 30431.6)),
        (FIRST, 64, (43200.0, 36800.0, 38775.4)),
        (FIRST, 100, (54000.0, 50000.0, 47119.3)),
        (FIRST, 144, (64800.0, 64800.0, 55463.2)),
        (FIRST, 196, (75600.0, 81200.0, 63807.0)),
        (SECOND, 16, (11600.0, 18800.0, 11085.3)),
        (SECOND, 100, (29000.0, 107000.0, 23813.2)),
        (SECOND, 196, (40600.0, 205800.0, 32298.5)),
    ],
)
def test_totals(demand: Demand, nodes: int, expected: tuple[float, float, float]) -> None:
    found = costs(demand, Extent.plain(nodes, 2))
    assert [found[each].published() for each in Design] == pytest.approx(expected, abs=0.05)


def test_parts_and_hot_spots() -> None:
    found = costs(FIRST, Extent.plain(196, 2))
    cells = found[Design.CELLS]
    parts = [cells.published(each) for each in ("insert", "retrieve", "subscribe", "notify")]
    assert parts == pytest.approx([23799.0, 15849.2, 4359.8, 19799.0], abs=0.05)
    assert [found[each].hot_spot for each in Design] == [3700, 2700, 3700]


@given(demands, extents)
def test_table_of_messages(demand: Demand, extent: Extent) -> None:
    """Every entry, with several tags and keys; a deletion costs an insertion, a withdrawal a subscription."""
    n, c, way, cell_way = (
        extent.nodes,
        extent.population,
        sqrt(extent.nodes),
        sqrt(extent.nodes / extent.population),
    )
    t, k = demand.tags, demand.keys
    expected = {
        Design.SERVER: (2 * way, 2 * way, 2 * way, way),
        Design.LOCAL: (0, 2 * way, n, way),
        Design.CELLS: (
            t * (2 * cell_way + c) + c,
            2 * cell_way + t * (cell_way + c),
            k * (2 * cell_way + c),
            cell_way,
        ),
    }
    for design, (insert, retrieve, subscribe, notify) in expected.items():
        found = cost(design, demand, extent)
        assert found.published("insert") == pytest.approx(insert * demand.inserts)
        assert found.published("retrieve") == pytest.approx(retrieve * demand.retrieves)
        assert found.published("subscribe") == pytest.approx(subscribe * demand.subscriptions)
        assert found.published("notify") == pytest.approx(notify * demand.notifications)
        assert found.published("delete") == pytest.approx(insert * demand.deletes)
        assert found.published("withdraw") == pytest.approx(subscribe * demand.withdrawals)
        assert found.published() == pytest.approx(sum(map(found.published, found.by_operation)))


def test_transmissions_and_receptions_are_counted_apart() -> None:
    extent = Extent(100, 4, hops=3, cell_hops=2, return_hops=2, neighbours=7)
    insert = Demand(inserts=1)
    cells = cost(Design.CELLS, insert, extent)
    assert (cells.published(), cells.transmissions(), cells.receptions()) == (
        2 * 2 + 2 * 4,
        2 * 2 + 2,
        2 * 2 + 2 * 3,
    )
    flood = cost(Design.LOCAL, Demand(subscriptions=1), extent)
    assert (flood.published(), flood.transmissions(), flood.receptions()) == (100, 100, 700)
    asked = cost(Design.SERVER, insert, extent)
    assert (asked.published(), asked.transmissions(), asked.receptions()) == (6, 6, 6)


@pytest.mark.parametrize(("nodes", "ratio"), [(16, 1), (36, 2), (64, 3), (100, 4), (144, 5), (196, 6)])
def test_break_even_of_local_and_server(nodes: int, ratio: float) -> None:
    assert local_beats_server(nodes) == ratio
    below, above = (
        costs(Demand(inserts=100 * ratio + by, subscriptions=100), Extent.plain(nodes)) for by in (-1, 1)
    )
    assert below[Design.LOCAL].published() > below[Design.SERVER].published()
    assert above[Design.LOCAL].published() < above[Design.SERVER].published()


@pytest.mark.parametrize(("nodes", "population", "ratio"), [(100, 2, 4.62), (196, 2, 7.32), (196, 4, 8.09)])
def test_break_even_of_local_and_cells(nodes: int, population: int, ratio: float) -> None:
    extent = Extent.plain(nodes, population)
    found = local_beats_cells(extent)
    assert found == pytest.approx(ratio, abs=0.005)
    below, above = (costs(Demand(inserts=100 * found + by, subscriptions=100), extent) for by in (-1, 1))
    assert below[Design.LOCAL].published() > below[Design.CELLS].published()
    assert above[Design.LOCAL].published() < above[Design.CELLS].published()


def test_times_grow_as_published() -> None:
    root, constant, linear = TimeGrowth.ROOT, TimeGrowth.CONSTANT, TimeGrowth.LINEAR
    assert {name: tuple(row[each] for each in Design) for name, row in TIME_GROWTH.items()} == {
        "insert": (root, constant, root),
        "retrieve": (root, root, root),
        "subscribe": (root, linear, root),
    }


def test_copies_and_work_per_node() -> None:
    demand, extent = Demand(tags=3, keys=2), Extent.plain(100, 4)
    assert copies(Design.SERVER, demand, extent) == (1, 1, 1)
    assert copies(Design.LOCAL, demand, extent) == (1, 1, 100)
    assert copies(Design.CELLS, demand, extent, retrieved=1.5) == (5.5, 12, 8)
    assert [notifications_per_node(100, c) for c in (1, 2, 4)] == [100, 50, 25]


def test_a_switch_costs_what_designs_do_then() -> None:
    present = Demand(inserts=60, subscriptions=20, keys=2)
    extent = Extent(16, 2, 1.5, 1.0, 1.25, neighbours=12)
    server = switch_cost(Design.SERVER, present, extent)
    assert server.transmissions() == 16 * 12 / 2 + (60 + 20) * 3.0
    local = switch_cost(Design.LOCAL, present, extent)
    assert local.transmissions() == 16 * 12 / 2 + 2 * 20 * 16 + 16 * (1 + 0.5 * 12)
    cells = switch_cost(Design.CELLS, present, extent)
    assert cells.transmissions("subscribe") + cells.transmissions("confirm") == 40 * (1.0 + 1.25 + 1 + 1)
    holding = 16 * 8 * (1 - (7 / 8) ** (60 / 16))
    assert cells.transmissions("insert") == pytest.approx(holding * (3 * 1.0 + 2 * 1.25 + 1))
    assert holding < cells.transmissions("offer") < 16 * 8 + 8 * 8
    assert cells.transmissions("join") == pytest.approx(4 * 16 + holding)
    claims = switch_cost(Design.SERVER, present, extent, copies=1.0).transmissions("claim")
    assert claims == pytest.approx(16 * 16 * (1 - (15 / 16) ** 60))


def test_quantities_that_cannot_be_are_refused() -> None:
    with pytest.raises(InvalidCosts, match=r"^inserts -1: expected a number from 0 on$"):
        Demand(inserts=-1)
    with pytest.raises(InvalidCosts, match=r"^population 0: expected a number from 1 on$"):
        Extent.plain(10, 0)
    with pytest.raises(InvalidCosts, match=r"^nodes inf: expected a number from 1 on$"):
        Extent.plain(float("inf"))


def test_the_published_cost_of_a_change_of_cells() -> None:
    """19 n + 1 with a subscription and a copy in each of nine cells: 96 with five nodes a cell, as printed,
    and 1901 with a hundred, where 2801 is printed, which is 28 n + 1."""
    assert [cell_change(n) for n in (1, 5, 100)] == [20, 96, 1901]
    assert all(cell_change(n) == 19 * n + 1 for n in range(1, 50))
    assert cell_change(5, published=2) == 96 + 2 * 5
    with pytest.raises(InvalidCosts, match="population 0"):
        cell_change(0)
