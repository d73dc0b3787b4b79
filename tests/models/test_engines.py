import os
import py_compile
import signal
import socket
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark import cloudpickle

from bypass.errors import BypassError, UnusableMechanism
from bypass.models.compute.engines import (
    ComputeEngine,
    LocalEngine,
    SparkEngine,
    SparkUnavailable,
    WorkerLost,
    spark_engine,
)
from bypass.models.mobility import RandomWaypoint
from bypass.models.request import InvalidRequest, check_request
from bypass.models.traces import lay_out, write_trace
from bypass.scenarios.evaluation import evaluate
from bypass.scenarios.runs.sweep import sweep
from bypass.support import extensions
from bypass.support.counter_rng import uniform_pair
from bypass.support.extensions import load, module_name
from tests.cluster import spark_cluster

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("spark"),
    pytest.mark.timeout(600),  # four processes of Java start here
]

MESSAGE = "seed is -1: expected 0 to 2**64 - 1"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkEngine]:
    """Two cores that have nothing of this project but what is sent to them."""
    # Functions of this file are sent as code: workers have no tests.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    with spark_cluster(tmp_path_factory.mktemp("cluster")) as spark, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", str(spark.python))
        with spark_engine("tests", spark.master) as engine:
            yield engine


@pytest.fixture(params=["local", "cluster"])
def engine(request: pytest.FixtureRequest) -> ComputeEngine:
    found: ComputeEngine = LocalEngine() if request.param == "local" else request.getfixturevalue("cluster")
    return found


def square(piece: int) -> int:
    return piece * piece


def refuse_odd(piece: int) -> int:
    check_request(1, 1.0, -1 if piece % 2 else piece)
    return piece


def divide(piece: int) -> float:
    return 1 / piece


# -- every engine ---------------------------------------------------------------------------------------


def test_results_come_in_the_order_of_the_pieces(engine: ComputeEngine) -> None:
    told: list[tuple[int, int]] = []
    assert engine.run(square, range(20), lambda *numbers: told.append(numbers)) == [n * n for n in range(20)]
    assert told == sorted(told)
    assert told[-1] == (20, 20)
    assert {total for _, total in told} == {20}


def test_nothing_to_do(engine: ComputeEngine) -> None:
    assert engine.run(square, []) == []


def test_an_error_of_ours_arrives_as_it_was_raised(engine: ComputeEngine) -> None:
    with pytest.raises(InvalidRequest) as raised:
        engine.run(refuse_odd, [0, 1, 2])
    assert str(raised.value) == MESSAGE


def test_so_does_any_other(engine: ComputeEngine) -> None:
    with pytest.raises(ZeroDivisionError):
        engine.run(divide, [2, 1, 0])


# -- a cluster ------------------------------------------------------------------------------------------


def imported_from(piece: int) -> tuple[str, str]:
    import bypass
    import bypass.models

    return bypass.__file__, str(bypass.models.__file__)


HALVES = """
from bypass.support.counter_rng import uniform_pair
from bypass.support.kernel import kernel

@kernel
def halves(seed, client):
    a, b = uniform_pair(seed, 1, client, 7)
    return a / 2, b / 2
"""


def draw(client: int) -> tuple[tuple[float, float], tuple[float, float], Path]:
    from halves import halves  # type: ignore[import-not-found]

    from bypass.support.counter_rng import (
        uniform_pair,  # a compiled function of this file would be sent without its cache
    )

    cache = Path(halves._cache.cache_path).absolute()
    return uniform_pair(np.uint64(5), 1, client, 7), halves(np.uint64(5), client), cache


class Refusal(Exception):
    def __init__(self, what: str, why: str) -> None:
        super().__init__(f"{what}: {why}")  # cannot be unpickled: not what the constructor takes


def raise_refusal(piece: int) -> None:
    raise Refusal("this", "because")


def note_or_die(piece: tuple[int, Path]) -> int:
    number, folder = piece
    if number == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    (folder / str(number)).touch()
    return number


def test_workers_import_the_package_that_they_were_sent(cluster: SparkEngine) -> None:
    assert cluster.parallel == 2
    for package, models in cluster.run(imported_from, range(4)):
        assert package.endswith("/bypass.zip/bypass/__init__.py")
        assert models.endswith("/bypass.zip/bypass/models/__init__.py")
    assert not any(path.endswith("bypass.zip") for path in sys.path)


