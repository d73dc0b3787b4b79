"""A Spark cluster on this machine: a master and a worker with two cores, in processes of their own.

Its Python has everything installed that ours has but this project, which it can import from an archive alone:
what works there has been shipped. A second worker would compile every kernel once more.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark

CORES = 2
START_S = 60.0
END_S = 10.0

LOOPBACK = "127.0.0.1"
QUICK_JAVA = (  # to start: what tests start has little to do
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
SPARK = Path(pyspark.__file__).parent

# Comes before whatever would find the project: an editable install, an installed copy, the working directory.
SITECUSTOMIZE = """
import sys
from importlib.machinery import PathFinder

class FromArchives:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "bypass":
            return None
        spec = PathFinder.find_spec(name, [entry for entry in sys.path if entry.endswith(".zip")])
        if spec is None:
            raise ModuleNotFoundError("bypass is in no archive", name=name)
        return spec

sys.meta_path.insert(0, FromArchives)
"""


@dataclass(frozen=True)
class Cluster:
    """`master` is its address, `python` the interpreter for its tasks (PYSPARK_PYTHON)."""

    master: str
    python: Path


@contextmanager
def spark_cluster(folder: Path) -> Iterator[Cluster]:
    """A cluster that keeps its files in `folder`; its processes have ended when the block is left."""
    with ExitStack() as processes:
        master = processes.enter_context(
            _spark_process(folder, "Master", "--host", LOOPBACK, "--port", "0", "--webui-port", "0")
        )
        address = master.wait_for(r"Starting Spark master at (spark://\S+)", 1)[0]
        options = ("--cores", str(CORES), "--memory", "1g", "--webui-port", "0")
        place = ("--host", LOOPBACK, "--work-dir", str(folder / "worker"))
        processes.enter_context(_spark_process(folder, "Worker", *options, *place, address))
        master.wait_for("Registering worker", 1)
        yield Cluster(address, _interpreter(folder))


def _interpreter(folder: Path) -> Path:
    hooks = folder / "hooks"
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text(SITECUSTOMIZE)
    script = folder / "python"
    script.write_text(f'#!/bin/sh\nPYTHONPATH="{hooks}:$PYTHONPATH" exec "{sys.executable}" "$@"\n')
    script.chmod(0o755)
    return script


class _Output:
    """The lines that a process writes, as they come."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._lines: list[str] = []
        self._ended = False
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._add(line)
        with self._news:
            self._ended = True
            self._news.notify_all()

    def _add(self, line: str) -> None:
        with self._news:
            self._lines.append(line)
            self._news.notify_all()

    def wait_for(self, pattern: str, count: int) -> list[str]:
        """Wait for `count` lines that match `pattern`; gives the first group, or the whole match, of each."""

        def found() -> list[str]:
            matches = [match for line in self._lines if (match := re.search(pattern, line))]
            return [match[match.re.groups and 1] for match in matches]

        with self._news:
            self._news.wait_for(lambda: self._ended or len(found()) >= count, START_S)
            assert len(found()) >= count, (
                f"{pattern!r} did not appear {count} times in:\n{''.join(self._lines)}"
            )
            return found()[:count]

    def join(self) -> None:
        self._reader.join()


@contextmanager
def _spark_process(folder: Path, role: str, *options: str) -> Iterator[_Output]:
    """A part of the cluster, in the foreground and so with the id that we know; it is ended at the end."""
    command = [str(SPARK / "bin" / "spark-class"), f"org.apache.spark.deploy.{role.lower()}.{role}", *options]
    process = subprocess.Popen(
        command, cwd=folder, env=_environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    output = _Output(process)
    try:
        yield output
    finally:
        process.terminate()
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        output.join()


def _environment() -> dict[str, str]:
    """Ours, but for what would lead to the project or to another Spark."""
    hidden = {"PYTHONPATH", "SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_PYTHON"}
    ours = {name: value for name, value in os.environ.items() if name not in hidden}
    return ours | {"SPARK_LOCAL_IP": LOOPBACK, "SPARK_HOME": str(SPARK), "JAVA_TOOL_OPTIONS": QUICK_JAVA}
