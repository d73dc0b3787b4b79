"""Loads of a store's nodes, and their energy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bypass.places.cell_grid import CellGrid
from bypass.scenarios.figures.storage_loads import NodeLoad, energy_figures, load_of_cells

GRID = CellGrid(0.0, 0.0, 10.0, 3, 2)


def test_a_load_tells_requests_from_upkeep_and_leaves_answers_out() -> None:
    bodies = {"Insert": 2, "Ask": 1, "CellUpdate": 4, "Acknowledge": 7, "FoundObjects": 9}
    load = NodeLoad.of((1.0, 2.0), 60.0, {"insert": 3, "subscribe": 2, "page": 1}, bodies)
    assert load == NodeLoad((1.0, 2.0), 60.0, inserts=3, others=3, requests=3, upkeep=4)
    assert load.served == 7


def test_ten_published_minutes_of_the_worst_case_are_2580_joules() -> None:
    """As many operations and messages as the published energies stand for: 950, 830 and 800 J."""
    issued = NodeLoad((0.0, 0.0), 600.0, inserts=140, requests=830 * 2 // 3, upkeep=800 * 2 // 3)
    figures = energy_figures([issued])
    assert figures["issue_j"] == pytest.approx(950)
    assert figures["process_j"] == pytest.approx(830, abs=1)
    assert figures["maintain_j"] == pytest.approx(800, abs=1)
    assert figures["mean_j"] == figures["most_j"] == pytest.approx(2580, abs=2)
    assert figures["percent"] == pytest.approx(2.69, abs=0.005)


def test_energies_are_means_over_nodes_that_were_there() -> None:
    loads = [NodeLoad((0, 0), 60.0), NodeLoad((0, 0), 60.0, requests=2), NodeLoad((0, 0), 0.0)]
    figures = energy_figures(loads)
    assert figures["mean_j"] == pytest.approx(67 + 1.5)
    assert figures["most_j"] == pytest.approx(67 + 3)
    assert figures["watts"] == pytest.approx((2 * 67 + 3) / 120)
    assert all(map(math.isnan, energy_figures([]).values()))


def test_cells_have_the_loads_of_their_nodes() -> None:
    pair = [NodeLoad((5, 5), 1, requests=2), NodeLoad((6, 5), 1, upkeep=3)]
    expected = [[5, np.nan, np.nan], [np.nan, np.nan, 4]]
    np.testing.assert_array_equal(load_of_cells([*pair, NodeLoad((25, 15), 1, requests=4)], GRID), expected)
