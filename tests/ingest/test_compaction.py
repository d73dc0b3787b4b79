"""Compaction: fewer files and rows, the same measurements."""

from pathlib import Path

import pytest

from bypass.ingest.devices.device import Device
from bypass.ingest.stream.plans import submit_plan
from bypass.ingest.tables import compaction
from bypass.ingest.tables.compaction import compact
from bypass.transitions import Action, Plan
from tests.ingest.pipeline import Pipeline, message

T = 1_763_459_000_000 // 60_000 * 60_000


def values(pipeline: Pipeline) -> list[tuple[str, int, str, str]]:
    return sorted((row["device"], row["time"], row["metric"], str(row["long"])) for row in pipeline.rows())


def test_rows_of_a_minute_become_one_and_say_the_same(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path, Device(id="device0"), Device(id="device1"))
    for number in range(12):
        if number == 6:
            plan = Plan(plan="rows", actions=(Action(proxy="row-model", to="batched"),))
            submit_plan(pipeline.folder.plans, plan)
        pipeline.append(*((f"device{d}", message(f"device{d}", T + 5000 * number, a=number)) for d in (0, 1)))
        pipeline.step()
    before = values(pipeline)
    done = compact(pipeline.folder.measurements)
    assert values(pipeline) == before
    assert done.files > done.files_after == 1
    assert (done.rows, done.rows_after) == (24, 12 + 2)
    assert compact(pipeline.folder.measurements).files == 0
    pipeline.append(("device0", message("device0", T + 99_000, a=99)))
    pipeline.run()
    assert values(pipeline) == sorted([*before, ("device0", T + 99_000, "a", "99")])


def test_files_of_regions_whose_names_are_quoted_are_joined(tmp_path: Path) -> None:
    pipeline = Pipeline(tmp_path, Device(id="device0").model_copy(update={"region": "süd / 1"}))
    for number in range(4):
        pipeline.append(("device0", message("device0", T + number, a=number)))
        pipeline.step()
    before = values(pipeline)
    assert compact(pipeline.folder.measurements).files == 4
    assert compact(pipeline.folder.measurements).files == 0
    assert values(pipeline) == before


def test_few_bytes_are_joined_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = Pipeline(tmp_path, Device(id="device0"), tasks=1)
    for number in range(6):
        pipeline.append(("device0", message("device0", T + number, a=number)))
        pipeline.step()
    before = values(pipeline)
    sizes = [path.stat().st_size for path in pipeline.folder.measurements.rglob("*.parquet")]
    monkeypatch.setattr(compaction, "LARGE", 3 * max(sizes))
    done = compact(pipeline.folder.measurements)
    assert (done.files, done.files_after) == (6, 2)
    assert values(pipeline) == before
