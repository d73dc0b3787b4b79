"""Real sockets: who gets in, and that nothing arrives from anybody else."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zmq
from zmq.utils import z85
from zmq.utils.monitor import recv_monitor_message

from bypass.live.allow_list import AllowList
from bypass.live.broker.loop.authentication import PUBLIC_KEY, Authenticator
from bypass.live.keys import (
    ClientKeys,
    create_broker_keys,
    create_client_keys,
    load_broker_keys,
    load_client_keys,
)

PATIENCE = 20  # s, before a test gives up on what should happen

Socket = zmq.Socket[bytes]


class Context(zmq.Context[Socket]):
    """Keeps its sockets until it closes them: some only send one message, and nobody holds on to them."""

    kept: list[Socket] = []  # noqa: RUF012 - replaced in each test

    def socket(self, socket_type: int, *args: Any, **options: Any) -> Socket:
        self.kept.append(super().socket(socket_type, *args, **options))
        return self.kept[-1]


class Door:
    """A broker's socket, guarded by an authenticator; one thread runs both, as a broker's does."""

    def __init__(self, context: Context, folder: Path, address: str) -> None:
        self.allow_list = AllowList(folder / "clients")
        self.authenticator = Authenticator(context, self.allow_list, "bypass")
        self.router = context.socket(zmq.ROUTER)
        self.authenticator.guard(self.router, load_broker_keys(folder / "broker.key"))
        self.monitor = self.router.get_monitor_socket(
            zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
            | zmq.EVENT_HANDSHAKE_FAILED_AUTH
            | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
            | zmq.EVENT_HANDSHAKE_SUCCEEDED
        )
        self.router.bind(address)
        self.address = self.router.getsockopt_string(zmq.LAST_ENDPOINT)
        self.failed = 0
        self.succeeded = 0
        self.arrived: list[tuple[str, bytes]] = []

    def until(self, condition: Callable[[], bool]) -> None:
        """Run until the condition holds; a test fails if it takes too long."""
        poller = zmq.Poller()
        for socket in (self.router, self.authenticator.socket, self.monitor):
            if not socket.closed:
                poller.register(socket, zmq.POLLIN)
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, "did not happen"
            ready = dict(poller.poll(50))
            if self.authenticator.socket in ready:
                self.authenticator.handle()
            if self.monitor in ready:
                if recv_monitor_message(self.monitor)["event"] == zmq.EVENT_HANDSHAKE_SUCCEEDED:
                    self.succeeded += 1
                else:
                    self.failed += 1
            if self.router in ready:
                self._take()

    def _take(self) -> None:
        sender = self.router.recv(copy=False)
        body = self.router.recv(copy=False)
        assert sender.get("User-Id") == body.get("User-Id")
        self.arrived.append((str(sender.get("User-Id")), body.bytes))


@pytest.fixture
def context() -> Iterator[Context]:
    context = Context()
    context.kept = []
    yield context
    context.destroy(linger=0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Keys of a broker and two clients who are admitted."""
    folder = tmp_path / "keys"
    create_broker_keys(folder)
    create_client_keys(folder, "alice", ["admin"])
    create_client_keys(folder, "bob")
    return folder


@pytest.fixture(params=["tcp", "ipc"])
def door(request: pytest.FixtureRequest, context: Context, folder: Path, tmp_path: Path) -> Door:
    address = "tcp://127.0.0.1:*" if request.param == "tcp" else f"ipc://{tmp_path}/door"
    return Door(context, folder, address)


def connect(context: Context, address: str, keys: ClientKeys | None) -> Socket:
    dealer = context.socket(zmq.DEALER)
    if keys is not None:
        dealer.curve_publickey = keys.public
        dealer.curve_secretkey = keys.secret
        dealer.curve_serverkey = keys.broker
    dealer.connect(address)
    return dealer


def stranger(broker: bytes) -> ClientKeys:
    return ClientKeys("alice", *zmq.curve_keypair(), broker)


def check_that_only_bob_arrives(door: Door, context: Context, folder: Path) -> None:
    """Bob shows that the broker still works; what came before him would have been before him."""
    bob = connect(context, door.address, load_client_keys(folder / "bob.key"))
    bob.send(b"from bob")
    door.until(lambda: bool(door.arrived))
    assert door.arrived == [("bob", b"from bob")]
    assert not door.router.poll(0)


def test_clients_with_listed_keys_are_told_apart_by_the_names_of_their_keys(
    door: Door, context: Context, folder: Path
) -> None:
    sockets = [
        connect(context, door.address, load_client_keys(folder / f"{n}.key")) for n in ("alice", "bob")
    ]
    for socket in sockets:
        socket.send(b"hello")
    door.until(lambda: len(door.arrived) == 2)
    assert sorted(door.arrived) == [("alice", b"hello"), ("bob", b"hello")]
    assert (door.authenticator.admitted, door.authenticator.refused) == (2, 0)
    assert door.failed == 0


