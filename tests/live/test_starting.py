"""Who comes while a broker compiles is told so, and comes again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from bypass.live.broker.loop.listener import Listener
from bypass.live.broker.loop.loop import Loop
from bypass.live.broker.startup import SILENT_S, Starting
from bypass.live.operator import Operator, OperatorFailed
from bypass.protocol.session import RETRY, Bye, Hello, Ping, Refused
from bypass.protocol.wire import encode, pack
from tests.live.brokers import PATIENCE, config, peers, until
from tests.live.zmtp import RawPeer


@contextmanager
def starting(
    folder: Path, work: Callable[[], None], restore: Callable[[], None] = lambda: None, **changes: Any
) -> Iterator[tuple[str, list[BaseException]]]:
    """A broker that does `work`, then `restore`: where it listens, and what it raises in the end."""
    loop = Loop()
    listener = Listener(config(folder, **changes), loop)
    raised: list[BaseException] = []

    def run() -> None:
        try:
            Starting(listener, loop, work, restore).run()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield listener.endpoints[0], raised
    finally:
        thread.join(PATIENCE)
        listener.close()
        loop.close()
    assert not thread.is_alive()


def test_whoever_comes_is_told_to_come_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    compiled = threading.Event()
    with peers() as make, starting(tmp_path, lambda: wait(compiled)) as (endpoint, raised):
        ours, old, strange = (make(endpoint) for _ in range(3))
        strange.socket.send_multipart([b"", b"\xff", b"nothing"])
        strange.socket.send(pack([encode(Ping(asks=True)), encode(Hello("x", 1, capabilities=(RETRY,)))]))
        assert strange.get(Refused).retry > 0
        ours.send(Hello("ours", 1, capabilities=(RETRY,)))
        refused = ours.get(Refused)
        assert refused.reason.startswith("compiling for ")
        assert refused.retry > 0
        old.send(Hello("old", 1))
        assert old.get(Bye)
        with pytest.raises(OperatorFailed, match="compiling for "):
            Operator(endpoint, None)
        until(lambda: f"{endpoint}: compiling for {SILENT_S:.0f} s now" in caplog.text)
        compiled.set()
    assert not raised
    assert "compiled in" in caplog.text


def test_whoever_comes_while_the_store_is_read_is_told_so(tmp_path: Path) -> None:
    read = threading.Event()
    with (
        peers() as make,
        starting(tmp_path, lambda: None, lambda: wait(read)) as (endpoint, raised),
    ):
        peer = make(endpoint)
        peer.send(Hello("x", 1, capabilities=(RETRY,)))
        refused = peer.get(Refused)
        assert "reads its store" in refused.reason
        assert refused.retry > 0
        read.set()
    assert not raised


def test_who_floods_meanwhile_is_ended_and_others_are_answered(tmp_path: Path) -> None:
    compiled = threading.Event()
    with (
        peers() as make,
        starting(tmp_path, lambda: wait(compiled), listen=("tcp://127.0.0.1:*",)) as (endpoint, raised),
        RawPeer(int(endpoint.rpartition(":")[2])) as hostile,
    ):
        with suppress(OSError):
            while True:  # it breaks, or nothing is taken any more
                hostile.send(*[b"nonsense"] * 1000)
        peer = make(endpoint)
        peer.send(Hello("x", 1, capabilities=(RETRY,)))
        assert peer.get(Refused).retry > 0
        compiled.set()
    assert not raised


def wait(event: threading.Event) -> None:
    assert event.wait(PATIENCE)


def test_what_goes_wrong_with_compiling_ends_the_start(tmp_path: Path) -> None:
    def fail() -> None:
        raise LookupError

    with starting(tmp_path, fail) as (_, raised):
        until(lambda: raised)
    assert isinstance(raised[0], LookupError)
