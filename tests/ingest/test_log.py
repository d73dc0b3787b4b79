"""The log in segment files: what is appended is read, in order, whatever happens in between."""

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.ingest.folder import IngestFolder
from bypass.ingest.log.block import Records, encode
from bypass.ingest.log.lives import appended, consume, lives, log_end, retire
from bypass.ingest.log.message_log import LogFailed, LogFull, LogInUse
from bypass.ingest.log.segment_files import SegmentFiles
from bypass.ingest.log.segment_log import LogLimits, SegmentFile, SegmentLog
from bypass.ingest.log.segments import LogPosition, find_end, read, repair, segment_file, segments

EVERYTHING = 1 << 60

messages = st.lists(st.tuples(st.text(max_size=4), st.integers(0, 255), st.binary(max_size=40)), max_size=8)


def records(*contents: tuple[str, int, bytes]) -> Records:
    made = Records()
    for number, (device, category, payload) in enumerate(contents):
        made.add(device, category, payload, number)
    return made


def fill(log: SegmentLog, payload: bytes) -> None:
    """Append until the log is full, also when its segments are compressed. Raises LogFull."""
    while True:
        with suppress(LogFull):
            while True:
                log._retired.result()
                log.append(records(("d", 0, payload)))
        log._retired.result()
        log.append(records(("d", 0, payload)))


def content(log: Path) -> list[tuple[int, str, int, bytes]]:
    start = LogPosition()
    end = find_end(log, start, EVERYTHING, EVERYTHING)
    return [
        (row["sequence"], row["device"], row["category"], row["payload"])
        for block in read(log, start, end)
        for row in block.to_pylist()
    ]


def expected(*appends: list[tuple[str, int, bytes]]) -> list[tuple[int, str, int, bytes]]:
    flat = [message for append in appends for message in append]
    return [(number, device, category, payload) for number, (device, category, payload) in enumerate(flat)]


@settings(max_examples=40)
@given(st.lists(messages, max_size=6), st.integers(1, 300))
def test_what_is_appended_is_read_in_order(
    tmp_path_factory: pytest.TempPathFactory, appends: list[list[tuple[str, int, bytes]]], segment: int
) -> None:
    log = SegmentLog(tmp_path_factory.mktemp("log") / "w", limits=LogLimits(segment_bytes=segment))
    for append in appends:
        log.append(records(*append))
    log.close()
    assert content(log.path) == expected(*appends)
    assert log_end(log.path).sequence == log.sequence == sum(map(len, appends))


@settings(max_examples=60)
@given(st.lists(messages.filter(bool), min_size=1, max_size=4), st.data())
def test_a_log_that_is_cut_off_or_damaged_keeps_all_whole_blocks(
    tmp_path_factory: pytest.TempPathFactory,
    appends: list[list[tuple[str, int, bytes]]],
    data: st.DataObject,
) -> None:
    writer = tmp_path_factory.mktemp("log") / "w"
    log = SegmentLog(writer)
    ends = [0]
    for append in appends:
        log.append(records(*append))
        ends.append(os.path.getsize(log.path / os.listdir(log.path)[0]))
    log.close()
    path = segment_file(log.path, 0)
    assert path is not None
    cut = data.draw(st.integers(0, ends[-1]))
    everything = expected(*appends)
    starts = [sum(map(len, appends[:number])) for number in range(len(appends) + 1)]
    if data.draw(st.booleans()):
        os.truncate(path, cut)
        whole = max(number for number, end in enumerate(ends) if end <= cut)
        left = everything[: starts[whole]]
    else:
        damaged = bytearray(path.read_bytes())
        at = min(cut, len(damaged) - 1)
        damaged[at] ^= data.draw(st.sampled_from([1, 128]))
        path.write_bytes(damaged)
        hit = max(number for number, end in enumerate(ends) if end <= at)
        left = everything[: starts[hit]] + everything[starts[hit + 1] :]
    assert content(log.path) == left
    assert repair(log.path).sequence == (left[-1][0] + 1 if left else 0)
    assert content(log.path) == left


def test_a_new_life_never_continues_what_an_earlier_one_has_left(tmp_path: Path) -> None:
    first = SegmentLog(tmp_path / "w")
    first.append(records(("a", 0, b"1"), ("b", 1, b"2")))
    first.close()
    path = segment_file(first.path, 0)
    assert path is not None
    os.truncate(path, 10)  # as if the machine had lost power
    second = SegmentLog(tmp_path / "w")
    second.append(records(("c", 2, b"3")))
    assert (second.life, content(second.path)) == (2, [(0, "c", 2, b"3")])
    assert content(first.path) == []
    assert appended(tmp_path / "w") == 3  # it had ended: it is known how many the disk has forgotten
    second.close()


