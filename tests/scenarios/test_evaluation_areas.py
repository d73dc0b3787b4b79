"""Evaluations in which clients subscribe to areas: simulator, local engine and Spark tell the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from bypass import attr
from bypass.models.compute.engines import LocalEngine, SparkEngine
from bypass.models.mobility import Darmstadt
from bypass.models.traces import Trace, write_trace
from bypass.scenarios.evaluation import Evaluation, InvalidEvaluation, evaluate
from bypass.scenarios.evaluation.subscribed_areas import SubscribedAreas
from bypass.scenarios.runs.experiment import Experiment
from tests.command import bypass
from tests.scenarios.test_evaluation_agreement import SCHEMES, at_once, events

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]

CLIENTS, DURATION, SEED = 40, 20.0, 5
WORKLOADS = ("ar", "lbs")


def polygon(*ring: tuple[float, float], **properties: Any) -> dict[str, Any]:
    geometry = {"type": "Polygon", "coordinates": [[*map(list, ring), list(ring[0])]]}
    return {"type": "Feature", "properties": properties, "geometry": geometry}


FEATURES = [
    polygon((300, 300), (1200, 400), (500, 1300)),
    *(
        polygon((50 * k, 40 * k), (50 * k + 600, 40 * k), (50 * k + 200, 40 * k + 700), client=k)
        for k in range(0, CLIENTS, 2)
    ),
]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    out = tmp_path_factory.mktemp("trace") / "da"
    return write_trace(
        Darmstadt(), "darmstadt", out, clients=CLIENTS, duration=DURATION, seed=SEED, engine=LocalEngine()
    )


@pytest.fixture(scope="module")
def zones(trace: Trace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The areas, in metres, or in degrees if the trace is somewhere on earth."""
    path = tmp_path_factory.mktemp("zones") / "zones.geojson"
    features = FEATURES
    if trace.georeference is not None:
        features = [dict(each) for each in FEATURES]
        for each in features:
            x, y = np.array(each["geometry"]["coordinates"][0]).T
            lat, lon = trace.georeference.to_geo_arrays(x, y)
            ring = [list(place) for place in zip(lon.tolist(), lat.tolist(), strict=True)]
            each["geometry"] = {"type": "Polygon", "coordinates": [ring]}
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return path


def judged(trace: Trace, zones: Path, out: Path, engine: Any, pieces: int | None = None) -> Evaluation:
    return evaluate(
        trace,
        list(SCHEMES),
        out=out,
        engine=engine,
        workloads={name: {} for name in WORKLOADS},
        seed=SEED,
        pieces=pieces,
        areas=zones,
    )


@pytest.fixture(scope="module")
def local(trace: Trace, zones: Path, tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    return judged(trace, zones, tmp_path_factory.mktemp("local"), LocalEngine())


class WithAreas(Experiment):
    """A run whose clients subscribe to their areas."""

    areas: SubscribedAreas

    def _take_part(self, number: int) -> None:
        self._watch(number)
        interest = self.areas.interest(number)
        if interest is not None:
            self.system.clients[number].subscribe(attr("kind") == "event", _ignore, area=interest.areas)

    def _concerned(self, kind: int, at: float, place: tuple[float, float]) -> NDArray[np.bool_]:
        del kind, at
        interests = map(self.areas.interest, range(CLIENTS))
        return np.array(
            [each is not None and any(area.contains(*place) for area in each.areas) for each in interests]
        )


def _ignore(*_: object) -> None:
    """Nothing is done with events."""


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_simulator_agrees_event_by_event(
    trace: Trace, zones: Path, local: Evaluation, scheme: str, workload: str
) -> None:
    duration = 8.0
    run = WithAreas.__new__(WithAreas)
    run.areas = SubscribedAreas.read(zones, trace)
    run.__init__(at_once(trace, scheme, workload, duration, CLIENTS), SEED)  # type: ignore[misc]
    happened = run.run().events
    order = np.lexsort((happened["publisher"], happened["at_us"]))
    counted = events(local, workload)
    early = counted["at_us"] < duration * 1e6
    assert happened["subscribers"].sum() > 100
    for theirs, name in (
        ("at_us", "at_us"),
        ("publisher", "publisher"),
        ("subscribers", "subscribers"),
        ("notified", f"{scheme}/notified"),
        ("correct", f"{scheme}/correct"),
    ):
        np.testing.assert_array_equal(happened[theirs][order], counted[name][early], err_msg=name)


def test_spark_agrees_to_the_last_digit(
    trace: Trace, zones: Path, local: Evaluation, spark: SparkEngine, tmp_path: Path
) -> None:
    on_spark = judged(trace, zones, tmp_path / "spark", spark, pieces=3)
    for workload in WORKLOADS:
        assert on_spark.summaries[workload]["schemes"] == local.summaries[workload]["schemes"]
        there, here = events(on_spark, workload), events(local, workload)
        for name in here:
            np.testing.assert_array_equal(there[name], here[name], err_msg=name)


def test_areas_decide_whom_events_concern(local: Evaluation) -> None:
    for summary in local.summaries.values():
        assert summary["areas"] == len(FEATURES)
        assert summary["schemes"]["radial"]["recall"] == 1.0
        assert summary["schemes"]["radial"]["precision"] == 1.0
        assert summary["schemes"]["radial"]["context"]["messages_up"] == 0  # no place is asked for


@pytest.mark.parametrize(
    ("features", "said"),
    [
        ([], "no features: expected at least one"),
        ([polygon((0, 0), (1, 0), (0, 1), client=40)], "feature 0: client 40: expected a whole number"),
        ([polygon((0, 0), (1, 0), (0, 1), client="a")], "feature 0: client 'a': expected a whole number"),
        ([polygon((0, 0), (1, 0), (0, 1)), polygon((0, 0), (1, 1), (1, 0), (0, 1))], "feature 1: polygon"),
        ([polygon((0, 0), (1, 0), (0, 1))] * 65, "65 areas of one client: expected at most 64"),
    ],
)
def test_what_is_no_area_is_refused(
    trace: Trace, tmp_path: Path, features: list[dict[str, Any]], said: str
) -> None:
    path = tmp_path / "zones.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    with pytest.raises(InvalidEvaluation) as refused:
        SubscribedAreas.read(path, trace)
    assert said in str(refused.value)
    path.write_text("[1]")
    with pytest.raises(InvalidEvaluation, match="expected GeoJSON"):
        SubscribedAreas.read(path, trace)


def test_on_the_command_line(
    trace: Trace, zones: Path, local: Evaluation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    options = ["--areas", str(zones), "--schemes", "radial", "--seed", str(SEED), "--engine", "local"]
    assert bypass("evaluate", str(trace.path), *options, "--out", str(out)) == 0
    assert "recall" in capsys.readouterr().out
    summary = json.loads((out / "summary.json").read_text())
    assert summary["schemes"]["radial"] == local.summaries["ar"]["schemes"]["radial"]
    provenance = json.loads((out / "provenance.json").read_text())
    assert provenance["asked"]["areas"] == str(zones)
    assert any(str(zones) in name for name in provenance["inputs"])
