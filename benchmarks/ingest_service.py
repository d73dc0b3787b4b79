"""`bypass ingest start` as a process of its own, whose processes are killed, and what its status says."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bypass.ingest.folder import IngestFolder
from bypass.ingest.service.status import IngestStatus, read_status

BYPASS = [sys.executable, "-c", "from bypass.cli import main; main()"]
VICTIMS = ("connectors", "stream", "java", "worker")
"""The processes that can be killed: connectors, Spark's driver, its Java, and a Python worker of Spark's."""

PATIENCE_S = 900.0
LOOK_S = 0.3
TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class IngestService:
    """A running installation."""

    def __init__(self, folder: IngestFolder, log: Path) -> None:
        self.folder = folder
        self._log = log

    def process(self, name: str) -> int | None:
        """The number of the process that has a name at the supervisor; None if there is none now."""
        found = re.findall(rf"{name} runs as process (\d+)", self._log.read_text(errors="replace"))
        return int(found[-1]) if found and _command(int(found[-1])) else None

    def kill(self, victim: str, choose: random.Random) -> bool:
        """Kill one of `VICTIMS`. Gives whether there was one at this moment."""
        number = self.process("connectors" if victim == "connectors" else "stream")
        if number is not None and victim in ("java", "worker"):
            part = "org.apache.spark" if victim == "java" else "-m pyspark."
            below = [each for each in processes_below(number) if part in _command(each)]
            number = choose.choice(below) if below else None
        if number is None:
            return False
        try:
            os.kill(number, signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True

    def status(self) -> IngestStatus:
        """The status as of now."""
        return read_status(self.folder)

    def wait_for(self, condition: Callable[[], object]) -> bool:
        """Wait until a condition holds. Gives whether it does; if not, the end of what the service printed
        is printed here."""
        end = time.monotonic() + PATIENCE_S
        while not condition():
            if time.monotonic() > end:
                print(self._log.read_text(errors="replace")[-3000:], flush=True)
                return False
            time.sleep(LOOK_S)
        return True


@contextmanager
def service(folder: IngestFolder, options: Sequence[str], log: Path) -> Iterator[IngestService]:
    """An installation that runs until the block ends."""
    command = [*BYPASS, "ingest", "start", "--folder", str(folder.path), *options]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        yield IngestService(folder, log)
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def processes_below(number: int) -> list[int]:
    """All processes that a process has started, and those that these have."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int(path.joinpath("stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue
        parents.setdefault(parent, []).append(int(path.name))
    found = list(parents.get(number, ()))
    for each in found:  # which grows meanwhile
        found += parents.get(each, ())
    return found


def cpu_of(number: int) -> float:
    """Seconds of processor time of a process, of all that it has started, and of those that these have;
    those that have ended count if their parents live and have noticed."""
    total = 0.0
    for each in (number, *processes_below(number)):
        try:
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(map(int, fields[11:15])) * TICK_S
    return total


def _command(number: int) -> str:
    """The command of a process; empty if there is none, or if it has ended."""
    try:
        return Path(f"/proc/{number}/cmdline").read_text(errors="replace").replace("\0", " ")
    except OSError:
        return ""


class StatusWatch:
    """Reads the status again and again, in a thread, and notes each that does not add up."""

    def __init__(self, folder: IngestFolder) -> None:
        self.samples = 0
        self.violations: list[str] = []
        self._folder = folder
        self._latest: IngestStatus | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> StatusWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(LOOK_S):
            self._look(read_status(self._folder))

    def _look(self, now: IngestStatus) -> None:
        self.samples += 1
        ended = now.stored + now.filtered + now.duplicates + sum(now.dead_letters.values())
        if now.received != sum(now.refused.values()) + ended + now.lag_messages or now.lag_messages < 0:
            self.violations.append(f"does not add up: {now}")
        before = self._latest
        for name in ("received", "stored", "duplicates", "measurements") if before is not None else ():
            if getattr(now, name) < getattr(before, name):
                self.violations.append(f"{name} has fallen from {getattr(before, name)}: {now}")
        self._latest = now
