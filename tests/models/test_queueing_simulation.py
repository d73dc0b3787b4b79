from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.models.queueing import (
    Centre,
    InvalidCentre,
    InvalidPeriods,
    Periods,
    Simulated,
    Unstable,
    simulate,
    sweep_paths,
)
from bypass.models.queueing.simulation import passage
from bypass.models.queueing.simulation.kernels import EVENTS, OTHER, PERIODS
from bypass.models.queueing.simulation.passage import Server, passages
from bypass.models.request import InvalidRequest
from bypass.support.arrays import Floats
from bypass.support.counter_rng import Purpose, uniform_pair

Intervals = Callable[[], Iterator[tuple[float, float]]]

# -- the same, written plainly -------------------------------------------------------------------------------


def leave(jobs: Sequence[tuple[float, float, float]], intervals: Intervals) -> list[float]:
    """When jobs (arrival, service, deadline) leave a server that works in intervals: NaN if never."""
    left, free = [], 0.0
    for at, service, deadline in jobs:
        now, remaining, started, out = max(at, free), service, False, math.nan
        for begin, end in intervals():
            if end <= now:
                continue
            now = max(now, begin)
            if now >= deadline:
                break
            started = True
            if remaining <= end - now and now + remaining <= deadline:
                out = now + remaining
                break
            if deadline <= end:
                break
            remaining -= end - now
            now = end
        if not math.isnan(out):
            free = out
        elif started:
            free = deadline
        left.append(out)
    return left


def recorded(periods: Periods) -> Intervals:
    def intervals() -> Iterator[tuple[float, float]]:
        for again in count():
            for begin, length in zip(periods.begins.tolist(), periods.lengths.tolist(), strict=True):
                yield again * periods.span + begin, again * periods.span + begin + length

    return intervals


def drawn(seed: int, stream: int, number: int) -> tuple[float, float]:
    """Two exponential numbers with mean 1."""
    u, v = uniform_pair(np.uint64(seed), Purpose.QUEUEING, stream, number)
    return -math.log(1 - u), -math.log(1 - v)


def random_periods(centre: Centre, number: int, seed: int) -> Intervals:
    def intervals() -> Iterator[tuple[float, float]]:
        if not centre.off:
            yield 0.0, math.inf
            return
        state, _ = uniform_pair(np.uint64(seed), Purpose.QUEUEING, 3 * number + PERIODS, 0)
        begins_on = state < centre.on / (centre.on + centre.off)
        begin = 0.0 if begins_on else centre.off * drawn(seed, 3 * number + PERIODS, 0)[1]
        for cycle in count(1):
            on, off = drawn(seed, 3 * number + PERIODS, cycle)
            yield begin, begin + centre.on * on
            begin += centre.on * on + centre.off * off

    return intervals


def others(centre: Centre, number: int, seed: int, until: float) -> list[tuple[float, float, float]]:
    jobs: list[tuple[float, float, float]] = []
    at = 0.0
    for each in count():
        gap, service = drawn(seed, 3 * number + OTHER, each)
        at += gap / centre.other if centre.other else math.inf
        if at > until:
            return jobs
        jobs.append((at, centre.service * service, math.inf))
    raise AssertionError


