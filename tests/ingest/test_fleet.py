"""The example of a fleet: its two commands, as the documentation has them."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

FLEET = Path(__file__).parents[2] / "examples" / "fleet"
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("spark")]


def test_vehicles_drive_and_all_that_they_measure_can_be_queried(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    folder = Path(shutil.copytree(FLEET, tmp_path / "example"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "ADDRESS": address}

    def run(*command: str) -> str:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=200
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    with (folder / "start.log").open("wb") as log:
        start = subprocess.Popen(["bash", "start.sh"], cwd=folder, env=environment, stdout=log, stderr=log)
        try:
            drive = ("python", "vehicles.py", "drive", "--address", address, "--seconds", "60")
            assert run(*drive) == "82 messages acknowledged, 82 stored: 3602 measurements\n"
        finally:
            start.send_signal(signal.SIGTERM)
            assert start.wait(60) == 0
    query = ("bypass", "ingest", "query", "--folder", "fleet", "--tenant", "fleet")
    shown = [
        json.loads(line)
        for line in run(*query, "--devices", "depot = north", "--where", "metric = speed").splitlines()
    ]
    assert len(shown) == 10 * 60
    assert len(run(*query, "--where", "metric = accident").splitlines()) == 2
    assert {row["device"] for row in shown} == {f"truck-{number}" for number in range(1, 20, 2)}
