"""A queueing centre: how long an event stays at one place on its way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, isfinite, sqrt

from bypass.errors import BypassError


class InvalidCentre(BypassError):
    """A parameter of a queueing centre makes no sense."""


class Unstable(BypassError):
    """More comes to a queueing centre than it can serve: its queue grows without bound."""


class Unreachable(BypassError):
    """No rate, or no OFF period, is small enough for a response time that was asked for."""


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

    def always_on(self) -> Centre:
        """The same without OFF periods."""
        return replace(self, on=inf, off=0.0)

    def effective_response(self) -> float:
        """The response (s) if other traffic only makes services longer: service / (1 - other · service).

        Equal to `response` without OFF periods or without other traffic, below it otherwise: it leaves out
        that others too find the centre OFF. Raises `Unstable`.
        """
        left = 1.0 - self.other * self.service
        if left <= 0.0:
            raise Unstable(f"{self.name}: load {1.0 - left:.6g} of others: expected below 1")
        return replace(self, service=self.service / left, other=0.0).response()

    def largest_rate(self, target: float) -> float:
        """The largest `rate` (1/s) with a mean response of at most `target` (s), all else as it is.

        Raises `Unreachable`.
        """
        self._check_reachable(target, replace(self, rate=0.0), "with rare events")
        stretched = self.service * self.stretch
        rate = (1.0 - (self.interruption + stretched) / target) / stretched - self.other
        return max(rate, 0.0)  # rounding may go below

    def longest_off(self, target: float) -> float:
        """The longest mean OFF period (s) with a mean response of at most `target` (s), all else as it is.

        Infinite for a centre whose ON period never ends. Raises `Unreachable`.
        """
        self._check_reachable(target, self.always_on(), "without OFF periods")
        if self.on == inf:
            return inf
        # target · (1 - load) = interruption + service · stretch, times (on + off), is quadratic in `off`.
        work = self.service * (1.0 + target * (self.rate + self.other)) / self.on
        half = target / 2.0 - work * self.on
        rest = self.on * (target - work * self.on)
        root = sqrt(half * half + (1.0 + work) * rest)
        return max((half + root) / (1.0 + work) if half > 0 else rest / (root - half), 0.0)

    def _check_reachable(self, target: float, best: Centre, how: str) -> None:
        """Raise `Unreachable` if even the centre as it is at best takes longer."""
        if best.load >= 1.0:
            raise Unreachable(f"{self.name}: load {best.load:.6g} even {how}: expected below 1")
        if not target >= best.response():
            raise Unreachable(
                f"{self.name}: target {target:g} s: expected at least {best.response():.6g} s,"
                f" which it takes {how}"
            )
