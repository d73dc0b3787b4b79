"""Servers that benchmarks start: each a process of its own on one core, ended by its number."""

from __future__ import annotations

import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from signal import SIGCONT, SIGSTOP, Signals
from typing import Any, NamedTuple

FOLDER = Path(__file__).resolve().parent
PATIENCE = 60.0
COMPILING = 300.0  # s that the broker's kernels may take on a slow machine
SPARE_DESCRIPTORS = 1000

UNLIMITED = {"client_rate": 0, "client_byte_rate": 0, "sessions_per_key": 20_000}
"""Limits of a broker of ours all of whose clients have one key."""

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


class Cores(NamedTuple):
    """Which core the server has, and which the load: the same one if there is no other."""

    server: int
    load: int


def cores() -> Cores:
    """The first and the last one that this process may use."""
    usable = sorted(os.sched_getaffinity(0))
    return Cores(usable[0], usable[-1])


class Server:
    """A server's process and the port it listens on."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process = process
        self.port = port

    @property
    def endpoint(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def cpu(self) -> float:
        """Seconds of processor time of all its threads, those that have ended too, in the system's calls too.

        To the nanosecond: it is the clock that clock_getcpuclockid(3) gives, /proc counts ticks.
        """
        return time.clock_gettime(~self.process.pid << 3 | 2)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """It does nothing in this block, and what is due meanwhile afterwards."""
        with self._between(SIGSTOP, SIGCONT):
            yield

    @contextmanager
    def resumed(self) -> Iterator[None]:
        """It works in this block, within one where it is stopped."""
        with self._between(SIGCONT, SIGSTOP):
            yield

    @contextmanager
    def _between(self, first: Signals, then: Signals) -> Iterator[None]:
        self.process.send_signal(first)
        try:
            yield
        finally:
            self.process.send_signal(then)

    def resident(self) -> int:
        """Bytes that it has in memory."""
        fields = Path(f"/proc/{self.process.pid}/statm").read_text(encoding="utf-8").split()
        return int(fields[1]) * PAGE


def allow_descriptors(connections: int) -> None:
    """One takes a descriptor at each end; servers inherit the limit. Raises ValueError if it is too low."""
    needed = connections + SPARE_DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and needed > hard:
        raise ValueError(
            f"{connections} connections need {needed} open files: the limit is {hard} (ulimit -Hn)"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, needed), hard))


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def installed(program: str) -> str | None:
    """Where a program is; system services may be out of a user's path."""
    return shutil.which(
        program, path=os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"))
    )


@contextmanager
def running(command: Sequence[str], port: int, core: int, log: Path, **environ: str) -> Iterator[Server]:
    """A server on one core, from when it listens until the block ends. Raises RuntimeError if it fails."""
    before = os.sched_getaffinity(0)
    with log.open("w") as out:
        os.sched_setaffinity(0, {core})  # which children inherit
        try:
            process = subprocess.Popen(
                command, stdout=out, stderr=out, text=True, env=os.environ | environ, cwd=log.parent
            )
        finally:
            os.sched_setaffinity(0, before)
    try:
        _wait(process, port, log)
        yield Server(process, port)
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(process: subprocess.Popen[str], port: int, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1.0).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    raise RuntimeError(f"{process.args!r} does not listen:\n{log.read_text(encoding='utf-8')}")


def await_service(broker: subprocess.Popen[Any], log: Path) -> None:
    """Return when our broker serves: it listens before, while it compiles, and turns clients away.

    Raises RuntimeError if it ends, or takes too long.
    """
    deadline = time.monotonic() + COMPILING
    while time.monotonic() < deadline and broker.poll() is None:
        if "bypass broker listens on" in log.read_text(encoding="utf-8"):
            return
        time.sleep(0.02)
    raise RuntimeError(f"the broker does not serve:\n{log.read_text(encoding='utf-8')}")


# -- each kind --------------------------------------------------------------------------------------------


@contextmanager
def bare_router(folder: Path, core: int, secret: str, lists: list[list[int]]) -> Iterator[Server]:
    """pyzmq and nothing else; `secret` is "-" without CURVE."""
    port = free_port()
    file = folder / "lists.json"
    file.write_text(json.dumps(lists), encoding="utf-8")
    command = [sys.executable, str(FOLDER / "bare_router.py"), f"tcp://127.0.0.1:{port}", secret, str(file)]
    with running(command, port, core, folder / "log") as server:
        yield server


@contextmanager
def bypass_broker(folder: Path, core: int, **config: Any) -> Iterator[Server]:
    """Our broker, as the command starts it."""
    port = free_port()
    file = folder / "broker.yaml"
    settings = {"listen": [f"tcp://127.0.0.1:{port}"], "store": "bypass.db", **config}
    file.write_text(json.dumps(settings), encoding="utf-8")  # which YAML is
    command = [sys.executable, "-c", "from bypass.cli import main; main()", "broker", "--config", str(file)]
    with running(command, port, core, folder / "log", PYTHONPATH=str(FOLDER.parent)) as server:
        await_service(server.process, folder / "log")
        yield server


@contextmanager
def mosquitto(folder: Path, core: int, keeps: bool) -> Iterator[Server]:
    """`keeps`: it saves what it has at its end and every half hour, which is its default; not each event."""
    port = free_port()
    file = folder / "mosquitto.conf"
    file.write_text(
        f"listener {port} 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\n"
        f"persistence {str(keeps).lower()}\npersistence_location {folder}/\n"
        + ("user root\n" if os.geteuid() == 0 else ""),
        encoding="utf-8",
    )
    with running([str(installed("mosquitto")), "-c", str(file)], port, core, folder / "log") as server:
        yield server


@contextmanager
def nats(folder: Path, core: int) -> Iterator[Server]:
    """Core NATS: it keeps nothing."""
    port = free_port()
    command = [str(installed("nats-server")), "-a", "127.0.0.1", "-p", str(port)]
    with running(command, port, core, folder / "log") as server:
        yield server


@contextmanager
def redis(folder: Path, core: int) -> Iterator[Server]:
    """It keeps nothing."""
    port = free_port()
    command = [str(installed("redis-server")), "--bind", "127.0.0.1", "--port", str(port)]
    command += ["--save", "", "--appendonly", "no", "--dir", str(folder)]
    with running(command, port, core, folder / "log") as server:
        yield server
