"""The threads of the store of objects: one writes changes in batches, one reads for clients in turns."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from bypass.live.broker.objects.changes import AddPart, ChangeOutcome, ObjectChange, PutObject
from bypass.live.broker.objects.object_store import ObjectStore
from bypass.live.broker.objects.pages import Query
from bypass.live.broker.store.database import StoreFailed, connect, failure

log = logging.getLogger(__name__)

MOST_TOGETHER, MOST_BYTES_TOGETHER = 2000, 4 << 20
"""Changes, and bytes of objects in them, that are written in one transaction."""

Written = Callable[[ChangeOutcome | StoreFailed], None]
ReadingStep = Callable[[Query], Any]
"""A bounded part of a read. Its result; None if the step has to be called again."""


class ObjectWriter:
    """Writes changes to a store in their order, in a thread of its own.

    The outcomes go to the broker's thread by `soon`: the `then` of each change is called with its outcome, in
    the order of changes, and `committed` after all of a transaction.
    """

    def __init__(self, store: ObjectStore, soon: Callable[..., None], committed: Callable[[], None]) -> None:
        self.commits = 0
        self.seconds = 0.0  # that all commits took together
        self.failing: str | None = None
        """The reason why the store does not work at the moment; None if it works."""
        self._store = store
        self._soon = soon
        self._committed = committed
        self._changes: deque[tuple[ObjectChange, Written]] = deque()
        self._some = threading.Semaphore(0)
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="bypass objects", daemon=True)
        self._thread.start()

    def submit(self, change: ObjectChange, then: Written) -> None:
        """Have a change written soon."""
        self._changes.append((change, then))
        self._some.release()

    def close(self) -> None:
        """Return when all changes are written."""
        self._closed = True
        self._some.release()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self._some.acquire()
            together = self._take()
            if together:
                self._write(together)
            elif self._closed:
                return

    def _take(self) -> list[tuple[ObjectChange, Written]]:
        together: list[tuple[ObjectChange, Written]] = []
        size = 0
        while self._changes and len(together) < MOST_TOGETHER and size < MOST_BYTES_TOGETHER:
            change, then = self._changes.popleft()
            if together:  # the first one's was acquired
                self._some.acquire(blocking=False)
            if isinstance(change, PutObject | AddPart):
                size += len(change.data)
            together.append((change, then))
        return together

    def _write(self, together: list[tuple[ObjectChange, Written]]) -> None:
        began = time.monotonic()
        try:
            outcomes: list[ChangeOutcome | StoreFailed] = [
                *self._store.apply([change for change, _ in together])
            ]
            failed = None
        except StoreFailed as error:
            failed = error
        except Exception as error:  # what cannot be stored must not end the service of others
            log.exception("objects cannot be stored")
            failed = StoreFailed(f"what was sent cannot be stored: {error}")
        if failed is not None:
            outcomes = [failed] * len(together)
        self.commits += 1
        self.seconds += time.monotonic() - began
        self._soon(self._tell, [then for _, then in together], outcomes, failed)

    def _tell(
        self, thens: list[Written], outcomes: list[ChangeOutcome | StoreFailed], failed: StoreFailed | None
    ) -> None:
        if failed is not None and self.failing is None:
            log.error("%s; objects are refused until it works again", failed)
        elif failed is None and self.failing is not None:
            log.warning("the store of objects works again")
        self.failing = None if failed is None else str(failed)
        for then, outcome in zip(thens, outcomes, strict=True):
            then(outcome)
        self._committed()


class _Reading(NamedTuple):
    step: ReadingStep
    then: Callable[[Any], None]


class ObjectReader:
    """Reads from the file of a store in a thread of its own, one step of each read in turn."""

    def __init__(self, store: ObjectStore, soon: Callable[..., None]) -> None:
        self._path = store.path
        self._soon = soon
        self._connection = connect(store.path)
        self._connection.execute("PRAGMA cache_size = -64000")
        self._readings: deque[_Reading] = deque()
        self._some = threading.Semaphore(0)
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="bypass object reader", daemon=True)
        self._thread.start()

    def read(self, step: ReadingStep, then: Callable[[Any], None]) -> None:
        """Call `step` until it gives a result, and have `then` called with that, or with a StoreFailed."""
        self._readings.append(_Reading(step, then))
        self._some.release()

    def close(self) -> None:
        """End after the step that is being done; reads that are not complete are dropped."""
        self._closed = True
        self._some.release()
        self._thread.join()
        self._connection.close()

    def _run(self) -> None:
        while True:
            self._some.acquire()
            if self._closed:
                return
            reading = self._readings.popleft()
            try:
                found = reading.step(self._connection.execute)
            except sqlite3.Error as error:
                found = failure(self._path, error)
            except Exception as error:  # what makes no sense in the file must not end the service of others
                log.exception("objects cannot be read")
                found = StoreFailed(f"{self._path}: {error}")
            if found is None:
                self._readings.append(reading)
                self._some.release()
            else:
                self._soon(reading.then, found)
