"""A broker as a process of its own: what the system and strangers do to it."""

from __future__ import annotations

import json
import resource
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from bypass.live.keys import create_broker_keys, create_client_keys, load_client_keys
from bypass.protocol.session import Control, Refused, Reply
from tests.command import COMMAND
from tests.live.brokers import PATIENCE, Peer, peers, until

pytestmark = pytest.mark.slow

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
def broker(
    folder: Path, settings: dict[str, Any], descriptors: int | None = None, source: str = COMMAND[-1]
) -> Iterator[Process]:
    def limit() -> None:
        if descriptors is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

    path = folder / "broker.yaml"
    path.write_text(json.dumps({"listen": "tcp://127.0.0.1:*", "store": "store.db", **settings}))
    with (
        (folder / "errors").open("w") as errors,
        subprocess.Popen(
            [*COMMAND[:-1], source, "broker", "--config", str(path)],
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


def test_a_broker_outlives_its_terminal(tmp_path: Path) -> None:
    with broker(tmp_path, {"open": True}) as running, peers() as make:
        running.process.send_signal(signal.SIGHUP)
        until(lambda: "SIGHUP: ignored" in (tmp_path / "errors").read_text())
        assert make(running.endpoint, "peer").number
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(PATIENCE) == 0


SLOW_TO_START = """
import time
from bypass.cli import main
from bypass.live.broker import service

class SlowToStart(service.Service):
    def __init__(self, config):
        print("starts", flush=True)
        time.sleep(600)

service.Service = SlowToStart
main()
"""


def test_a_broker_that_does_not_serve_yet_ends_well_too(tmp_path: Path) -> None:
    with broker(tmp_path, {"open": True}, source=SLOW_TO_START) as running:
        assert running.line == "starts\n"
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(PATIENCE) == 0


FAILING = """
import threading, warnings
from bypass.cli import main
from bypass.live.broker import service

class Failing(service.Service):
    def run(self):
        warnings.warn("a warning")
        thread = threading.Thread(target=lambda: 1 / 0)
        thread.start()
        thread.join()
        super().run()
        raise LookupError("in the end")

service.Service = Failing
main()
"""


def test_json_logs_are_json_whatever_happens(tmp_path: Path) -> None:
    log = {"format": "json", "level": "debug"}
    with broker(tmp_path, {"open": True, "http": "127.0.0.1:0", "log": log}, source=FAILING) as running:
        with peers() as make:
            make(running.endpoint, "peer")
        running.process.send_signal(signal.SIGHUP)
        until(lambda: "SIGHUP" in (tmp_path / "errors").read_text())
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(PATIENCE) == 1
        assert running.process.stdout is not None
        printed = [running.line, *running.process.stdout]
    lines = [json.loads(line) for line in (*printed, *(tmp_path / "errors").read_text().splitlines())]
    assert all({"at", "level", "part", "message"} <= line.keys() for line in lines)
    said = json.dumps(lines)
    for text in ("listens on", "serves http", "is OPEN", "a warning", "ZeroDivisionError", "in the end"):
        assert text in said


def test_in_json_a_broker_says_why_it_does_not_start_in_json(tmp_path: Path) -> None:
    with broker(tmp_path, {"keys": "nowhere", "log": {"format": "json"}}) as running:
        assert running.process.wait(PATIENCE) == 2
    (line,) = (tmp_path / "errors").read_text().splitlines()
    assert "nowhere: No such file or directory: expected a key file" in json.loads(line)["message"]
