"""Rows: one for each measurement, or one for a minute, say the same; no measurement is lost or changed."""

import math
import random
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bypass.ingest.tables.files import write_rows
from bypass.ingest.tables.rows import RowBuilder, batched, read
from bypass.ingest.tables.schema import MEASUREMENTS, PARTITION
from bypass.ports.measurements import LAST_TIME, Measurement, MessageOrigin, ValueType

MINUTE = 60_000
T = 1_763_459_000_000 // MINUTE * MINUTE

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
values: dict[ValueType, st.SearchStrategy[Any]] = {
    "Long": st.integers(-(2**63), 2**63 - 1),
    "Double": st.floats(),
    "String": text,
    "Bytes": st.binary(max_size=5),
}
times = (
    st.integers(T, T + 3 * MINUTE) | st.sampled_from([T, T + 1, T + MINUTE - 1]) | st.integers(0, LAST_TIME)
)


@st.composite
def measurement(draw: st.DrawFn) -> Measurement:
    kind = draw(st.sampled_from(list(values)))
    metric, uom = draw(st.sampled_from("ab")), draw(st.sampled_from([None, "K", ""]))
    return Measurement(draw(times), metric, kind, draw(values[kind]), uom)


messages = st.lists(st.tuples(st.sampled_from(["d0", "d1"]), st.lists(measurement(), max_size=6)), max_size=8)


def built(content: list[tuple[str, list[Measurement]]]) -> RowBuilder:
    rows = RowBuilder()
    for number, (device, measurements) in enumerate(content):
        rows.add(MessageOrigin("r", "t", device, T, "w/1", number), measurements)
    return rows


def contents(rows: pa.Table) -> list[tuple[Any, ...]]:
    """The measurements of rows of the standard model, by device, metric, type, unit and time; those of one
    millisecond in the order that they have. A Double is its bits: NaN is what it was."""
    found = []
    for row in rows.to_pylist():
        value = next((row[name] for name in ("long", "label", "blob") if row[name] is not None), None)
        if row["double"] is not None:
            value = struct.pack(">d", row["double"])
        key = (row["device"], row["metric"], row["type"], row["uom"] or "", row["uom"] is None, row["time"])
        found.append((*key, value))
    return sorted(found, key=lambda each: each[:-1])


@given(messages)
def test_standard_to_batched_and_back_loses_and_changes_nothing(
    content: list[tuple[str, list[Measurement]]],
) -> None:
    single, many = built(content).table("standard"), built(content).table("batched")
    assert contents(read(many)) == contents(single)
    assert many.schema == single.schema == MEASUREMENTS
    keys = {(d, m.metric, m.type, m.uom, m.time // MINUTE) for d, each in content for m in each}
    assert many.num_rows == len(keys)  # one row for each device, metric, type, unit and minute
    offsets = [offset for row in many.to_pylist() for offset in row["offsets"]]
    assert all(0 <= offset < MINUTE < 1 << 16 for offset in offsets)
    again = batched(_whole(read(many)))
    assert contents(read(again)) == contents(single)
    assert again.num_rows == many.num_rows


@given(messages, messages)
def test_rows_of_both_models_in_one_table_are_read_alike(
    first: list[tuple[str, list[Measurement]]], second: list[tuple[str, list[Measurement]]]
) -> None:
    mixed = pa.concat_tables([built(first).table("standard"), built(second).table("batched")])
    both = pa.concat_tables([built(each).table("standard") for each in (first, second)])
    assert contents(read(mixed)) == contents(both)


@given(messages)
def test_measurements_of_one_millisecond_stay_all_and_in_their_order(
    content: list[tuple[str, list[Measurement]]],
) -> None:
    at_once = [(device, [each._replace(time=T + 7) for each in some]) for device, some in content]
    assert contents(read(built(at_once).table("batched"))) == contents(built(at_once).table("standard"))


@pytest.mark.parametrize("model", ["standard", "batched"])
def test_a_file_gives_back_the_rows_that_were_written(tmp_path: Path, model: Any) -> None:
    draw = random.Random(3)
    kinds: dict[ValueType, Any] = {"Long": -(2**63), "Double": math.nan, "String": "é", "Bytes": b"\0"}
    every = [
        Measurement(T + draw.randrange(2 * MINUTE), "m", kind, value, None)
        for kind, value in kinds.items()
        for _ in range(50)
    ]
    rows = built([("d", every)]).table(model)
    (file,) = write_rows(tmp_path, rows, PARTITION, "f")
    written = pq.read_table(tmp_path / file.path, partitioning=None)
    assert written.to_pydict().keys() == rows.drop_columns(list(PARTITION)).to_pydict().keys()
    for name, column in zip(PARTITION, ("r", "2025-11-18"), strict=True):
        written = written.append_column(name, pa.array([column] * written.num_rows))
    assert contents(read(written.select(MEASUREMENTS.names))) == contents(read(rows))


@pytest.mark.parametrize("in_a_row", [1, 10, 60])
def test_an_offset_takes_about_sixteen_bits_in_a_file(tmp_path: Path, in_a_row: int) -> None:
    """Delta and Parquet have no such type. A packed difference takes at most 17 bits, for it has a sign; the
    levels of lists, which say where a row ends, take one or two more. Unpacked it would be 32."""
    draw = random.Random(4)
    minutes = 12_000 // in_a_row
    every = [
        Measurement(T + minute * MINUTE + draw.randrange(MINUTE), "m", "Long", 0, None)
        for minute in range(minutes)
        for _ in range(in_a_row)
    ]
    (file,) = write_rows(tmp_path, built([("d", every)]).table("batched"), PARTITION, "f")
    assert file.rows == minutes
    group = pq.read_metadata(tmp_path / file.path).row_group(0)
    columns = [group.column(number) for number in range(group.num_columns)]
    (column,) = (each for each in columns if each.path_in_schema == "offsets.list.element")
    assert "DELTA_BINARY_PACKED" in column.encodings
    assert column.total_uncompressed_size * 8 / len(every) <= 17 + 2
    assert MEASUREMENTS.field("offsets").type.value_type == pa.int32()


def _whole(single: pa.Table) -> pa.Table:
    """Rows that `read` gave, with empty columns for lists."""
    columns = {name: single[name] for name in single.column_names}
    for each in MEASUREMENTS:
        columns.setdefault(each.name, pa.nulls(single.num_rows, each.type))
    return pa.table([columns[name] for name in MEASUREMENTS.names], schema=MEASUREMENTS)
