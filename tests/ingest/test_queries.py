"""Queries: devices by metadata, telemetry by predicates, what is there and what comes."""

import asyncio
from pathlib import Path

import pytest

from bypass.ingest.devices.device import Device
from bypass.ingest.queries.reader import MeasurementReader
from bypass.ingest.queries.selection import InvalidSelection, Selection, ValueTest, parse_time
from bypass.ingest.queries.subscription import follow
from bypass.ingest.service.replay import replay_letters
from bypass.ingest.service.status import read_status
from bypass.ingest.tables.compaction import compact
from tests.ingest.pipeline import Pipeline, message

T = 1_763_459_000_000


def times(rows: object) -> list[int]:
    return [row["time"] - T for row in rows.to_pylist()]  # type: ignore[attr-defined]


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    return Pipeline(
        tmp_path,
        Device(id="truck", metadata={"kind": "truck"}),
        Device(id="car", metadata={"kind": "car"}),
        Device(id="other", tenant="other", metadata={"kind": "truck"}),
    )


def test_a_selection_sees_its_tenant_its_devices_and_its_window(pipeline: Pipeline) -> None:
    for name in ("truck", "car", "other"):
        pipeline.append(*((name, message(name, T + n, speed=n, state=f"s{n % 2}")) for n in range(5)))
    pipeline.run()
    reader = MeasurementReader(pipeline.folder)
    trucks = Selection("default", metadata={"kind": "truck"}, metrics=frozenset({"speed"}))
    assert times(reader.range(trucks)) == [0, 1, 2, 3, 4]
    assert set(reader.range(trucks)["device"].to_pylist()) == {"truck"}
    window = Selection("default", frozenset({"car"}), metrics=frozenset({"speed"}), since=T + 1, until=T + 3)
    assert times(reader.range(window)) == [1, 2]
    fast = Selection("default", tests=(ValueTest.parse(">= 3"),))
    assert times(reader.range(fast)) == [3, 3, 4, 4]
    labelled = Selection("default", frozenset({"car"}), tests=(ValueTest.parse("== s1"),))
    assert times(reader.range(labelled)) == [1, 3]
    assert times(reader.latest(trucks)) == [4]
    assert reader.range(Selection("nobody")).num_rows == 0


def test_a_continuous_query_has_no_gap_and_nothing_twice(pipeline: Pipeline) -> None:
    async def run() -> list[int]:
        pipeline.append(*(("truck", message("truck", T + n, a=n)) for n in range(3)))
        pipeline.run()
        seen: list[int] = []
        found = follow(pipeline.folder, Selection("default"))
        async for rows in found:
            seen += times(rows)
            if len(seen) < 12:
                base = len(seen)
                pipeline.append(*(("truck", message("truck", T + base + n, a=n)) for n in range(3)))
                pipeline.run()
                compact(pipeline.folder.measurements, fewest=2)
            else:
                break
        return seen

    assert asyncio.run(run()) == list(range(12))


def test_messages_add_up_and_dead_letters_can_be_replayed(pipeline: Pipeline) -> None:
    pipeline.append(("late", message("late", T, a=1)), ("truck", b"?"), ("car", message("car", T, a=1)))
    status = read_status(pipeline.folder)
    assert (status.received, status.lag_messages) == (3, 3)
    pipeline.run()
    status = read_status(pipeline.folder)
    assert (status.received, status.stored, status.lag_messages) == (3, 1, 0)
    assert (
        status.dead_letters == {"unknown device": 1, pipeline.letters()[0]["reason"]: 1}
        or len(status.dead_letters) == 2
    )
    from bypass.ingest.devices.registry import DeviceRegistry

    with DeviceRegistry(pipeline.folder.registry) as registry:
        registry.register(Device(id="late"))
    assert replay_letters(pipeline.folder, "unknown device") == 1
    pipeline.run()
    status = read_status(pipeline.folder)
    assert (status.received, status.stored, len(pipeline.letters())) == (4, 2, 1)


@pytest.mark.parametrize("text", ["yesterday", "-1y", "", "2026-13-01"])
def test_a_time_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidSelection, match="expected -1h"):
        parse_time(text)


def test_times_are_relative_or_absolute() -> None:
    assert parse_time("-1h", now=7200) == 3_600_000
    assert parse_time("1970-01-01T00:00:01") == 1000


@pytest.mark.parametrize("text", ["~ 3", ">3", "3"])
def test_a_test_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidSelection, match="expected"):
        ValueTest.parse(text)
