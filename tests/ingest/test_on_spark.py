"""The pipeline as users run it: `bypass ingest start`, with Spark, while its processes are killed."""

import http.client
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from deltalake import DeltaTable

from bypass.ingest.devices.device import Device
from bypass.ingest.devices.key_store import KeyStore
from bypass.ingest.devices.registry import DeviceRegistry
from bypass.ingest.exposure.tokens import issue_token
from bypass.ingest.folder import IngestFolder
from bypass.ingest.service.status import IngestStatus, read_status
from tests.command import refused
from tests.ingest.pipeline import message

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]

T = 1_763_459_000_000
PATIENCE_S = 200
BYPASS = [sys.executable, "-c", "from bypass.cli import main; main()"]


def wait_for(what: Callable[[], object], log: Path) -> None:
    """Wait until `what()` is true; says what the service printed if it never is."""
    looked, end = threading.Event(), time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < end, log.read_text()
        looked.wait(0.1)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def send(port: int, messages: list[tuple[str, bytes]]) -> int:
    """Send frames and give how many were acknowledged; the rest may or may not be in the log."""
    acknowledged = 0
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            for device, payload in messages:
                name = device.encode()
                body = struct.pack(">H", len(name)) + name + payload
                connection.sendall(struct.pack(">I", len(body)) + body)
                if connection.recv(1) != b"\0":
                    break
                acknowledged += 1
    except OSError:
        pass
    return acknowledged


def descendants(process: int) -> dict[int, str]:
    """The processes that one has started, and those that they have: their commands by id."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            try:
                parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            parents.setdefault(parent, []).append(int(path.name))
    found: dict[int, str] = {}
    left = [process]
    while left:
        for child in parents.get(left.pop(), ()):
            left.append(child)
            found[child] = command(child)
    return {child: line for child, line in found.items() if line}  # the others have ended already


def command(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def archived(folder: Path) -> list[int]:
    """The times of what an archive has."""
    files = folder.rglob("*.jsonl")
    return [json.loads(line)["time"] - T for file in files for line in file.read_text().splitlines()]


def answers(port: int) -> bool:
    """Whether the HTTP server is there."""
    try:
        with closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
    except OSError:
        return False


def test_every_acknowledged_message_is_stored_once_though_processes_are_killed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The service is killed at the end, and leaves no process behind."""
    folder = IngestFolder(tmp_path / "ingest")
    with DeviceRegistry(folder.registry) as registry:
        registry.register(*(Device(id=f"device{n}") for n in range(8)))
    port, serve, log = free_port(), free_port(), tmp_path / "service.log"
    token = issue_token(KeyStore(folder.keys), "default", ["query"], 3600)
    with log.open("wb") as output:
        service = subprocess.Popen(
            [
                *(*BYPASS, "ingest", "start", "--folder", str(folder.path), "--tcp", f"127.0.0.1:{port}"),
                *("--serve", f"127.0.0.1:{serve}", "--archive", f"cold=jsonl:{tmp_path / 'cold'}"),
            ],
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    messages = [(f"device{n % 8}", message(f"device{n % 8}", T + n, a=n)) for n in range(400)]
    sent = 0

    def status() -> IngestStatus:
        return read_status(folder)

    def kill(name: str) -> None:
        """Kill the process of this name that runs now; it is started again."""
        (*_, latest) = re.findall(rf"{name} runs as process (\d+)", log.read_text())
        os.kill(int(latest), signal.SIGKILL)

    try:
        wait_for(lambda: status().stored > 0 or send(port, messages[:1]), log)
        sent = 1
        wait_for(lambda: status().stored > 0, log)  # Spark runs
        for victim in ("connectors", "stream", "connectors"):
            target = sent + 100

            def go_on(target: int = target) -> bool:
                nonlocal sent
                sent += send(port, messages[sent:target])
                return sent >= target

            go_on()
            kill(victim)
            wait_for(go_on, log)
        kill("serving")
        kill("archive cold")
        wait_for(lambda: status().lag_messages == 0 and status().stored >= sent, log)
        wait_for(lambda: len(archived(tmp_path / "cold")) == status().measurements, log)
        wait_for(lambda: answers(serve), log)
        with closing(http.client.HTTPConnection("127.0.0.1", serve)) as connection:
            connection.request("GET", "/range?limit=10000", headers={"Authorization": f"Bearer {token}"})
            served = sorted(row["time"] - T for row in json.load(connection.getresponse())["rows"])
        started = descendants(service.pid)
        for kind in ("connector_process", "stream_process", "java", "pyspark"):
            assert any(kind in line for line in started.values()), (kind, started)
        _, error = refused(capsys, "ingest", "start", "--folder", folder.path)
        assert error == f"{folder.path}: another `bypass ingest start` runs here: expected one at a time"
    finally:
        service.kill()
        service.wait()
    wait_for(lambda: not any(command(each) == line for each, line in started.items()), log)
    end = status()
    rows = DeltaTable(str(folder.measurements)).to_pyarrow_table().to_pylist()
    times = sorted(row["time"] - T for row in rows)
    assert times == sorted({*times}) == served == sorted(archived(tmp_path / "cold"))
    assert {*range(sent)} <= {*times}
    total = end.stored + end.filtered + end.duplicates + sum(end.dead_letters.values()) + end.lag_messages
    assert end.received == total + sum(end.refused.values())
    told = subprocess.run(
        [*BYPASS, "ingest", "status", "--folder", str(folder.path), "--json"], capture_output=True, check=True
    )
    assert json.loads(told.stdout)["stored"] == end.stored
    asked = [*BYPASS, "ingest", "query", "--folder", str(folder.path), "--device", "device3", "--latest"]
    (line,) = subprocess.run(asked, capture_output=True, check=True).stdout.splitlines()
    assert json.loads(line)["value"] == max(t for t in times if t % 8 == 3)
