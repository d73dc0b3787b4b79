"""Where independent pieces of work run: in threads of this process, or on Spark.

A piece of work is a function of a module and one argument. Both are pickled on their way to a cluster, so
they carry numbers and paths, not data: workers read and write files themselves.
"""

from __future__ import annotations

import os
import pickle
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar
from uuid import uuid4

from bypass.errors import BypassError
from bypass.models.compute.spark_session import ATTEMPTS, Shipping, SparkUnavailable, spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "ComputeEngine",
    "LocalEngine",
    "SparkEngine",
    "SparkUnavailable",
    "WorkProgress",
    "WorkerLost",
    "spark_engine",
    "unwatched",
]

T = TypeVar("T")
R = TypeVar("R")
WorkProgress = Callable[[int, int], None]
"""Is told how many of how many pieces are done."""

LOOK_AGAIN_S = 0.2


class WorkerLost(BypassError):
    """A worker died each time it tried a piece of work: it crashed, or was killed for its use of memory."""


def unwatched(_done: int, _total: int) -> None:
    """Progress that nobody looks at."""


class ComputeEngine(Protocol):
    """Runs pieces of work; their number and order never change a result."""

    name: str
    parallel: int

    def run(
        self, function: Callable[[T], R], pieces: Sequence[T], progress: WorkProgress = unwatched
    ) -> list[R]:
        """Call `function` with each piece; results are in the order of the pieces. Raises the first error of
        a piece."""


class LocalEngine:
    """Threads of this process, one for each core: kernels and file formats let each other run."""

    name = "local"

    def __init__(self) -> None:
        self.parallel = len(os.sched_getaffinity(0))

    def run(
        self, function: Callable[[T], R], pieces: Sequence[T], progress: WorkProgress = unwatched
    ) -> list[R]:
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
    """Tasks of a Spark session, one for each piece.

    An error of a piece, and WorkerLost, is raised when all other pieces have been tried.
    """

    name = "spark"

    def __init__(self, session: SparkSession) -> None:
        self.session = session
        self.parallel = session.sparkContext.defaultParallelism
        self._shipping = Shipping(session.sparkContext)

    def run(
        self, function: Callable[[T], R], pieces: Sequence[T], progress: WorkProgress = unwatched
    ) -> list[R]:
        if not pieces:
            return []
        self._shipping.send()
        group = f"{function.__qualname__}-{uuid4().hex}"
        context = self.session.sparkContext
        with self._watched(group, len(pieces), progress):
            outcomes: list[R | _Raised] = self.call(
                lambda: context.parallelize(pieces, len(pieces)).map(partial(_attempt, function)).collect(),
                group,
            )
        progress(len(pieces), len(pieces))
        results: list[R] = []
        for outcome in outcomes:
            if isinstance(outcome, _Raised):
                raise outcome.error
            results.append(outcome)
        return results

    def call(self, work: Callable[[], R], group: str = "") -> R:
        """Call `work`, which may use the session, and return its result. An interruption cancels its jobs.

        Another thread does it, with jobs in a group of that name: a thread that is interrupted while it calls
        Java spoils its connection, and the jobs would go on.
        """
        group = group or uuid4().hex

        def grouped() -> R:
            self.session.sparkContext.setJobGroup(group, group, interruptOnCancel=True)
            return work()

        with ThreadPoolExecutor(1) as pool:
            working = pool.submit(grouped)
            try:
                return working.result()
            except BaseException:
                while not working.done():  # a job has to begin before it can be cancelled
                    self.session.sparkContext.cancelJobGroup(group)
                    wait([working], LOOK_AGAIN_S)
                raise

    @contextmanager
    def _watched(self, group: str, total: int, progress: WorkProgress) -> Iterator[None]:
        over = threading.Event()
        with ThreadPoolExecutor(1) as pool:
            watching = pool.submit(self._watch, group, total, progress, over)
            try:
                yield
            finally:
                over.set()
            watching.result()

    def _watch(self, group: str, total: int, progress: WorkProgress, over: threading.Event) -> None:
        tracker = self.session.sparkContext.statusTracker()
        while not over.wait(LOOK_AGAIN_S):
            jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
            stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
            progress(sum(stage.numCompletedTasks for stage in stages if stage), total)


@dataclass(frozen=True)
class _Raised:
    """Stands for the error of a piece, in the place of its result."""

    error: Exception


def _attempt(function: Callable[[T], R], piece: T) -> R | _Raised:
    """Run a piece and return its error as it is; through Spark only the text would come back, after further
    attempts.

    The last attempt that Spark allows is not made: if its worker died too, all other pieces would fail.
    """
    from pyspark import TaskContext

    task = TaskContext.get()
    if task is not None and task.attemptNumber() + 1 >= ATTEMPTS:
        died = f"workers died of it {task.attemptNumber()} times"
        return _Raised(WorkerLost(f"piece {task.partitionId()}: {died}: expected a result"))
    try:
        return function(piece)
    except Exception as error:
        return _Raised(_portable(error))


def _portable(error: Exception) -> Exception:
    """The error with its traceback as a note, or another one with its text if it cannot be sent."""
    text = traceback.format_exc()
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    except Exception:
        return RuntimeError(text)
    if not isinstance(error, BypassError):
        error.add_note(text)
    return error


@contextmanager
def spark_engine(name: str, master: str | None = None) -> Iterator[SparkEngine]:
    """An engine on a new `spark_session`. Raises the same."""
    with spark_session(name, master) as session:
        yield SparkEngine(session)
