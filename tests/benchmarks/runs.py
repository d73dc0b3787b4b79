"""The benchmarks at a small size, by family: each family has a test file, so that workers share them.

Most take seconds of processor time, and only `make bench-smoke` runs them; `test_help.py` imports each
all the same.
"""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"

SIMULATOR = {
    "simulator": ["--clients", "12", "--duration", "4", "--repetitions", "1"],
    "proxy_call": ["--calls", "10", "--repetitions", "3"],
    "matching": ["--subscriptions", "200", "--events", "100", "--singles", "20", "--repetitions", "1"],
    "attributes": [
        *("--subscriptions", "200", "--keys", "10", "--events", "20", "--together", "20", "--live", "10"),
        *("--repetitions", "1"),
    ],
    "areas": [
        *("--polygons", "300", "--clients", "100", "--events", "200", "--singles", "20", "--fences", "500"),
        *("--repetitions", "1", "--no-peers"),
    ],
    "transition": ["--subscriptions", "300", "--repetitions", "1"],
    "caches": ["--requests", "500", "--capacity", "20", "--seeds", "2", "--repetitions", "1"],
    "timeliness": ["--events", "2000", "--sets", "0", "--repetitions", "1"],
}
NEARBY = {
    "dissemination": [
        *("--duration", "3", "--scale-duration", "3", "--most", "100", "--repetitions", "1"),
    ],
    "radio": ["--duration", "1", "--seeds", "1"],
    "borders": ["--clients", "100", "--fences", "60", "--seconds", "4"],
    "walls": ["--pairs", "200", "--stations", "20", "--repetitions", "1"],
    "infrastructure": ["--scenarios", "hotcell", "--duration", "40", "--clients", "4", "--seeds", "1"],
    "storage_speed": ["--seconds", "2", "--designs", "cells", "--sizes", "16", "--repetitions", "1"],
}
EVALUATION = {
    "traces": ["--clients", "30", "--duration", "45", "--repetitions", "1"],
    "ingest_queries": ["--measurements", "5000", "--repetitions", "1"],
    "evaluation": ["--clients", "300", "--duration", "6", "--repetitions", "1"],
    "ingest": [
        *("--messages", "300", "--batch", "100", "--warm", "100", "--devices", "20", "--rate", "50"),
        *("--warm-s", "1", "--seconds", "1", "--repetitions", "1", "--no-kinds"),
        *("--parts", "log", "kinds", "latency", "postgres"),
    ],
}
LIVE = {
    "fanout": [
        *("--subscribers", "30", "--recipients", "4", "--events", "50", "--window", "10"),
        *("--seconds", "0.1", "--systems"),
        *("ROUTER", "open, normal", "QoS", "nats", "redis"),
    ],
    "idle_clients": ["--clients", "20", "--repetitions", "1"],
    "transitions_under_load": [
        *("--clients", "20", "--rate", "80", "--rounds", "1", "--seconds", "1.5"),
    ],
    "connectivity": [
        *("--events", "20", "--pairs", "2", "--simulated", "200", "--on", "0.1", "--off", "0.1"),
    ],
    "ingest_jetstream": ["--messages", "400"],
    "objects": [
        *("--objects", "500", "--inserts", "400", "--queries", "5", "--notified", "5", "--sync", "normal"),
    ],
}
INGEST = {
    "ingest_hashes": ["--devices", "4096"],
    "ingest_rows": ["--devices", "3", "--measurements", "300", "--batches", "2"],
}
REGRESSION = {
    "regression": ["HEAD", "HEAD", "--scenarios", str(FOLDER.parent / "examples" / "market-day.yaml")],
}
# Benchmarks that do at length what tests check in short, with the same parts.
REPEATED = {
    "fidelity": ["--scenarios", "total-transitions", "--duration", "15", "--clients", "12"],
    "thyme": [
        *("--scenarios", "static", "--designs", "cells", "--values", "16", "--duration", "36"),
        *("--seeds", "2", "--processes", "1"),
    ],
    "agreement": ["--clients", "20", "--duration", "6"],
    "fuzz": ["--frames", "10000"],
    "storage_costs": ["--sizes", "16", "--mixes", "quiet", "--duration", "30"],
    "storage_switches": ["--sizes", "16"],
    "hostile": ["--frames", "6000"],
    "crashes": ["--kills", "1", "--publishers", "1", "--subscribers", "1"],
    "ingest_crashes": [
        *("--messages", "400", "--events", "100", "--devices", "20", "--connections", "5", "--sessions", "2"),
        *("--rate", "100", "--kills", "1"),
    ],
}
SMALL = {**SIMULATOR, **NEARBY, **EVALUATION, **LIVE, **INGEST, **REGRESSION, **REPEATED}


def runs_and_writes_json(name: str, out: Path) -> None:
    """Raises unless the benchmark runs and writes what it measured. How fast it is, is not looked at."""
    small = [sys.executable, str(FOLDER / f"{name}.py"), *SMALL[name], "--out", str(out)]
    check(name, subprocess.run(small, check=True, capture_output=True, text=True).stdout, out)


def run_here(name: str, options: list[str], patch: pytest.MonkeyPatch) -> None:
    """Run the benchmark as a program in this process, which has imported most of what it imports."""
    patch.syspath_prepend(FOLDER)
    patch.setattr(sys, "argv", [name, *options])
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")


def check(name: str, printed: str, out: Path) -> None:
    """Raises unless the benchmark has printed a table and written what it measured."""
    assert "---" in printed  # a table's rule
    measured = json.loads((out / f"{name}.json").read_text(encoding="utf-8"))
    assert measured["benchmark"] == name
    assert {"cpu", "python", "numpy", "numba"} <= measured["machine"].keys()
    assert len(measured) > 2
