from __future__ import annotations

import hashlib
import json
import pickle
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.models.engines import LocalEngine
from bypass.models.maps import AttractionPoint
from bypass.models.mobility.model import MobilityModel
from bypass.models.mobility.random_waypoint import RandomWaypoint
from bypass.models.request import InvalidRequest
from bypass.models.traces import InvalidTrace, Trace, blocks, lay_out, write_trace
from bypass.models.traces.blocks import first_clients
from bypass.models.traces.manifest import ACCURACY, FARTHEST
from bypass.models.traces.source import count_rows, parts_of
from bypass.models.waypoints import Waypoints

CLIENTS, DURATION, SEED = 23, 47.0, 5


class Failing(RandomWaypoint):
    """Fails for the clients after the tenth."""

    def block(self, first: int, last: int, duration: float, seed: np.uint64) -> Waypoints:
        if last > 10:
            raise InvalidRequest("no more than ten")
        return super().block(first, last, duration, seed)


class Park(RandomWaypoint):
    """Has a place where people go."""

    @property
    def attractions(self) -> tuple[AttractionPoint, ...]:
        return (AttractionPoint(name="pond", x=1.5, y=2.0, radius=3.0, weight=4.0),)


def made(out: Path, model: MobilityModel | None = None, duration: float = DURATION, **options: Any) -> Trace:
    request: dict[str, Any] = {"clients": CLIENTS, "duration": duration, "seed": SEED, "slab": 10.0}
    return write_trace(model or RandomWaypoint(), "rwp", out, **request | {"engine": LocalEngine()} | options)