def test_the_first_frame_tells_who_sends_and_by_which_key(door: Door, context: Context, folder: Path) -> None:
    keys = load_client_keys(folder / "alice.key")
    alice = connect(context, door.address, keys)
    alice.send(b"hello")
    assert door.authenticator.socket.poll(PATIENCE * 1000)
    door.authenticator.handle()
    assert door.router.poll(PATIENCE * 1000)
    routing_id = door.router.recv(copy=False)
    assert len(routing_id.bytes) == 5  # the router's own: a zero and a number
    assert routing_id.bytes[0] == 0
    assert routing_id.get("User-Id") == "alice"
    key = str(routing_id.get(PUBLIC_KEY))
    assert key == keys.public.decode()
    admitted = door.allow_list.find(key)
    assert admitted is not None
    assert admitted.rights == {"admin"}
    assert door.router.recv() == b"hello"


def test_a_client_cannot_say_who_it_is(door: Door, context: Context, folder: Path) -> None:
    keys = load_client_keys(folder / "bob.key")
    bob = context.socket(zmq.DEALER)
    bob.curve_publickey, bob.curve_secretkey, bob.curve_serverkey = keys.public, keys.secret, keys.broker
    bob.routing_id = b"alice"
    bob.setsockopt_string(zmq.METADATA, "X-User-Id:alice")
    bob.connect(door.address)
    bob.send(b"hello")
    door.until(lambda: bool(door.arrived))
    assert door.arrived == [("bob", b"hello")]


def test_a_key_that_is_not_listed_is_refused(door: Door, context: Context, folder: Path) -> None:
    broker = load_broker_keys(folder / "broker.key").public
    mallory = connect(context, door.address, stranger(broker))
    mallory.send(b"from mallory")
    door.until(lambda: door.failed >= 1)
    assert door.authenticator.admitted == 0
    assert door.authenticator.refused >= 1
    check_that_only_bob_arrives(door, context, folder)


def test_a_client_learns_that_it_is_refused(door: Door, context: Context, folder: Path) -> None:
    broker = load_broker_keys(folder / "broker.key").public
    mallory = context.socket(zmq.DEALER)
    keys = stranger(broker)
    mallory.curve_publickey, mallory.curve_secretkey = keys.public, keys.secret
    mallory.curve_serverkey = keys.broker
    monitor = mallory.get_monitor_socket(zmq.EVENT_HANDSHAKE_FAILED_AUTH)
    mallory.connect(door.address)
    door.until(lambda: bool(monitor.poll(0)))
    assert recv_monitor_message(monitor)["value"] == 400


def test_the_public_key_of_another_is_no_use_without_its_secret(
    door: Door, context: Context, folder: Path
) -> None:
    alice = load_client_keys(folder / "alice.key")
    thief = connect(
        context, door.address, ClientKeys("alice", alice.public, zmq.curve_keypair()[1], alice.broker)
    )
    thief.send(b"from a thief")
    door.until(lambda: door.failed >= 1)
    assert door.authenticator.admitted == 0
    check_that_only_bob_arrives(door, context, folder)


def test_who_is_expelled_stays_out_and_who_is_readmitted_comes_in(
    door: Door, context: Context, folder: Path
) -> None:
    keys = load_client_keys(folder / "alice.key")
    listed = folder / "clients" / "alice.pub"
    content = listed.read_text()
    listed.unlink()
    alice = connect(context, door.address, keys)
    alice.send(b"expelled")
    door.until(lambda: door.failed >= 1)
    assert door.authenticator.refused >= 1
    assert door.authenticator.admitted == 0
    alice.close(linger=0)
    listed.write_text(content)
    alice = connect(context, door.address, keys)
    alice.send(b"back")
    door.until(lambda: bool(door.arrived))
    assert door.arrived == [("alice", b"back")]


def test_who_is_expelled_while_connected_is_nobody_any_more(
    door: Door, context: Context, folder: Path
) -> None:
    keys = load_client_keys(folder / "alice.key")
    alice = connect(context, door.address, keys)
    alice.send(b"hello")
    door.until(lambda: bool(door.arrived))
    (folder / "clients" / "alice.pub").unlink()
    assert door.allow_list.find(keys.public) is None


def test_nothing_arrives_from_a_client_without_keys(door: Door, context: Context, folder: Path) -> None:
    plain = connect(context, door.address, None)
    plain.send(b"in the clear")
    door.until(lambda: door.failed >= 1)
    assert (door.authenticator.admitted, door.authenticator.refused) == (0, 0)  # not even asked
    check_that_only_bob_arrives(door, context, folder)


