"""Every benchmark runs, at a small size, and writes what it measured. How fast it is, is not looked at."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "benchmarks"
SMALL = {
    "simulator": ["--clients", "12", "--duration", "4", "--repetitions", "1"],
    "proxy_call": ["--calls", "10", "--repetitions", "3"],
    "matching": ["--subscriptions", "200", "--events", "100", "--singles", "20", "--repetitions", "1"],
    "transition": ["--subscriptions", "300", "--repetitions", "1"],
    "traces": ["--clients", "30", "--duration", "45", "--repetitions", "1"],
    "evaluation": ["--clients", "300", "--duration", "6", "--repetitions", "1"],
    "agreement": ["--clients", "20", "--duration", "6"],
    "dissemination": [
        *("--duration", "3", "--scale-duration", "3", "--most", "100", "--repetitions", "1"),
    ],
    "fuzz": ["--frames", "10000"],
    "hostile": ["--frames", "6000"],
    "crashes": ["--kills", "1", "--publishers", "1", "--subscribers", "1"],
    "fanout": [
        *("--subscribers", "30", "--recipients", "4", "--events", "50", "--window", "10"),
        *("--seconds", "0.1", "--repetitions", "1"),
        *("--systems", "ROUTER", "open, normal", "QoS", "nats", "redis"),
    ],
    "idle_clients": ["--clients", "20", "--repetitions", "1"],
    "transitions_under_load": [
        *("--clients", "20", "--rate", "80", "--rounds", "1", "--seconds", "1.5"),
    ],
    "connectivity": [
        *("--events", "20", "--pairs", "2", "--simulated", "200", "--on", "0.1", "--off", "0.1"),
    ],
    "radio": ["--duration", "1", "--seeds", "1"],
    "timeliness": ["--events", "2000", "--sets", "0", "--repetitions", "1"],
    "fidelity": ["--scenarios", "total-transitions", "--duration", "15", "--clients", "12"],
}
HELPERS = {
    *("common", "ns3_peer", "servers", "bare_router"),
    *("fanout_places", "fanout_clients", "fanout_streams", "load_clients", "connectivity_pairs"),
}


def command(name: str, *arguments: str) -> list[str]:
    return [sys.executable, str(FOLDER / f"{name}.py"), *arguments]


def test_each_is_tested() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == {*SMALL, *HELPERS}


@pytest.mark.parametrize("name", SMALL)
def test_it_runs_and_writes_json(name: str, tmp_path: Path) -> None:
    small = command(name, *SMALL[name], "--out", str(tmp_path))
    printed = subprocess.run(small, check=True, capture_output=True, text=True).stdout
    assert "---" in printed  # a table's rule
    measured = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
    assert measured["benchmark"] == name
    assert {"cpu", "python", "numpy", "numba"} <= measured["machine"].keys()
    assert len(measured) > 2


@pytest.mark.parametrize("name", SMALL)
def test_it_explains_itself(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process, which has imported most of what they import."""
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    assert ended.value.code == 0
    assert "--out DIR" in capsys.readouterr().out