@contextmanager
def small_groups(rows: int) -> Iterator[None]:
    """Row groups of so many rows, so that small files have several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "ROWS_PER_GROUP", rows)
        yield


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    """Three blocks, five slabs of ten samples, the last with eight; row groups of three or four samples."""
    with small_groups(30):
        return made(tmp_path_factory.mktemp("traces") / "trace", blocks=3)


@pytest.fixture(scope="module")
def expected() -> tuple[np.ndarray, np.ndarray]:
    """x and y at each sample, from the model itself."""
    waypoints = RandomWaypoint().generate(CLIENTS, DURATION, SEED)
    places = [waypoints.positions(float(k)) for k in range(48)]
    return tuple(np.array([place[i] for place in places], np.float32) for i in (0, 1))  # type: ignore[return-value]


# -- what is written ------------------------------------------------------------------------------------


def test_a_folder_has_a_file_for_each_slab_and_block(trace: Trace) -> None:
    names = sorted(str(path.relative_to(trace.path)) for path in trace.path.rglob("*") if path.is_file())
    assert names == [
        "_trace.json",
        *(f"slab={s:05d}/clients={c:010d}.parquet" for s in range(5) for c in (0, 7, 15)),
    ]
    assert [str(path.relative_to(trace.path)) for path in trace.files] == names[1:]


def test_rows_are_sorted_by_time_and_client_and_groups_have_whole_samples(trace: Trace) -> None:
    file = pq.ParquetFile(trace.path / "slab=00001" / "clients=0000000007.parquet")
    table = file.read()
    assert [(field.name, str(field.type)) for field in table.schema] == [
        ("t", "double"), ("client", "int32"), ("x", "float"), ("y", "float"),
    ]  # fmt: skip
    assert table.column("t").to_pylist() == [float(k) for k in range(10, 20) for _ in range(8)]
    assert table.column("client").to_pylist() == list(range(7, 15)) * 10
    groups = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
    assert groups == [24, 24, 24, 8]
    assert file.metadata.row_group(0).column(2).compression == "ZSTD"


def test_positions_are_those_of_the_model(trace: Trace, expected: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = trace.read(0, trace.samples)
    np.testing.assert_array_equal(x, expected[0])
    np.testing.assert_array_equal(y, expected[1])
    assert x.dtype == y.dtype == np.float32


def test_the_manifest_says_it_all(tmp_path: Path) -> None:
    made(tmp_path / "a", Park(speed=(1, 3)), blocks=2)
    assert json.loads((tmp_path / "a" / "_trace.json").read_text()) == {
        "format": 1,
        "bypass": version("bypass-pubsub"),
        "model": "rwp",
        "parameters": Park(speed=(1, 3)).model_dump(mode="json"),
        "seed": 5,
        "clients": 23,
        "duration": 47.0,
        "step": 1.0,
        "samples": 48,
        "slab": 10.0,
        "size": [1300.0, 1300.0],
        "attractions": [{"name": "pond", "x": 1.5, "y": 2.0, "radius": 3.0, "weight": 4.0}],
        "offset": [0.0, 0.0, 0.0],
        "blocks": [0, 11],
        "rows": 48 * 23,
    }
    again = Trace.open(tmp_path / "a")
    assert (again.clients, again.samples, again.size) == (23, 48, (1300.0, 1300.0))
    assert again.attractions == Park().attractions


@pytest.mark.parametrize(
    ("duration", "step", "slab", "samples"),
    [
        (40.0, 1.0, 10.0, [10, 10, 10, 11]),  # the last one does not begin a slab
        (41.0, 1.0, 10.0, [10, 10, 10, 10, 2]),
        (39.5, 1.0, 10.0, [10, 10, 10, 10]),
        (3.0, 1.0, 10.0, [4]),
        (0.5, 1.0, 10.0, [1]),
        (1.2, 0.1, 0.3, [3, 3, 3, 4]),  # 1.2 / 0.1 and 0.3 / 0.1 are a little less than 12 and 3
        (5.0, 2.5, 2.5, [1, 2]),
    ],
)
def test_slabs(tmp_path: Path, duration: float, step: float, slab: float, samples: list[int]) -> None:
    trace = made(tmp_path / "a", duration=duration, step=step, slab=slab, blocks=2)
    counts = [trace.slab_samples(s)[1] - trace.slab_samples(s)[0] for s in range(trace.slabs)]
    assert counts == samples
    assert sum(counts) == trace.samples
    folders = sorted(trace.path.glob("slab=*"))
    assert [pq.read_metadata(folder / "clients=0000000000.parquet").num_rows for folder in folders] == [
        11 * count for count in samples
    ]
    assert [trace.slab_of(k) for k in range(trace.samples)] == [
        s for s, n in enumerate(samples) for _ in range(n)
    ]
    assert pq.read_table(folders[-1]).column("t").to_pylist()[-1] == (trace.samples - 1) * step


@pytest.mark.parametrize(("step", "slab"), [(1.0, 20.0), (0.3, 20.1), (7.0, 21.0), (60.0, 60.0)])
def test_a_slab_is_about_twenty_seconds_by_default(tmp_path: Path, step: float, slab: float) -> None:
    made(tmp_path / "a", step=step, slab=None)
    again = lay_out(tmp_path / "a", tmp_path / "b", step=step, engine=LocalEngine())
    assert Trace.open(tmp_path / "a").slab == again.slab == pytest.approx(slab)


def test_pyarrow_reads_the_folder_as_a_dataset(trace: Trace) -> None:
    dataset = ds.dataset(trace.path, partitioning="hive")
    assert dataset.count_rows() == trace.rows == 48 * 23
    table = dataset.to_table(filter=(ds.field("slab") == 2) & (ds.field("client") == 20))
    assert sorted(table.column("t").to_pylist()) == [float(k) for k in range(20, 30)]


# -- the same rows --------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 7, 23])
def test_rows_do_not_depend_on_blocks_or_row_groups(trace: Trace, tmp_path: Path, count: int) -> None:
    with small_groups(count * 5):
        assert made(tmp_path / "a", blocks=count).digest() == trace.digest()


def test_rows_depend_on_the_seed_and_the_model(trace: Trace, tmp_path: Path) -> None:
    assert made(tmp_path / "a", seed=6).digest() != trace.digest()
    assert made(tmp_path / "b", RandomWaypoint(pause=(1, 2))).digest() != trace.digest()


def test_the_digest_is_of_the_rows(trace: Trace) -> None:
    table = ds.dataset(trace.path).to_table().sort_by([("t", "ascending"), ("client", "ascending")])
    rows = zip(*(table.column(name).to_pylist() for name in ("t", "client", "x", "y")), strict=True)
    whole = b"".join(struct.pack("<diff", *row) for row in rows)
    assert trace.digest() == hashlib.sha256(whole).hexdigest()


def test_blocks_are_even_and_as_many_as_make_sense() -> None:
    assert first_clients(10, 1, 4, 3) == (0, 3, 6)
    assert first_clients(297, 297 * 1501, 8) == (0,)
    assert len(first_clients(10_000, 6_000_000, 2)) == 2
    assert len(first_clients(120_000, 72_000_000, 4)) == 8
    assert first_clients(3, 10**9, 64) == (0, 1, 2)
    with pytest.raises(InvalidRequest, match="blocks is 4: expected 1 to 3"):
        first_clients(3, 3, 1, 4)


def test_pieces_of_work_can_be_pickled(trace: Trace) -> None:
    for value in (trace, RandomWaypoint()):
        assert pickle.loads(pickle.dumps(value)) == value


# -- reading --------------------------------------------------------------------------------------------


@given(st.integers(0, 48), st.integers(0, 48))
@settings(deadline=None, max_examples=60)
def test_any_range_of_samples(
    trace: Trace, expected: tuple[np.ndarray, np.ndarray], one: int, other: int
) -> None:
    first, last = sorted((one, other))
    x, y = trace.read(first, last)
    np.testing.assert_array_equal(x, expected[0][first:last])
    np.testing.assert_array_equal(y, expected[1][first:last])


@given(st.integers(0, CLIENTS), st.integers(0, CLIENTS))
@settings(deadline=None, max_examples=40)
def test_any_range_of_clients(
    trace: Trace, expected: tuple[np.ndarray, np.ndarray], one: int, other: int
) -> None:
    first, last = sorted((one, other))
    x, y = trace.read_clients(first, last)
    np.testing.assert_array_equal(x, expected[0][:, first:last])
    np.testing.assert_array_equal(y, expected[1][:, first:last])


def test_only_what_is_needed_is_read(trace: Trace, tmp_path: Path) -> None:
    with small_groups(30):
        copy = made(tmp_path / "a", blocks=3)
    for path in copy.files:
        if path.parent.name != "slab=00003":
            path.write_bytes(b"nothing")
    np.testing.assert_array_equal(copy.read(30, 40), trace.read(30, 40))
    again = made(tmp_path / "b", blocks=3)
    for path in again.files:
        if "0000000015" not in path.name:
            path.write_bytes(b"nothing")
    np.testing.assert_array_equal(again.read_clients(16, 20), trace.read_clients(16, 20))


def test_many_threads_read_at_once(trace: Trace, expected: tuple[np.ndarray, np.ndarray]) -> None:
    ranges = [(k, min(k + 7, 48)) for k in range(48)] * 3
    with ThreadPoolExecutor(8) as pool:
        for (first, last), (x, _) in zip(ranges, pool.map(lambda r: trace.read(*r), ranges), strict=True):
            np.testing.assert_array_equal(x, expected[0][first:last])


@pytest.mark.parametrize(("first", "last"), [(-1, 3), (0, 49), (5, 4), (48, 60)])
def test_ranges_that_do_not_exist(trace: Trace, first: int, last: int) -> None:
    with pytest.raises(InvalidRequest, match=f"samples are {first} to {last}: expected within 0 to 48"):
        trace.read(first, last)
    with pytest.raises(InvalidRequest, match=f"clients are {first} to {last}: expected within 0 to 23"):
        trace.read_clients(first, last)


def test_waypoints_pass_through_all_samples(trace: Trace, expected: tuple[np.ndarray, np.ndarray]) -> None:
    waypoints = trace.waypoints()
    assert (len(waypoints), waypoints.duration) == (23, 47.0)
    for k in (0, 13, 47):
        np.testing.assert_array_equal(waypoints.positions(float(k)), (expected[0][k], expected[1][k]))


# -- what is no trace -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"step": 0.0}, r"step is 0.0 s"),
        ({"step": np.nan}, r"step is nan s"),
        ({"step": 9e-7}, r"step is 9e-07 s: expected a finite time of at least a microsecond"),
        ({"slab": np.inf}, r"slab is inf s"),
        ({"step": 0.3}, r"slab is 10.0 s: expected a multiple of the step, 0.3 s"),
        ({"step": 20.0}, r"slab is 10.0 s: expected a multiple of the step, 20.0 s"),
        ({"clients": 0}, r"clients is 0"),
        ({"seed": -1}, r"seed is -1"),
        ({"blocks": 0}, r"blocks is 0: expected 1 to 23"),
        ({"blocks": 24}, r"blocks is 24: expected 1 to 23"),
    ],
)
def test_requests_without_sense_write_nothing(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequest, match=message):
        made(tmp_path / "a", **change)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_use_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    for out in (tmp_path, tmp_path / "letter.txt"):
        with pytest.raises(InvalidTrace, match="is in the way: expected a new or an empty folder"):
            made(out)
    assert (tmp_path / "letter.txt").read_text() == "dear"


def test_what_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for out in (tmp_path / "deep" / "a", tmp_path / "empty"):
        with pytest.raises(InvalidRequest, match="no more than ten"):
            made(out, Failing(), blocks=5)
    assert list(tmp_path.rglob("*")) == [tmp_path / "empty"]


def test_an_empty_folder_may_be_used(tmp_path: Path, trace: Trace) -> None:
    assert made(tmp_path).digest() == trace.digest()


def spoil(folder: Path, **values: Any) -> None:
    path = folder / "_trace.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"format": 2}, "format is 2: "),
        ({"clients": 24}, "rows is 1104: expected 1152"),
        ({"samples": 47}, "samples is 47: expected 48"),
        ({"blocks": [0, 30]}, "blocks are .0, 30.: expected 0"),
        ({"blocks": [1, 3]}, "blocks are .1, 3.: expected 0"),
        ({"blocks": []}, r"blocks is \[\]"),
        ({"slab": 10.5}, "slab is 10.5 s: expected a multiple"),
        ({"duration": "long"}, "duration is 'long'"),
        ({"size": [0.0, 5.0]}, "size.0 is 0.0: "),
        ({"size": [5.0, float("inf")]}, "size.1 is inf: "),
        ({"blocks": [0, 5]}, r"clients=0000000005.parquet does not exist: expected a file for each"),
    ],
)
def test_a_manifest_that_lies(tmp_path: Path, values: dict[str, Any], message: str) -> None:
    trace = made(tmp_path / "a", blocks=2)
    spoil(trace.path, **values)
    with pytest.raises(InvalidTrace, match=message) as error:
        Trace.open(trace.path)
    assert "\n" not in str(error.value)


def test_folders_that_are_no_traces(tmp_path: Path) -> None:
    with pytest.raises(InvalidTrace, match="nowhere does not exist"):
        Trace.open(tmp_path / "nowhere")
    with pytest.raises(
        InvalidTrace, match=r"has no _trace.json: expected a trace that was written to its end"
    ):
        Trace.open(tmp_path)
    (tmp_path / "_trace.json").write_text("{")
    with pytest.raises(InvalidTrace, match=r"_trace.json is not JSON"):
        Trace.open(tmp_path)
    (tmp_path / "_trace.json").write_text("[]")
    with pytest.raises(InvalidTrace, match=r"_trace.json: "):
        Trace.open(tmp_path)


def test_files_that_are_broken(tmp_path: Path) -> None:
    trace = made(tmp_path / "a", blocks=1)
    trace.files[2].write_bytes(trace.files[2].read_bytes()[:-20])
    with pytest.raises(InvalidTrace, match=r"slab=00002/clients=0000000000.parquet cannot be read: "):
        trace.read(20, 21)
    trace.files[3].write_bytes(trace.files[4].read_bytes())
    with pytest.raises(InvalidTrace, match=r"slab=00003.* has 184 rows: expected 230"):
        trace.read(30, 31)
    pq.write_table(pa.table({"t": np.zeros(230)}), trace.files[1])
    with pytest.raises(InvalidTrace, match=r"slab=00001"):
        trace.read(10, 12)
    trace.files[0].unlink()
    with pytest.raises(InvalidTrace, match=r"slab=00000/clients=0000000000.parquet does not exist"):
        Trace.open(trace.path)


# -- laying out -----------------------------------------------------------------------------------------


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