def test_nothing_arrives_from_a_client_that_expects_another_broker(
    door: Door, context: Context, folder: Path
) -> None:
    alice = load_client_keys(folder / "alice.key")
    other, _ = zmq.curve_keypair()
    misled = connect(context, door.address, ClientKeys("alice", alice.public, alice.secret, other))
    misled.send(b"for another broker")
    door.until(lambda: door.failed >= 1)
    assert door.authenticator.admitted == 0
    check_that_only_bob_arrives(door, context, folder)


def test_nobody_is_admitted_where_there_is_no_authenticator(
    door: Door, context: Context, folder: Path
) -> None:
    elsewhere = Context()
    unguarded = elsewhere.socket(zmq.ROUTER)
    door.authenticator.guard(unguarded, load_broker_keys(folder / "broker.key"))
    monitor = unguarded.get_monitor_socket(
        zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    )
    unguarded.bind("tcp://127.0.0.1:*")
    alice = connect(
        context, unguarded.getsockopt_string(zmq.LAST_ENDPOINT), load_client_keys(folder / "alice.key")
    )
    alice.send(b"hello")
    assert monitor.poll(PATIENCE * 1000)
    event = recv_monitor_message(monitor)["event"]
    arrived = unguarded.poll(0)
    monitor.close()
    elsewhere.destroy(linger=0)
    assert event == zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL
    assert not arrived


def test_a_broken_file_admits_nobody_and_the_broker_goes_on(
    door: Door, context: Context, folder: Path
) -> None:
    (folder / "clients" / "alice.pub").write_text("name: [")
    check_that_only_bob_arrives(door, context, folder)


@pytest.fixture
def asker(context: Context, folder: Path) -> tuple[Authenticator, Callable[[list[bytes]], list[bytes]]]:
    """An authenticator, and a way to ask it what ZeroMQ would not."""
    authenticator = Authenticator(context, AllowList(folder / "clients"), "bypass")
    asker = context.socket(zmq.REQ)
    asker.connect("inproc://zeromq.zap.01")

    def ask(request: list[bytes]) -> list[bytes]:
        asker.send_multipart(request)
        assert authenticator.socket.poll(PATIENCE * 1000)
        authenticator.handle()
        assert asker.poll(PATIENCE * 1000)
        return asker.recv_multipart()

    return authenticator, ask


LISTED = b"<alice>"  # stands for a key that is admitted


@pytest.mark.parametrize(
    "request_",
    [
        [b""],
        [b"1.0", b"7"],
        [b"2.0", b"7", b"bypass", b"1.2.3.4", b"", b"CURVE", LISTED],
        [b"1.0", b"7", b"other", b"1.2.3.4", b"", b"CURVE", LISTED],
        [b"1.0", b"7", b"bypass", b"1.2.3.4", b"", b"NULL"],
        [b"1.0", b"7", b"bypass", b"1.2.3.4", b"", b"PLAIN", b"alice", b"password"],
        [b"1.0", b"7", b"bypass", b"1.2.3.4", b"", b"GSSAPI", LISTED],
        [b"1.0", b"7", b"bypass", b"1.2.3.4", b"", b"CURVE", LISTED + b"k"],
        [b"1.0", b"7", b"bypass", b"\xff\n", b"", b"CURVE", b"k" * 32],
    ],
)
def test_requests_that_are_not_about_a_listed_key_of_this_domain_are_refused(
    asker: tuple[Authenticator, Callable[[list[bytes]], list[bytes]]],
    request_: list[bytes],
    folder: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    authenticator, ask = asker
    key = z85.decode(load_client_keys(folder / "alice.key").public)
    with caplog.at_level("INFO"):
        version, _number, status, _text, user, properties = ask(
            [part.replace(LISTED, key) for part in request_]
        )
    assert (version, status, user, properties) == (b"1.0", b"400", b"", b"")
    assert (authenticator.admitted, authenticator.refused) == (0, 1)
    (line,) = caplog.messages
    assert "\n" not in line
    assert "expected" in line


def test_all_who_wait_are_answered_at_once(context: Context, folder: Path) -> None:
    authenticator = Authenticator(context, AllowList(folder / "clients"), "bypass")
    askers = [context.socket(zmq.REQ) for _ in range(20)]
    for number, asker in enumerate(askers):
        asker.connect("inproc://zeromq.zap.01")
        asker.send_multipart([b"1.0", b"%d" % number, b"bypass", b"", b"", b"CURVE", b"k" * 32])
    authenticator.handle()
    assert [asker.recv_multipart(zmq.NOBLOCK)[1] for asker in askers] == [b"%d" % n for n in range(20)]
    authenticator.handle()  # nothing to do, and no waiting
    assert authenticator.refused == 20


def test_a_domain_is_needed(context: Context, folder: Path) -> None:
    with pytest.raises(ValueError, match="domain '': expected a name"):
        Authenticator(context, AllowList(folder / "clients"), "")
