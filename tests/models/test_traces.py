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

from bypass.models.compute.engines import LocalEngine
from bypass.models.maps import AttractionPoint
from bypass.models.mobility.base.model import MobilityModel
from bypass.models.mobility.random_waypoint import RandomWaypoint
from bypass.models.request import InvalidRequest
from bypass.models.traces import InvalidTrace, Trace, blocks, lay_out, write_trace
from bypass.models.traces.blocks import first_clients
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


def test_a_trace_is_short_in_one_line(trace: Trace) -> None:
    assert repr(trace) == f"Trace({trace.path}: rwp, {CLIENTS} clients, {DURATION:g} s, a place each 1 s)"


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
        "georeference": None,
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
