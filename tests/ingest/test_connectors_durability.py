"""Durability of the log: what each promises, and that exchanging them under load loses nothing."""

import os
from pathlib import Path

import pytest

from bypass.ingest.connectors.durability import LogDurability
from bypass.ingest.connectors.intake import LogIntake
from bypass.ingest.log.segment_log import SegmentLog
from bypass.mechanisms.durability import MOST_HELD
from bypass.testing.worlds.reception import logged
from bypass.transitions import Action, Plan

PATIENCE = 20


def to(name: str) -> Plan:
    return Plan(plan=f"to {name}", actions=(Action(proxy="durability", to=name),))


@pytest.fixture
def syncs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of files that were synced."""
    sizes: list[int] = []
    real = os.fdatasync

    def sync(descriptor: int) -> None:
        real(descriptor)
        sizes.append(os.fstat(descriptor).st_size)

    monkeypatch.setattr(os, "fdatasync", sync)
    return sizes


def test_each_durability_does_what_it_says_and_is_exchanged_under_load(
    tmp_path: Path, syncs: list[int]
) -> None:
    log = SegmentLog(tmp_path / "w")
    durability = LogDurability(log, first="none")
    intake = LogIntake(log, tmp_path / "refused.json")
    sent: list[tuple[str, bytes]] = []

    def send() -> None:
        sent.append(("d", b"%d" % len(sent)))
        intake.submit(*sent[-1]).result(PATIENCE)

    def exchange(name: str) -> None:
        last = intake.submit("d", b"under way")
        sent.append(("d", b"under way"))
        (record,) = durability.execute(intake, to(name)).result(PATIENCE)
        assert (record.outcome, durability.name) == ("done", name)
        last.result(PATIENCE)

    send()
    assert (log.segment.held_bytes > 0, log.segment.size) == (True, 0)  # acknowledged, and in memory
    exchange("log-only")
    assert (log.segment.held_bytes, syncs) == (0, [])
    for _ in range(3):
        send()
        assert logged(tmp_path / "w") == sent
    assert syncs == []
    before = log.segment.size
    exchange("full-sync")
    assert syncs[0] >= before
    assert len(syncs) == 1  # what came before is safe, too
    send()
    assert syncs[1:] == [log.segment.size]
    exchange("none")
    send()
    assert log.segment.held_bytes > 0
    intake.close()
    assert logged(tmp_path / "w") == sent  # nothing waits when it is closed
    log.close()


def test_where_nothing_is_promised_memory_is_bounded(tmp_path: Path) -> None:
    log = SegmentLog(tmp_path / "w")
    LogDurability(log, first="none")
    intake = LogIntake(log, tmp_path / "refused.json")
    for _ in range(5):
        intake.submit("d", b"x" * (MOST_HELD // 2)).result(PATIENCE)
        assert log.segment.held_bytes < MOST_HELD
    assert log.segment.size > MOST_HELD
    intake.close()
    log.close()


def test_a_disk_that_cannot_sync_leaves_the_durability_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fdatasync", fail)
    log = SegmentLog(tmp_path / "w")
    durability = LogDurability(log)
    intake = LogIntake(log, tmp_path / "refused.json")
    (record,) = durability.execute(intake, to("full-sync")).result(PATIENCE)
    assert (record.outcome, durability.name) == ("failed", "log-only")
    intake.submit("d", b"").result(PATIENCE)
    assert logged(tmp_path / "w") == [("d", b"")]
    intake.close()
    log.close()
