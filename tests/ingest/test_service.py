"""The service: one at a time has a folder, and each of its processes ends with it."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bypass.ingest.devices.device import Device
from bypass.ingest.devices.policy import DevicePolicy
from bypass.ingest.folder_lock import only_one
from tests.command import bypass, refused
from tests.ingest.pipeline import Pipeline, message
from tests.product import ROOT

PATIENCE_S = 200
BYPASS = [sys.executable, "-c", "from bypass.cli import main; main()"]


def wait_for(what: Callable[[], object], log: Path) -> None:
    """Wait until `what()` is true; says what the service printed if it never is."""
    looked, end = threading.Event(), time.monotonic() + PATIENCE_S
    while not what():
        assert time.monotonic() < end, log.read_text()
        looked.wait(0.1)


PROCESSES = {
    "bypass.ingest.service.connector_process": [],
    "bypass.ingest.service.stream_process": [],
    "bypass.ingest.exposure.serving_process": ["--serve=127.0.0.1:0"],
    "bypass.ingest.exposure.archives.process": ["cold", "jsonl:cold"],
}


def test_all_processes_are_known() -> None:
    found = {path for path in (ROOT / "bypass" / "ingest").rglob("*.py") if "__main__" in path.read_text()}
    assert found == {(ROOT / name.replace(".", "/")).with_suffix(".py") for name in PROCESSES}


@pytest.mark.parametrize("module", PROCESSES)
def test_a_process_ends_with_its_supervisor(module: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", module, str(tmp_path), *PROCESSES[module], "--attached"]
    ended = subprocess.run(command, input=b"", cwd=tmp_path, capture_output=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()


def test_a_stream_that_runs_is_not_started_twice(tmp_path: Path) -> None:
    with only_one(tmp_path / "stream.lock", "a test"):
        told = subprocess.run(
            [sys.executable, "-m", "bypass.ingest.service.stream_process", str(tmp_path)],
            capture_output=True,
            check=False,
        )
    assert told.returncode != 0
    assert f"{tmp_path}: its stream runs already: expected one at a time" in told.stderr.decode()


def test_the_status_shows_which_mechanisms_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    thin = Device(id="device0", policy=DevicePolicy(to="every-nth", set={"n": 3}))
    pipeline = Pipeline(tmp_path, thin, *(Device(id=f"device{n}") for n in (1, 2)))
    pipeline.append(("device0", message("device0", 1_763_459_000_000, a=1)))
    pipeline.run()
    assert bypass("ingest", "status", "--folder", tmp_path, "--json") == 0
    status = json.loads(capsys.readouterr().out)
    assert status["policies"] == {"keep-everything": 2, "every-nth n=3": 1}
    assert bypass("ingest", "status", "--folder", tmp_path) == 0
    assert "every-nth n=3" in capsys.readouterr().out


def test_a_device_whose_policy_is_not_there_is_not_registered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    devices = tmp_path / "devices.yaml"
    devices.write_text("[{id: a}, {id: b, policy: {to: every-nth, set: {n: 0}}}]")
    _, error = refused(capsys, "ingest", "register", devices, "--folder", tmp_path / "ingest")
    assert error.startswith("device 'b': policy parameter 'n' of 'every-nth' cannot be 0")
    devices.write_text("[{id: a}, {id: b, policy: nonsense}]")
    _, error = refused(capsys, "ingest", "register", devices, "--folder", tmp_path / "ingest")
    assert error.startswith("device 'b': policy 'precompute' has no mechanism 'nonsense'; it has: batch,")
    assert not (tmp_path / "ingest" / "registry.db").exists()


@pytest.mark.slow
def test_connectors_of_another_name_run_beside_the_stream(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, log = tmp_path / "ingest", tmp_path / "service.log"
    beside = ["ingest", "start", "--folder", str(folder), "--no-stream", "--name", "other", "--tcp"]
    with only_one(folder / "start.lock", "a stream"), log.open("wb") as output:
        service = subprocess.Popen([*BYPASS, *beside, "127.0.0.1:0"], stdout=output, stderr=subprocess.STDOUT)
        try:
            wait_for(lambda: "1 connectors run" in log.read_text() or service.poll() is not None, log)
            assert service.poll() is None, log.read_text()
            _, error = refused(capsys, *beside, "127.0.0.1:0")
            wanted = "another `bypass ingest start --name other` runs here: expected one at a time"
            assert error == f"{folder}: {wanted}"
        finally:
            service.terminate()
            service.wait()
