"""A thread that reads the log: what is slow to read must not keep others waiting."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from bypass.live.broker.store.batch import Logged
from bypass.live.broker.store.recipients import Recipient, own_recipients
from bypass.live.broker.store.store import Store, StoreFailed

FoundPublications = dict[int, tuple[Logged, list[Recipient]]]
"""Publications by their places in the log, and what of each is for the client that it is read for."""


class Reader:
    """Reads from a store, in the order in which it is asked. `soon` calls something in the asker's thread."""

    def __init__(self, store: Store, soon: Callable[..., None]) -> None:
        self._store = store
        self._soon = soon
        self._asked: queue.SimpleQueue[tuple[list[int], int, Callable[..., Any]] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    def read(
        self, seqs: list[int], client: int, then: Callable[[FoundPublications | StoreFailed], None]
    ) -> None:
        """Have `then` called with what a client gets of these places in the log, or why nobody knows."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="bypass log reader", daemon=True)
            self._thread.start()
        self._asked.put((seqs, client, then))

    def close(self) -> None:
        """Return when nothing is being read any more; what was asked for and not begun is not read."""
        if self._thread is not None:
            with suppress(queue.Empty):
                while True:
                    self._asked.get_nowait()  # the thread may take the last one meanwhile
            self._asked.put(None)
            self._thread.join()

    def _run(self) -> None:
        while (asked := self._asked.get()) is not None:
            seqs, client, then = asked
            try:
                found: FoundPublications | StoreFailed = {
                    logged.seq: (logged, own_recipients(logged.recipients, client))
                    for logged in self._store.read(seqs)
                }
            except StoreFailed as failure:
                found = failure
            self._soon(then, found)
