"""Simulator, local engine and Spark on the same trace: the same figures for every single event."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from bypass.models.compute.engines import LocalEngine, SparkEngine
from bypass.models.mobility import Darmstadt
from bypass.models.traces import Trace, write_trace
from bypass.scenarios.evaluation import Evaluation, evaluate
from bypass.scenarios.experiments.schema import Scenario
from bypass.scenarios.runs.experiment import Experiment

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]

SCHEMES: dict[str, dict[str, Any]] = {
    "radial": {"scheme": "radial"},
    "ste:1.5": {"scheme": "ste", "alpha": 1.5},
    "grid:5": {"scheme": "grid", "grid": 5},
    "egrid:10": {"scheme": "egrid", "grid": 10},
    "attract": {"scheme": "attract"},
    "multi": {"scheme": "multi"},
}
WORKLOADS = ("ar", "lbs", "rnd")
CLIENTS, DURATION, SEED = 150, 30.0, 5

Columns = dict[str, NDArray[Any]]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    out = tmp_path_factory.mktemp("trace") / "da"
    return write_trace(
        Darmstadt(), "darmstadt", out, clients=CLIENTS, duration=DURATION, seed=SEED, engine=LocalEngine()
    )


@pytest.fixture(scope="module")
def local(trace: Trace, tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    return judged(trace, tmp_path_factory.mktemp("local"), LocalEngine())


def judged(
    trace: Trace, out: Path, engine: LocalEngine | SparkEngine, pieces: int | None = None
) -> Evaluation:
    return evaluate(
        trace,
        list(SCHEMES),
        out=out,
        engine=engine,
        workloads={name: {} for name in WORKLOADS},
        seed=SEED,
        pieces=pieces,
    )


def events(evaluation: Evaluation, workload: str) -> Columns:
    table = pq.read_table(evaluation.out / "events" / workload).sort_by(
        [("at_us", "ascending"), ("publisher", "ascending")]
    )
    return {name: table[name].to_numpy() for name in table.column_names}


def at_once(trace: Trace, scheme: str, workload: str, duration: float, clients: int = CLIENTS) -> Scenario:
    return Scenario.model_validate(
        {
            "name": "agreement",
            "about": "messages take no time",
            "clients": clients,
            "duration": duration,
            "mobility": {"model": "playback", "path": str(trace.path)},
            "workload": {"model": workload, "start": 0.0},
            "network": {"latency": 0.0, "jitter": 0.0, "bandwidth": 1e15},
            "filter": SCHEMES[scheme],
        }
    )


def simulated(trace: Trace, scheme: str, workload: str, duration: float) -> Columns:
    happened = Experiment(at_once(trace, scheme, workload, duration), SEED).run().events
    order = np.lexsort((happened["publisher"], happened["at_us"]))
    return {name: column[order] for name, column in happened.items()}


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_simulator_agrees_event_by_event(
    trace: Trace, local: Evaluation, scheme: str, workload: str
) -> None:
    # All of the trace for every scheme would take minutes; benchmarks/agreement.py does it.
    duration = DURATION if (scheme, workload) == ("radial", "lbs") else 15.0
    happened, counted = simulated(trace, scheme, workload, duration), events(local, workload)
    early = counted["at_us"] < duration * 1e6
    ours = {name: column[early] for name, column in counted.items()}
    assert len(ours["at_us"]) == len(happened["at_us"]) >= (duration - 1) * CLIENTS
    for theirs, name in (
        ("at_us", "at_us"),
        ("publisher", "publisher"),
        ("x", "x"),
        ("y", "y"),
        ("subscribers", "subscribers"),
        ("notified", f"{scheme}/notified"),
        ("correct", f"{scheme}/correct"),
    ):
        np.testing.assert_array_equal(happened[theirs], ours[name], err_msg=name)


def test_spark_agrees_to_the_last_digit(
    trace: Trace, local: Evaluation, spark: SparkEngine, tmp_path: Path
) -> None:
    on_spark = judged(trace, tmp_path / "spark", spark, pieces=5)
    for workload in WORKLOADS:
        assert on_spark.summaries[workload]["schemes"] == local.summaries[workload]["schemes"]
        there, here = events(on_spark, workload), events(local, workload)
        for name in here:
            np.testing.assert_array_equal(there[name], here[name], err_msg=name)
        cells = [pq.read_table(each.out / "cells" / f"{workload}.parquet") for each in (on_spark, local)]
        assert cells[0].equals(cells[1])


@pytest.mark.parametrize("pieces", [1, 7, 30])
def test_the_number_of_pieces_makes_no_difference(
    trace: Trace, local: Evaluation, tmp_path: Path, pieces: int
) -> None:
    again = judged(trace, tmp_path / "again", LocalEngine(), pieces)
    assert len(again.pieces) == 3 * pieces
    for workload in WORKLOADS:
        assert again.summaries[workload]["schemes"] == local.summaries[workload]["schemes"]


def test_totals_are_those_of_the_events(local: Evaluation) -> None:
    for workload, summary in local.summaries.items():
        rows = events(local, workload)
        assert (
            summary["events"]
            == len(rows["at_us"])
            == sum(piece["events"] for piece in local.pieces if piece["workload"] == workload)
        )
        for scheme, figures in summary["schemes"].items():
            notified, correct = rows[f"{scheme}/notified"], rows[f"{scheme}/correct"]
            concerned = rows["subscribers"] > 0
            recalls = correct[concerned] / rows["subscribers"][concerned]
            precisions = correct[notified > 0] / notified[notified > 0]
            assert figures["deliveries"] == notified.sum()
            assert figures["recall"] == pytest.approx(recalls.mean(), abs=1e-9)
            assert figures["precision"] == pytest.approx(precisions.mean(), abs=1e-9)
            for shares, name in ((recalls, "recall"), (precisions, "precision")):
                for p, value in figures["percentiles"][name].items():
                    exact = np.percentile(shares, float(p[1:]), method="inverted_cdf")
                    assert value == pytest.approx(exact, abs=0.5e-4 + 1e-12)


def test_cells_add_up_to_the_totals(local: Evaluation) -> None:
    for workload, summary in local.summaries.items():
        cells = pq.read_table(local.out / "cells" / f"{workload}.parquet").to_pandas()
        assert set(cells["scheme"]) == set(SCHEMES)
        sums = cells.groupby("scheme")[["events", "notified", "correct"]].sum()
        assert (sums["events"] == summary["events"]).all()
        for scheme, figures in summary["schemes"].items():
            assert sums.loc[scheme, "notified"] == figures["deliveries"]
            assert sums.loc[scheme, "correct"] == figures["correct"]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_context_costs_the_bytes_that_it_costs_in_the_simulator(scheme: str, tmp_path: Path) -> None:
    trace = write_trace(
        Darmstadt(), "darmstadt", tmp_path / "da", clients=60, duration=90, seed=3, engine=LocalEngine()
    )
    counted = evaluate(trace, [scheme], out=tmp_path / "out", engine=LocalEngine(), seed=3)
    context = counted.summaries["ar"]["schemes"][scheme]["context"]

    def sent(duration: float) -> NDArray[np.int64]:
        run = Experiment(at_once(trace, scheme, "ar", duration, clients=60), 3).run()
        return np.array([run.traffic["context_up"].sum(), run.traffic["context_down"].sum()])

    subscribing = sent(1e-4)  # nobody has a fix so soon, all have subscribed
    assert (sent(90.0) - subscribing).tolist() == [context["bytes_up"], context["bytes_down"]]
    assert context["bytes_up"] > 0