def test_kernels_are_compiled_there_and_give_the_same_bits(
    cluster: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "halves.zip", "w") as archive:
        archive.writestr("halves.py", HALVES)
    monkeypatch.setattr(sys, "path", list(sys.path))  # Spark adds to it
    cluster.session.sparkContext.addPyFile(str(tmp_path / "halves.zip"))
    for client, (drawn, halved, cache) in enumerate(cluster.run(draw, range(4))):
        expected = uniform_pair(np.uint64(5), 1, client, 7)
        assert drawn == expected
        assert halved == (expected[0] / 2, expected[1] / 2)
        assert [path for path in cache.iterdir() if path.name.startswith("halves.halves")]
        assert "worker" in cache.parts


STROLLERS = """
from bypass.mechanisms.filters import FilterScheme, Radial
from bypass.models.mobility import RandomWaypoint


class Strollers(RandomWaypoint):
    pass


class Shifted(FilterScheme):
    class Client(Radial.Client):
        pass

    class Broker(Radial.Broker):
        pass
"""


def named(piece: Any) -> tuple[str, str, str]:
    """Where the class of a piece is defined there, and that of a reference to the same file."""
    from bypass.mechanisms import Registry

    model, reference = piece
    kind = Registry([reference]).find("client", "filter", "shifted")
    return type(model).__module__, kind.__module__, sys.modules[kind.__module__].__file__ or ""


def test_files_of_others_are_sent_and_have_the_same_names_there(cluster: SparkEngine, tmp_path: Path) -> None:
    path = tmp_path / "strollers.py"
    path.write_text(STROLLERS)
    model = load(f"{path}:Strollers")()
    path.unlink()  # no worker finds it there
    for where in cluster.run(named, [(model, f"{path}:Shifted")] * 2):
        assert where[:2] == (module_name(path), module_name(path))
        assert not where[2].startswith(str(tmp_path / "strollers"))
    assert cluster.run(square, [2]) == [4]
    assert not any("tmp" in each and Path(each).suffix == ".py" for each in sys.path)


