"""A location sensor with exact fixes at regular moments, taken from a client's trace."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from bypass.places.sensor import Fix, FixListener, LocationRequest
from bypass.sim.clock import VirtualClock
from bypass.support.units import MICROSECONDS


class Movement(Protocol):
    """Where clients are at any time, in metres and metres per second."""

    def position(self, client: int, at: float) -> tuple[float, float]: ...

    def velocity(self, client: int, at: float) -> tuple[float, float]: ...


@runtime_checkable
class WholeTrace(Protocol):
    """A trace that knows where everybody is at once."""

    def positions(self, at: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """x and y of all clients."""


class TraceSensor:
    """One client's sensor. Fixes come at `phase` + k × interval, whoever listens and since when, so that
    exchanging the listener does not move them."""

    __slots__ = ("_client", "_clock", "_last", "_listeners", "_phase", "_position", "_round", "_ticked_us",
                 "_velocity")  # fmt: skip

    def __init__(self, clock: VirtualClock, trace: Movement, client: int, phase: float) -> None:
        self._clock = clock
        self._position = trace.position
        self._velocity = trace.velocity
        self._client = client
        self._phase = phase
        self._listeners: dict[FixListener, float] = {}
        self._last: Fix | None = None
        self._ticked_us = -1  # when the last regular fix was
        self._round = 0

    def request(self, request: LocationRequest, listener: FixListener) -> None:
        if not self._listeners:  # after a rest, what was known before says little
            self._last = self.current()
        self._listeners[listener] = request.interval
        self._plan_next()

    def release(self, listener: FixListener) -> None:
        if self._listeners.pop(listener, None) is not None:
            self._plan_next()

    def available(self) -> bool:
        return True

    def last(self) -> Fix | None:
        return self._last

    def current(self) -> Fix:
        now, client = self._clock.now_us / MICROSECONDS, self._client
        return Fix(*self._position(client, now), *self._velocity(client, now), now)

    def place(self) -> tuple[float, float]:
        return self._position(self._client, self._clock.now_us / MICROSECONDS)

    def _plan_next(self) -> None:
        """Plan the next fix for the first regular moment that is not over yet. An earlier plan is void."""
        self._round += 1
        if not self._listeners:
            return
        interval = round(min(self._listeners.values()) * MICROSECONDS)
        phase = round(self._phase * interval)
        now = self._clock.now_us
        earliest = now + (self._ticked_us == now)
        rounds = -((phase - earliest) // interval)
        self._clock.at(phase + rounds * interval, self._tick, self._round)

    def _tick(self, planned_in: int) -> None:
        if planned_in != self._round:
            return
        self._ticked_us = self._clock.now_us
        self._last = self.current()
        for listener in tuple(self._listeners):
            if listener in self._listeners:  # else another one has released it
                listener(self._last)
        if planned_in == self._round:
            self._plan_next()
