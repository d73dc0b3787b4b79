"""Where clients reach a broker: what peers do to their connections there is no harm to others."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from bypass import attr
from bypass.live.broker.loop import connections, listener
from bypass.live.broker.service import Service
from bypass.live.client.connection import connect
from bypass.live.operator import Operator
from bypass.protocol.session import Bye, Hello
from bypass.protocol.wire import encode
from tests.live.brokers import PATIENCE, config, in_loop, peers, running, until
from tests.live.stalling import broker_process
from tests.live.zmtp import MORE, RawPeer, frame

PAUSING = """
import sys, threading
from pathlib import Path
from bypass.live.broker.service import Service
from tests.live.brokers import config

service = Service(config(Path(sys.argv[1]), listen=("tcp://127.0.0.1:*",), heartbeat=float(sys.argv[2])))
server = service.server
server.loop.soon(server.loop.leave, server.socket)
thread = threading.Thread(target=service.run)
thread.start()
print(server.endpoints[0], flush=True)
sys.stdin.readline()  # now it goes on, after two heartbeats: the first finds out that nobody is there
again = (server.loop.serve, server.socket, server.intake.read)
server.loop.soon(server.loop.after, 2.5 * server.config.heartbeat, *again)
sys.stdin.read()
server.stop()
thread.join()
"""

FLOODING = """
import sys, zmq

socket = zmq.Context().socket(zmq.DEALER)
socket.set(zmq.SNDHWM, 10)
socket.connect(sys.argv[1])
for _ in range(5000):
    if not socket.poll(200, zmq.POLLOUT):  # nothing is taken any more
        break
    socket.send(bytes(4000))
