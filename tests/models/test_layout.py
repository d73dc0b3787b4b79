"""Parquet of any layout, brought into the form of a trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from bypass.models.compute.engines import LocalEngine
from bypass.models.mobility.random_waypoint import RandomWaypoint
from bypass.models.traces import InvalidTrace, Trace, lay_out, write_trace
from bypass.models.traces.manifest import ACCURACY, FARTHEST
from bypass.models.traces.source import count_rows, parts_of


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    out = tmp_path_factory.mktemp("traces") / "trace"
    sizes: dict[str, Any] = {"clients": 23, "duration": 47.0, "seed": 5, "slab": 10.0}
    return write_trace(RandomWaypoint(), "rwp", out, engine=LocalEngine(), blocks=3, **sizes)


def shuffled(trace: Trace, path: Path, **columns: Any) -> Path:
    """All rows of a trace in one file of several row groups, in no order."""
    table = ds.dataset(trace.path).to_table()
    order = np.random.default_rng(1).permutation(table.num_rows)
    table = table.take(order)
    for name, column in columns.items():
        table = table.append_column(name, pa.array(np.full(table.num_rows, column)))
    pq.write_table(table, path, row_group_size=200)
    return path


@pytest.mark.parametrize("most", [10**9, 200])
def test_a_shuffled_trace_is_put_in_order(trace: Trace, tmp_path: Path, most: int) -> None:
    source = shuffled(trace, tmp_path / "rows.parquet", colour="red")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bypass.models.traces.layout._ROWS_PER_BLOCK", most)
        patch.setattr("bypass.models.traces.source.ROWS_PER_PART", most)
        again = lay_out(source, tmp_path / "a", slab=10.0, engine=LocalEngine(), size=(1300.0, 1300.0))
    assert len(again.blocks) == (1 if most > 200 else 6)
    assert again.digest() == trace.digest()
    assert (again.model, again.seed, again.offset) == (None, None, (0.0, 0.0, 0.0))
    assert (again.size, again.duration) == (trace.size, trace.duration)


def table(**columns: list[Any]) -> pa.Table:
    return pa.table(columns)


def test_degrees_are_not_taken_for_metres(tmp_path: Path) -> None:
    rows = table(t=[0, 1, 2], client=[0, 0, 0], x=[8.6512, 8.6534, 8.6601], y=[49.8702, 49.8721, 49.8755])
    pq.write_table(rows, tmp_path / "degrees.parquet")
    with pytest.raises(InvalidTrace, match=r"x goes from 8.6512 to .* expected metres, they look like"):
        lay_out(tmp_path / "degrees.parquet", tmp_path / "out", engine=LocalEngine())
    assert not (tmp_path / "out").exists()


def test_rows_of_any_kind(tmp_path: Path) -> None:
    """Ids are words, times begin at 1000, somebody comes late, places are negative, a row comes twice."""
    rows = table(
        t=[1003, 1000, 1002, 1001, 1001, 1004],
        client=["zoe", "zoe", "ada", "ada", "ada", "zoe"],
        x=[7.0, 1.0, 4.0, 2.0, 2.0, 7.0],
        y=[-5, -5, 0, 10, 10, -5],
    )
    pq.write_table(rows, tmp_path / "rows.parquet")
    trace = lay_out(tmp_path / "rows.parquet", tmp_path / "a", step=0.5, slab=1.0, engine=LocalEngine())
    x, y = trace.read(0, trace.samples)
    assert x[:, 0].tolist() == [2, 2, 2, 3, 4, 4, 4, 4, 4]
    assert y[:, 0].tolist() == [15, 15, 15, 10, 5, 5, 5, 5, 5]
    assert x[:, 1].tolist() == [1, 2, 3, 4, 5, 6, 7, 7, 7]
    assert y[:, 1].tolist() == [0] * 9
    assert (trace.offset, trace.size, trace.duration) == ((1000.0, 0.0, -5.0), (7.0, 15.0), 4.0)
    ids = pq.read_table(trace.path / "_clients.parquet").to_pydict()
    assert ids == {"client": [0, 1], "id": ["ada", "zoe"]}
    assert ds.dataset(trace.path).count_rows() == trace.rows  # the ids are not in the way


def test_ids_may_be_numbers_in_the_names_of_folders(tmp_path: Path) -> None:
    rows = table(t=[0.0, 1, 2, 0], client=[10, 10, 9, 9], x=[1, 2, 3, 5], y=[0, 0, 0, 0])
    pq.write_to_dataset(rows, tmp_path / "rows", partition_cols=["client"])
    (tmp_path / "rows" / "_SUCCESS").touch()
    trace = lay_out(tmp_path / "rows", tmp_path / "a", slab=1.0, engine=LocalEngine())
    assert trace.read(0, 3)[0].tolist() == [[5, 1], [4, 2], [3, 2]]
    assert pq.read_table(trace.path / "_clients.parquet").column("id").to_pylist() == [9, 10]


def rows_in(folder: Path, **columns: list[float]) -> Path:
    """A file with rows of two clients; what is not said of t, x and y is 0 to 3."""
    numbers = {name: columns.get(name, [0.0, 1.0, 2.0, 3.0]) for name in ("t", "x", "y")}
    path = folder / "rows.parquet"
    pq.write_table(pa.table({"client": [1, 1, 2, 2], **numbers}), path)
    return path


def test_projected_coordinates_keep_their_digits(tmp_path: Path) -> None:
    """As in UTM: single precision would be half a metre off."""
    x, y = [477000.1, 477010.1, 477020.1, 477030.1], [5524000.13, 5524000.33, 5524000.53, 5524000.73]
    trace = lay_out(rows_in(tmp_path, x=x, y=y), tmp_path / "a", engine=LocalEngine())
    assert (trace.offset, trace.size) == ((0.0, 477000.1, 5524000.13), (30.0, 1.0))
    assert trace.read(3, 4)[0][0] == pytest.approx([10, 30], abs=1e-4)
    assert trace.read(3, 4)[1][0] == pytest.approx([0.2, 0.6], abs=1e-4)


def test_places_near_the_corner_keep_their_coordinates(tmp_path: Path) -> None:
    """They are no farther from 0 than from each other, be it along one axis alone; or the world is given."""
    near, far = [40.0, 140.0, 60.0, 70.0], [500.0, 501.0, 502.0, 503.0]
    trace = lay_out(rows_in(tmp_path, x=near, y=[90.0] * 4), tmp_path / "a", engine=LocalEngine())
    assert (trace.offset, trace.size) == ((0, 0, 0), (140, 90))
    trace = lay_out(rows_in(tmp_path, x=far), tmp_path / "b", engine=LocalEngine(), size=(900, 900))
    assert (trace.offset, trace.size) == ((0, 0, 0), (900, 900))


@pytest.mark.parametrize("farthest", [FARTHEST, 1e39, 1.7e308])
def test_places_that_single_precision_has_no_room_for(tmp_path: Path, farthest: float) -> None:
    assert np.spacing(np.float32(FARTHEST - 1)) < ACCURACY < np.spacing(np.float32(FARTHEST))
    with pytest.raises(InvalidTrace, match=r"y reaches \S+ m from 0.0 m: expected less than 131072 m"):
        lay_out(rows_in(tmp_path, y=[0.0, 1.0, 2.0, farthest]), tmp_path / "a", engine=LocalEngine())
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(("late", "made_of_it"), [(1e12, "2e+12"), (1.7e308, "inf")])
def test_a_time_that_makes_too_many_rows_is_refused(tmp_path: Path, late: float, made_of_it: str) -> None:
    with pytest.raises(InvalidTrace) as refused:
        lay_out(rows_in(tmp_path, t=[0.0, late, 2.0, 3.0]), tmp_path / "a", engine=LocalEngine())
    assert str(refused.value) == (
        f"t goes from 0.0 to {late} s: each 1.0 s that makes {made_of_it} rows of 4:"
        " expected at most 100000000"
    )
    assert not (tmp_path / "a").exists()


def test_rows_are_counted_as_the_parts_are_found(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"t": np.zeros(95)}), path, row_group_size=10)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bypass.models.traces.source.ROWS_PER_PART", 40)
        assert [(part.groups, part.rows) for part in parts_of(path)] == [
            ((0, 1, 2, 3), 40), ((4, 5, 6, 7), 40), ((8, 9), 15),
        ]  # fmt: skip
    assert count_rows(path) == 95


GOOD: dict[str, list[Any]] = {"t": [0.0, 1.0], "client": [1, 1], "x": [0.0, 1.0], "y": [0.0, 1.0]}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"t": [0.0, 1.0], "client": [1, 1], "x": [0.0, 1.0]},
            r"bad.parquet has no column y: expected t, client",
        ),
        (GOOD | {"x": [0.0, np.nan]}, r"bad.parquet: x is nan: expected finite numbers"),
        (GOOD | {"t": [0.0, np.inf]}, r"bad.parquet: t is inf: expected finite numbers"),
        (GOOD | {"y": [None, 1.0]}, r"bad.parquet: y is null in 1 rows: expected none"),
        (GOOD | {"client": [None, 1]}, r"bad.parquet: client is null in 1 rows"),
        (
            GOOD | {"client": [0.5, 1]},
            r"bad.parquet: client is of type double: expected whole numbers or strings",
        ),
        (
            GOOD | {"client": pa.array([2**64 - 1, 1], pa.uint64())},
            r"bad.parquet: client: .*: expected int64",
        ),
        (GOOD | {"t": ["noon", "one"]}, r"bad.parquet: t is of type string: expected numbers"),
        ({name: pa.array([], pa.float64()) for name in GOOD}, r"rows has no rows: expected positions"),
    ],
)
def test_rows_that_are_no_positions(tmp_path: Path, columns: dict[str, Any], message: str) -> None:
    (tmp_path / "rows").mkdir()
    pq.write_table(pa.table(columns), tmp_path / "rows" / "bad.parquet")
    with pytest.raises(InvalidTrace, match=message) as error:
        lay_out(tmp_path / "rows", tmp_path / "a", engine=LocalEngine())
    assert "\n" not in str(error.value)
    assert not (tmp_path / "a").exists()


def test_files_that_do_not_go_together(tmp_path: Path) -> None:
    pq.write_table(pa.table(GOOD), tmp_path / "a.parquet")
    pq.write_table(pa.table(GOOD | {"client": ["1", "2"]}), tmp_path / "b.parquet")
    with pytest.raises(
        InvalidTrace, match=r"b.parquet: client is of type string: expected int64 as in .*a.parquet"
    ):
        lay_out(tmp_path, tmp_path / "out", engine=LocalEngine())


def test_sources_that_are_not_parquet(tmp_path: Path) -> None:
    with pytest.raises(InvalidTrace, match="nowhere does not exist: expected Parquet files"):
        lay_out(tmp_path / "nowhere", tmp_path / "a", engine=LocalEngine())
    (tmp_path / "rows.parquet").write_text("t client x y")
    with pytest.raises(InvalidTrace, match=r"rows.parquet: .*: expected Parquet files"):
        lay_out(tmp_path / "rows.parquet", tmp_path / "a", engine=LocalEngine())


def test_a_world_that_is_too_small(trace: Trace, tmp_path: Path) -> None:
    with pytest.raises(InvalidTrace, match=r"x reaches \d+.*expected at most 5.0 m"):
        lay_out(trace.path, tmp_path / "a", engine=LocalEngine(), size=(5.0, 2000.0))
