"""The world as a mechanism sees it. Runtimes provide a `Host`; each mechanism gets a lease of it.

A lease begins closed for communication, is opened when the mechanism becomes the active one, and ends with
it: timers that a stopped mechanism has set never fire, its sensor listeners are released.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NoReturn, Protocol

from bypass.places.sensor import Fix, FixListener, LocationRequest, LocationSensor
from bypass.ports.monitor import Monitor
from bypass.ports.state_info import StateInformation
from bypass.transitions import MechanismStopped, NetworkDuringTransition


class Timer(Protocol):
    """Something that will happen unless it is cancelled."""

    def cancel(self) -> None:
        """Never fire; harmless if it has fired."""


class Host(Protocol):
    """One participant's clock, timers, random streams, sensor and instruments."""

    @property
    def id(self) -> int:
        """The participant's number."""

    @property
    def location(self) -> LocationSensor:
        """The participant's location sensor."""

    @property
    def state_info(self) -> StateInformation:
        """The readings that are known about this and other participants."""

    @property
    def monitor(self) -> Monitor:
        """Where analyzers are told what happens; they never change it."""

    def now(self) -> float:
        """Seconds on the runtime's clock."""

    def after(self, delay: float, action: Callable[..., None], *args: Any) -> Timer:
        """Call `action(*args)` in `delay` seconds."""

    def random(self, purpose: str) -> random.Random:
        """The host's own stream of random numbers for one purpose."""


class _Refusing:
    """Stands in for the link while a mechanism must not communicate: every access raises the given error."""

    def __init__(self, refuse: Callable[[], NoReturn]) -> None:
        self._refuse = refuse

    def __getattr__(self, name: str) -> Any:
        self._refuse()


class _LeasedSensor:
    """The host's sensor, remembering the listeners of one mechanism so that they end with it."""

    def __init__(self, sensor: LocationSensor) -> None:
        self._sensor = sensor
        self._listeners: list[FixListener] = []
        self.available = sensor.available
        self.last = sensor.last
        self.current = sensor.current
        self.place = sensor.place

    def request(self, request: LocationRequest, listener: FixListener) -> None:
        self._listeners.append(listener)
        self._sensor.request(request, listener)

    def release(self, listener: FixListener) -> None:
        if listener in self._listeners:
            self._listeners.remove(listener)
            self._sensor.release(listener)

    def release_all(self) -> None:
        for listener in self._listeners:
            self._sensor.release(listener)
        self._listeners.clear()

    available: Callable[[], bool]
    last: Callable[[], Fix | None]
    current: Callable[[], Fix | None]
    place: Callable[[], tuple[float, float] | None]


class Lease:
    """A host for one mechanism. `link` is the mechanism's way to its counterpart on other hosts.

    Touching `link` before the switch raises `NetworkDuringTransition`, after the stop `MechanismStopped`.
    """

    def __init__(self, host: Host, owner: str, link: Any) -> None:
        self.id = host.id
        self.now = host.now
        self.random = host.random
        self.state_info = host.state_info
        self.monitor = host.monitor
        self.location = _LeasedSensor(host.location)
        self.link: Any = _Refusing(self._too_early)
        self._host = host
        self._owner = owner
        self._link = link
        self._alive = True

    def after(self, delay: float, action: Callable[..., None], *args: Any) -> Timer:
        """As the host's; never fires once the lease has ended."""
        return self._host.after(delay, self._fire, action, args)

    def open(self) -> None:
        """From now on the mechanism may communicate."""
        self.link = self._link

    def close(self) -> None:
        """The mechanism is over: no timer fires, no fix arrives, nothing is sent any more."""
        self._alive = False
        self.location.release_all()
        self.link = _Refusing(self._too_late)

    def _fire(self, action: Callable[..., None], args: tuple[Any, ...]) -> None:
        if self._alive:
            action(*args)

    def _too_early(self) -> NoReturn:
        raise NetworkDuringTransition(f"{self._owner} tried to communicate before it was switched to")

    def _too_late(self) -> NoReturn:
        raise MechanismStopped(f"{self._owner} tried to communicate after it was stopped")
