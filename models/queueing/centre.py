"""A queueing centre: how long an event stays at one place on its way."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite

from bypass.errors import BypassError


class InvalidCentre(BypassError):
    """A parameter of a queueing centre makes no sense."""


class Unstable(BypassError):
    """More comes to a queueing centre than it can serve: its queue grows without bound."""


@dataclass(frozen=True, slots=True)
class Centre:
    """One server with a queue, first come first served, that works only while it is ON.

    Events of interest arrive as a Poisson process with `rate`, those of others, which they share the queue
    with, with `other` (1/s). To serve one takes an exponential time with mean `service` (s). ON and OFF
    periods are exponential with means `on` and `off` (s); a service that is interrupted by an OFF period goes
    on after it. With `off` 0 it is an M/M/1 queue. Raises `InvalidCentre`.
    """

    name: str
    rate: float
    service: float
    on: float = inf
    off: float = 0.0
    other: float = 0.0

    def __post_init__(self) -> None:
        for key, value, fits, expected in (
            ("rate", self.rate, self.rate >= 0, "a finite number, at least 0"),
            ("other", self.other, self.other >= 0, "a finite number, at least 0"),
            ("service", self.service, self.service > 0, "a finite number above 0"),
            ("off", self.off, self.off >= 0, "a finite number, at least 0"),
        ):
            if not (fits and isfinite(value)):
                raise InvalidCentre(f"{self.name}: {key} {value}: expected {expected}")
        if not self.on > 0:
            raise InvalidCentre(f"{self.name}: on {self.on}: expected a number above 0, or inf")

    @property
    def stretch(self) -> float:
        """How many times longer a service takes because of OFF periods in between."""
        return 1.0 + self.off / self.on

    @property
    def interruption(self) -> float:
        """How long an event waits on average only because it arrives in an OFF period (s)."""
        return self.off * self.off / (self.on + self.off)

    @property
    def load(self) -> float:
        """The share of what the centre can do that is asked of it; it is stable below 1."""
        return (self.rate + self.other) * self.service * self.stretch

    def response(self) -> float:
        """Mean time from arrival to departure (s). Raises `Unstable`."""
        load = self.load
        if load >= 1.0:
            raise Unstable(f"{self.name}: load {load:.6g}: expected below 1, what arrives cannot be served")
        return (self.interruption + self.service * self.stretch) / (1.0 - load)

    def mean_number(self) -> float:
        """Mean number of events at the centre, those of others too. Raises `Unstable`."""
        return (self.rate + self.other) * self.response()