print("sent", flush=True)
sys.stdin.read()
"""


@contextmanager
def process(source: str, *args: object) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", source, *map(str, args)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as started:
        try:
            yield started
        finally:
            started.kill()


def said(started: subprocess.Popen[str]) -> str:
    assert started.stdout is not None
    return started.stdout.readline().strip()


@pytest.mark.slow
def test_a_publisher_that_is_killed_while_nobody_reads_does_not_end_the_broker(tmp_path: Path) -> None:
    """ZeroMQ aborts if one of its heartbeats is due on a connection that broke while its queue was full."""
    with process(PAUSING, tmp_path, 1.0) as broker, peers() as make:
        endpoint = said(broker)
        with process(FLOODING, endpoint) as publisher:
            assert said(publisher)
        assert broker.stdin is not None
        broker.stdin.write("go on\n")
        broker.stdin.flush()
        assert make(endpoint, "somebody else").settle() is not None
        assert broker.poll() is None


UNSEEDED = 0x6B8B4567
"""What the generator that ZeroMQ takes gives first, if nobody has given it a seed."""


@pytest.mark.slow
def test_a_peer_that_calls_itself_by_the_number_of_the_next_one_does_not_end_the_broker(
    tmp_path: Path,
) -> None:
    """ZeroMQ aborts if it gives a number that somebody has: so none can be foreseen."""
    with broker_process(tmp_path) as broker, ExitStack() as stack:
        for number in range(UNSEEDED, UNSEEDED + 20):
            stack.enter_context(RawPeer(broker.port, b"\0" + number.to_bytes(4)))
        with peers() as make:
            for number in range(20):
                make(broker.endpoint, f"peer {number}").settle()


@pytest.mark.slow
def test_a_message_whose_parts_have_no_end_is_not_kept_for_long(tmp_path: Path) -> None:
    """ZeroMQ shows nothing of it before its last part has come."""
    with broker_process(tmp_path) as broker, peers() as make:
        peer = make(broker.endpoint, "peer")
        peer.settle()
        first = most = broker.mib()
        with RawPeer(broker.port) as hostile:
            hostile.send(encode(Hello("hostile", 1)))
            for _ in hostile.flood(frame(bytes(100_000), MORE)):
                most = max(most, broker.mib())
                assert most - first < 1000
        until(lambda: broker.count("swollen") == 1)
        peer.settle()
        until(lambda: broker.mib() - first < 100)


@pytest.fixture
def impatient(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """A broker that waits for greetings for a moment only."""
    assert connections.GREETING_S <= 10.0
    monkeypatch.setattr(connections, "GREETING_S", 0.5)
    with running(config(tmp_path, listen=("tcp://127.0.0.1:*",))) as service:
        yield service


def ungreeted(service: Service) -> int:
    in_loop(service, service.status.refresh)
    return int(service.status.snapshot["counters"]["ungreeted"])


@pytest.mark.parametrize("said", [(), (b"",), (b"nonsense", b"more of it"), (encode(Hello("", 1)),)])
def test_a_connection_without_a_session_is_ended_after_a_while(
    impatient: Service, said: tuple[bytes, ...]
) -> None:
    """Whether nothing is said on it, or only what is no greeting, or one that is refused."""
    port = int(impatient.server.endpoints[0].rpartition(":")[2])
    with peers() as make, RawPeer(port) as stranger:
        peer = make(impatient.server.endpoints[0], "peer")
        stranger.send(*said)
        stranger.until_ended()
        assert ungreeted(impatient) == 1
        peer.settle()
        assert in_loop(impatient, lambda: len(impatient.server.sessions.by_route)) == 1


def test_who_calls_itself_as_another_does_is_ended(impatient: Service) -> None:
    """ZeroMQ lets nobody see what such a peer says; as long as the first one is there, it can say nothing."""
    port = int(impatient.server.endpoints[0].rpartition(":")[2])
    descriptors = len(os.listdir("/proc/self/fd"))
    with RawPeer(port, b"x") as first, RawPeer(port, b"x") as second:
        first.send(b"nonsense")
        second.send(*[bytes(1000)] * 100)
        for each in (first, second):
            each.until_ended()
    until(lambda: ungreeted(impatient) == 2)
    until(lambda: len(os.listdir("/proc/self/fd")) <= descriptors)


def test_who_has_left_is_ended_if_it_stays(impatient: Service) -> None:
    port = int(impatient.server.endpoints[0].rpartition(":")[2])
    with RawPeer(port) as peer:
        peer.send(encode(Hello("peer", 1)), encode(Bye()))
        peer.until_ended()
    assert ungreeted(impatient) == 1


def test_the_system_finds_peers_that_are_gone_without_a_word(tmp_path: Path) -> None:
    """Their sessions are given up by our own pings; this is what frees the descriptor."""
    with running(config(tmp_path, listen=("tcp://127.0.0.1:*",), heartbeat=2.0)) as service, peers() as make:
        make(service.server.endpoints[0], "peer")
        with accepted(int(service.server.endpoints[0].rpartition(":")[2])) as connection:
            assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL):
                assert connection.getsockopt(socket.IPPROTO_TCP, option) == 2
            timeout = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
            assert timeout == 2000 * listener.GONE_HEARTBEATS


@contextmanager
def accepted(port: int) -> Iterator[socket.socket]:
    """The one connection that this process has accepted on a port."""
    with ExitStack() as stack:
        found = []
        for descriptor in os.listdir("/proc/self/fd"):
            with suppress(OSError):  # no connection, or gone
                if stat.S_ISSOCK(os.fstat(int(descriptor)).st_mode):
                    copy = stack.enter_context(socket.socket(fileno=os.dup(int(descriptor))))
                    if copy.family is socket.AF_INET and copy.getsockname()[1] == port and copy.getpeername():
                        found.append(copy)
        (connection,) = found
        yield connection


def test_who_does_not_say_who_it_is_is_disconnected_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert listener.HANDSHAKE_MS <= 5000
    monkeypatch.setattr(listener, "HANDSHAKE_MS", 200)
    with running(config(tmp_path, listen=("tcp://127.0.0.1:*",))) as service:
        port = int(service.server.endpoints[0].rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as stranger:
            while stranger.recv(100):  # the broker's greeting, then the end
                pass


def test_a_broker_listens_on_an_ipv6_address(tmp_path: Path) -> None:
    async def use(endpoint: str) -> None:
        async with connect(endpoint, open=True, name="me") as me:
            await me.subscribe(attr("kind") == "x")

    listen = ("tcp://[::1]:*", "tcp://127.0.0.1:*")
    with running(config(tmp_path, listen=listen)) as service:
        six, four = service.server.endpoints
        assert six.startswith("tcp://[::1]:")
        for endpoint in (six, four):
            asyncio.run(use(endpoint))
            with Operator(endpoint, None) as operator:
                assert operator.ask("status")["listen"] == [six, four]


def test_a_heartbeat_may_be_as_long_as_one_likes(tmp_path: Path) -> None:
    with running(config(tmp_path, listen=("tcp://127.0.0.1:*",), heartbeat=1e7)) as service, peers() as make:
        assert make(service.server.endpoints[0], "peer").number