def test_one_process_at_a_time_writes(tmp_path: Path) -> None:
    log = SegmentLog(tmp_path / "w")
    with pytest.raises(LogInUse, match="w: expected a log that no other process writes to"):
        SegmentLog(tmp_path / "w")
    log.close()
    SegmentLog(tmp_path / "w").close()


def test_a_full_log_refuses_until_something_was_consumed(tmp_path: Path) -> None:
    limits = LogLimits(bytes=3000, segment_bytes=500, retention_s=0)
    log = SegmentLog(tmp_path / "w", limits=limits)
    message = os.urandom(300)
    with pytest.raises(LogFull, match="expected 3000 at most"):
        fill(log, message)
    before = log.sequence
    consume(log.path, before)
    log._retired.result()
    with suppress(LogFull):
        log.append(records(("d", 0, message)))  # asks for room
    log._retired.result()
    log.append(records(("d", 0, message)))
    assert log.sequence > before
    log.close()


def test_a_disk_that_refuses_leaves_no_part_of_a_block(tmp_path: Path) -> None:
    log = SegmentLog(tmp_path / "w")
    log.append(records(("a", 0, b"1")))

    def fail(_: object) -> None:
        raise OSError(28, "No space left on device")

    settle, log.settle = log.settle, fail
    with pytest.raises(LogFailed, match="No space left on device"):
        log.append(records(("b", 0, b"2")))
    log.settle = settle
    log.append(records(("c", 0, b"3")))
    log.close()
    assert content(log.path) == [(0, "a", 0, b"1"), (1, "c", 0, b"3")]


def test_complete_segments_are_compressed_and_removed_when_they_were_consumed(tmp_path: Path) -> None:
    writer = tmp_path / "w"
    log = SegmentLog(writer, limits=LogLimits(segment_bytes=1))
    for number in range(4):
        log.append(records(("d", 0, b"%d" % number)))
    log._retired.result()
    names = sorted(path.name.partition(".")[2] for path in log.path.iterdir())
    assert names == ["log", "log.zst", "log.zst", "log.zst"]
    assert [payload for *_, payload in content(log.path)] == [b"0", b"1", b"2", b"3"]
    consume(log.path, 2)
    retire(writer, log.life, before=1e12)
    assert segments(log.path) == [2, 3]
    assert appended(writer) == 4
    log.close()
    consume(log.path, 4)
    again = SegmentLog(writer)
    again._retired.result()
    retire(writer, again.life, before=1e12)
    assert (lives(writer), appended(writer)) == ([2], 4)
    again.close()


