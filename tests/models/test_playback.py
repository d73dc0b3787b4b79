from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from bypass.models.compute.engines import LocalEngine
from bypass.models.maps import AttractionPoint
from bypass.models.mobility.playback import Playback
from bypass.models.mobility.random_waypoint import RandomWaypoint
from bypass.models.request import InvalidRequest
from bypass.models.traces import InvalidTrace, Trace, write_trace
from bypass.models.traces.formats import bonnmotion
from bypass.models.waypoints import Waypoints

SEED = np.uint64(0)


class Park(RandomWaypoint):
    """Has a place where people go."""

    @property
    def attractions(self) -> tuple[AttractionPoint, ...]:
        return (AttractionPoint(name="pond", x=1.5, y=2.0, radius=3.0, weight=4.0),)


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    return write_trace(
        Park(), "park", tmp_path / "trace", clients=9, duration=30.5, seed=3, blocks=2, engine=LocalEngine()
    )


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    """Client 0 walks to (10, 0) in 10 s, jumps to (0, 5), walks on; client 1 comes at 4 s and stays."""
    path = tmp_path / "scene.movements"
    path.write_text("0 0 0 10 10 0 10 0 5 20 20 5\n4 3 3 8 3 7\n")
    return path


def test_a_folder_is_played_at_its_samples(trace: Trace) -> None:
    model = Playback(path=trace.path)
    assert (model.size, model.clients, model.duration) == ((1300.0, 1300.0), 9, 30.0)
    assert model.attractions == Park().attractions
    walk = model.generate(9, 30.0, 77)
    x, y = trace.read(0, 31)
    for k in (0, 1, 17, 30):
        np.testing.assert_array_equal(walk.positions(float(k)), (x[k], y[k]))


def test_a_file_is_played_from_the_beginning_to_exactly_the_end(scene: Path) -> None:
    model = Playback(path=scene)
    assert (model.size, model.clients, model.duration) == ((20.0, 7.0), 2, 20.0)
    assert model.attractions == ()
    walk = model.block(0, 2, 15.0, SEED)
    assert walk.offsets.tolist() == [0, 4, 8]
    assert walk.t.tolist() == [0, 10, 10, 15, 0, 4, 8, 15]
    assert walk.x.tolist() == [0, 10, 0, 10, 3, 3, 3, 3]
    assert walk.y.tolist() == [0, 0, 5, 5, 3, 3, 7, 7]
    whole = model.block(0, 2, 20.0, SEED)
    assert whole.t.tolist() == [0, 10, 10, 20, 0, 4, 8, 20]
    early = model.block(0, 1, 10.0, SEED)  # the last of several waypoints at a time counts
    assert (early.t.tolist(), early.x.tolist(), early.y.tolist()) == ([0, 10], [0, 0], [0, 5])


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_blocks_fit_together(trace: Trace, scene: Path, kind: str) -> None:
    if kind == "file":
        bonnmotion.write(trace.waypoints(), scene, size=trace.size, model="park", seed=3)
    model = Playback(path=trace.path if kind == "folder" else scene)
    whole = model.block(0, 9, 12.5, SEED)
    parts = [model.block(first, last, 12.5, SEED) for first, last in ((0, 4), (4, 5), (5, 9))]
    assert np.concatenate([part.x for part in parts]).tolist() == whole.x.tolist()
    assert sum(map(len, parts)) == len(whole) == 9


def test_a_trace_that_is_played_and_written_is_the_same(trace: Trace, tmp_path: Path) -> None:
    model = Playback(path=trace.path)
    again = write_trace(
        model,
        "playback",
        tmp_path / "again",
        clients=9,
        duration=30.0,
        seed=1,
        blocks=3,
        engine=LocalEngine(),
    )
    assert again.digest() == trace.digest()
    assert (again.size, again.attractions) == (trace.size, trace.attractions)
    assert again.parameters == {"path": str(trace.path)}


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_nobody_and_nothing_is_made_up(trace: Trace, scene: Path, kind: str) -> None:
    path = trace.path if kind == "folder" else scene
    clients, seconds = (9, 30.0) if kind == "folder" else (2, 20.0)
    model = Playback(path=path)
    with pytest.raises(
        InvalidRequest, match=rf"clients is 10: expected at most {clients}, as many as {path} has"
    ):
        model.generate(10, 5.0, 1)
    with pytest.raises(
        InvalidRequest, match=rf"duration is 31.5 s: expected at most {seconds} s, as long as {path}"
    ):
        model.generate(2, 31.5, 1)


def test_a_file_that_has_changed_is_read_again(scene: Path) -> None:
    model = Playback(path=scene)
    assert model.clients == 2
    scene.write_text("0 1 1 9 2 2\n")
    os.utime(scene, ns=(10**18, 10**18))
    assert (model.clients, model.duration) == (1, 9.0)


def test_what_cannot_be_played(trace: Trace, tmp_path: Path) -> None:
    with pytest.raises(InvalidTrace, match="nowhere does not exist: expected a trace"):
        Playback(path=tmp_path / "nowhere")
    with pytest.raises(InvalidTrace, match=r"parquet is Parquet of some layout: expected a trace"):
        Playback(path=trace.files[0])
    (tmp_path / "bad.movements").write_text("0 1")
    with pytest.raises(InvalidTrace, match=r"bad.movements, line 1"):
        _ = Playback(path=tmp_path / "bad.movements").size
    with pytest.raises(ValidationError, match="path"):
        Playback.model_validate({})


def test_parameters_are_a_path(scene: Path) -> None:
    model = Playback.model_validate({"path": str(scene)})
    assert Playback.model_validate_json(model.model_dump_json()) == model
    assert isinstance(model.generate(1, 5.0, 1), Waypoints)
