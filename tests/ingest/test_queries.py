"""Queries: devices by metadata, telemetry by predicates, what is there and what comes."""

import asyncio
import json
import random
import threading
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from deltalake import DeltaTable

from bypass import attr
from bypass.ingest.devices.device import Device
from bypass.ingest.devices.registry import DeviceRegistry
from bypass.ingest.queries import rows_query
from bypass.ingest.queries.commits import CommitLog, TableFile
from bypass.ingest.queries.cursor import QueryCursor
from bypass.ingest.queries.invalid import CursorExpired, InvalidCursor, InvalidSelection, QueryTooLong
from bypass.ingest.queries.reader import MeasurementPage, MeasurementReader
from bypass.ingest.queries.rows_query import RowsQuery
from bypass.ingest.queries.selection import Selection, parse_time
from bypass.ingest.queries.subscription import subscribe
from bypass.ingest.service.replay import replay_letters
from bypass.ingest.service.status import read_status
from bypass.ingest.stream.plans import submit_plan
from bypass.ingest.tables.compaction import compact
from bypass.transitions import Plan
from tests.ingest.pipeline import Pipeline, message

T = 1_763_459_000_000


def times(rows: object) -> list[int]:
    return [row["time"] - T for row in rows.to_pylist()]  # type: ignore[attr-defined]


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    return Pipeline(
        tmp_path,
        Device(id="truck", metadata={"kind": "truck", "wheels": "6"}),
        Device(id="car", metadata={"kind": "car"}),
        Device(id="other", tenant="other", metadata={"kind": "truck"}),
    )


def test_a_selection_sees_its_tenant_its_devices_and_its_window(pipeline: Pipeline) -> None:
    for name in ("truck", "car", "other"):
        pipeline.append(*((name, message(name, T + n, speed=n, state=f"s{n % 2}")) for n in range(5)))
    pipeline.run()
    reader = MeasurementReader(pipeline.folder)
    trucks = Selection("default", attr("kind") == "truck", attr("metric") == "speed")
    assert times(reader.range(trucks)) == [0, 1, 2, 3, 4]
    assert set(reader.range(trucks)["device"].to_pylist()) == {"truck"}
    window = Selection("default", "id = car", "metric = speed", since=T + 1, until=T + 3)
    assert times(reader.range(window)) == [1, 2]
    assert times(reader.range(Selection("default", where="value >= 3"))) == [3, 3, 4, 4]
    assert times(reader.range(Selection("default", "id = car", "value = s1"))) == [1, 3]
    either = "metric = speed and value < 1 or value = s0 and not device = car"
    assert times(reader.range(Selection("default", where=either))) == [0, 0, 0, 2, 4]
    assert times(reader.latest(trucks)) == [4]
    assert reader.range(Selection("nobody")).num_rows == 0
    assert reader.devices(Selection("default")) == ["car", "truck"]
    assert reader.metadata(Selection("default", "wheels >= 6")) == {"truck": {"kind": "truck", "wheels": "6"}}
    assert reader.range(window).to_pandas()["long"].tolist() == [1, 2]


async def collected(pages: AsyncIterator[MeasurementPage], count: int) -> tuple[list[int], QueryCursor]:
    """The times of `count` measurements, and the cursor behind them."""
    seen: list[int] = []
    async for page in pages:
        seen += times(page.rows)
        if len(seen) >= count:
            return seen, page.cursor
    raise AssertionError("a subscription never ends")


def test_a_continuous_query_has_no_gap_and_nothing_twice(pipeline: Pipeline) -> None:
    """Batches commit while the first part is read, files are joined, and the stream starts again."""

    async def run() -> list[int]:
        def more(base: int) -> None:
            pipeline.append(*(("truck", message("truck", T + base + n, a=n)) for n in range(3)))
            pipeline.run()
            compact(pipeline.folder.measurements, fewest=2)
            pipeline.restart()

        more(0)
        seen: list[int] = []
        asked = 3
        async for page in subscribe(pipeline.folder, Selection("default"), limit=2):
            seen += times(page.rows)
            if asked < 12:  # the first time within the rows that were there
                more(asked)
                asked += 3
            if len(seen) >= 12:
                break
        return seen

    assert asyncio.run(run()) == list(range(12))


