"""A thread that makes batches durable, one at a time, while the loop fills the next."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable

from bypass.live.broker.store.store import Batch, Store, StoreFailed

log = logging.getLogger(__name__)


class Writer:
    """Writes batches to a store. `done(error)` is called in the writer's thread after each of them."""

    def __init__(self, store: Store, done: Callable[[StoreFailed | None], None]) -> None:
        self.busy = False
        self.commits = 0
        self.seconds = 0.0  # that all commits took together
        self._store = store
        self._done = done
        self._batches: queue.SimpleQueue[Batch | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="bypass store", daemon=True)
        self._thread.start()

    def write(self, batch: Batch) -> None:
        """Begin to write a batch; only if the writer is not `busy`."""
        self.busy = True
        self._batches.put(batch)

    def close(self) -> None:
        """Return when what was begun is written."""
        self._batches.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (batch := self._batches.get()) is not None:
            began = time.monotonic()
            error: StoreFailed | None = None
            try:
                self._store.write(batch)
            except StoreFailed as failure:
                error = failure
            except Exception as failure:  # something that cannot be stored: the others' events must go on
                log.exception("a batch cannot be stored")
                error = StoreFailed(f"what was sent cannot be stored: {failure}")
            self.commits += 1
            self.seconds += time.monotonic() - began
            self._done(error)
