"""A host in real time."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Protocol

from bypass.places.sensor import LocationSensor
from bypass.ports.host import Timer
from bypass.ports.monitor import Monitor
from bypass.ports.state_info import StateInformation


class Clock(Protocol):
    """Tells the time of a runtime, and calls back later."""

    def now(self) -> float:
        """Seconds since 1970, never going back."""

    def after(self, delay: float, action: Callable[..., None], *args: Any) -> Timer:
        """Call `action(*args)` in `delay` seconds."""


class LiveHost:
    """The world as a participant of a live system sees it."""

    def __init__(self, number: int, clock: Clock, location: LocationSensor, monitor: Monitor) -> None:
        self.id = number
        self.location = location
        self.monitor = monitor
        self.now = clock.now
        self.after = clock.after
        self.state_info = StateInformation(clock.now)
        self._streams: dict[str, random.Random] = {}

    def random(self, purpose: str) -> random.Random:
        """Drawn from the system's entropy: no two hosts have the same."""
        return self._streams.setdefault(purpose, random.Random())
