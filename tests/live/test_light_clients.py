"""What a client loads, and what it takes: it needs no compiler and no arrays."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bypass.errors import BROKER, GEO, LAB
from bypass.live.broker.warmup import warm_up
from tests.live.brokers import config, running

pytestmark = pytest.mark.slow

HEXAGONS = f"{Path(__file__).parents[2] / 'examples' / 'hexagons.py'}:Hexagons"
HEAVY = {"numba", "numpy", "scipy", "pyproj", "prometheus_client", "pyarrow", "matplotlib", "pyspark"}

WITHOUT = """
from importlib.machinery import PathFinder
found = PathFinder.find_spec
def find_spec(name, path=None, target=None):
    return None if name.partition(".")[0] in {modules!r} else found(name, path, target)
PathFinder.find_spec = find_spec
"""
CONNECT = """
import asyncio, sys
from bypass import Event, attr, connect
async def main():
    options = dict(open=True, name=sys.argv[2], location=lambda: (1.0, 2.0), interval=0.05)
    async with connect(sys.argv[1], mechanisms=sys.argv[3:], **options) as me:
        near = await me.subscribe(attr("kind") == "news", radius=100)
        await me.publish_local(Event(kind="news"))
        print(me.mechanisms["filter"])
asyncio.run(main())
"""
TELL = """
import json, re, sys, time
peak = re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]
modules = sorted({name.partition(".")[0] for name in sys.modules})
ours = [name for name in sys.modules if name.startswith("bypass.")]
figures = {"seconds": time.process_time(), "megabytes": int(peak) / 1024, "modules": modules, "ours": ours}
print(json.dumps(figures))
"""
BARE = "import zmq, pydantic, google.protobuf"

TO_PLANE = "P.around(G(1, 2)).to_planar(G(1, 2))"

WITHOUT_OBJECTS = ("bypass.core.objects.", "bypass.mechanisms.routing.", "bypass.mechanisms.storage.")
WITHOUT_RULES = "bypass.transitions.rules"

MOST_MEGABYTES = 60
MOST_TIMES = 6.5
"""So many times what importing the libraries takes that a client is made of: 0.3 s where that is 0.046 s."""


def tell(code: str, *args: str) -> dict[str, Any]:
    """What a fresh interpreter has used and loaded after `code`, whose last line before is under `said`."""
    done = subprocess.run([sys.executable, "-c", code + TELL, *args], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *said, told = done.stdout.splitlines()
    return {**json.loads(told), "said": said}


def test_a_client_loads_what_it_needs_and_takes_little(tmp_path: Path) -> None:
    region = {"area": [0, 0, 1000, 1000], "origin": [49.8, 8.6]}
    with running(config(tmp_path, region=region)) as service:
        endpoint = service.server.endpoints[0]
        runs, bare = [], []
        for n in range(5):  # in turn, since others may use the machine
            runs.append(tell(CONNECT, endpoint, f"client-{n}"))
            bare.append(tell(BARE)["seconds"])
    assert set(runs[0]["modules"]) & HEAVY == set()
    assert "bypass.mechanisms.transports" in runs[0]["ours"]
    assert [name for name in runs[0]["ours"] if name.startswith((*WITHOUT_OBJECTS, WITHOUT_RULES))] == []
    assert min(run["megabytes"] for run in runs) <= MOST_MEGABYTES
    assert min(run["seconds"] for run in runs) <= MOST_TIMES * min(bare)


def test_a_scheme_of_ones_own_makes_it_no_heavier(tmp_path: Path) -> None:
    with running(config(tmp_path, mechanisms=[HEXAGONS], scheme="hexagons")) as service:
        told = tell(CONNECT, service.server.endpoints[0], "me", HEXAGONS)
    assert told["said"] == ["hexagons"]
    assert set(told["modules"]) & HEAVY == set()


@pytest.mark.parametrize("scheme", ["radial", "ste", "grid", "egrid", "attract", "multi"])
def test_a_client_runs_every_scheme_without_what_brokers_and_experiments_need(
    tmp_path: Path, scheme: str
) -> None:
    code = WITHOUT.format(modules=set(BROKER | GEO | LAB)) + CONNECT
    place = {"name": "park", "x": 10, "y": 10, "radius": 50}
    region = {"area": [0, 0, 1000, 1000], "origin": [49.8, 8.6], "places": [place]}
    with running(config(tmp_path, region=region, scheme=scheme)) as service:
        assert tell(code, service.server.endpoints[0], "me")["said"] == [scheme]


@pytest.mark.parametrize(
    ("code", "extra"),
    [
        ("import bypass.core; bypass.core.Broker", "broker"),
        ("import bypass; bypass.SimulatedSystem", "broker"),
        ("import bypass.mechanisms.filters as f; f.KeyIndex", "broker"),
        ("import bypass; bypass.gpx('track.gpx')", "broker"),
        ("from bypass.cli import main; main(['broker'])", "broker"),
        ("from bypass.cli import main; main(['run', 'total-transitions'])", "lab"),
        (f"from bypass.places import GeoLocation as G, Projection as P; {TO_PLANE}", "geo"),
    ],
)
def test_who_lacks_something_is_told_which_extra_brings_it(code: str, extra: str) -> None:
    probe = WITHOUT.format(modules=set(BROKER | GEO | LAB)) + code
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True)
    assert done.returncode != 0
    assert f"needs the extra {extra}: pip install 'bypass-pubsub[{extra}]'" in done.stderr.splitlines()[-1]


def test_a_broker_whose_kernels_are_compiled_loads_nothing_of_scipy_but_its_name() -> None:
    warm_up()  # compiles what is not
    program = "import sys; from bypass.live.broker.warmup import warm_up; warm_up(); print({})"
    loaded = "sorted({'numba.core.dispatcher', 'numba.np.linalg', 'scipy.linalg'} & {*sys.modules})"
    assert tell(program.format(loaded))["said"] == ["['numba.core.dispatcher']"]


def test_a_broker_needs_nothing_of_what_experiments_need() -> None:
    code = WITHOUT.format(modules=set(GEO | LAB)) + "import bypass.live.broker.service, bypass.sim.system"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
