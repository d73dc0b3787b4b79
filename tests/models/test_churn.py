from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.stats import chisquare, expon, kstest

from bypass.models.churn import (
    CHURN,
    ChurnModel,
    Crashes,
    FixedPeriods,
    Growth,
    NoChurn,
    OnOff,
    Presence,
    Ramp,
    Recorded,
)
from bypass.models.queueing import InvalidConnectivity
from bypass.models.request import InvalidRequest
from bypass.support.counter_rng import Purpose, uniform_pair

RECORD = Path(__file__).with_name("connectivity.csv")
EVERY_MODEL = [
    pytest.param(NoChurn(), id="none"),
    pytest.param(Ramp(start=3, end=5), id="ramp"),
    pytest.param(Growth(), id="growth"),
    pytest.param(OnOff(on=3, off=2), id="on-off"),
    pytest.param(Recorded(path=RECORD), id="recorded"),
]


def moments(presence: Presence, client: int) -> list[int]:
    own: list[int] = presence.at_us[presence.offsets[client] : presence.offsets[client + 1]].tolist()
    return own


def all_moments(presence: Presence) -> list[list[int]]:
    return [moments(presence, client) for client in range(len(presence))]


# -- what holds for every model ------------------------------------------------------------------------------


@pytest.mark.parametrize("model", EVERY_MODEL)
@given(clients=st.integers(1, 40), duration=st.floats(1e-6, 60), seed=st.integers(0, 2**64 - 1))
@settings(max_examples=25, deadline=None)
def test_moments_ascend_within_the_run(model: ChurnModel, clients: int, duration: float, seed: int) -> None:
    presence = model.schedule(clients, duration, seed)
    assert len(presence) == clients
    assert presence.offsets[0] == 0
    assert presence.offsets[-1] == len(presence.at_us)
    assert presence.at_us.dtype == presence.offsets.dtype == np.int64
    for own in all_moments(presence):
        assert all(0 <= at < duration * 1e6 for at in own)
        assert all(before < after for before, after in pairwise(own))


@pytest.mark.parametrize("model", EVERY_MODEL)
@given(seed=st.integers(0, 1000), at=st.lists(st.integers(0, 21_000_000), min_size=1, max_size=8))
@settings(max_examples=25, deadline=None)
def test_changes_played_in_their_order_give_who_is_there(model: ChurnModel, seed: int, at: list[int]) -> None:
    presence = model.schedule(15, 20.0, seed)
    at_us, client, joins = presence.changes()
    assert [column.dtype for column in (at_us, client, joins)] == [np.int64, np.int32, np.bool_]
    rows = list(zip(at_us.tolist(), client.tolist(), joins.tolist(), strict=True))
    assert [row[:2] for row in rows] == sorted(row[:2] for row in rows)
    there: set[int] = set()
    for moment in sorted({*at, *at_us.tolist()}):
        while rows and rows[0][0] <= moment:
            _, who, comes = rows.pop(0)
            assert comes == (who not in there)
            there ^= {who}
        assert there == {who for who in range(15) if presence.active(who, moment / 1e6)}
        assert presence.count(moment / 1e6) == len(there)
    assert not rows


@pytest.mark.parametrize("model", EVERY_MODEL)
def test_the_seed_decides(model: ChurnModel) -> None:
    one, again, other = (all_moments(model.schedule(30, 60.0, seed)) for seed in (4, 4, 5))
    assert one == again
    assert (one != other) == (not isinstance(model, NoChurn))


# -- models of a crowd ---------------------------------------------------------------------------------------


@given(st.integers(1, 50), st.floats(0, 100), st.floats(1, 100))
@settings(max_examples=25, deadline=None)
def test_without_churn_everybody_is_always_there(clients: int, at: float, duration: float) -> None:
    presence = NoChurn().schedule(clients, duration, 1)
    assert presence.count(at) == clients
    at_us, client, joins = presence.changes()
    assert not at_us.any()
    assert client.tolist() == list(range(clients))
    assert joins.all()