def test_experiments_with_files_of_others_run_there(cluster: SparkEngine, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(STROLLERS)
    (tmp_path / "mine.yaml").write_text(
        "about: x\nmechanisms: [own.py:Shifted]\nfilter: {scheme: shifted}\nclients: 5\nduration: 10\n"
        "mobility: {model: own.py:Strollers}\n"
    )
    for engine, name in ((cluster, "cluster"), (LocalEngine(), "local")):
        sweep(tmp_path / "mine.yaml", seeds=[1], out=tmp_path / name, engine=engine)
    there, here = (tmp_path / name / "means.json" for name in ("cluster", "local"))
    assert there.read_text() == here.read_text()


def test_modules_that_are_not_installed_are_sent_with_what_they_import(
    cluster: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "strolling_places").mkdir()
    (tmp_path / "strolling_places" / "__init__.py").write_text("")
    (tmp_path / "strolling_places" / "models.py").write_text(f"import strolling_pace\n{STROLLERS}")
    (tmp_path / "strolling_pace.py").write_text("PACE = 2\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    model = load("strolling_places.models:Strollers")()
    assert (
        cluster.run(named, [(model, "strolling_places.models:Shifted")])[0][:2]
        == ("strolling_places.models",) * 2
    )


def test_a_module_that_cannot_be_sent_is_refused_in_one_line(
    cluster: SparkEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "strolling_source.py").write_text("THING = 1\n")
    compiled = tmp_path / "strolling_compiled.pyc"
    py_compile.compile(str(tmp_path / "strolling_source.py"), str(compiled))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(extensions, "_named", set())
    assert load("strolling_compiled:THING") == 1
    with pytest.raises(UnusableMechanism) as refused:
        cluster.run(square, [1])
    expected = "expected Python source, or a package that is installed"
    assert str(refused.value) == f"module strolling_compiled: {compiled}: {expected}"


def test_an_error_that_cannot_be_sent_comes_as_text(cluster: SparkEngine) -> None:
    with pytest.raises(RuntimeError, match=r"Refusal: this: because"):
        cluster.run(raise_refusal, [1])


def test_a_piece_that_kills_its_worker_stops_no_other(cluster: SparkEngine, tmp_path: Path) -> None:
    with pytest.raises(WorkerLost, match=r"^piece 0: workers died of it 3 times: expected a result$"):
        cluster.run(note_or_die, [(number, tmp_path) for number in range(6)])
    assert {path.name for path in tmp_path.iterdir()} == {"1", "2", "3", "4", "5"}


def test_experiments_run_there(cluster: SparkEngine, tmp_path: Path) -> None:
    # Few kernels: they are compiled there.
    plan = {"plan": "p", "actions": [{"proxy": "filter", "to": "grid"}]}
    changes: dict[str, Any] = {"runs": {}, "main": "", "checks": [], "mobility": {"model": "rwp"}}
    changes |= {"timeline": [{"at": 5, "plan": plan}]}
    sizes: dict[str, Any] = {"duration": 10, "clients": 5, "set": changes}
    for engine, name in ((cluster, "cluster"), (LocalEngine(), "local")):
        sweep("total-transitions", seeds=[1], out=tmp_path / name, engine=engine, **sizes)
    there, here = (tmp_path / name / "means.json" for name in ("cluster", "local"))
    assert there.read_text() == here.read_text()


def test_traces_are_made_and_judged_there(cluster: SparkEngine, tmp_path: Path) -> None:
    # Kernels are compiled there: one scheme has few, and tasks that begin together would all compile them.
    found = []
    for engine in (cluster, LocalEngine()):
        out = tmp_path / engine.name
        sizes: dict[str, Any] = {"clients": 30, "duration": 20, "seed": 2}
        made = write_trace(RandomWaypoint(), "rwp", out / "made", engine=engine, blocks=1, **sizes)
        laid = lay_out(made.path, out / "laid", engine=engine, size=made.size)
        judged = evaluate(made, ["radial"], out=out / "judged", engine=engine, pieces=1)
        found.append((made.digest(), laid.digest(), judged.summaries["ar"]["schemes"]))
    assert found[0] == found[1]


def size_of(name: str) -> tuple[int, int]:
    from bypass.models.maps import load_map

    there = load_map(name)
    return len(there.nodes), len(there.edges)


def test_maps_are_there(cluster: SparkEngine) -> None:
    assert cluster.run(size_of, ["darmstadt"]) == [size_of("darmstadt")]


def test_jobs_of_other_kinds(cluster: SparkEngine) -> None:
    assert cluster.call(lambda: cluster.session.range(5).count()) == 5
    with pytest.raises(ZeroDivisionError):
        cluster.call(lambda: divide(0))


def test_one_session_at_a_time(cluster: SparkEngine) -> None:
    with pytest.raises(SparkUnavailable, match="runs in this process already"), spark_engine("another"):
        pass
    assert cluster.run(square, [3]) == [9]


# -- no Spark -------------------------------------------------------------------------------------------


def refusal(master: str = "local[1]") -> str:
    with pytest.raises(SparkUnavailable) as refused, spark_engine("tests", master):
        pass
    assert isinstance(refused.value, BypassError)
    return str(refused.value)


@pytest.fixture
def java_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for Java where there is none."""
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    (tmp_path / "bin").mkdir()
    return tmp_path


def test_no_java(java_home: Path) -> None:
    assert refusal() == (
        f"Spark needs Java and there is none in {java_home}: install Java 17"
        " (Debian: apt install openjdk-17-jre-headless) or set JAVA_HOME"
    )


def test_no_java_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert refusal().startswith("Spark needs Java and there is none: install Java 17 ")


def test_an_old_java(java_home: Path) -> None:
    java = java_home / "bin" / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    java.chmod(0o755)
    assert refusal().startswith(f'Spark needs Java 17 and {java} is openjdk version "11.0.2": install')


def test_nobody_at_the_address_of_the_master() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        master = f"spark://127.0.0.1:{taken.getsockname()[1]}"
        began = time.monotonic()
        assert refusal(master).startswith(f"Spark at {master} cannot be reached: 127.0.0.1:")
        assert time.monotonic() - began < 10


@pytest.mark.parametrize("master", ["nowhere", "spark:/host", "http://127.0.0.1:7077"])
def test_no_address(master: str) -> None:
    expected = "expected local[N], spark://HOST:PORT, yarn or k8s://URL"
    assert refusal(master) == f"master is {master!r}: {expected}"
