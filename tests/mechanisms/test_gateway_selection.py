"""Gateways: who is chosen, who serves whom, and that the work goes round."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Collection
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.mechanisms import Registry
from bypass.mechanisms.families import GATEWAY_SELECTION
from bypass.mechanisms.gateways import CsWca, DkcLeach, GatewayChoice, SkcLeach, TooFewGateways
from bypass.mechanisms.gateways.leach import chance, threshold
from bypass.mechanisms.gateways.selection import Candidates, wanted
from bypass.mechanisms.gateways.wca import merged, weights
from bypass.support.arrays import Ints
from bypass.testing.suites.gateway_selections import KnownPlace, Site
from bypass.transitions import InvalidParameter


def line(n: int, step: float = 10.0) -> list[KnownPlace]:
    return [(step * i, 0.0) for i in range(n)]


def scattered(n: int, side: float, seed: int = 3) -> list[KnownPlace]:
    numbers = random.Random(seed)
    return [(numbers.uniform(0, side), numbers.uniform(0, side)) for _ in range(n)]


def distance(a: KnownPlace, b: KnownPlace) -> float:
    assert a is not None
    assert b is not None
    return math.dist(a, b)


every_algorithm = pytest.mark.parametrize(
    "kind", Registry().kinds(GATEWAY_SELECTION).values(), ids=lambda kind: kind.name
)

coordinates = st.sampled_from([0.0, 1.0, 70.4, 71.0, 500.0, 1e9, -1e200]) | st.floats(-300, 300)
known = st.tuples(coordinates, coordinates)
odd = st.lists(known | st.just((5.0, 5.0)), max_size=30)
crowds = odd | st.builds(
    scattered, st.integers(1, 30), st.sampled_from([50, 150, 400, 3000]), st.integers(0, 99)
)


# -- the rules of the result ------------------------------------------------------------------------------


@every_algorithm
@given(data=st.data(), crowd=crowds, k=st.integers(1, 12), seed=st.integers(0, 99))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_gateways_and_their_clients_are_all_clients_once(
    kind: type[GatewayChoice], data: st.DataObject, crowd: list[KnownPlace], k: int, seed: int
) -> None:
    numbers = st.sets(st.integers(0, 29), max_size=6)
    unplaced = data.draw(numbers)
    places = [None if client in unplaced else place for client, place in enumerate(crowd)]
    site = Site(places, seed)
    selection = kind(site)
    for _ in range(4):
        site.time += 0.1
        clients = {*range(len(places))} - data.draw(numbers)
        gateways = selection.get_gateways(clients, k)
        everybody = [*gateways, *(client for group in gateways.values() for client in group)]
        assert sorted(everybody) == sorted(clients)
        assert all(isinstance(client, int) for client in everybody)
        unknown = {client for client in clients if places[client] is None}
        assert unknown <= gateways.keys()
        assert not any(gateways[client] for client in unknown)
        if k >= len(clients):
            assert gateways == dict.fromkeys(clients, frozenset())
        elif kind is DkcLeach:
            placed = len(clients) - len(unknown)
            assert len(gateways) == max(k, len(unknown) + min(placed, 1))
        elif kind is CsWca and not unknown:
            assert 1 <= len(gateways) <= k


@every_algorithm
@given(places=crowds, k=st.integers(1, 20))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_everybody_has_the_nearest_gateway(
    kind: type[GatewayChoice], places: list[KnownPlace], k: int
) -> None:
    gateways = kind(Site(places)).get_gateways(range(len(places)), k)
    for gateway, group in gateways.items():
        for client in group:
            nearest = min(distance(places[client], places[other]) for other in gateways)
            assert distance(places[client], places[gateway]) == pytest.approx(nearest, rel=1e-9, abs=1e-6)


@every_algorithm
def test_nobody_out_of_nobody(kind: type[GatewayChoice]) -> None:
    selection = kind(Site([]))
    assert selection.get_gateways([], 3) == {}
    assert selection.get_gateways([], 0) == {}
    assert selection.assign([]) == {}


@every_algorithm
@pytest.mark.parametrize("k", [0, -1])
def test_less_than_one_gateway_is_refused_and_changes_nothing(kind: type[GatewayChoice], k: int) -> None:
    selection = kind(Site(line(4)))
    with pytest.raises(TooFewGateways, match=rf"^k {k}: expected at least 1$"):
        selection.get_gateways(range(4), k)
    assert selection.history.of(0)["rounds"] == 0


class Nobody(GatewayChoice):
    def choose(self, candidates: Candidates, k: int) -> Ints:
        return np.zeros(0, np.int64)


def test_a_selection_that_chooses_nobody_is_refused_and_changes_nothing() -> None:
    selection = Nobody(Site(line(4)))
    with pytest.raises(
        TooFewGateways, match=r"^nobody chose nobody of 4 clients as a gateway: expected at least one$"
    ):
        selection.get_gateways(range(4), 2)
    assert selection.history.of(0)["rounds"] == 0


@every_algorithm
def test_order_and_repetition_of_clients_do_not_matter(kind: type[GatewayChoice]) -> None:
    places = scattered(12, 200)
    forms: list[Collection[int]] = [range(12), [*range(11, -1, -1)], {*range(12)}, [*range(12), 3, 4]]
    results = []
    for form in forms:
        selection = kind(Site(places, seed=5))
        results.append([selection.get_gateways(form, 4) for _ in range(6)])
    assert all(result == results[0] for result in results)


# -- how many ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("share", "numbers"), [(0.4, [1, 1, 2, 3, 4, 5, 16]), (0.2, [1, 1, 1, 2, 2, 3, 8])])
def test_numbers_of_the_thesis(share: float, numbers: list[int]) -> None:
    assert [wanted(n, share) for n in (1, 2, 5, 7, 8, 12, 40)] == numbers


def test_a_share_is_rounded_up_as_if_computed_exactly() -> None:
    for percent, number in itertools.product(range(1, 101), range(1, 300)):
        assert wanted(number, percent / 100) == math.ceil(Fraction(percent, 100) * number)


def test_few_recipients_are_served_directly() -> None:
    selection = DkcLeach(Site(line(10)), smallest=4, share=0.5)
    assert selection.assign(range(3)) == {}
    assert len(selection.assign(range(4))) == 2
    assert len(selection.assign(range(9))) == 5


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("share", 0.0),
        ("share", 1.1),
        ("smallest", 0),
        ("serves", "some"),
        ("range_m", 0.0),
        ("ideal_degree", -1),
    ],
)
def test_parameters_that_make_no_sense_are_refused(name: str, value: object) -> None:
    with pytest.raises(InvalidParameter, match=name):
        CsWca(Site([]), **{name: value})


# -- LEACH ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "values"), [(0.2, [0.2, 0.25, 1 / 3, 0.5, 1.0]), (0.25, [0.25, 1 / 3, 0.5, 1.0])]
)
def test_thresholds_within_a_period(share: float, values: list[float]) -> None:
    assert [threshold(share, share * i) for i in range(len(values))] == pytest.approx(values)


@given(st.lists(st.integers(1, 99).map(lambda percent: percent / 100), min_size=1, max_size=40))
@settings(deadline=None, derandomize=True)
def test_over_all_histories_a_client_is_chosen_with_the_probability_asked_for(shares: list[float]) -> None:
    passed, has_served = 0.0, 0.0  # the latter is a probability
    for share in shares:
        if_not, if_served = chance(share, passed, False), chance(share, passed, True)
        assert 0 <= if_served <= 1
        assert 0 <= if_not <= 1
        assert (1 - has_served) * if_not + has_served * if_served == pytest.approx(share, abs=1e-6)
        passed += share
        if passed < 1 - 1e-9:
            has_served += (1 - has_served) * if_not
        else:
            passed, has_served = max(0.0, passed - 1), has_served * if_served


@pytest.mark.parametrize(("n", "k"), [(20, 4), (24, 6), (30, 10), (12, 6), (10, 1)])
def test_everybody_serves_once_in_a_period(n: int, k: int) -> None:
    site = Site(scattered(n, 300))
    for selection in (SkcLeach(site), DkcLeach(site)):
        times: Counter[int] = Counter()
        undrawn = 0
        for period in range(1, 9):
            rounds = [selection.get_gateways(range(n), k) for _ in range(n // k)]
            times.update(client for gateways in rounds for client in gateways)
            assert min(times[client] for client in range(n)) == period
            # Only in a round for which nobody was drawn may one have to serve who has served.
            undrawn += sum(len(gateways) == 1 for gateways in rounds)
            assert times.total() - n * period <= (undrawn if isinstance(selection, SkcLeach) else 0)


@given(st.integers(), st.integers(1, 29), st.integers(1, 29))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_nobody_serves_more_than_its_share_however_the_clients_change(seed: int, low: int, most: int) -> None:
    numbers = random.Random(seed)
    selection = SkcLeach(Site(scattered(30, 300), seed))
    due = np.zeros(30)
    forced = 0
    for _ in range(60):
        clients = numbers.sample(range(30), numbers.randint(low, 30))
        k = min(numbers.randint(1, most), len(clients))
        gateways = selection.get_gateways(clients, k)
        due[[*clients]] += k / len(clients)
        forced += len(gateways) == 1
    times = np.array([selection.history.of(client)["times"] for client in range(30)])
    assert (times >= np.floor(due + 1e-6)).all()
    assert np.clip(times - np.ceil(due - 1e-6), 0, None).sum() <= forced


def test_the_expected_number_is_right_in_every_round() -> None:
    n, k, seeds = 20, 8, 400
    counts = np.zeros((seeds, 7))
    for seed in range(seeds):
        selection = SkcLeach(Site(line(n), seed))
        counts[seed] = [len(selection.get_gateways(range(n), k)) for _ in range(7)]
    # Clients are independent, so the variance of a round is n·P·(1 - P); five standard errors.
    assert counts.mean(axis=0) == pytest.approx(k, abs=5 * math.sqrt(n * 0.4 * 0.6 / seeds))
    assert (counts.std(axis=0) > 1.0).all()  # it is chance


def test_the_expected_number_is_right_though_clients_take_part_in_few_rounds() -> None:
    numbers = random.Random(8)
    selection = SkcLeach(Site(scattered(200, 500)))
    total = asked = 0
    for _ in range(3000):
        clients = numbers.sample(range(200), numbers.randint(10, 40))
        total += len(selection.get_gateways(clients, wanted(len(clients), 0.4)))
        asked += wanted(len(clients), 0.4)
    # Each client is within 1 of its due number, always.
    assert total == pytest.approx(asked, abs=200)


def test_somebody_is_chosen_though_nobody_is_drawn() -> None:
    selection = SkcLeach(Site(line(2)))
    for _ in range(50):
        assert len(selection.get_gateways(range(2), 1)) >= 1
    times = [selection.history.of(client)["times"] for client in range(2)]
    assert sum(times) > 50  # both at once, sometimes
    assert min(times) >= 25


def test_chance_draws_from_the_host_alone() -> None:
    places = scattered(20, 200)
    runs = [
        [sorted(selection.get_gateways(range(20), 8)) for _ in range(5)]
        for selection in (SkcLeach(Site(places, 4)), SkcLeach(Site(places, 4)), SkcLeach(Site(places, 5)))
    ]
    assert runs[0] == runs[1] != runs[2]


def test_who_has_waited_longest_is_next() -> None:
    selection = DkcLeach(Site(line(6)))
    first = {*selection.get_gateways(range(6), 2)}
    second = {*selection.get_gateways(range(6), 2)}
    third = {*selection.get_gateways(range(6), 2)}
    assert first | second | third == {*range(6)}
    assert {*selection.get_gateways(range(6), 2)} == first


def test_rounds_of_others_do_not_count_as_waiting() -> None:
    selection = DkcLeach(Site(line(6)))
    (chosen,) = selection.get_gateways([0, 1], 1)
    for _ in range(9):
        selection.get_gateways([3, 4, 5], 1)
    other = 1 - chosen
    assert selection.history.of(chosen)["rounds"] == 1
    assert [*selection.get_gateways([0, 1], 1)] == [other]


def test_equals_are_spread_out() -> None:
    crowd = [(float(i), 0.0) for i in range(8)]
    places: list[KnownPlace] = [*crowd, (0.0, 1000.0), (1000.0, 0.0)]
    gateways = DkcLeach(Site(places)).get_gateways(range(10), 3)
    assert {8, 9} <= gateways.keys()
    assert any(len(group) == 7 for group in gateways.values())


# -- WCA --------------------------------------------------------------------------------------------------


@given(crowds, st.integers(1, 20), st.floats(1, 500))
@settings(max_examples=100, deadline=None, derandomize=True)
def test_clusters_are_in_range_and_their_heads_are_not(
    places: list[KnownPlace], k: int, range_m: float
) -> None:
    n = len(places)
    gateways = CsWca(Site(places), range_m=range_m).get_gateways(range(n), k)
    if k >= n:
        return
    for a in gateways:
        assert all(distance(places[a], places[b]) > range_m * (1 - 1e-12) for b in gateways if b != a)
    if len(gateways) < k:  # no clusters were merged
        for gateway, group in gateways.items():
            assert all(distance(places[gateway], places[c]) <= range_m * (1 + 1e-12) for c in group)


def test_dense_clients_need_fewer_gateways_than_asked_for() -> None:
    assert len(CsWca(Site(scattered(20, 45))).get_gateways(range(20), 8)) == 1
    assert len(CsWca(Site(line(20, step=1000.0))).get_gateways(range(20), 8)) == 8


def test_nearest_clusters_are_merged_first() -> None:
    places: list[KnownPlace] = [(0.0, 0.0), (80.0, 0.0), (1000.0, 0.0), (1200.0, 0.0), (5000.0, 0.0)]
    gateways = {*CsWca(Site(places)).get_gateways(range(5), 4)}
    assert len(gateways & {0, 1}) == 1
    assert {2, 3, 4} <= gateways
    gateways = {*CsWca(Site(places)).get_gateways(range(5), 3)}
    assert len(gateways & {0, 1}) == len(gateways & {2, 3}) == 1
    assert 4 in gateways


@given(st.integers(1, 25), st.integers(1, 25), st.integers(0, 999))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_merging_is_that_of_the_nearest_two_again_and_again(n: int, k: int, seed: int) -> None:
    places = scattered(n, 1000, seed)
    left = [*range(n)]
    while len(left) > k:
        _, heavier = min(
            itertools.combinations(left, 2), key=lambda pair: distance(*(places[i] for i in pair))
        )
        left.remove(heavier)
    x, y = np.array(places, np.float64).T.copy()
    assert np.flatnonzero(merged(x, y, k)).tolist() == left


def test_weights_by_hand() -> None:
    selection = CsWca(Site(line(3)))
    rows = selection.history.rows([0, 1, 2])
    selection.history.services["seconds"][:3] = 0.0, 40.0, 0.0
    x, y = np.array([0.0, 50.0, 100.0]), np.zeros(3)
    found = weights(selection.history.services, rows, 0.0, x, y, np.array([2.0, 0.0, 0.0]), 80.0, 1)
    by_hand = [
        0.2 * 50 / 80 + 0.05 * 2.0,
        0.7 * 1 + 0.2 * 100 / 80 + 0.05 * 40.0,
        0.2 * 50 / 80,
    ]
    assert found == pytest.approx(by_hand)


def test_who_stands_is_preferred_to_who_moves() -> None:
    for fast in range(3):
        site = Site([(0.0, 0.0), (0.0, 0.0), (0.0, 0.0)])
        site.velocities.update(dict.fromkeys(range(3), (1.0, 1.0)))
        site.velocities[fast] = (0.0, 0.5)
        assert [*CsWca(site).get_gateways(range(3), 2)] == [fast]


def test_who_has_served_long_is_relieved() -> None:
    site = Site([(0.0, 0.0)] * 4)
    selection = CsWca(site)
    for _ in range(40):
        selection.get_gateways(range(4), 2)
        site.time += 0.5
    times = [selection.history.of(client)["times"] for client in range(4)]
    assert times == [10, 10, 10, 10]


def test_service_lasts_until_the_next_round_but_not_for_ever() -> None:
    site = Site([(0.0, 0.0)] * 3)
    selection = CsWca(site)
    (first,) = selection.get_gateways(range(3), 1)
    site.time = 0.25
    (second,) = selection.get_gateways(range(3), 1)
    site.time = 600.0
    selection.get_gateways(range(3), 1)
    assert first != second
    assert selection.history.of(first)["seconds"] == 0.25
    assert selection.history.of(second)["seconds"] == 1.0


def test_history_has_room_for_any_number_of_clients() -> None:
    selection = DkcLeach(Site(line(500)))
    selection.get_gateways(range(40), 1)
    before = selection.history.of(7)
    selection.get_gateways(range(40, 500), 1)
    assert selection.history.of(7) == before
    assert sum(selection.history.of(client)["times"] for client in range(500)) == 2
