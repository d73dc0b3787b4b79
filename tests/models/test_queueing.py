"""Queueing centres: the formula, the Markov chain and the whole distribution say the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.models.queueing import Centre, Chain, InvalidCentre, Sojourn, Unreachable, Unstable

FORMULA = 1e-9
"""How much chain and formula may differ, relatively."""

DISTRIBUTION = 1e-8
"""And the distribution: where a period has a million services, its matrix has 1 beside 1e-7, in 16 digits."""


@st.composite
def centres(draw: st.DrawFn, most: float = 0.99, *, always: bool = True) -> Centre:
    """Stable centres of any kind: from milliseconds to hours, with and without other traffic."""
    times = st.floats(-2.0, 4.0).map(lambda power: 10.0**power)
    on, off = draw(times), draw(times)
    if always and draw(st.integers(0, 9)) == 0:
        on, off = draw(st.sampled_from([(inf, 0.0), (on, 0.0), (inf, off)]))
    service = 10.0 ** draw(st.floats(-3.0, 1.0))
    load = draw(st.floats(1e-3, most))
    rate = load / (service * (1.0 + off / on))
    other = draw(st.sampled_from([0.0, 0.3, 0.9])) * rate
    return Centre("c", rate - other, service, on, off, other)


# -- the formula ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rate", "service", "on", "off", "response"),
    [
        (1.0, 1 / 16, 20.0, 20.0, 81 / 7),
        (1.0, 1 / 16, 1.0, 1.0, 5 / 7),
        (2.0, 1 / 16, 1.5, 1.5, 7 / 6),
        (1.0, 0.1, 5.0, 10.0, 209 / 21),
        (1.0, 1 / 16, inf, 0.0, 1 / 15),
        (0.0, 1 / 16, 20.0, 20.0, 10.125),
    ],
)
def test_responses_are_those_worked_out_by_hand(
    rate: float, service: float, on: float, off: float, response: float
) -> None:
    assert Centre("c", rate, service, on, off).response() == pytest.approx(response, rel=1e-14)


@given(centres())
def test_without_off_periods_it_is_an_ordinary_queue(centre: Centre) -> None:
    plain = replace(centre, off=0.0)
    arriving = plain.rate + plain.other
    assert plain.response() == pytest.approx(plain.service / (1.0 - arriving * plain.service), rel=1e-12)


@given(centres())
def test_more_of_anything_takes_longer(centre: Centre) -> None:
    response = centre.response()
    for key in ("rate", "other", "service", "off"):
        more = replace(centre, **{key: 1.001 * getattr(centre, key)})
        assert more.load >= 1.0 or more.response() >= response * (1 - 1e-12)
    assert replace(centre, on=1.001 * centre.on).response() <= response * (1 + 1e-12)


@given(centres())
def test_longer_services_for_other_traffic_are_no_more_than_the_truth(centre: Centre) -> None:
    effective = centre.effective_response()
    assert effective <= centre.response() * (1 + 1e-12)
    if centre.other == 0.0 or centre.off == 0.0:
        assert effective == pytest.approx(centre.response(), rel=1e-9)


@pytest.mark.parametrize("ask", [Centre.response, Centre.mean_number, Chain.of, Sojourn.at])
def test_too_much_is_named_with_its_load(ask: Callable[[Centre], object]) -> None:
    for centre in (Centre("b", 20.0, 1 / 16), Centre("b", 8.0, 1 / 16, 1.0, 1.0)):
        with pytest.raises(Unstable, match=rf"^b: load {centre.load:g}: expected below 1"):
            ask(centre)


def test_too_much_of_others_is_named() -> None:
    with pytest.raises(Unstable, match=r"^b: load 1.25 of others: expected below 1"):
        Centre("b", 0.1, 1 / 16, other=20.0).effective_response()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rate": -1.0}, "c: rate -1.0: expected a finite number, at least 0"),
        ({"other": nan}, "c: other nan: expected a finite number, at least 0"),
        ({"service": 0.0}, "c: service 0.0: expected a finite number above 0"),
        ({"off": inf}, "c: off inf: expected a finite number, at least 0"),
        ({"on": 0.0}, "c: on 0.0: expected a number above 0, or inf"),
    ],
)
def test_parameters_without_sense_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidCentre) as error:
        replace(Centre("c", 1.0, 0.1), **changes)
    assert str(error.value) == message


# -- the other way round ----------------------------------------------------------------------------------


@given(centres(), st.floats(1.0, 1000.0))
def test_the_largest_rate_gives_the_response_that_was_asked_for(centre: Centre, factor: float) -> None:
    target = factor * replace(centre, rate=0.0).response()
    rate = centre.largest_rate(target)
    assert replace(centre, rate=rate).response() == pytest.approx(target, rel=1e-9)


@given(centres(always=False), st.floats(1.0, 1000.0))
def test_the_longest_off_period_gives_the_response_that_was_asked_for(centre: Centre, factor: float) -> None:
    target = factor * replace(centre, off=0.0).response()
    off = centre.longest_off(target)
    assert off >= 0.0
    assert replace(centre, off=off).response() == pytest.approx(target, rel=1e-9)


def test_who_is_never_off_may_be_off_as_long_as_it_likes() -> None:
    assert Centre("c", 1.0, 0.1).longest_off(1.0) == inf


def test_targets_that_cannot_be_met_say_what_could() -> None:
    centre = Centre("c", 1.0, 1 / 16, 20.0, 20.0)
    for target in (10.0, 0.0, -1.0, nan):
        with pytest.raises(Unreachable) as error:
            centre.largest_rate(target)
        assert str(error.value) == (
            f"c: target {target:g} s: expected at least 10.125 s, which it takes with rare events"
        )
    with pytest.raises(Unreachable) as error:
        centre.longest_off(0.06)
    assert str(error.value) == (
        "c: target 0.06 s: expected at least 0.0666667 s, which it takes without OFF periods"
    )
    full = replace(centre, other=16.0)
    with pytest.raises(Unreachable, match=r"^c: load 2 even with rare events: expected below 1$"):
        full.largest_rate(99)
    with pytest.raises(Unreachable, match=r"^c: load 1.0625 even without OFF periods: expected below 1$"):
        full.longest_off(99)


# -- the Markov chain, and the distribution ---------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(centres())
def test_the_chain_agrees_with_the_formula(centre: Centre) -> None:
    chain = Chain.of(centre)
    assert chain.response() == pytest.approx(centre.response(), rel=FORMULA)
    assert chain.mean_number() == pytest.approx(centre.mean_number(), rel=FORMULA)


@settings(max_examples=50)
@given(centres(most=0.8))
def test_the_chain_is_in_balance_level_by_level(centre: Centre) -> None:
    """The flow up equals the flow down between all levels, and the centre is ON for the right share of
    time."""
    chain = Chain.of(centre)
    levels = [chain.probability(k) for k in range(60)]
    for below, above in pairwise(levels):
        assert chain.rate * below.sum() == pytest.approx(above[0] / centre.service, rel=1e-7)
    assert chain.sums @ (np.eye(2) - chain.growth) == pytest.approx(np.eye(2), abs=1e-6)
    whole = chain.empty @ chain.sums
    off = centre.off / (centre.on + centre.off) if centre.on < inf else 0.0
    assert whole.tolist() == pytest.approx([1.0 - off, off], rel=1e-7, abs=1e-12)


def test_a_chain_without_events_has_no_response() -> None:
    assert Chain.of(Centre("c", 0.0, 0.1, 1.0, 1.0)).mean_number() == 0.0
    with pytest.raises(InvalidCentre, match=r"^rate 0.0: expected above 0"):
        Chain.of(Centre("c", 0.0, 0.1, 1.0, 1.0)).response()


@settings(max_examples=200, deadline=None)
@given(centres())
def test_the_mean_of_the_distribution_is_that_of_the_formula(centre: Centre) -> None:
    assert Sojourn.at(centre).mean() == pytest.approx(centre.response(), rel=DISTRIBUTION)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(centres(most=0.9), min_size=1, max_size=4),
    st.lists(st.floats(0.0, 20.0), min_size=2, max_size=5),
)
def test_a_distribution_is_one(path: list[Centre], at: list[float]) -> None:
    sojourn = Sojourn.along(path)
    mean = sum(centre.response() for centre in path)
    assert sojourn.mean() == pytest.approx(mean, rel=DISTRIBUTION)
    shares = [sojourn.later(mean * each) for each in sorted(at)]
    assert sojourn.curve(mean, 3) == pytest.approx([sojourn.later(mean * n) for n in range(3)], abs=1e-6)
    assert all(-1e-9 <= share <= 1.0 + 1e-9 for share in shares)
    assert all(after <= before + 1e-9 for before, after in pairwise(shares))
    assert sojourn.later(0.0) == pytest.approx(1.0, abs=1e-12)
