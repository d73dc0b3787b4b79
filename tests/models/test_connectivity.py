from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.models.queueing import (
    Connectivity,
    InvalidConnectivity,
    Journey,
    read_connectivity,
    write_connectivity,
)

MINUTE = """time,state
0,ON
30,ON
60,OFF
90,OFF
120,OFF
150,ON
180,OFF
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journeys.csv"


def read(path: Path, text: str, gap: float | None = None) -> Connectivity:
    path.write_text(text, encoding="utf-8")
    return read_connectivity(path, gap)


def samples(connectivity: Connectivity) -> list[tuple[list[float], list[bool]]]:
    return [(journey.times.tolist(), journey.states.tolist()) for journey in connectivity.journeys]


@st.composite
def journeys(draw: st.DrawFn) -> Journey:
    times = draw(st.lists(st.floats(-1e10, 1e10), min_size=1, max_size=20, unique_by=lambda t: t + 0.0))
    states = draw(st.lists(st.booleans(), min_size=len(times), max_size=len(times)))
    return Journey(np.sort(times), np.array(states))


# -- files ---------------------------------------------------------------------------------------------------


@given(
    recorded=st.lists(journeys(), min_size=1, max_size=4).filter(lambda js: max(len(j.times) for j in js) > 1)
)
@settings(max_examples=60, deadline=None)
def test_what_is_written_reads_back(
    tmp_path_factory: pytest.TempPathFactory, recorded: list[Journey]
) -> None:
    path = tmp_path_factory.getbasetemp() / "round.csv"
    connectivity = Connectivity(recorded)
    write_connectivity(connectivity, path)
    assert samples(read_connectivity(path)) == samples(connectivity)


@pytest.mark.parametrize(
    "text",
    [
        "time,state\n0,ON\n30,OFF\n60,ON\n",
        "Time, State\n\n0,on\n30.0,off\n6e1,On\n\n",
        "time,state\r\n0,1\r\n30,0\r\n60,1\r\n",
        "\ufefftime,state\n0,1\n30,OFF\n60,ON",
        "time,state,journey\n0,1,a\n30,0,a\n60,1,a\n",
    ],
)
def test_ways_to_write_the_same(path: Path, text: str) -> None:
    assert samples(read(path, text)) == [([0.0, 30.0, 60.0], [True, False, True])]


def test_times_of_the_calendar(path: Path) -> None:
    text = "time,state\n2017-04-22T08:00:00Z,ON\n2017-04-22 08:00:30,OFF\n2017-04-22T10:01:00+02:00,ON\n"
    [journey] = read(path, text).journeys
    assert (journey.times - journey.times[0]).tolist() == [0.0, 30.0, 60.0]
    assert journey.times[0] == 1492848000


def test_journeys_end_at_gaps_or_where_their_name_changes(path: Path) -> None:
    gaps = "time,state\n0,1\n30,1\n60,0\n1000,1\n1030,0\n1200,1\n"
    assert [times for times, _ in samples(read(path, gaps))] == [[0, 30, 60], [1000, 1030], [1200]]
    assert len(read(path, gaps, gap=900).journeys) == 2
    assert len(read(path, gaps, gap=1e9).journeys) == 1
    names = "time,state,journey\n0,1,a\n3000,1,a\n0,0,b\n30,1,b\n60,0,a\n90,0,a\n"
    assert [times for times, _ in samples(read(path, names))] == [[0, 3000], [0, 30], [60, 90]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: found '': expected time,state or time,state,journey"),
        ("0,ON\n30,OFF\n", "line 1: found '0,on': expected time,state"),
        ("time,state\n0,ON\n30,maybe\n", "line 3: found 'maybe': expected a state, ON, OFF, 1 or 0"),
        ("time,state\n0,ON\n\nsoon,OFF\n", "line 4: found 'soon': expected a time in seconds"),
        ("time,state\nsoon,ON\n", "line 2: found 'soon': expected an ISO 8601 time"),
        ("time,state\n2017-04-22,ON\n30,OFF\n", "line 3: found '30': expected an ISO 8601 time"),
        ("time,state\nnan,ON\n", "line 2: found 'nan': expected"),
        ("time,state\n0,ON\n30\n", "line 3: found '30': expected 2 values, time,state"),
        ("time,state\n0,ON\n30,OFF\n30,ON\n", "line 4: found '30': expected a time after 30"),
        ("time,state\n60,ON\n30,OFF\n", "line 3: found '30': expected a time after 60"),
        ("time,state,journey\n60,ON,a\n30,OFF,a\n", "line 3: found '30': expected a time after 60"),
        ("time,state,journey\n60,ON,\n", "line 2: found '': expected a journey's name"),
        ("time,state\n", "0 samples: expected at least two"),
        ("time,state\n5,ON\n", "1 samples: expected at least two"),
        ("time,state,journey\n5,ON,a\n5,ON,b\n", "2 journeys: expected one with at least two samples"),
    ],
)
def test_files_without_sense_are_refused(path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidConnectivity) as refused:
        read(path, text)
    assert str(refused.value).startswith(str(path))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_no_text_is_refused(path: Path) -> None:
    path.write_bytes(b"time,state\n0,\xff\xfe\n")
    with pytest.raises(InvalidConnectivity, match="expected CSV in UTF-8"):
        read_connectivity(path)


# -- estimates -----------------------------------------------------------------------------------------------


def test_time_of_cut_off_periods_counts_and_their_number_only_if_they_end(path: Path) -> None:
    connectivity = read(path, MINUTE)
    assert connectivity.duration == 180
    assert connectivity.means() == ((60 + 30) / 2, 90 / 1)
    p, q = 2 / 3, 1 / 3
    assert p + q == 1
    with pytest.raises(
        InvalidConnectivity, match=r"after 0.667 of ON and 0.333 of OFF samples: expected less"
    ):
        connectivity.underlying()


def test_what_never_ends_has_no_mean() -> None:
    with pytest.raises(InvalidConnectivity, match=r"OFF never ends in 2.0 s: expected it to"):
        Connectivity([Journey(np.arange(3.0), np.array([True, False, False]))]).means()


def chain(on: float, off: float, step: float, count: int, seed: int) -> Journey:
    """A device that is ON and OFF for exponential times, looked at so many times."""
    random = np.random.default_rng(seed)
    cycles = int(2 * count * step / (on + off)) + 1000
    periods = np.column_stack((random.exponential(on, cycles), random.exponential(off, cycles)))
    changes = np.cumsum(periods)
    times = on + step * np.arange(count, dtype=np.float64)
    assert changes[-1] > times[-1]
    return Journey(times, np.searchsorted(changes, times, side="right") % 2 == 0)


@given(
    on=st.floats(40, 400), off=st.floats(40, 400), split=st.integers(1, 60), seed=st.integers(0, 2**32 - 1)
)
@settings(max_examples=20, deadline=None)
def test_estimates_converge(on: float, off: float, split: int, seed: int) -> None:
    """Into however many journeys the samples are cut; by 5 standard deviations or so."""
    whole = chain(on, off, 30.0, 150_000, seed)
    cuts = np.linspace(0, len(whole.times), split + 1).astype(int)[1:-1]
    parts = map(Journey, np.split(whole.times, cuts), np.split(whole.states, cuts))
    found = Connectivity(parts).underlying()
    assert found.on == pytest.approx(on, rel=0.1)
    assert found.off == pytest.approx(off, rel=0.1)


def test_coarse_samples_make_periods_longer_than_they_are() -> None:
    """The means of a metro of the slides: short periods are missed, and `underlying` allows for that."""
    coarse, fine = (Connectivity([chain(146.3, 96.0, step, 300_000, 1)]) for step in (30.0, 0.5))
    assert fine.means() == pytest.approx((146.3, 96.0), rel=0.05)
    assert coarse.means() == pytest.approx((187.5, 123.0), rel=0.02)
    assert coarse.underlying() == pytest.approx((146.3, 96.0), rel=0.02)


# -- periods -------------------------------------------------------------------------------------------------


def test_periods_are_those_of_all_journeys_in_a_row(path: Path) -> None:
    periods = read(path, MINUTE + "5000,ON\n5030,ON\n5060,OFF\n5090,OFF\n9000,ON\n").periods()
    assert periods.begins.tolist() == [0, 150]
    assert periods.lengths.tolist() == [60, 90]  # the second journey's go on where the first one ended
    assert periods.span == 270
    assert (periods.on, periods.off) == (75, 60)


@given(st.lists(st.tuples(st.integers(1, 100), st.booleans()), min_size=1, max_size=20))
@settings(max_examples=60, deadline=None)
def test_periods_cover_the_time_that_is_on(steps: list[tuple[int, bool]]) -> None:
    times = np.append(0.0, np.cumsum([float(length) for length, _ in steps]))
    connectivity = Connectivity([Journey(times + 1e6, np.array([*(on for _, on in steps), False]))])
    if on := sum(length for length, is_on in steps if is_on):
        periods = connectivity.periods()
        assert periods.lengths.sum() == on
        assert periods.span == connectivity.duration == times[-1]


def test_never_on() -> None:
    with pytest.raises(InvalidConnectivity, match=r"1.0 s without ON: expected some"):
        Connectivity([Journey(np.arange(2.0), np.zeros(2, np.bool_))]).periods()


@pytest.mark.parametrize(
    ("times", "states"),
    [([], []), ([0.0, 1.0], [True]), ([1.0, 1.0], [True, True]), ([0.0, np.inf], [True, True])],
)
def test_journeys_without_sense_are_refused(times: list[float], states: list[bool]) -> None:
    with pytest.raises(InvalidConnectivity, match="expected"):
        Journey(np.array(times), np.array(states, np.bool_))
