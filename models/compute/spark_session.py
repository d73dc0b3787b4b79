"""Spark sessions: started on this machine or at a cluster, with this package for the workers, and stopped."""

from __future__ import annotations

import io
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import weakref
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bypass.errors import BypassError, MissingExtra, UnusableMechanism
from bypass.support.extensions import executed_files, local_modules

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

ATTEMPTS = 4
JAVA = 17
REACH_S = 5.0


class SparkUnavailable(BypassError):
    """Spark cannot be started here."""


@contextmanager
def spark_session(name: str, master: str | None = None) -> Iterator[SparkSession]:
    """A session under an application name, on `master` or on this machine's cores, stopped at the end.

    A cluster's workers get this package with the application; what it depends on must be installed there.
    Files of others that were brought by reference are sent by the engine that uses the session. Raises
    MissingExtra, and SparkUnavailable, also if Java is missing or too old or nobody is at `master`.
    """
    if find_spec("pyspark") is None:
        raise MissingExtra("pyspark")
    _check_java()
    master = master or "local[*]"
    session = _started(name, master)
    context = session.sparkContext
    try:
        with tempfile.TemporaryDirectory() as folder:
            if not master.startswith("local"):
                _add(context, _packed(Path(folder, "bypass.zip")))
                # Compiled kernels would pile up in the home directory, a folder for each application.
                context.environment["XDG_CACHE_HOME"] = ".cache"
            yield session
    finally:
        session.stop()


def _add(context: SparkContext, file: Path) -> None:
    """Let workers import from a file. This process goes on importing from its own files."""
    path = list(sys.path)
    context.addPyFile(str(file))
    sys.path[:] = path


class Shipping:
    """Sends files of others to the workers of a session, which import them under the names they have here."""

    def __init__(self, context: SparkContext) -> None:
        self._context = context
        self._sent: dict[str, bytes] = {}
        self._folder = Path(tempfile.mkdtemp())  # workers may ask for a file at any time
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    def send(self) -> None:
        """Send the files that were executed here since the last time, as they were, and local modules.

        Raises UnusableMechanism for a local module that is no Python source.
        """
        for name, source in executed_files().items():
            self._send(f"{name}.py", source)
        for name, place in local_modules().items():
            if {f"{name}.zip", f"{name}.py"} & self._sent.keys():
                continue  # a module is imported once
            if place.is_dir():
                self._send(f"{name}.zip", _zipped(name, place))
            elif place.suffix == ".py":
                self._send(f"{name}.py", place.read_bytes())
            else:
                raise UnusableMechanism(
                    f"module {name}: {place}: expected Python source, or a package that is installed"
                )

    def _send(self, name: str, content: bytes) -> None:
        if self._sent.get(name) != content:
            file = self._folder / name
            file.write_bytes(content)
            _add(self._context, file)
            self._sent[name] = content


def _started(name: str, master: str) -> SparkSession:
    """Start a session in another thread: Spark leaves its Java process behind if that is interrupted."""
    with ThreadPoolExecutor(1) as pool:
        starting = pool.submit(_session, name, master)
        try:
            return starting.result()
        except BaseException:
            if starting.exception() is None:
                starting.result().stop()
            raise


def _session(name: str, master: str) -> SparkSession:
    from pyspark.sql import SparkSession

    host = _own_address(master)
    if _running() is not None:
        raise SparkUnavailable(
            "Spark runs in this process already: expected none; SparkEngine(session) uses what there is"
        )
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name).master(_patient(master))
    settings: dict[str, bool | float | int | str | None] = {
        "spark.ui.enabled": False,
        "spark.ui.showConsoleProgress": False,
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.task.maxFailures": ATTEMPTS,
    }
    if host is not None:
        settings |= {"spark.driver.host": host, "spark.driver.bindAddress": host}
    try:
        with _quiet():
            return builder.config(map=settings).getOrCreate()
    except Exception as error:
        if (half := _running()) is not None:
            half.stop()
        raise SparkUnavailable(f"Spark at {master} did not start: {_reason(error)}") from error


def _running() -> SparkContext | None:
    from pyspark import SparkContext

    return SparkContext._active_spark_context


def _reason(error: Exception) -> str:
    """The line of an error that says most: the first one, or the one that Java threw."""
    thrown = re.search(r"^: (?:[\w.$]+: )?(.+)", str(error), re.MULTILINE)
    if thrown is None:
        return str(error).strip().partition("\n")[0]
    return "no master answered" if "stopped SparkContext" in thrown[1] else thrown[1]


def _patient(master: str) -> str:
    """Let Spark on this machine, too, retry a task whose worker died."""
    return re.sub(r"^local(?:\[([^],]+)])?$", lambda cores: f"local[{cores[1] or 1},{ATTEMPTS}]", master)


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide what processes started meanwhile write to stderr. Errors reach us as exceptions."""
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


def _zipped(name: str, package: Path) -> bytes:
    """The source of a package as an archive that Python imports from; the same for the same source."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as target:
        for path in sorted(package.rglob("*.py")):
            target.writestr(zipfile.ZipInfo(str(Path(name, path.relative_to(package)))), path.read_bytes())
    return content.getvalue()


def _own_address(master: str) -> str | None:
    """The address at which `master` and its workers reach this machine; None if others than us know it.

    Raises SparkUnavailable if it is no address or nobody listens there: Spark itself would try for a minute.
    """
    if master.startswith("local"):
        return "127.0.0.1"
    if master.startswith(("yarn", "k8s://")):
        return None
    if not master.startswith("spark://"):
        raise SparkUnavailable(
            f"master is {master!r}: expected local[N], spark://HOST:PORT, yarn or k8s://URL"
        )
    reasons = []
    for place in master.removeprefix("spark://").split(","):
        try:
            at = urlsplit(f"spark://{place}")
            with socket.create_connection((at.hostname or "", at.port or 7077), REACH_S) as connection:
                return str(connection.getsockname()[0])
        except (OSError, ValueError) as error:
            reasons.append(f"{place}: {getattr(error, 'strerror', None) or error}")
    raise SparkUnavailable(f"Spark at {master} cannot be reached: {', '.join(reasons)}")


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home, "bin")) if home else None)
    how = f"install Java {JAVA} (Debian: apt install openjdk-{JAVA}-jre-headless) or set JAVA_HOME"
    if java is None:
        raise SparkUnavailable(f"Spark needs Java and there is none{f' in {home}' if home else ''}: {how}")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr  # noqa: S603
    found = re.search(r'version "(\d+)', said)
    if found is None or int(found[1]) < JAVA:
        what = next(iter(said.splitlines()), "silent")
        raise SparkUnavailable(f"Spark needs Java {JAVA} and {java} is {what}: {how}")