def plainly(
    centres: Sequence[Centre],
    produced: Sequence[float],
    seed: int,
    lifetime: float,
    periods: dict[str, Periods],
) -> list[list[float]]:
    """The result of `passages`, computed in one piece."""
    moments = [list(produced)]
    for number, centre in enumerate(centres):
        slot = number + 1
        own = [
            (at, centre.service * drawn(seed, 3 * (slot // 2) + EVENTS, event)[slot % 2], born + lifetime)
            for event, (at, born) in enumerate(zip(moments[-1], produced, strict=True))
        ]
        jobs = [job for job in own if not math.isnan(job[0])]
        foreign = others(centre, number, seed, max((job[0] for job in jobs), default=0.0))
        merged = sorted([*foreign, *jobs], key=lambda job: job[0])
        played = periods.get(centre.name)
        intervals = random_periods(centre, number, seed) if played is None else recorded(played)
        out = dict(zip(merged, leave(merged, intervals), strict=True))
        moments.append([out.get(job, math.nan) for job in own])
    return moments


# -- trace-driven: equal to the last bit ---------------------------------------------------------------------

eighths = st.integers(1, 40).map(lambda n: n / 8)


@st.composite
def records(draw: st.DrawFn) -> Periods:
    begins, lengths, at = [], [], 0.0
    for off, on in draw(st.lists(st.tuples(st.integers(0, 24), st.integers(1, 24)), min_size=1, max_size=5)):
        begins.append(at + off / 8)
        lengths.append(on / 8)
        at = begins[-1] + lengths[-1]
    return Periods(np.array(begins), np.array(lengths), at + draw(st.integers(0, 16)) / 8)


@given(
    periods=records(),
    jobs=st.lists(st.tuples(st.integers(0, 24), eighths), min_size=1, max_size=12),
    lifetime=st.one_of(st.just(math.inf), eighths),
)
@settings(max_examples=120, deadline=None)
def test_a_centre_does_what_a_plain_server_does(
    periods: Periods, jobs: list[tuple[int, float]], lifetime: float
) -> None:
    """All times are multiples of 1/8 s, so nothing is rounded."""
    arrivals = np.cumsum([gap for gap, _ in jobs]) / 8
    services = np.array([service for _, service in jobs])
    departures = np.empty(len(jobs))
    deadlines = arrivals + lifetime if math.isfinite(lifetime) else np.empty(0)
    server = Server(0, Centre("a", 1.0, 0.5), periods, np.uint64(1))
    half = len(jobs) // 2  # in two blocks
    for part in (slice(None, half), slice(half, None)):
        server.serve(arrivals[part], services[part], deadlines[part], departures[part])
    plain = [
        (at, 0.5 * service, at + lifetime) for at, service in zip(arrivals.tolist(), services, strict=True)
    ]
    np.testing.assert_array_equal(departures, leave(plain, recorded(periods)))


@given(
    data=st.data(),
    seed=st.integers(0, 2**64 - 1),
    events=st.integers(1, 25),
    lifetime=st.sampled_from([math.inf, 0.5, 3.0]),
)
@settings(max_examples=50, deadline=None)
def test_a_path_does_what_is_written_plainly(
    data: st.DataObject, seed: int, events: int, lifetime: float
) -> None:
    times = st.floats(0.1, 3.0)
    centres = [
        Centre(name, 1.0, data.draw(times), data.draw(times), data.draw(st.sampled_from([0.0, 0.7])), other)
        for name in "abc"[: data.draw(st.integers(1, 3))]
        for other in [data.draw(st.sampled_from([0.0, 0.8]))]
    ]
    periods = {"a": data.draw(records())} if data.draw(st.booleans()) else {}
    produced = np.sort(data.draw(st.lists(st.floats(0, 20), min_size=events, max_size=events, unique=True)))
    [moments] = passages(
        centres, events, np.uint64(seed), arrivals=produced, periods=periods, lifetime=lifetime
    )
    expected = np.array(plainly(centres, produced.tolist(), seed, lifetime, periods))
    np.testing.assert_allclose(moments, expected, rtol=1e-9, atol=1e-9)
    drop: Any = "waiting"
    result = simulate(centres, events, seed, arrivals=produced, periods=periods, lifetime=lifetime, drop=drop)
    arrived = ~np.isnan(expected[-1])
    assert result.expired == pytest.approx(1 - arrived.mean(), abs=1e-12)
    if arrived.any():
        assert result.mean == pytest.approx((expected[-1] - expected[0])[arrived].mean())
    stays = np.diff(expected, axis=0)
    assert result.centres == pytest.approx(
        [stay[~np.isnan(stay)].mean() if (~np.isnan(stay)).any() else math.nan for stay in stays],
        nan_ok=True,
    )


# -- what always holds ---------------------------------------------------------------------------------------

MIXED = (
    Centre("phone", 1.0, 0.1, 5.0, 3.0, other=0.5),
    Centre("broker", 1.0, 0.2),
    Centre("home", 1.0, 0.1, 4.0, 4.0),
)


@pytest.mark.parametrize("lifetime", [math.inf, 4.0])
def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch, lifetime: float) -> None:
    def moments() -> Floats:
        blocks = passages(MIXED, 5000, np.uint64(3), arrivals=None, periods={}, lifetime=lifetime)
        return np.concatenate(list(blocks), axis=1)

    whole = moments()
    monkeypatch.setattr(passage, "BLOCK", 7)
    np.testing.assert_array_equal(moments(), whole)


def test_the_seed_decides() -> None:
    one, again, other = (simulate(MIXED, 20_000, seed) for seed in (4, 4, 5))
    assert one == again
    assert one != other


@given(lifetime=st.floats(0.05, 20), seed=st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_who_drops_at_once_loses_no_more_than_who_drops_at_the_end(lifetime: float, seed: int) -> None:
    late = simulate(MIXED, 500, seed, lifetime=lifetime)
    gone = simulate(MIXED, 500, seed, lifetime=lifetime, drop="waiting")
    assert gone.expired <= late.expired
    assert late.p95 <= lifetime * 1.004 or math.isnan(late.p95)
    assert gone.p95 <= lifetime * 1.004 or math.isnan(gone.p95)


def test_percentiles_and_means_are_those_of_the_events() -> None:
    result = simulate(MIXED, 30_000, 6)
    blocks = passages(MIXED, 33_000, np.uint64(6), arrivals=None, periods={}, lifetime=math.inf)
    moments = np.concatenate(list(blocks), axis=1)[:, 3000:]
    delays = moments[-1] - moments[0]
    assert result.mean == pytest.approx(delays.mean(), rel=1e-12)
    assert result.p50 == pytest.approx(np.percentile(delays, 50), rel=0.004)
    assert result.p95 == pytest.approx(np.percentile(delays, 95), rel=0.004)
    assert result.centres == pytest.approx(np.diff(moments, axis=0).mean(axis=1), rel=1e-9)
    assert sum(result.centres) == pytest.approx(result.mean)


# -- formulas ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("load", "on", "off", "other"),
    [
        (0.3, math.inf, 0.0, 0.0),
        (0.5, 0.4, 0.2, 0.3),
        (0.3, 0.2, 0.2, 0.0),
        (0.5, 0.2, 0.2, 0.0),
        (0.7, 0.2, 0.1, 0.5),
    ],
)
def test_a_single_centre_takes_as_long_as_the_formula_says(
    load: float, on: float, off: float, other: float
) -> None:
    rate = load * 16 / (1 + off / on)
    centre = Centre("a", rate * (1 - other), 1 / 16, on, off, rate * other)
    result = simulate([centre], 2_000_000, 1)
    assert result.half_width < 0.01 * result.mean  # or 2 % would say little
    assert abs(result.mean - centre.response()) < 0.02 * result.mean
    assert abs(result.mean - centre.response()) < 1.5 * result.half_width


def test_the_interval_has_the_mean_as_often_as_it_says() -> None:
    centre = Centre("a", 8.0, 1 / 16, 1.0, 0.5)
    results = [simulate([centre], 50_000, seed) for seed in range(100)]
    covered = sum(abs(result.mean - centre.response()) <= result.half_width for result in results)
    assert 90 <= covered <= 99


def test_few_events_give_no_interval() -> None:
    assert simulate(MIXED, 31, 1).half_width == math.inf
    assert simulate(MIXED, 3200, 1).half_width < math.inf


@pytest.mark.parametrize("lifetime", [0.05, 0.1, 0.2])
def test_late_events_of_a_plain_queue(lifetime: float) -> None:
    """Delays of M/M/1 are exponential with rate 1/service - rate."""
    rate = 16.0 - 8.0
    result = simulate([Centre("a", 8.0, 1 / 16)], 500_000, 2, lifetime=lifetime)
    assert result.expired == pytest.approx(math.exp(-rate * lifetime), rel=0.03)
    in_time = 1 - math.exp(-rate * lifetime)
    mean = 1 / rate - lifetime * math.exp(-rate * lifetime) / in_time
    assert result.mean == pytest.approx(mean, rel=0.01)


def test_bursts_make_the_second_centre_slower_than_the_formula_says() -> None:
    centres = [
        Centre("p", 2.0, 1 / 16, 1.0, 1.0),
        Centre("b", 2.0, 1 / 16),
        Centre("s", 2.0, 1 / 16, 1.5, 1.5),
    ]
    [compared] = sweep_paths([centres], events=500_000, seed=1)
    assert isinstance(compared.simulated, Simulated)
    assert compared.formula == sum(centre.response() for centre in centres)
    for centre, took in zip(centres[1:], compared.simulated.centres[1:], strict=True):
        assert took > 1.04 * centre.response()
    assert compared.simulated.mean > compared.formula


def test_recorded_periods_stand_for_exponential_ones() -> None:
    """Twenty thousand random periods, played again and again, with their own means in the formula."""
    random = np.random.default_rng(1)
    on, off = random.exponential(1.0, 20_000), random.exponential(0.5, 20_000)
    ends = np.cumsum(on + off)
    periods = Periods(ends - on - off, on, float(ends[-1]))
    result = simulate([Centre("a", 5.0, 1 / 16, 7.0, 700.0)], 1_000_000, 1, periods={"a": periods})
    expected = Centre("a", 5.0, 1 / 16, periods.on, periods.off).response()
    assert result.mean == pytest.approx(expected, rel=0.03)


# -- studies -------------------------------------------------------------------------------------------------


def test_a_study_has_a_row_for_each_path() -> None:
    paths = [[Centre("a", rate, 1 / 16, 1.0, 1.0)] for rate in (1.0, 4.0, 9.0)]
    told: list[tuple[int, int]] = []
    fine, busy, unstable = sweep_paths(
        paths, events=40_000, seed=7, progress=lambda *numbers: told.append(numbers)
    )
    assert told[-1] == (3, 3)
    assert busy.simulated == simulate(paths[1], 40_000, 8)
    row = busy.row()
    assert row["centres"] == [
        {"name": "a", "rate": 4.0, "service": 1 / 16, "on": 1.0, "off": 1.0, "other": 0.0}
    ]
    assert row["low"] < row["simulated"] < row["high"]
    assert row["deviation"] == abs(row["simulated"] - row["formula"]) / row["simulated"]
    assert fine.deviation < 0.05
    assert unstable.simulated is None
    assert unstable.formula == math.inf
    assert math.isnan(unstable.deviation)
    assert sweep_paths([], events=1, seed=1) == []


# -- what makes no sense -------------------------------------------------------------------------------------

ALONE = [Centre("a", 1.0, 0.5)]
HALF = Periods(np.array([1.0]), np.array([1.0]), 2.0)


def test_what_cannot_be_served_is_unstable_unless_it_ends() -> None:
    with pytest.raises(Unstable, match=r"^a: load 1: expected below 1"):
        simulate([Centre("a", 1.0, 0.5, 3.0, 3.0)], 10, 1)
    with pytest.raises(Unstable, match=r"^a: load 1: expected below 1"):
        simulate(ALONE, 10, 1, periods={"a": HALF})
    simulate(ALONE, 10, 1, periods={"a": HALF}, arrivals=np.arange(10.0))


@pytest.mark.parametrize(
    ("centres", "changes", "error", "message"),
    [
        (ALONE, {"events": 0}, InvalidRequest, "events is 0: expected at least 1"),
        (ALONE, {"seed": -1}, InvalidRequest, "seed is -1: expected 0 to 2"),
        (ALONE, {"lifetime": 0.0}, InvalidRequest, "lifetime is 0.0 s: expected above 0"),
        (ALONE, {"lifetime": math.nan}, InvalidRequest, "lifetime is nan s"),
        (ALONE, {"arrivals": np.arange(3.0)}, InvalidRequest, "events is 10: expected at most 3"),
        (ALONE, {"arrivals": np.arange(10.0)[::-1]}, InvalidRequest, "arrival 1 is at 8.0 s: expected"),
        (ALONE, {"arrivals": np.full(10, np.inf)}, InvalidRequest, "arrival 0 is at inf s"),
        (ALONE, {"events": 2**32}, InvalidRequest, "events is .* at most 2"),
        ([Centre("a", 1e-9, 0.5, 1.0, 1.0)], {}, InvalidRequest, "random events or periods at a centre"),
        (ALONE, {"periods": {"b": HALF}}, InvalidCentre, "periods has 'b': expected names of centres"),
        ([], {}, InvalidCentre, "centres is empty"),
        ([Centre("a", 0.0, 0.5)], {}, InvalidCentre, "a: rate 0.0: expected the same above 0"),
        ([*ALONE, Centre("b", 0.5, 0.5)], {}, InvalidCentre, "b: rate 0.5: expected the same above 0"),
    ],
)
def test_requests_without_sense_are_refused(
    centres: list[Centre], changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        simulate(centres, **{"events": 10, "seed": 1, **changes})


@pytest.mark.parametrize(
    ("begins", "lengths", "span", "message"),
    [
        ([], [], 1.0, "expected as many of each, at least one"),
        ([0.0, 1.0], [1.0], 5.0, "expected as many of each"),
        ([0.0, 1.0], [1.5, 1.0], 5.0, r"period 0 from 0.0 s on, 1.5 s long: expected it to end by 1.0 s"),
        ([0.0, 1.0], [1.0, 0.0], 5.0, "period 1"),
        ([-1.0], [1.0], 5.0, "period 0"),
        ([0.0], [6.0], 5.0, r"expected it to end by 5.0 s"),
        ([math.nan], [1.0], 5.0, "period 0"),
        ([0.0], [1.0], math.inf, "inf"),
    ],
)
def test_periods_without_sense_are_refused(
    begins: list[float], lengths: list[float], span: float, message: str
) -> None:
    with pytest.raises(InvalidPeriods, match=message):
        Periods(np.array(begins), np.array(lengths), span)
