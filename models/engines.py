"""Where independent pieces of work run: in threads of this process, or on Spark.

A piece of work is a function of a module and one argument. Both are pickled on their way to a cluster, so
they carry numbers and paths, not data: workers read and write files themselves.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from bypass.errors import BypassError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
R = TypeVar("R")
Progress = Callable[[int, int], None]
"""Is told how many of how many pieces are done."""

JAVA = 17
LOOK_AGAIN_S = 0.2


class SparkUnavailable(BypassError):
    """Spark cannot be started here."""


def unwatched(_done: int, _total: int) -> None:
    """Progress that nobody looks at."""


class Engine(Protocol):
    """Runs pieces of work; their number and order never change a result."""

    name: str
    parallel: int

    def run(self, function: Callable[[T], R], pieces: Sequence[T], progress: Progress = unwatched) -> list[R]:
        """What `function` gives for each piece, in their order. Raises what a piece raises first."""


class LocalEngine:
    """Threads of this process, one for each core: kernels and file formats let each other run."""

    name = "local"

    def __init__(self) -> None:
        self.parallel = len(os.sched_getaffinity(0))

    def run(self, function: Callable[[T], R], pieces: Sequence[T], progress: Progress = unwatched) -> list[R]:
        with ThreadPoolExecutor(self.parallel) as pool:
            futures = [pool.submit(function, piece) for piece in pieces]
            try:
                for done, future in enumerate(as_completed(futures), start=1):
                    future.result()
                    progress(done, len(pieces))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            return [future.result() for future in futures]


class SparkEngine:
    """Tasks of a Spark session, one for each piece."""

    name = "spark"

    def __init__(self, session: SparkSession) -> None:
        self.session = session
        self.parallel = session.sparkContext.defaultParallelism

    def run(self, function: Callable[[T], R], pieces: Sequence[T], progress: Progress = unwatched) -> list[R]:
        if not pieces:
            return []
        context = self.session.sparkContext
        group = f"{function.__module__}.{function.__qualname__}"
        context.setJobGroup(group, group, interruptOnCancel=True)
        tasks = context.parallelize(pieces, len(pieces)).map(partial(_attempt, function))
        finished = threading.Event()
        watch = threading.Thread(
            target=self._watch, args=(group, len(pieces), progress, finished), daemon=True
        )
        watch.start()
        try:
            outcomes = tasks.collect()
        except BaseException:
            context.cancelJobGroup(group)
            raise
        finally:
            finished.set()
            watch.join()
        results: list[R] = []
        for outcome in outcomes:
            if isinstance(outcome, BypassError):
                raise outcome
            results.append(outcome)
        return results

    def _watch(self, group: str, total: int, progress: Progress, finished: threading.Event) -> None:
        tracker = self.session.sparkContext.statusTracker()
        while not finished.wait(LOOK_AGAIN_S):
            jobs = tracker.getJobIdsForGroup(group)
            job = tracker.getJobInfo(max(jobs)) if jobs else None
            stages = [tracker.getStageInfo(stage) for stage in job.stageIds] if job else []
            progress(sum(stage.numCompletedTasks for stage in stages if stage), total)
        progress(total, total)


@contextmanager
def spark_engine(name: str, master: str | None = None) -> Iterator[SparkEngine]:
    """Spark under an application name, on `master` or on this machine's cores, stopped at the end.

    A cluster's workers get this package with the application; what it depends on must be installed there.
    Raises SparkUnavailable, also if Java is missing or too old.
    """
    _check_java()
    from pyspark.sql import SparkSession

    local = master is None or master.startswith("local")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = (
        SparkSession.builder.appName(name)
        .master(master or "local[*]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.session.timeZone", "UTC")
    )
    if local:
        builder = builder.config("spark.driver.host", "127.0.0.1").config(
            "spark.driver.bindAddress", "127.0.0.1"
        )
    try:
        with _quiet():
            session = builder.getOrCreate()
    except Exception as error:
        reason = str(error).strip().splitlines()[0]
        raise SparkUnavailable(f"Spark at {master or 'this machine'} did not start: {reason}") from error
    try:
        if not local:
            with tempfile.TemporaryDirectory() as folder:
                session.sparkContext.addPyFile(str(_packed(Path(folder, "bypass.zip"))))
                yield SparkEngine(session)
        else:
            yield SparkEngine(session)
    finally:
        session.stop()


@contextmanager
def _quiet() -> Iterator[None]:
    """What is started meanwhile writes its warnings to nowhere; errors reach us as exceptions."""
    kept = os.dup(2)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _packed(archive: Path) -> Path:
    """This package as an archive that Python imports from; links inside it become folders."""
    import bypass

    root = Path(bypass.__file__).parent
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        for folder, _, names in os.walk(root, followlinks=True):
            for name in sorted(names):
                path = Path(folder, name)
                if path.suffix in (".py", ".yaml", ".json", ".typed"):
                    target.write(path, Path("bypass", path.relative_to(root)))
    return archive


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    how = f"install Java {JAVA} (Debian: apt install openjdk-{JAVA}-jre-headless) or set JAVA_HOME"
    if java is None or not Path(java).exists():
        raise SparkUnavailable(f"Spark needs Java and there is none: {how}")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr  # noqa: S603
    found = re.search(r'version "(\d+)', said)
    if found is None or int(found[1]) < JAVA:
        raise SparkUnavailable(f"Spark needs Java {JAVA} and {java} is {said.splitlines()[:1]}: {how}")


def _attempt(function: Callable[[T], R], piece: T) -> R | BypassError:
    """An error of ours comes back as it is; through Spark's own report of it only its text would."""
    try:
        return function(piece)
    except BypassError as error:
        return error
