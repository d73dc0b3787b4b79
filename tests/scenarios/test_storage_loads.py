"""Loads of a store's nodes, and their energy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from bypass.models.storage.energy import EnergyUse
from bypass.models.storage.phone_energy import IDLE_W, PHONE
from bypass.places.cell_grid import CellGrid
from bypass.scenarios.figures.storage_loads import NodeLoad, energy_figures, load_of_cells

GRID = CellGrid(0.0, 0.0, 10.0, 3, 2)


def node(*use: Any, place: tuple[float, float] = (0.0, 0.0), **more: Any) -> NodeLoad:
    return NodeLoad(place, EnergyUse(*use, **more))


def test_a_load_tells_requests_from_upkeep_and_leaves_answers_out() -> None:
    bodies = {"Insert": 2, "Ask": 1, "CellUpdate": 4, "Acknowledge": 7, "FoundObjects": 9}
    begun = {"insert": 3, "subscribe": 2, "page": 1}
    load = NodeLoad.of((1.0, 2.0), 60.0, begun, bodies, forwarded=5, sent_bytes=900)
    processed = {"insert": 2, "subscribe": 1, "delete": 0, "unsubscribe": 0, "retrieve": 0}
    assert load.use == EnergyUse(60.0, begun, processed, maintenance=4, forwarded=5, sent_bytes=900)
    assert load.served == 7


def test_ten_published_minutes_of_the_worst_case_are_2580_joules() -> None:
    """As many operations and messages as the published energies stand for: 950, 830 and 800 J."""
    issued = node(600.0, {"insert": 140}, {"insert": 830 * 2 // 3}, 800 * 2 // 3)
    figures = energy_figures([issued])
    assert figures["issue_j"] == pytest.approx(950)
    assert figures["process_j"] == pytest.approx(830, abs=1)
    assert figures["maintain_j"] == pytest.approx(800, abs=1)
    assert figures["mean_j"] == figures["most_j"] == pytest.approx(2580, abs=2)
    assert figures["percent"] == pytest.approx(2.69, abs=0.005)


def test_energies_are_means_over_nodes_that_were_there() -> None:
    loads = [node(60.0), node(60.0, {}, {"insert": 2}), node(0.0)]
    figures = energy_figures(loads)
    assert figures["mean_j"] == pytest.approx(67 + 1.5)
    assert figures["most_j"] == pytest.approx(67 + 3)
    assert figures["watts"] == pytest.approx((2 * 67 + 3) / 120)
    assert all(map(math.isnan, energy_figures([]).values()))
    assert energy_figures([]).keys() == figures.keys()
    phones = energy_figures([node(60.0, {"insert": 1}, {}, 0, forwarded=1, sent_bytes=10**6)], PHONE)
    assert phones["forward_j"] == pytest.approx(0.89, abs=0.01)
    assert phones["send_j"] == pytest.approx(0.62, abs=0.01)
    assert phones["mean_j"] == pytest.approx(60 * IDLE_W + 440 / 761 + phones["forward_j"] + phones["send_j"])


def test_cells_have_the_loads_of_their_nodes() -> None:
    pair = [node(1, {}, {"insert": 2}, place=(5, 5)), node(1, {}, {}, 3, place=(6, 5))]
    expected = [[5, np.nan, np.nan], [np.nan, np.nan, 4]]
    np.testing.assert_array_equal(
        load_of_cells([*pair, node(1, {}, {"delete": 4}, place=(25, 15))], GRID), expected
    )
