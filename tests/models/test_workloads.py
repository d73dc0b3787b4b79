from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.stats import chisquare, kstest

from bypass.models.maps import NoAttractionPoints, street_grid
from bypass.models.request import InvalidRequest
from bypass.models.workloads import AR, LBS, RND, WORKLOADS, Publications, Rhythm, Workload, World

MAP = street_grid()
WORLD = World(MAP.attractions, MAP.width, MAP.height)
EVERY_WORKLOAD = [
    pytest.param(AR(), id="ar"),
    pytest.param(LBS(rate=0.3), id="lbs"),
    pytest.param(RND(rate=7), id="rnd"),
]


def schedule(workload: Workload, clients: int, duration: float, seed: int) -> Publications:
    return workload.schedule(clients, duration, seed, WORLD)


def rows(publications: Publications, client: int) -> list[tuple[object, ...]]:
    """One client's publications, comparable also where a place is missing."""
    p = publications
    columns = (p.at_us, p.x, p.y)
    return [
        tuple(map(repr, row)) for row in zip(*(c[p.client == client].tolist() for c in columns), strict=True)
    ]


@pytest.mark.parametrize("workload", EVERY_WORKLOAD)
def test_every_client_publishes_evenly_from_a_phase_of_its_own(workload: Workload) -> None:
    publications = schedule(workload, 50, 100.0, seed=1)
    assert (np.diff(publications.at_us) >= 0).all()
    assert publications.at_us.max() < 100e6
    phases = []
    for client in range(50):
        t = publications.at_us[publications.client == client] / 1e6
        assert 0 <= t[0] < 1 / workload.rate
        np.testing.assert_allclose(np.diff(t), 1 / workload.rate, atol=1.01e-6)
        assert t[-1] + 1 / workload.rate >= 100 - 1e-6
        phases.append(t[0] * workload.rate)
    assert kstest(phases, "uniform").pvalue > 0.01


def test_columns_have_one_entry_per_publication_and_their_types() -> None:
    publications = schedule(AR(), 30, 20.0, seed=2)
    assert len(publications) == 600
    columns = (publications.at_us, publications.client, publications.x, publications.y)
    assert [len(column) for column in columns] == [600] * 4
    assert [column.dtype for column in columns] == [np.int64, np.int32, np.float64, np.float64]


@pytest.mark.parametrize("workload", EVERY_WORKLOAD)
def test_a_client_publishes_the_same_whoever_else_is_there_and_however_long(workload: Workload) -> None:
    few, many = schedule(workload, 10, 40.0, seed=3), schedule(workload, 20, 90.0, seed=3)
    for client in range(10):
        mine = rows(few, client)
        assert mine == rows(many, client)[: len(mine)]


@pytest.mark.parametrize("workload", EVERY_WORKLOAD)
def test_the_seed_decides(workload: Workload) -> None:
    one, again, other = (schedule(workload, 10, 40.0, seed) for seed in (4, 4, 5))
    assert [rows(one, client) for client in range(10)] == [rows(again, client) for client in range(10)]
    assert one.at_us.tolist() != other.at_us.tolist()


def test_ar_events_are_local_and_have_no_place() -> None:
    publications = schedule(AR(), 10, 30.0, seed=6)
    assert np.isnan(publications.x).all()
    assert np.isnan(publications.y).all()


@pytest.mark.parametrize("uniform", [False, True])
def test_lbs_events_are_at_attraction_points_in_their_shares(uniform: bool) -> None:
    publications = schedule(LBS(uniform=uniform), 60, 100.0, seed=7)
    number = {(point.x, point.y): i for i, point in enumerate(MAP.attractions)}
    places = zip(publications.x.tolist(), publications.y.tolist(), strict=True)
    counts = np.bincount([number[place] for place in places])
    weights = np.array([1.0 if uniform else point.weight for point in MAP.attractions])
    assert chisquare(counts, 6000 * weights / weights.sum()).pvalue > 0.01


def test_lbs_needs_attraction_points() -> None:
    with pytest.raises(NoAttractionPoints, match="the world has no attraction points"):
        LBS().schedule(3, 10.0, 1, World((), 1300, 1300))


@pytest.mark.parametrize("workload", EVERY_WORKLOAD)
@given(cuts=st.lists(st.integers(0, 30_000_000), min_size=1, max_size=4), first=st.integers(0, 11))
@settings(max_examples=25, deadline=None)
def test_stretches_of_time_and_ranges_of_clients_fit_together(
    workload: Workload, cuts: list[int], first: int
) -> None:
    whole = schedule(workload, 12, 30.0, seed=9)
    bounds = sorted({0, *cuts, 30_000_000})
    for start, end in pairwise(bounds):
        part = workload.between(Rhythm.of(workload.rate, first, 12, 9), start, end, 9, WORLD)
        inside = (whole.at_us >= start) & (whole.at_us < end) & (whole.client >= first)
        for name in ("at_us", "client", "x", "y"):
            np.testing.assert_array_equal(getattr(part, name), getattr(whole, name)[inside])


def test_rnd_events_are_uniform_in_the_world() -> None:
    publications = RND().schedule(60, 100.0, 8, World((), 1300, 400))
    assert kstest(publications.x, "uniform", (0, 1300)).pvalue > 0.01
    assert kstest(publications.y, "uniform", (0, 400)).pvalue > 0.01
    cells, _, _ = np.histogram2d(publications.x, publications.y, bins=8, range=((0, 1300), (0, 400)))
    assert chisquare(cells.ravel()).pvalue > 0.01


def test_workloads_are_found_by_name_with_the_usual_parameters() -> None:
    assert dict(WORKLOADS) == {"ar": AR, "lbs": LBS, "rnd": RND}
    for workload in WORKLOADS.values():
        assert workload().model_dump(include={"rate", "payload", "radius"}) == {
            "rate": 1.0,
            "payload": 128,
            "radius": 125.0,
        }


@pytest.mark.parametrize(
    "wrong", [{"rate": 0}, {"rate": np.inf}, {"payload": -1}, {"radius": 0}, {"uniform": True}]
)
def test_parameters_without_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValidationError, match=next(iter(wrong))):
        AR.model_validate(wrong)


def test_requests_without_sense_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="duration is nan s"):
        schedule(AR(), 3, np.nan, seed=1)
