"""Estimates how long an event will wait for a client, from when the client was there so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from bypass.models.queueing.centre import Centre


@dataclass(slots=True)
class _Attendance:
    here: bool
    since: float
    on: float = 0.0  # seconds, without the period that lasts
    off: float = 0.0
    departures: int = 0
    returns: int = 0


class DelayEstimator:
    """Is told when clients join and leave (s), and gives the centre where events for one of them wait.

    `work` says how many events a client has been sent while it was there, and how many seconds it took to
    send them. `durable`: those that came up while it was away are among them, else these were lost.
    """

    def __init__(self, work: Callable[[int], tuple[int, float]], *, durable: bool = False) -> None:
        self._work = work
        self._durable = durable
        self._clients: dict[int, _Attendance] = {}

    def joined(self, client: int, at: float) -> None:
        """A client is there from now on. No effect if it is there already."""
        known = self._clients.setdefault(client, _Attendance(True, at))
        if not known.here:
            known.off += at - known.since
            known.returns += 1
            known.here, known.since = True, at

    def left(self, client: int, at: float) -> None:
        """A client is away from now on. No effect if it is not there; one that has just come was not."""
        known = self._clients.get(client)
        if known is None or not known.here:
            return
        if at > known.since:
            known.on += at - known.since
            known.departures += 1
        known.here, known.since = False, at

    def forget(self, client: int) -> None:
        """A client is gone for good. No effect if it was never there."""
        self._clients.pop(client, None)

    def centre(self, client: int, at: float) -> Centre | None:
        """The centre with the mean periods, rate and service time that have been observed until `at`.

        Periods are exponential: the likeliest mean is the time spent in them by the number that have ended.
        One who has never left is always ON. None for a client that was never there or that got no events
        yet, and for one that has never come back, which nobody knows the OFF period of.
        """
        known = self._clients.get(client)
        if known is None:
            return None
        lasting = at - known.since
        on, off = (known.on + lasting, known.off) if known.here else (known.on, known.off + lasting)
        events, seconds = self._work(client)
        if events == 0 or on == 0.0 or (known.departures and not known.returns):
            return None
        return Centre(
            f"client {client}",
            rate=events / (on + off if self._durable else on),
            service=seconds / events,
            on=on / known.departures if known.departures else inf,
            off=off / known.returns if known.departures else 0.0,
        )

    def delay(self, client: int, at: float) -> float | None:
        """The mean time (s) that an event waits for a client and takes to be sent, as far as known at `at`.

        Infinite if more is sent to it than it can get while it is there. None where `centre` is.
        """
        centre = self.centre(client, at)
        if centre is None:
            return None
        return centre.response() if centre.load < 1.0 else inf