def test_a_subscriber_goes_on_from_any_cursor(pipeline: Pipeline) -> None:
    async def run() -> None:
        cursors: list[tuple[int, QueryCursor]] = []
        for base in (0, 4, 8):
            pipeline.append(*(("truck", message("truck", T + base + n, a=n)) for n in range(4)))
            pipeline.run()
            if base == 0:
                start = MeasurementReader(pipeline.folder).begin()
        count = 0
        async for page in subscribe(pipeline.folder, Selection("default"), cursor=start, limit=3):
            count += page.rows.num_rows
            cursors.append((count, page.cursor))
            if count == 12:
                break
        assert [count for count, _ in cursors] == [3, 4, 7, 8, 11, 12]
        compact(pipeline.folder.measurements, fewest=2)
        pipeline.append(("truck", message("truck", T + 12, a=1)))
        pipeline.run()
        for count, cursor in cursors:
            again = QueryCursor.parse(str(cursor))
            rest, _ = await collected(
                subscribe(pipeline.folder, Selection("default"), cursor=again), 13 - count
            )
            assert rest == list(range(count, 13))

    asyncio.run(run())


def test_both_row_models_give_the_same_stream(tmp_path: Path) -> None:
    """The stream of one installation with rows of the standard model, and of one with batched rows."""

    def stream(name: str) -> list[tuple[object, ...]]:
        pipeline = Pipeline(tmp_path / name, Device(id="a"), Device(id="b"))
        submit_plan(
            pipeline.folder.plans, Plan.from_yaml(f"actions: [{{proxy: row-model, to: {name}}}]\nplan: rows")
        )
        for base in (0, 20, 10):  # the last batch is older than the one before
            for device in ("b", "a"):
                pipeline.append(
                    *((device, message(device, T + base + n, y=n, x=f"{n}")) for n in (3, 1, 0, 2))
                )
            pipeline.run()

        async def run() -> list[tuple[object, ...]]:
            rows: list[tuple[object, ...]] = []
            async for page in subscribe(
                pipeline.folder, Selection("default"), cursor=QueryCursor("", -1), limit=5
            ):
                rows += [
                    (row["time"], row["device"], row["metric"], row["long"], row["label"])
                    for row in page.rows.to_pylist()
                ]
                if len(rows) >= 48:
                    break
            return rows

        wide = DeltaTable(str(pipeline.folder.measurements)).to_pyarrow_table().num_rows
        assert wide == (48 if name == "standard" else 12)
        return asyncio.run(run())

    standard = stream("standard")
    assert len(standard) == len(set(standard)) == 48
    assert stream("batched") == standard


@pytest.mark.parametrize("model", ["standard", "batched"])
def test_pages_of_any_size_have_what_the_range_has(tmp_path: Path, model: str) -> None:
    """Times lie close together, far apart, and on each other; windows in which pages are looked for grow."""
    pipeline = Pipeline(tmp_path, Device(id="a"), Device(id="b"))
    submit_plan(
        pipeline.folder.plans, Plan.from_yaml(f"actions: [{{proxy: row-model, to: {model}}}]\nplan: rows")
    )
    dice = random.Random(7)
    for span in (10, 100_000, 10_000_000_000, 60_000):
        at = [T + dice.randrange(span) for _ in range(25)]
        pipeline.append(*((name, message(name, n, v=n % 5, w=1)) for n in at for name in dice.choice("ab")))
        pipeline.run()
    reader = MeasurementReader(pipeline.folder)
    for where, since in (("", None), ("value = 3", None), ("metric = v and not device = a", T + 50)):
        selection = Selection("default", where=where, since=since)
        whole = reader.range(selection)
        assert whole.num_rows > 10
        assert whole["time"].to_pylist() == sorted(whole["time"].to_pylist())
        for limit in (17, 1000):
            rows, cursor = [], reader.begin()
            while cursor.in_snapshot:
                page = reader.page(selection, cursor, limit)
                assert page.rows.num_rows <= limit
                rows += page.rows.to_pylist()
                cursor = page.cursor
            assert rows == whole.to_pylist()