@pytest.mark.parametrize(
    ("minute", "expected"),
    [
        (0, 100),
        (7.99, 100),
        (10, 156.3),
        (11.5, 198.5),
        (15, 297),
        (17.99, 297),
        (20, 240.7),
        (21.5, 198.5),
        (25, 100),
    ],
)
def test_the_ramp_of_the_thesis(minute: float, expected: float) -> None:
    assert Ramp().schedule(297, 1500.0, 1).count(60 * minute) == pytest.approx(expected, abs=0.51)


@given(
    clients=st.integers(1, 200),
    start=st.integers(0, 250),
    end=st.integers(0, 250),
    cuts=st.lists(st.integers(0, 50), min_size=4, max_size=4, unique=True).map(sorted),
    duration=st.floats(1, 5000),
    at=st.lists(st.floats(0, 0.9999), min_size=1, max_size=10),
)
@settings(max_examples=60, deadline=None)
def test_ramps_follow_their_curve(
    clients: int, start: int, end: int, cuts: list[int], duration: float, at: list[float]
) -> None:
    times = [cut / 50 for cut in cuts]
    names = ("rise_from", "full_from", "full_until", "fall_until")
    model = Ramp(start=start, end=end, **dict(zip(names, times, strict=True)))
    presence = model.schedule(clients, duration, 7)
    for share in at:
        curve = np.interp(share, times, [min(start, clients), clients, clients, min(end, clients)])
        assert abs(presence.count(share * duration) - curve) <= 0.51 + clients / (0.02 * duration * 1e6)


@given(st.integers(1, 200), st.integers(0, 250), st.floats(1, 5000), st.floats(0, 0.9999))
@settings(max_examples=40, deadline=None)
def test_growth_follows_its_curve(clients: int, start: int, duration: float, share: float) -> None:
    presence = Growth(start=start).schedule(clients, duration, 8)
    curve = np.interp(share, [0, 1], [min(start, clients), clients])
    assert abs(presence.count(share * duration) - curve) <= 0.51 + clients / (duration * 1e6)
    assert presence.count(duration) == clients
    assert presence.changes()[2].all()


def test_everybody_comes_and_goes_once() -> None:
    presence = Ramp(start=0, end=0).schedule(50, 100.0, 9)
    assert np.diff(presence.offsets).tolist() == [2] * 50
    assert all(32e6 < come < 60e6 and 72e6 < go < 100e6 for come, go in all_moments(presence))


def test_a_ramp_without_length_still_has_everybody() -> None:
    times = dict.fromkeys(("rise_from", "full_from", "full_until", "fall_until"), 0.5)
    presence = Ramp(start=0, end=0, **times).schedule(5, 10.0, 9)
    assert all_moments(presence) == [[5_000_000, 5_000_001]] * 5


def test_orders_of_coming_and_going_are_random_and_independent() -> None:
    turn = np.zeros((6, 6), int)
    for seed in range(600):
        both = np.array(all_moments(Ramp(start=0, end=0).schedule(6, 100.0, seed))).argsort(axis=0)
        turn[both[0, 0], both[0, 1]] += 1  # who comes first, and who goes first
    assert chisquare(turn.ravel()).pvalue > 0.01


@given(st.integers(1, 30), st.integers(0, 2**64 - 1))
@settings(max_examples=25, deadline=None)
def test_others_do_not_change_who_comes_or_goes_before_whom(clients: int, seed: int) -> None:
    few, many = (np.array(all_moments(Ramp(start=0, end=0).schedule(n, 100.0, seed))) for n in (clients, 30))
    np.testing.assert_array_equal(few.argsort(axis=0), many[:clients].argsort(axis=0))


# -- on-off --------------------------------------------------------------------------------------------------


@given(st.integers(1, 20), st.floats(0.5, 50), st.integers(0, 2**64 - 1))
@settings(max_examples=30, deadline=None)
def test_a_client_comes_and_goes_alike_whoever_else_is_there_and_however_long(
    clients: int, duration: float, seed: int
) -> None:
    model = OnOff(on=2, off=1)
    few, many = model.schedule(clients, duration, seed), model.schedule(20, 60.0, seed)
    for client in range(clients):
        assert moments(few, client) == [at for at in moments(many, client) if at < duration * 1e6]


