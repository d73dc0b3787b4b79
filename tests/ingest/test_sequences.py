"""Sequences: numbers that came are known again, and those that did not are taken, far behind as well."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.ingest.categories import partition_of
from bypass.ingest.devices.device import Device
from bypass.ingest.log.block import Records
from bypass.ingest.log.catalogue import find_log
from bypass.ingest.sealing import Sealer
from bypass.ingest.stream.sequences import MOST_GAPS, WINDOW, SequenceWindow
from tests.ingest.pipeline import Pipeline, message

T = 1_763_459_000_000


def again(window: SequenceWindow) -> SequenceWindow:
    """Another one that has read all that the first one knew."""
    read = SequenceWindow()
    read.load(
        msgspec.msgpack.decode(msgspec.msgpack.encode(window.changes()), type=dict[str, tuple[int, bytes]])
    )
    return read


# Stretches of numbers with steps between them: some leave gaps of one, others long ones.
stretches = st.lists(
    st.tuples(st.integers(0, 6000), st.integers(1, 1500), st.sampled_from((1, 1, 2, 700))), max_size=6
)


@settings(deadline=None)
@given(stretches)
def test_a_number_is_new_once_and_old_only_where_there_were_too_many_gaps(
    given: list[tuple[int, int, int]],
) -> None:
    window, came = SequenceWindow(), set[int]()
    for first, count, step in given:
        for number in range(first, first + count, step):
            found = window.take("a", number)
            assert found != "new" or number not in came
            assert found != "seen" or number in came
            assert found != "old" or any(step > 1 for *_, step in given)
            if found == "new":
                came.add(number)
        for highest, content in window.changes().values():
            assert highest == max(came)
            assert len(content) <= WINDOW // 8 + 8 + 16 * MOST_GAPS
            window.load({"a": (highest, content)})
    if all(step == 1 for *_, step in given):  # each stretch leaves a gap or two
        wanted = {number for first, count, _ in given for number in range(first, first + count)}
        assert came == wanted


def test_a_memory_that_is_read_again_knows_the_same_numbers() -> None:
    window = SequenceWindow()
    for number in (*range(1500), *range(9000, 12_000), (1 << 64) - 1):
        assert window.take("a", number) == "new"
    assert window.take("b", 5) == "new"
    for number in (*range(1600, 9000), 12_000, (1 << 64) - 2):
        assert window.take("a", number) == "new"
    window = again(window)
    for number in (1500, 1599, 12_001, 1 << 40, (1 << 64) - 3):
        assert window.take("a", number) == "new"
        assert window.take("a", number) == "seen"
    for number in (0, 1499, 9000, 11_999, 12_000, (1 << 64) - 1):
        assert window.take("a", number) == "seen"
    assert (window.take("b", 5), window.take("b", 4), window.take("b", 6)) == ("seen", "new", "new")


def test_the_longest_gaps_are_known_and_the_earliest_of_equal_ones_is_forgotten() -> None:
    window = SequenceWindow()
    for number in (*range(0, 2 * MOST_GAPS + 1, 2), *range(8000, 8000 + WINDOW)):
        assert window.take("a", number) == "new"  # MOST_GAPS numbers are missing, and a stretch behind them
    assert [window.take("a", number) for number in range(1, 2 * MOST_GAPS, 2)] == [
        "old",
        *["new"] * (MOST_GAPS - 1),
    ]
    assert window.take("a", 5000) == "new"


def test_a_memory_of_before_gaps_were_known_is_read() -> None:
    window = SequenceWindow()
    window.load({"a": (2000, b"\5")})
    assert [window.take("a", number) for number in (2000, 1999, 1998, 900, 2001)] == [
        "seen", "new", "seen", "old", "new",
    ]  # fmt: skip


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_a_device_that_changes_to_another_connector_under_lag_loses_nothing(
    tmp_path_factory: pytest.TempPathFactory, order: str
) -> None:
    pipeline = Pipeline(tmp_path_factory.mktemp("f"), Device(id="device0", sequenced=True), most=800)
    frames = [Sealer().seal(message("device0", T + number, a=number), number) for number in range(4000)]
    for at, name in enumerate(order):  # the first connector dies, and what it had taken waits
        writer = find_log(pipeline.folder).open_writer(name)
        sent = frames[2000 * at : 2000 * (at + 1)] + frames[1990:2000]  # some come again by the other one
        for begin in range(0, len(sent), 100):
            records = Records()
            for frame in sent[begin : begin + 100]:
                records.add("device0", partition_of("device0"), frame, T)
            writer.append(records)
        writer.close()
    progress = pipeline.run()
    assert progress.dead_letters == {}
    assert (progress.stored, progress.duplicates) == (4000, 20)
    assert [row["long"] for row in pipeline.rows()] == list(range(4000))
