"""The intake: what is acknowledged is in the log, what is refused is counted, and nobody waits for ever."""

import json
from concurrent.futures import Future
from pathlib import Path
from threading import Thread

import pytest

from bypass.ingest.connectors.intake import IntakeLimits, MessageRefused
from bypass.testing.worlds.reception import blocks, logged, reception

PATIENCE = 20


def test_what_comes_while_the_log_is_busy_is_one_block(tmp_path: Path) -> None:
    with reception(tmp_path) as here:
        here.gate.open.clear()
        first = here.intake.submit("a", b"0")
        assert here.gate.waiting.wait(PATIENCE)
        rest = [here.intake.submit(f"d{n}", b"%d" % n) for n in range(1, 100)]
        assert not first.done()
        here.gate.open.set()
        for done in (first, *rest):
            done.result(PATIENCE)
        assert blocks(tmp_path / "log") == [1, 99]
        assert here.logged() == [("a", b"0"), *((f"d{n}", b"%d" % n) for n in range(1, 100))]


def test_messages_of_many_threads_are_all_acknowledged_in_their_order(tmp_path: Path) -> None:
    futures: dict[int, list[Future[None]]] = {}

    def send(thread: int) -> None:
        futures[thread] = [here.intake.submit(f"t{thread}", b"%d" % n) for n in range(200)]

    with reception(tmp_path) as here:
        threads = [Thread(target=send, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        for each in futures.values():
            each[-1].result(PATIENCE)
            assert all(done.done() for done in each)
        for thread_number in range(4):
            own = [payload for device, payload in here.logged() if device == f"t{thread_number}"]
            assert own == [b"%d" % n for n in range(200)]


def test_what_is_too_much_is_refused_and_counted(tmp_path: Path) -> None:
    limits = IntakeLimits(messages=3, bytes=100, message_bytes=60, id_bytes=4)
    with reception(tmp_path, limits) as here:
        submit = here.intake.submit
        with pytest.raises(MessageRefused, match="too large: 61 bytes: expected 60 at most"):
            submit("a", b"x" * 61)
        for bad in ("", "fünf", "a\nb", "\ud800"):
            with pytest.raises(MessageRefused, match=r"device id: .*expected 1 to 4 printable bytes"):
                submit(bad, b"")
        here.gate.open.clear()
        waiting = [submit("a", b"")]
        assert here.gate.waiting.wait(PATIENCE)
        waiting += [submit("a", b"x" * 60)]
        with pytest.raises(MessageRefused, match="busy: 1 messages wait"):
            submit("a", b"x" * 41)
        waiting += [submit("a", b""), submit("a", b"")]
        with pytest.raises(MessageRefused, match="busy: 3 messages wait"):
            submit("a", b"")
        here.gate.open.set()
        for done in waiting:
            done.result(PATIENCE)
        submit("a", b"room again").result(PATIENCE)
        here.intake.refuse("malformed")
        expected = {"too large": 1, "device id": 4, "busy": 2, "malformed": 1}
        assert here.intake.refused == expected
    assert json.loads((tmp_path / "refused.json").read_text()) == expected
    with reception(tmp_path) as here:
        here.intake.refuse("malformed")
        assert here.intake.refused == {**expected, "malformed": 2}
    assert len(logged(tmp_path / "log")) == 5


def test_a_device_may_send_so_many_messages_a_second(tmp_path: Path) -> None:
    now = [1000.0]
    with reception(tmp_path, IntakeLimits(device_messages_s=2), lambda: now[0]) as here:
        for device in ("a", "b", "a", "b"):
            here.intake.submit(device, b"")
        with pytest.raises(MessageRefused, match="device rate: a: 2 messages in this second"):
            here.intake.submit("a", b"")
        now[0] = 1001.0
        here.intake.submit("a", b"").result(PATIENCE)
        assert here.intake.refused == {"device rate": 1}
        assert len(here.logged()) == 5


def test_a_log_that_fails_refuses_and_recovers(tmp_path: Path) -> None:
    with reception(tmp_path) as here:
        here.gate.error = OSError(28, "No space left on device")
        with pytest.raises(MessageRefused, match=r"log failed: .*No space left on device"):
            here.intake.submit("a", b"lost").result(PATIENCE)
        here.gate.error = None
        here.intake.submit("a", b"kept").result(PATIENCE)
        here.log.settle = None  # type: ignore[assignment] # a mistake that nobody thinks of
        with pytest.raises(MessageRefused, match="log failed"):
            here.intake.submit("a", b"lost").result(PATIENCE)
        here.log.settle = lambda segment: segment.flush()
        here.intake.submit("a", b"kept, too").result(PATIENCE)
        assert here.intake.refused == {"log failed": 2}
        assert here.logged() == [("a", b"kept"), ("a", b"kept, too")]


def test_counts_that_cannot_be_written_stop_nothing(tmp_path: Path) -> None:
    (tmp_path / "refused.part").mkdir()
    with reception(tmp_path) as here:
        here.intake.refuse("malformed")
        here.intake.submit("a", b"1").result(PATIENCE)
        here.intake.submit("a", b"2").result(PATIENCE)
        (tmp_path / "refused.part").rmdir()
    assert json.loads((tmp_path / "refused.json").read_text()) == {"malformed": 1}


def test_closing_appends_what_waits(tmp_path: Path) -> None:
    with reception(tmp_path) as here:
        here.gate.open.clear()
        futures = [here.intake.submit("a", b"%d" % n) for n in range(10)]
        futures[5].cancel()  # nobody wants to know any more; it is appended all the same
        closing = Thread(target=here.intake.close)
        closing.start()
        here.gate.open.set()
        closing.join(PATIENCE)
        assert not closing.is_alive()
        assert len(here.logged()) == 10
        assert all(done.done() for done in futures)
        with pytest.raises(MessageRefused, match="stopping"):
            here.intake.submit("a", b"late")


def test_the_thread_that_appends_calls_functions_between_appends(tmp_path: Path) -> None:
    with reception(tmp_path) as here:
        here.gate.open.clear()
        here.intake.submit("a", b"")
        assert here.gate.waiting.wait(PATIENCE)
        called = here.intake.run(lambda: here.log.sequence)
        here.gate.open.set()
        assert called.result(PATIENCE) == 1
        with pytest.raises(ZeroDivisionError):
            here.intake.run(lambda: 1 // 0).result(PATIENCE)
        here.intake.submit("a", b"").result(PATIENCE)
