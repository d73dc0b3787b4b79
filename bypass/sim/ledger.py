"""The ledger of a simulation: for each event, who should have got it, who did, and how late.

It is kept apart from the system that is observed. The experimenter enters each publication with the clients
it concerned at that moment (the truth); the ledger hears of deliveries as an analyzer. An event's row is
closed some time after its publication.
"""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bypass.protocol.messages import Publish
from bypass.sim.clock import VirtualClock
from bypass.support.arrays import Bools, Ints
from bypass.support.kernel import kernel
from bypass.support.units import MICROSECONDS

COLUMNS: dict[str, type[np.generic]] = {
    "id": np.int64,
    "at_us": np.int64,
    "kind": np.int8,
    "publisher": np.int32,
    "x": np.float64,
    "y": np.float64,
    "subscribers": np.int32,
    "notified": np.int32,
    "correct": np.int32,
    "delay_us": np.float64,  # mean over the correctly notified; NaN if there are none
    "close": np.int32,  # those of the correctly notified whom the experimenter tells apart
    "delay_close_us": np.float64,
}

HORIZON_S = 10.0  # so late an event is as good as lost

NOT_ENTERED = -1  # stands for the row of an event that nobody entered, or that is closed


@kernel
def enter(
    rows: Ints, delays: Ints, starts: Ints, clients: Ints, horizon: int,
    truth: Bools, close: Bools, got: Bools, counts: Ints,
) -> None:  # fmt: skip
    """Count deliveries, each client once an event; `counts` are (notified, correct, sum of delays, and the
    last two again of those told apart).

    The event in rows[i] came to clients[starts[i]:starts[i + 1]], delays[i] after its publication. What is
    later than `horizon`, or of an event in no row (a negative number), does not count.
    """
    for i in range(len(rows)):
        row = rows[i]
        if row < 0 or delays[i] > horizon:
            continue
        for client in clients[starts[i] : starts[i + 1]]:
            if not got[row, client]:
                got[row, client] = True
                counts[row, 0] += 1
                if truth[row, client]:
                    counts[row, 1] += 1
                    counts[row, 2] += delays[i]
                    if close[row, client]:
                        counts[row, 3] += 1
                        counts[row, 4] += delays[i]


class Ledger:
    """One row for each event, in the order of publication.

    Deliveries more than `horizon_s` after the publication are not counted.
    """

    def __init__(self, clients: int, clock: VirtualClock, horizon_s: float = HORIZON_S) -> None:
        self._clients = clients
        self._clock = clock
        self._horizon_us = round(horizon_s * MICROSECONDS)
        self._rows: dict[int, int] = {}  # row of an open event among the open ones, plus `_closed_rows`
        self._closed_rows = 0
        self._open: list[tuple[int, int, int, int, float, float]] = []
        self._truth = np.zeros((64, clients), np.bool_)
        self._got = np.zeros((64, clients), np.bool_)
        self._close_to = np.zeros((64, clients), np.bool_)
        self._counts = np.zeros((64, 5), np.int64)
        self._closed: list[dict[str, NDArray[Any]]] = []
        self._batches: list[tuple[int, int, int]] = []  # event, delay (µs), place of its first in _arrivals
        self._arrivals = array("q")  # clients, in the order of deliveries
        self._publication: Publish | None = None
        self._arrived_us = 0

    def published(
        self,
        number: int,
        at_us: int,
        kind: int,
        publisher: int,
        place: tuple[float, float],
        truth: Bools,
        close: Bools | None = None,
    ) -> None:
        """An event was published that concerns the clients in `truth`; those in `close` are told apart."""
        row = len(self._open)
        if row == len(self._truth):
            self._resize(2 * row)
        self._truth[row] = truth
        if close is not None:
            self._close_to[row] = close
        self._rows[number] = self._closed_rows + row
        self._open.append((number, at_us, kind, publisher, *place))

    def notified(self, client: int, publication: Publish) -> None:
        """An event reached a client's publish/subscribe layer."""
        # The deliveries of one event mostly come one after the other: they share an entry.
        if publication is not self._publication or self._clock.now_us != self._arrived_us:
            self._publication, self._arrived_us = publication, self._clock.now_us
            delay = self._arrived_us - publication.at_us
            self._batches.append((publication.id, delay, len(self._arrivals)))
        self._arrivals.append(client)

    def settle(self) -> None:
        """Count what arrived since the last time and close events that are old enough; call it regularly."""
        self._count()
        before = self._clock.now_us - self._horizon_us
        old = 0
        while old < len(self._open) and self._open[old][1] < before:
            old += 1
        self._close(old)

    def columns(self) -> dict[str, NDArray[Any]]:
        """All events so far, in columns; closes the open ones."""
        self._count()
        self._close(len(self._open))
        return {
            name: np.concatenate([np.empty(0, dtype), *(part[name] for part in self._closed)])
            for name, dtype in COLUMNS.items()
        }

    def _count(self) -> None:
        if not self._batches:
            return
        numbers, delays, starts = zip(*self._batches, strict=True)
        rows = [self._rows.get(number, NOT_ENTERED) for number in numbers]
        enter(
            np.array(rows) - self._closed_rows,
            np.array(delays),
            np.array((*starts, len(self._arrivals))),
            np.array(self._arrivals),
            self._horizon_us,
            self._truth,
            self._close_to,
            self._got,
            self._counts,
        )
        self._batches = []
        self._arrivals = array("q")
        self._publication = None

    def _close(self, count: int) -> None:
        if not count:
            return
        notified, correct, delay, close, close_delay = self._counts[:count].T
        means = [
            np.divide(sums, numbers, out=np.full(count, np.nan), where=numbers > 0)
            for sums, numbers in ((delay, correct), (close_delay, close))
        ]
        events = list(zip(*self._open[:count], strict=True))
        values = [*events, self._truth[:count].sum(axis=1), notified, correct, means[0], close, means[1]]
        self._closed.append(
            {name: np.array(v, dtype) for (name, dtype), v in zip(COLUMNS.items(), values, strict=True)}
        )
        for number in events[0]:
            del self._rows[number]
        del self._open[:count]
        self._closed_rows += count
        left = len(self._open)
        for table in (self._truth, self._close_to, self._got, self._counts):
            table[:left] = table[count : count + left].copy()
            table[left : left + count] = 0

    def _resize(self, rows: int) -> None:
        def grown(table: NDArray[Any]) -> NDArray[Any]:
            larger = np.zeros((rows, table.shape[1]), table.dtype)
            larger[: len(table)] = table
            return larger

        self._truth, self._close_to, self._got, self._counts = map(
            grown, (self._truth, self._close_to, self._got, self._counts)
        )
