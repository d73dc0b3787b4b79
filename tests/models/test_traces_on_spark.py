"""Spark makes the same traces as one process, with any number of tasks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from bypass.models.compute.engines import ComputeEngine, LocalEngine, SparkEngine
from bypass.models.mobility.base.model import MobilityModel
from bypass.models.mobility.map_movement import MapMovement
from bypass.models.mobility.playback import Playback
from bypass.models.mobility.random_waypoint import RandomWaypoint
from bypass.models.queueing import Centre, sweep_paths
from bypass.models.request import InvalidRequest
from bypass.models.traces import InvalidTrace, Trace, lay_out, layout, write_trace

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]

CLIENTS = 70


def made(engine: ComputeEngine, out: Path, model: MobilityModel, blocks: int | None = None) -> Trace:
    return write_trace(
        model, "model", out, clients=CLIENTS, duration=40, seed=9, slab=10, blocks=blocks, engine=engine
    )


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return made(LocalEngine(), tmp_path_factory.mktemp("local") / "trace", RandomWaypoint())


@pytest.mark.parametrize("blocks", [1, 2, 7, 16])
def test_rows_do_not_depend_on_who_writes_them(
    spark: SparkEngine, local: Trace, tmp_path: Path, blocks: int
) -> None:
    there = made(spark, tmp_path / "spark", RandomWaypoint(), blocks)
    here = made(LocalEngine(), tmp_path / "local", RandomWaypoint(), blocks)
    assert len(there.blocks) == len(here.blocks) == blocks
    assert there.digest() == here.digest() == local.digest()
    assert (tmp_path / "spark" / "_trace.json").read_text() == (
        tmp_path / "local" / "_trace.json"
    ).read_text()


def test_models_with_maps_and_traces_reach_the_tasks(
    spark: SparkEngine, local: Trace, tmp_path: Path
) -> None:
    street_map = MapMovement(targets="random").street_map
    models: list[MobilityModel] = [
        MapMovement(map=street_map, targets="random", warmup=0.0),
        Playback(path=local.path),
    ]
    for number, model in enumerate(models):
        there = made(spark, tmp_path / f"{number}-spark", model, 3)
        here = made(LocalEngine(), tmp_path / f"{number}-local", model, 2)
        assert there.digest() == here.digest()


def test_an_error_of_a_task_is_raised_and_nothing_is_left(
    spark: SparkEngine, local: Trace, tmp_path: Path
) -> None:
    model = Playback(path=local.path)
    with pytest.raises(InvalidRequest, match="clients is 71: expected at most 70"):
        write_trace(model, "model", tmp_path / "a", clients=71, duration=40, seed=9, blocks=2, engine=spark)
    assert list(tmp_path.iterdir()) == []


def test_spark_reads_the_folder(spark: SparkEngine, local: Trace) -> None:
    frame = spark.session.read.parquet(str(local.path))
    assert frame.count() == local.rows == 41 * CLIENTS
    x, _ = local.read(0, local.samples)
    rows = frame.where("client = 5 and slab = 3").orderBy("t").collect()
    assert [row.t for row in rows] == [float(k) for k in range(30, 41)]
    assert [row.x for row in rows] == x[30:, 5].tolist()


@pytest.mark.parametrize("words", [False, True])
def test_laying_out_gives_the_same_rows(
    spark: SparkEngine, local: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: bool
) -> None:
    monkeypatch.setattr(layout, "_ROWS_PER_BLOCK", 500)
    rows = ds.dataset(local.path).to_table()
    rows = rows.take(np.random.default_rng(2).permutation(rows.num_rows))
    if words:
        names = pa.array([f"client {number:03d}" for number in rows.column("client").to_pylist()])
        rows = rows.set_column(1, "client", names)
    (tmp_path / "rows").mkdir()
    for k in range(3):
        pq.write_table(rows.slice(1000 * k, 1000), tmp_path / "rows" / f"{k}.parquet", row_group_size=300)
    there = lay_out(tmp_path / "rows", tmp_path / "there", slab=10, engine=spark)
    here = lay_out(tmp_path / "rows", tmp_path / "here", slab=20, engine=LocalEngine())
    assert len(there.blocks) == 6
    assert there.digest() == here.digest() == local.digest()
    assert pq.read_table(there.path / "_clients.parquet").equals(
        pq.read_table(here.path / "_clients.parquet")
    )


def test_rows_that_are_no_positions_are_refused(spark: SparkEngine, tmp_path: Path) -> None:
    bad = {"t": [0.0, 1.0], "client": [1, 1], "x": [0.0, np.nan], "y": [0.0, 1.0]}
    pq.write_table(pa.table(bad), tmp_path / "bad.parquet")
    with pytest.raises(InvalidTrace, match=r"bad.parquet: x is nan: expected finite numbers"):
        lay_out(tmp_path / "bad.parquet", tmp_path / "a", engine=spark)
    assert not (tmp_path / "a").exists()


def test_paths_of_events_are_simulated_alike(spark: SparkEngine) -> None:
    paths = [
        [Centre("phone", 1.0, 0.1, on, 2.0, other=0.5), Centre("broker", 1.0, 0.1)] for on in (1.0, 0.2, 4.0)
    ]
    there, here = (
        sweep_paths(paths * 6, events=3000, seed=5, engine=engine) for engine in (spark, LocalEngine())
    )
    assert there == here
    assert [compared.simulated is None for compared in there] == [False, True, False] * 6
