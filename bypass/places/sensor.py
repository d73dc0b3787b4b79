"""The location sensor that every runtime provides, its fixes, and requests for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict, Field


class Fix(NamedTuple):
    """One reading of a location sensor: planar metres, metres per second, seconds; the altitude `z` in
    metres, None if it is not known."""

    x: float
    y: float
    vx: float
    vy: float
    at: float
    z: float | None = None


class LocationRequest(BaseModel):
    """A request for fixes every `interval` seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    interval: float = Field(default=5.0, ge=0.001, allow_inf_nan=False)


FixListener = Callable[[Fix], None]


class LocationSensor(Protocol):
    """A host's source of places. Parallel requests share one stream of fixes, at the shortest interval."""

    def request(self, request: LocationRequest, listener: FixListener) -> None:
        """Call `listener` with every fix from now on, until it is released."""

    def release(self, listener: FixListener) -> None:
        """Stop calling `listener`; the sensor rests when nobody listens."""

    def available(self) -> bool:
        """Whether the host's place is known, or may ever be."""

    def last(self) -> Fix | None:
        """The latest fix, if there was one."""

    def current(self) -> Fix | None:
        """Where the host is at this moment, as well as the sensor can tell."""

    def place(self) -> tuple[float, float] | None:
        """x and y of `current`, for those who ask often."""


class NoSensor:
    """The sensor of a host that has none."""

    def request(self, request: LocationRequest, listener: FixListener) -> None:
        """Never calls."""

    def release(self, listener: FixListener) -> None:
        """Nothing to release."""

    def available(self) -> bool:
        return False

    def last(self) -> Fix | None:
        return None

    def current(self) -> Fix | None:
        return None

    def place(self) -> tuple[float, float] | None:
        return None