def test_what_happens_at_the_end_happens_no_more() -> None:
    model = OnOff(on=2, off=1)
    whole = model.schedule(5, 30.0, 1)
    for end in whole.at_us[whole.at_us > 0].tolist():
        assert model.presence(5, end, np.uint64(1)).at_us.max(initial=-1) < end


@pytest.mark.parametrize(("on", "off"), [(5.0, 5.0), (9.0, 1.0), (2.0, 6.0)])
def test_periods_are_exponential_with_their_means(on: float, off: float) -> None:
    presence = OnOff(on=on, off=off).schedule(400, 40 * (on + off), 11)
    periods: dict[bool, list[float]] = {True: [], False: []}
    for own in all_moments(presence):
        # So many of each client, not those that happen to end in time: these would be the short ones.
        lengths = np.diff(own)[:12] / 1e6
        periods[True].extend(lengths[::2])
        periods[False].extend(lengths[1::2])
    assert min(map(len, periods.values())) == 400 * 6
    assert kstest(periods[True], expon(scale=on).cdf).pvalue > 0.01
    assert kstest(periods[False], expon(scale=off).cdf).pvalue > 0.01


@pytest.mark.parametrize(("on", "off"), [(5.0, 5.0), (9.0, 1.0), (2.0, 6.0)])
def test_the_share_of_those_there_is_the_same_from_the_beginning(on: float, off: float) -> None:
    presence = OnOff(on=on, off=off).schedule(8000, 100.0, 12)
    share = on / (on + off)
    for at in (0.0, 1.0, 5.0, 99.0):
        assert abs(presence.count(at) - 8000 * share) < 3 * np.sqrt(8000 * share * (1 - share))


# -- recorded ------------------------------------------------------------------------------------------------


def is_on(at: float) -> bool:
    """What the record says of 16 s, again and again."""
    at %= 16
    return at < 4 or 10 <= at < 12 or at >= 14


@given(st.integers(1, 6), st.floats(0.5, 100), st.integers(0, 2**64 - 1))
@settings(max_examples=30, deadline=None)
def test_clients_are_there_when_the_record_says_so(clients: int, duration: float, seed: int) -> None:
    presence = Recorded(path=RECORD).schedule(clients, duration, seed)
    seen = duration * np.arange(1, 60) / 60
    for client in range(clients):
        own = [presence.active(client, at) for at in seen]
        start = int(uniform_pair(np.uint64(seed), Purpose.CHURN, client, 0)[0] * 16e6) / 1e6
        assert own == [is_on(round(1e6 * (start + round(at, 6))) / 1e6) for at in seen]


def test_a_record_that_cannot_be_read_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(InvalidConnectivity, match=r"no.csv: No such file or directory: expected a record"):
        Recorded(path=tmp_path / "no.csv")


# -- parameters ----------------------------------------------------------------------------------------------


def test_models_are_found_by_name() -> None:
    own = {"none": NoChurn, "ramp": Ramp, "growth": Growth, "on-off": OnOff}
    failing = {"periods": FixedPeriods, "crashes": Crashes}
    assert dict(CHURN) == {**own, **failing, "recorded": Recorded}
    for name, model in CHURN.items():
        values: dict[str, Any] = {"path": RECORD} if name == "recorded" else {}
        assert len(model(**values).schedule(3, 10.0, 1)) == 3


@pytest.mark.parametrize(
    ("model", "wrong", "message"),
    [
        ("ramp", {"full_from": 0.9}, "full_until, fall_until .* expected shares that ascend"),
        ("ramp", {"rise_from": -0.1}, "rise_from"),
        ("ramp", {"fall_until": 1500}, "fall_until"),
        ("ramp", {"start": -1}, "start"),
        ("growth", {"start": 0.5}, "start"),
        ("on-off", {"on": 0}, "on"),
        ("on-off", {"off": np.inf}, "off"),
        ("none", {"start": 1}, "start"),
    ],
)
def test_parameters_without_sense_are_refused(model: str, wrong: dict[str, float], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        CHURN[model].model_validate(wrong)


def test_requests_without_sense_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="clients is 0"):
        NoChurn().schedule(0, 10.0, 1)
