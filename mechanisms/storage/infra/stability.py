"""How likely a client is to stay in its cell and to go on working, as one number."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated

from pydantic import Field

from bypass.ports.proxies import StabilityReading
from bypass.protocol.edge import MOST_STABLE
from bypass.transitions import Mechanism, MechanismState

SETTLED_S = 300.0
"""The time in a cell after which a longer one does not count any more."""


class StabilityMechanism(Mechanism, ABC):
    """Weighs what is known about a client; see `bypass.ports.proxies.Stability`. Nothing has to move in a
    transition; clients of a cell that run different mechanisms compare different numbers, which may elect
    two of them."""

    def index(self, reading: StabilityReading) -> int:
        """The stability, 0 to MOST_STABLE: a whole number, so that a client compares itself by what it tells
        the others."""
        return min(MOST_STABLE, max(0, int(MOST_STABLE * self.weigh(reading) + 0.5)))

    @abstractmethod
    def weigh(self, reading: StabilityReading) -> float:
        """The stability as a share, 0 to 1."""


class Weighted(StabilityMechanism):
    """Adds up the charge of the battery (full while charging), which counts 50 of 100, the share of time in
    which the client stood still lately, 30, and the time that it has been in its cell, up to SETTLED_S, 20.
    The source names inputs but no formula; this is ours."""

    def weigh(self, reading: StabilityReading) -> float:
        settled = _share(reading.in_cell_s / SETTLED_S)
        return 0.5 * _charge(reading) + 0.3 * _share(reading.stillness) + 0.2 * settled


class Hdum(StabilityMechanism):
    """Adds up the charge of the battery, which counts 50 of 100, the safe time, 30, and the neighbours that
    the client has, 20. A client whose battery has less than `least_charge` is the least stable.

    The safe time is that in which it leaves a circle of `reach_m` around the place where it is, at its speed:
    SETTLED_S or more count alike. So do `enough` neighbours or more.
    """

    least_charge: Annotated[float, MechanismState(), Field(ge=0, le=1)] = 0.15
    reach_m: Annotated[float, MechanismState(), Field(gt=0, le=100_000)] = 50.0
    enough: Annotated[int, MechanismState(), Field(ge=1, le=4096)] = 8

    def weigh(self, reading: StabilityReading) -> float:
        charge = _charge(reading)
        if charge < self.least_charge:
            return 0.0
        safe = _share(self.reach_m / (reading.speed * SETTLED_S)) if reading.speed > 0 else 1.0
        return 0.5 * charge + 0.3 * safe + 0.2 * _share(reading.neighbours / self.enough)


def _charge(reading: StabilityReading) -> float:
    return 1.0 if reading.charging else _share(reading.battery)


def _share(number: float) -> float:
    return min(1.0, max(0.0, number))