def test_devices_that_come_are_followed_and_others_are_not(pipeline: Pipeline) -> None:
    async def run() -> None:
        pages = subscribe(pipeline.folder, Selection("default", "kind = truck"))
        pipeline.append(("truck", message("truck", T, a=1)), ("new", message("new", T + 1, a=1)))
        pipeline.run()
        with DeviceRegistry(pipeline.folder.registry) as registry:
            registry.register(Device(id="new", metadata={"kind": "truck"}))
            registry.update("truck", {"metadata": {"kind": "wreck"}})
        pipeline.append(("truck", message("truck", T + 2, a=1)), ("new", message("new", T + 3, a=1)))
        pipeline.run()
        assert (await collected(pages, 1))[0] == [3]

    asyncio.run(run())


def test_a_cursor_whose_files_were_removed_is_refused_and_nothing_is_left_out(pipeline: Pipeline) -> None:
    for n in range(3):
        pipeline.append(("truck", message("truck", T + n, a=1)))
        pipeline.run()
    reader = MeasurementReader(pipeline.folder)
    table, _ = CommitLog(pipeline.folder.measurements).latest()
    compact(pipeline.folder.measurements, fewest=2)
    DeltaTable(str(pipeline.folder.measurements)).vacuum(
        retention_hours=0, dry_run=False, enforce_retention_duration=False
    )
    with pytest.raises(CursorExpired, match="was removed: expected"):
        reader.page(Selection("default"), QueryCursor(table, 1))
    with pytest.raises(CursorExpired, match="was removed: expected"):
        reader.page(Selection("default"), QueryCursor(table, 3, in_snapshot=True))
    assert times(reader.range(Selection("default"))) == [0, 1, 2]
    for wrong in (QueryCursor("other", 1), QueryCursor(table, 99), QueryCursor(table, -5)):
        with pytest.raises(InvalidCursor, match="expected one of this"):
            reader.check(wrong)


def test_a_page_has_a_bound_in_bytes(pipeline: Pipeline) -> None:
    pipeline.append(*(("truck", message("truck", T + n, a="x" * 100_000)) for n in range(100)))
    pipeline.run()
    reader = MeasurementReader(pipeline.folder)
    page = reader.page(Selection("default"), reader.begin())
    assert page.rows.num_rows == (4 << 20) // 100_000
    seen = times(page.rows)
    while not page.is_last:
        page = reader.page(Selection("default"), page.cursor)
        seen += times(page.rows)
    assert seen == list(range(100))


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


@pytest.mark.parametrize(
    "content",
    [
        ["t", 0, True, [-(1 << 63), "a", "b", 0, 0, 0]],
        ["t", 0, True, [0, "a", "b", -(1 << 63), 5, 5]],
        ["t", 1 << 62, False, None],
        ["t", -2, False, None],
    ],
)
def test_a_cursor_that_no_answer_had_is_refused(content: list[object]) -> None:
    made_up = urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")
    with pytest.raises(InvalidCursor, match="expected one that an answer had"):
        QueryCursor.parse(made_up)


class LateFile(TableFile):
    """A file on a disk that takes its time."""

    def may_have(self, since: int | None, until: int | None) -> bool:
        threading.Event().wait(0.05)
        return super().may_have(since, until)


def test_the_time_of_a_query_is_for_all_its_windows(pipeline: Pipeline) -> None:
    pipeline.append(*(("truck", message("truck", T + 8**n, a=n)) for n in range(11)))
    pipeline.run()
    files = CommitLog(pipeline.folder.measurements).files(CommitLog(pipeline.folder.measurements).latest()[1])
    late = [LateFile(*file) for file in files]
    wanted = Selection("default", where="value = 10")
    assert times(RowsQuery(late, wanted, {"truck"}).page(None, 1)[0]) == [8**10]
    with pytest.raises(QueryTooLong, match=r"took over 0\.1 s"):
        RowsQuery(late, wanted, {"truck"}, 0.1).page(None, 1)


def test_a_large_query_leaves_nothing_where_it_was_started(
    pipeline: Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = random.Random(0).randbytes(2000).hex()
    for begin in range(0, 16_000, 4000):
        pipeline.append(
            *(("truck", message("truck", T + n, a=f"{n}{text}")) for n in range(begin, begin + 4000))
        )
    while pipeline.run().stored < 16_000:
        pass
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "here" / ".tmp").write_text("nothing can be written here")
    monkeypatch.setitem(rows_query._OPTIONS, "memory_limit", "100MB")
    reader = MeasurementReader(pipeline.folder)
    assert reader.page(Selection("default"), reader.begin(), 15_000).rows.num_rows > 0