def test_segments_that_are_gone_empty_or_damaged_do_not_hide_those_behind_them(tmp_path: Path) -> None:
    log = SegmentLog(tmp_path / "w", limits=LogLimits(segment_bytes=1))
    for number in range(6):
        log.append(records(("d", 0, b"%d" % number), ("e", 0, b"%d" % number)))
    log._retired.result()
    for number, damage in ((0, b""), (2, b"?" * 40), (6, None)):
        path = segment_file(log.path, number)
        assert path is not None
        if damage is None:
            path.unlink()
        else:
            path.write_bytes(damage)
    assert [(sequence, payload) for sequence, _, _, payload in content(log.path)] == [
        (4, b"2"),
        (5, b"2"),
        *((number, b"%d" % (number // 2)) for number in range(8, 12)),
    ]
    assert find_end(log.path, LogPosition(), EVERYTHING, EVERYTHING).sequence == 12
    log.close()


def test_a_reader_waits_for_a_block_that_is_being_written_whatever_looks_like_one_in_it(
    tmp_path: Path,
) -> None:
    log = SegmentLog(tmp_path / "w")
    log.append(records(("a", 0, b"1")))
    forged = b"".join(encode(records(("b", 0, b"2")), 1))
    whole = b"".join(encode(records(("c", 0, b"3" * 8 + forged)), 1))
    path = segment_file(log.path, 0)
    assert path is not None
    with path.open("ab") as file:
        file.write(whole[:-8])
    assert find_end(log.path, LogPosition(), EVERYTHING, EVERYTHING).sequence == 1
    with path.open("ab") as file:
        file.write(whole[-8:])
    assert [device for _, device, _, _ in content(log.path)] == ["a", "c"]
    log.close()


def test_records_whose_sync_has_failed_do_not_hide_those_behind_them(tmp_path: Path) -> None:
    log = SegmentLog(tmp_path / "w")

    def fail(segment: SegmentFile) -> None:
        segment.flush()
        raise OSError(5, "Input/output error")

    settle, log.settle = log.settle, fail
    with pytest.raises(LogFailed, match="Input/output error"):
        log.append(records(*(("a", 0, b"%d" % n) for n in range(10))))
    log.settle = settle
    log.append(records(*(("b", 0, b"%d" % n) for n in range(5))))
    log.close()
    assert [(device, payload) for _, device, _, payload in content(log.path)][-5:] == [
        ("b", b"%d" % n) for n in range(5)
    ]
    assert log_end(log.path).sequence == 15


def test_a_log_makes_room_at_once_for_what_was_consumed_however_long_it_is_kept_otherwise(
    tmp_path: Path,
) -> None:
    log = SegmentLog(tmp_path / "w", limits=LogLimits(bytes=3000, segment_bytes=500, retention_s=3600))
    message = os.urandom(300)
    with pytest.raises(LogFull):
        fill(log, message)
    consume(log.path, log.sequence)
    log._retired.result()
    with suppress(LogFull):
        log.append(records(("d", 0, message)))
    log._retired.result()
    log.append(records(("d", 0, message)))
    log.close()


def test_lives_that_are_removed_go_on_counting(tmp_path: Path) -> None:
    writer = tmp_path / "w"
    for _ in range(2):
        log = SegmentLog(writer)
        log.append(records(("d", 0, b"1"), ("d", 0, b"2")))
        log.close()
    consume(writer / "2", 2)  # the first was not consumed: nothing goes before it
    retire(writer, 3, before=1e12)
    assert appended(writer) == 4
    consume(writer / "1", 2)
    for _ in range(2):
        retire(writer, 3, before=1e12)
    assert (lives(writer), appended(writer)) == ([], 4)


def test_who_has_read_a_segment_that_is_removed_goes_on_with_the_next(tmp_path: Path) -> None:
    log = SegmentLog(tmp_path / "w", limits=LogLimits(segment_bytes=1))
    log.append(records(("d", 0, b"0")))
    read_so_far = find_end(log.path, LogPosition(), EVERYTHING, EVERYTHING)
    log.append(records(("d", 0, b"1")))
    log._retired.result()
    consume(log.path, read_so_far.sequence)
    retire(tmp_path / "w", log.life, before=1e12)
    assert segments(log.path) == [1]
    end = find_end(log.path, read_so_far, EVERYTHING, EVERYTHING)
    assert [row["payload"] for block in read(log.path, read_so_far, end) for row in block.to_pylist()] == [
        b"1"
    ]
    log.close()


def test_segments_that_are_completed_while_others_are_removed_count(tmp_path: Path) -> None:
    most = 200_000
    for attempt in range(5):
        log = SegmentLog(tmp_path / str(attempt), limits=LogLimits(bytes=most, segment_bytes=1))
        with suppress(LogFull):
            while True:
                log.append(records(("d", 0, os.urandom(4000))))
        assert log.sequence <= most // 4000
        log.close()


def test_messages_behind_blocks_that_a_failed_flush_has_dropped_are_seen_at_once(tmp_path: Path) -> None:
    files = SegmentFiles(IngestFolder(tmp_path), "", {})
    log = SegmentLog(tmp_path / "log" / "test", settle=lambda _: None)

    def append(number: int) -> None:
        log.append(records(("device", 0, b"%d" % number)))

    def fail(_: SegmentFile) -> None:
        raise OSError(28, "No space left on device")

    append(0)
    log.flush()
    append(1)  # held, and acknowledged
    log.settle = fail
    with pytest.raises(LogFailed):
        append(2)
    log.settle = SegmentFile.flush
    append(3)
    end = files.ends({}, 100, 1 << 20)
    found = [row for _, rows in files.read({}, end, {0}) for row in rows.column("payload").to_pylist()]
    assert (found, files.lost({}, end)) == ([b"0", b"3"], 1)
    log.close()


def test_a_life_that_is_removed_meanwhile_has_nothing_to_read(tmp_path: Path) -> None:
    files = SegmentFiles(IngestFolder(tmp_path), "", {})
    end = {"test/1": (3, 0, 99)}
    assert list(files.read({}, end, {0})) == []
    assert files.lost({}, end) == 3
    files.consume(end)


def test_housekeeping_that_fails_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    log = SegmentLog(tmp_path / "test", limits=LogLimits(segment_bytes=1))
    (tmp_path / "test" / "7" / "00000000000000000000.log").mkdir(parents=True)  # cannot be compressed
    (tmp_path / "test" / "7" / "ended").write_text("5 0\n")
    for _ in range(2):
        log.append(records(("d", 0, b"?")))
    log.close()
    assert "consumed segments stay" in caplog.text
