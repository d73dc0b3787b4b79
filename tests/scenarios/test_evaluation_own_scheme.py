"""Schemes of one's own, which have no kernels: they are judged by running them."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from bypass.mechanisms import Registry
from bypass.models.compute.engines import ComputeEngine, LocalEngine, SparkEngine
from bypass.models.mobility import Darmstadt
from bypass.models.traces import Trace, write_trace
from bypass.scenarios.evaluation import Evaluation, InvalidEvaluation, evaluate
from bypass.scenarios.evaluation.judging.sensors import sensor_phases
from bypass.scenarios.evaluation.schemes import Scheme
from tests.own_schemes import Strips

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]

CLIENTS, SAMPLES, RADIUS, INTERVAL_S = 40, 41, 125.0, 5.0
Columns = dict[str, NDArray[Any]]
FILE = Path(__file__).parents[1] / "own_schemes.py"
OWN = [f"{FILE}:{name}" for name in ("Strips", "Twice", "Lazy")]
"""By file: workers of a cluster, which cannot import tests, are sent it."""


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    out = tmp_path_factory.mktemp("trace") / "da"
    duration = float(SAMPLES - 1)
    return write_trace(
        Darmstadt(), "darmstadt", out, clients=CLIENTS, duration=duration, seed=4, engine=LocalEngine()
    )


def judged(
    trace: Trace,
    schemes: list[str],
    out: Path,
    engine: ComputeEngine | None = None,
    pieces: int | None = None,
    own: Sequence[str | type] = OWN,
) -> Evaluation:
    engine = engine or LocalEngine()
    return evaluate(trace, schemes, out=out, engine=engine, seed=4, pieces=pieces, mechanisms=own)


def parse(text: str) -> Scheme:
    return Scheme.parse(text, Registry(OWN))


def events(evaluation: Evaluation) -> Columns:
    table = pq.read_table(evaluation.out / "events" / "ar")
    table = table.sort_by([("at_us", "ascending"), ("publisher", "ascending")])
    return {name: table[name].to_numpy() for name in table.column_names}


class Plainly:
    """Where clients are, and which fixes they have had, by the positions of the trace alone."""

    def __init__(self, trace: Trace) -> None:
        self.x, self.y = (each.astype(np.float64) for each in trace.read(0, trace.samples))
        self.phases = sensor_phases(4, 0, CLIENTS, 5_000_000).tolist()

    def place(self, client: int, at_us: int) -> tuple[float, float]:
        k = min(at_us // 1_000_000, SAMPLES - 2)
        share = at_us / 1e6 - k
        x, y = (
            each[k, client] + share * (each[k + 1, client] - each[k, client]) for each in (self.x, self.y)
        )
        return float(x), float(y)

    def fixes(self, client: int, at_us: int) -> list[tuple[float, float]]:
        """Where a client was as it subscribed, and at its fixes before a time."""
        return [self.place(client, at) for at in (0, *range(self.phases[client], at_us, 5_000_000))]

    def is_notified(self, scheme: str, client: int, at_us: int, x: float, y: float) -> bool:
        fixes = self.fixes(client, at_us)
        if scheme.startswith("strips"):
            return abs(fixes[-1][0] - x) <= float(scheme.partition(":")[2])
        if scheme == "twice":
            return any(math.dist(place, (x, y)) <= RADIUS for place in fixes[-2:])
        reported = fixes[0]
        for place in fixes[1:]:
            if math.dist(place, reported) > 15.0:
                reported = place
        return math.dist(reported, (x, y)) <= RADIUS


def test_schemes_without_kernels_are_run_event_by_event(trace: Trace, tmp_path: Path) -> None:
    schemes = ["strips:20", "twice", "lazy"]
    found, plain = events(judged(trace, schemes, tmp_path / "out")), Plainly(trace)
    assert len(found["at_us"]) == CLIENTS * (SAMPLES - 1)
    for e in range(0, len(found["at_us"]), 7):
        at_us, publisher = int(found["at_us"][e]), int(found["publisher"][e])
        x, y = float(found["x"][e]), float(found["y"][e])
        others = [client for client in range(CLIENTS) if client != publisher]
        concerned = {c for c in others if math.dist(plain.place(c, at_us), (x, y)) <= RADIUS}
        assert found["subscribers"][e] == len(concerned)
        for scheme in schemes:
            notified = {c for c in others if plain.is_notified(scheme, c, at_us, x, y)}
            counted = found[f"{scheme}/notified"][e], found[f"{scheme}/correct"][e]
            assert (scheme, counted) == (scheme, (len(notified), len(notified & concerned)))


def test_their_context_is_counted_in_bytes_of_the_real_encoding(trace: Trace, tmp_path: Path) -> None:
    """STRIPS says what RADIAL says."""
    figures = judged(trace, ["strips", "radial"], tmp_path / "out").summaries["ar"]["schemes"]
    assert figures["strips:50"]["context"] == figures["radial"]["context"]
    assert figures["radial"]["context"]["bytes_up"] > 0


def test_pieces_and_engines_make_no_difference(trace: Trace, spark: SparkEngine, tmp_path: Path) -> None:
    schemes = ["twice", "egrid:10", "strips:20"]
    once = judged(trace, schemes, tmp_path / "once", pieces=1)
    for name, engine in (("local", LocalEngine()), ("spark", spark)):
        again = judged(trace, schemes, tmp_path / name, engine, pieces=10)
        assert len(again.pieces) == 10
        assert again.summaries["ar"]["schemes"] == once.summaries["ar"]["schemes"]
        for column, expected in events(once).items():
            np.testing.assert_array_equal(events(again)[column], expected, err_msg=column)


def test_what_has_no_bound_runs_as_one_stretch(trace: Trace, tmp_path: Path) -> None:
    alone, beside = (
        judged(trace, schemes, tmp_path / schemes[-1], pieces=10)
        for schemes in (["lazy"], ["lazy", "egrid:10"])
    )
    assert len(alone.pieces) == len(beside.pieces) == 1
    assert alone.summaries["ar"]["schemes"]["lazy"] == beside.summaries["ar"]["schemes"]["lazy"]
    assert len(judged(trace, ["egrid:10"], tmp_path / "egrid", pieces=10).pieces) == 10


def test_a_scheme_does_not_inherit_what_another_one_says_of_itself() -> None:
    lazy, radial = parse("lazy"), parse("radial")
    assert (lazy.memory, lazy.kernels) == (None, None)
    assert radial.memory == 0.0
    assert radial.kernels is not None


def test_the_value_after_the_name_is_the_first_parameter_of_its_own() -> None:
    assert parse("strips:20").setting.values == {"width": 20.0}
    assert str(parse("strips")) == "strips:50"
    with pytest.raises(InvalidEvaluation, match="scheme 'strips:-1': width is '-1': expected greater than 0"):
        parse("strips:-1")


def test_kernels_that_are_not_there_are_named(trace: Trace, tmp_path: Path) -> None:
    class Broken(Strips):
        name: ClassVar[str] = "strips"
        kernels: ClassVar[str | type | None] = "bypass.mechanisms.filters.kernels:Nowhere"

    with pytest.raises(
        InvalidEvaluation, match=r"scheme strips: kernels '.*:Nowhere': expected module:Class"
    ):
        judged(trace, ["strips"], tmp_path / "out", own=[Broken])
    assert not (tmp_path / "out").exists()


def test_schemes_are_imported_without_their_kernels() -> None:
    seen = "import sys, bypass.mechanisms; print([m for m in sys.modules if 'filters.kernels' in m])"
    done = subprocess.run([sys.executable, "-c", seen], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
