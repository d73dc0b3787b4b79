"""A broker as a process of its own: what the system and strangers do to it."""

from __future__ import annotations

import json
import resource
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bypass.live.keys import create_broker_keys, create_client_keys, load_client_keys
from bypass.session import Control, Refused, Reply
from tests.command import COMMAND
from tests.live.brokers import Peer, peers

DESCRIPTORS = 128


class Process:
    """A broker on a free port of this machine; guarded, with the keys in `folder`, unless it is open."""

    def __init__(self, started: subprocess.Popen[str]) -> None:
        self.process = started
        assert started.stdout is not None
        self.line = started.stdout.readline()
        self.endpoint = self.line.rstrip('"}\n').rpartition("listens on ")[2]

    @property
    def port(self) -> int:
        return int(self.endpoint.rpartition(":")[2])


@contextmanager
def broker(folder: Path, settings: dict[str, Any], descriptors: int | None = None) -> Iterator[Process]:
    def limit() -> None:
        if descriptors is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

    path = folder / "broker.yaml"
    path.write_text(json.dumps({"listen": "tcp://127.0.0.1:*", "store": "store.db", **settings}))
    with (
        (folder / "errors").open("w") as errors,
        subprocess.Popen(
            [*COMMAND, "broker", "--config", str(path)],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            preexec_fn=limit,
        ) as started,
    ):
        try:
            yield Process(started)
        finally:
            started.kill()


def status(operator: Peer) -> dict[str, Any]:
    operator.send(Control(1, "status"))
    answer: dict[str, Any] = json.loads(operator.get(Reply).content)
    return answer


def strangers(stack: ExitStack, port: int) -> None:
    """Connect, and say nothing, until the broker takes no more connections."""
    while True:
        stranger = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=0.3))
        try:
            assert stranger.recv(1)
        except TimeoutError:
            return


def test_strangers_who_use_up_all_descriptors_expel_nobody(tmp_path: Path) -> None:
    create_broker_keys(tmp_path)
    names = ("alice", "admin", "bob")
    entries = [create_client_keys(tmp_path, name, ["admin"])[1] for name in names]
    alice, admin, bob = (load_client_keys(tmp_path / f"{name}.key") for name in names)
    settings = {"keys": "broker.key", "clients": "clients", "heartbeat": 60}
    with broker(tmp_path, settings, DESCRIPTORS) as running, peers() as make, ExitStack() as stack:
        client, operator, expelled = (make(running.endpoint, "", keys=each) for each in (alice, admin, bob))
        strangers(stack, running.port)
        create_client_keys(tmp_path, "carol")  # the list has to be read again
        entries[2].unlink()
        assert "not admitted" in expelled.get(Refused).reason
        client.publish()
        assert status(operator)["clients"]["connected"] == 2
        stack.close()
        assert make(running.endpoint, "", keys=load_client_keys(tmp_path / "carol.key")).number
        assert not any(isinstance(message, Refused) for message in client.settle())
