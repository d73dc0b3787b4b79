"""The suite for logs of the data pipeline."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, ClassVar

from hypothesis import strategies as st

from bypass.ingest.categories import PARTS
from bypass.ingest.folder import IngestFolder
from bypass.ingest.log.block import DamagedBlock, Records
from bypass.ingest.log.catalogue import make_log
from bypass.ingest.log.message_log import LogFull, LogInUse, LogWriter, MessageLog, Position
from bypass.testing.suites.suite import Suite
from bypass.testing.worlds.broker import until

EVERYTHING = 1 << 60
ALL_PARTS = frozenset(range(PARTS))

Content = tuple[str, int, bytes]
"""Device, category and payload of a message."""

_numbers = count()
_appends = st.lists(
    st.lists(st.tuples(st.text(max_size=4), st.integers(0, 255), st.binary(max_size=40)), max_size=8),
    max_size=5,
)


class LogSuite(Suite):
    """A log gives all that was appended once, in order, part by part; it is bounded, and counts what it has
    let go.

    `log` names it as `bypass ingest start --log` does. It has to have the options `bytes` and `retention`. A
    log that is not in the installation's folder needs a new one for each test: see `new`.
    """

    log: ClassVar[str]

    def new(self, **options: object) -> MessageLog:
        """Make a log that nobody has written to, with options; override it if it is not in a folder."""
        folder = IngestFolder(Path(mkdtemp(prefix="log-suite-")) / f"{next(_numbers)}")
        folder.path.mkdir()
        query = "&".join(f"{name}={value}" for name, value in options.items())
        return make_log(folder, f"{self.log}?{query}" if query else self.log)

    def test_what_is_appended_is_read_once_by_part(self) -> None:
        def is_read_once(appends: list[list[Content]], writers: list[int], tasks: list[int]) -> None:
            log = self.new()
            opened = [log.open_writer(name) for name in ("a", "b")]
            written: list[Content] = []
            read: list[Content] = []
            names: list[tuple[str, int]] = []
            start: dict[str, Position] = {}
            for append, writer, number in zip([*appends, []], writers, tasks, strict=False):
                opened[writer].append(_records(*append))
                written += append
                end = log.ends(start, EVERYTHING, EVERYTHING)
                for task in range(number):
                    for name, block in log.read(start, end, frozenset(range(task, PARTS, number))):
                        for row in block.to_pylist():
                            assert row["category"] % PARTS % number == task, "a record of another part"
                            read.append((row["device"], row["category"], row["payload"]))
                            names.append((name, row["sequence"]))
                start = end
            assert sorted(read) == sorted(written), f"read {read}, expected {written}"
            assert len({*names}) == len(names), "two records have one name"
            assert log.appended({}) == len(written), f"{log.appended({})} records: expected {len(written)}"
            assert log.lost({}, start) == 0, "records are lost"
            assert log.ends(start, EVERYTHING, EVERYTHING) == start, "there is more than was appended"
            for each in opened:
                each.close()
            log.close()

        self.for_all(
            is_read_once,
            appends=_appends,
            writers=st.lists(st.integers(0, 1), min_size=6, max_size=6),
            tasks=st.lists(st.integers(1, 4), min_size=6, max_size=6),
        )

    def test_messages_of_a_device_stay_in_order(self) -> None:
        log = self.new()
        writer = log.open_writer("w")
        for number in range(30):
            writer.append(_records(*((f"d{n}", n, b"%d" % number) for n in range(3))))
        end = log.ends({}, EVERYTHING, EVERYTHING)
        seen = [row for _, block in log.read({}, end, ALL_PARTS) for row in block.to_pylist()]
        for device in ("d0", "d1", "d2"):
            found = [int(row["payload"]) for row in seen if row["device"] == device]
            assert found == list(range(30)), f"{device}: {found}"
        writer.close()

    def test_the_end_is_within_limits_by_one_block(self) -> None:
        log = self.new()
        writer = log.open_writer("w")
        for number in range(10):
            writer.append(_records(("d", 0, b"%d" % number), ("d", 0, b"x" * 1000)))
        first = log.ends({}, 3, EVERYTHING)
        assert 3 <= len(_payloads(log, {}, first)) <= 4, "records: expected 3, or a block more"
        second = log.ends(first, EVERYTHING, 2000)
        assert 3 <= len(_payloads(log, first, second)) <= 4, "bytes: expected 2000, or a block more"
        rest = log.ends(second, EVERYTHING, EVERYTHING)
        assert len(_payloads(log, {}, rest)) == 20, "not all records are before the end"
        writer.close()

    def test_a_full_log_refuses_until_something_was_consumed(self) -> None:
        log = self.new(bytes=1 << 20)
        writer, appended = log.open_writer("w"), 0
        while appended < 100 and _appends_large(writer):
            appended += 1
        assert 5 <= appended <= 10, f"{appended} records of 100,000 bytes: expected a bound of 1 MiB"
        end = log.ends({}, EVERYTHING, EVERYTHING)
        assert len(_payloads(log, {}, end)) == appended == log.appended({}), "a refused record is there"
        log.consume(end)
        until(lambda: _appends_large(writer))  # though what was consumed is kept for an hour otherwise
        assert log.appended({}) == appended + 1, "what was consumed is not counted any more"
        writer.close()

    def test_what_was_consumed_goes_and_is_still_counted(self) -> None:
        log = self.new(retention=0, bytes=1 << 20)
        writer = log.open_writer("w")
        end: dict[str, Position] = {}
        for number in range(40):  # four times what there is room for
            until(lambda: _appends_large(writer))
            end = log.ends(end, EVERYTHING, EVERYTHING)
            log.consume(end)
            assert log.appended({}) == number + 1, f"{log.appended({})} records: expected {number + 1}"
        try:
            left = len(_payloads(log, {}, end))
        except DamagedBlock:
            left = 0
        else:
            assert log.lost({}, end) == 40 - left, "records are gone, and not counted as lost"
        assert left < 40, "nothing of what was consumed has gone"
        writer.close()
        again = log.open_writer("w")
        again.append(_records(("d", 0, b"")))
        assert log.appended({}) == 41, "a new life counts from the beginning"
        assert _payloads(log, end, log.ends(end, EVERYTHING, EVERYTHING)) == [b""], "a new life is not read"
        again.close()

    def test_one_process_at_a_time_has_the_name_of_a_writer(self) -> None:
        log = self.new()
        writer = log.open_writer("w")
        refused = False
        try:
            log.open_writer("w")
        except LogInUse:
            refused = True
        assert refused, "two writers have one name"
        writer.close()
        log.open_writer("w").close()

    def test_the_largest_message_is_taken(self) -> None:
        log = self.new()
        writer = log.open_writer("w")
        largest = min(writer.message_bytes, 2 << 20)
        assert largest >= 1 << 20, f"messages of {largest} bytes: expected 1 MiB at least"
        writer.append(_records(("d" * 256, 0, b"x" * largest), ("e", 0, b"")))
        sizes = [len(each) for each in _payloads(log, {}, log.ends({}, EVERYTHING, EVERYTHING))]
        assert sizes == [0, largest], f"payloads of {sizes} bytes: expected 0 and {largest}"
        writer.close()


def _records(*contents: Content) -> Records:
    made = Records()
    for number, (device, category, payload) in enumerate(contents):
        made.add(device, category, payload, number)
    return made


def _payloads(log: MessageLog, start: Mapping[str, Position], end: Mapping[str, Position]) -> Sequence[Any]:
    """The payloads between two positions, sorted."""
    return sorted(row["payload"] for _, block in log.read(start, end, ALL_PARTS) for row in block.to_pylist())


def _appends_large(writer: LogWriter) -> bool:
    """Append what takes a tenth of a small log. Gives False if there is no room."""
    try:
        writer.append(_records(("d", 0, os.urandom(100_000))))
    except LogFull:
        return False
    return True
