"""Kernels and the schemes' own parts, run event by event: both notify the same clients of every event.

Whoever adds a scheme with kernels has it tested here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from bypass.mechanisms import Registry
from bypass.mechanisms.families import FILTER
from bypass.mechanisms.filters.kernels.client_tree import ClientTree
from bypass.mechanisms.filters.kernels.ground_truth import find_concerned
from bypass.mechanisms.filters.kernels.judge import Judge
from bypass.mechanisms.filters.kernels.window import Window
from bypass.models.compute.engines import LocalEngine
from bypass.models.mobility import Darmstadt
from bypass.models.traces import Trace, write_trace
from bypass.models.workloads import Publications
from bypass.places.region import Region
from bypass.scenarios.evaluation.judging.judges import conditions_in
from bypass.scenarios.evaluation.judging.replay import Replay
from bypass.scenarios.evaluation.judging.sensors import sensor_phases
from bypass.scenarios.evaluation.judging.windows import windows
from bypass.scenarios.evaluation.schemes import Scheme
from tests.crowds import RADIUS, REGION, MovingCrowd, crowds
from tests.own_schemes import Strips

pytestmark = pytest.mark.slow

OTHER_VALUES = {
    "ste": ("0.5", "10"),
    "grid": ("1", "3"),
    "egrid": ("1", "7"),
    "attract": ("100", "max"),
    "multi": ("50", "mean"),
}
"""Values of parameters, besides the default, that are worth a try."""

SCHEMES = [
    scheme
    for name in Registry().kinds(FILTER)
    for scheme in (name, *(f"{name}:{value}" for value in OTHER_VALUES.get(name, ())))
    if Scheme.parse(scheme, Registry()).kernels is not None
]


def both_ways(
    scheme: Scheme, region: Region, radius: float, window: Window, phases: NDArray[np.int64], interval_us: int
) -> tuple[Judge, Judge]:
    """The kernels of a scheme, and its parts, from the beginning of a window on."""
    assert scheme.kernels is not None
    conditions = conditions_in(region, radius)
    kernels = scheme.kernels(conditions, [scheme.setting], window.leg)
    return kernels, Replay(scheme, region, conditions, window.leg, phases, interval_us, seed=1)


def assert_the_same(
    scheme: str,
    windows: Iterable[Window],
    region: Region,
    radius: float,
    phases: NDArray[np.int64],
    interval_us: int,
    passed: int = 0,
    own: Sequence[type] = (),
) -> int:
    """Judge windows both ways; the first ones are passed and not counted. Gives how many were notified."""
    judges: tuple[Judge, ...] = ()
    total = 0
    for number, window in enumerate(windows):
        parsed = Scheme.parse(scheme, Registry(own))
        judges = judges or both_ways(parsed, region, radius, window, phases, interval_us)
        if number < passed:
            for judge in judges:
                judge.pass_window(window)
            continue
        if number == passed:
            for judge in judges:
                judge.begin(None)
        crowd = ClientTree.of(window.leg, radius)
        concerned = find_concerned(window, crowd, radius, np.zeros(3, np.int64))
        by_kernels, by_parts = (judge.count(window, crowd, concerned) for judge in judges)
        np.testing.assert_array_equal(by_kernels.notified, by_parts.notified)
        np.testing.assert_array_equal(by_kernels.correct, by_parts.correct)
        assert (by_parts.correct[:, 0] <= concerned.subscribers).all()
        total += int(by_parts.notified.sum())
    by_kernels_sent, by_parts_sent = (judge.traffic() for judge in judges)
    assert by_kernels_sent.tolist() == by_parts_sent.tolist()
    return total


@pytest.mark.parametrize("scheme", SCHEMES)
@given(crowd=crowds(), passed=st.integers(0, 3), radius=st.sampled_from([RADIUS, 37.5]))
@settings(max_examples=25, deadline=None)
def test_kernels_and_parts_agree_on_any_crowd(
    scheme: str, crowd: MovingCrowd, passed: int, radius: float
) -> None:
    crowded = crowd.windows()
    passed = min(passed, len(crowd.x) - 2)
    assert_the_same(scheme, crowded, REGION, radius, np.array(crowd.phases), crowd.interval_us, passed)


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    out = tmp_path_factory.mktemp("trace") / "da"
    return write_trace(Darmstadt(), "darmstadt", out, clients=80, duration=40, seed=2, engine=LocalEngine())


@pytest.mark.parametrize("scheme", SCHEMES)
def test_kernels_and_parts_agree_on_a_map(trace: Trace, scheme: str) -> None:
    places = tuple(p.place() for p in trace.attractions)
    rng = np.random.default_rng(3)
    count, end_us = 2000, (trace.samples - 1) * 1_000_000
    # Half of the events are local, the others are where attraction points are.
    spots = np.array([(p.x, p.y) for p in places])[rng.integers(0, len(places), count)].T
    spots = np.where(rng.random(count) < 0.5, np.nan, spots + rng.normal(0, 60, (2, count)))
    at_us, client = np.sort(rng.integers(0, end_us, count)), rng.integers(0, 80, count).astype(np.int32)

    def published(start_us: int, until_us: int) -> Publications:
        own = slice(*np.searchsorted(at_us, (start_us, until_us)))
        return Publications(at_us[own], client[own], spots[0, own], spots[1, own])

    phases = sensor_phases(2, 0, trace.clients, 5_000_000)
    x, y = trace.read(0, trace.samples)
    region = Region((0.0, 0.0, *trace.size), places)
    seen = windows(x, y, 0, trace.step, phases, 5_000_000, published)
    assert assert_the_same(scheme, seen, region, 125.0, phases, 5_000_000, passed=7) > count


def documented_kernels() -> type[Judge]:
    """The example in the docs."""
    page = Path(__file__).parents[2] / "docs" / "evaluation.md"
    code = page.read_text().partition("<!-- strips.py -->\n```python\n")[2].partition("```")[0]
    namespace: dict[str, Any] = {}
    exec(code, namespace)
    kernels: type[Judge] = namespace["StripsKernels"]
    return kernels


@given(crowd=crowds())
@settings(max_examples=25, deadline=None)
def test_the_kernels_in_the_docs_are_right(crowd: MovingCrowd) -> None:
    class Documented(Strips):
        name: ClassVar[str] = "strips"
        kernels: ClassVar[str | type | None] = documented_kernels()

    phases = np.array(crowd.phases)
    for scheme in ("strips", "strips:20"):
        assert_the_same(scheme, crowd.windows(), REGION, RADIUS, phases, crowd.interval_us, own=[Documented])
