"""What models have in common whose clients go somewhere, stay for a while, and go on."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Annotated

import numpy as np
from numpy.random import Generator
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from bypass.models.streams import Purpose, check_request, stream
from bypass.models.waypoints import Track, Waypoints

Point = tuple[float, float]


def _ordered(bounds: tuple[float, float]) -> tuple[float, float]:
    if bounds[0] > bounds[1]:
        raise ValueError(f"{bounds} is no range: expected the lower bound first")
    return bounds


class TripModel(BaseModel, ABC):
    """A client makes a trip at one speed, pauses, makes the next trip.

    Speed (m/s) and pause (s) are drawn for each trip, uniformly from their ranges.
    All clients set out at the same moment, which leaves its mark for a while: that is what `warmup` cuts off.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    speed: Annotated[
        tuple[Annotated[float, Field(gt=0)], Annotated[float, Field(gt=0)]], AfterValidator(_ordered)
    ] = (1.0, 2.0)
    pause: Annotated[
        tuple[Annotated[float, Field(ge=0)], Annotated[float, Field(ge=0)]], AfterValidator(_ordered)
    ] = (1.0, 60.0)
    warmup: float = Field(default=480.0, ge=0)

    @abstractmethod
    def paths(self, rng: Generator) -> Iterator[list[Point]]:
        """First the place where a client starts, alone; then, trip after trip, the places that it passes.

        Never ends. The last place of a trip is where the client pauses.
        """

    def generate(self, clients: int, duration: float, seed: int) -> Waypoints:
        """Movement from time 0 to exactly `duration` (s). Raises InvalidRequest.

        A client's movement depends on the seed, its number and the model's parameters, not on other clients.
        """
        check_request(clients, duration, seed)
        return Waypoints.of_tracks(
            self._track(stream(seed, Purpose.MOBILITY, client), duration) for client in range(clients)
        )

    def _track(self, rng: Generator, duration: float) -> Track:
        paths = self.paths(rng)
        [(x, y)] = next(paths)
        now = -self.warmup
        t, xs, ys = [now], [x], [y]
        while now < duration:
            speed = rng.uniform(*self.speed)
            for next_x, next_y in next(paths):
                now += math.hypot(next_x - x, next_y - y) / speed
                x, y = next_x, next_y
                t.append(now)
                xs.append(x)
                ys.append(y)
            now += rng.uniform(*self.pause)
            t.append(now)
            xs.append(x)
            ys.append(y)
        times = np.array(t)
        kept = np.concatenate([[0.0], times[(times > 0) & (times < duration)], [duration]])
        return kept, np.interp(kept, times, xs), np.interp(kept, times, ys)
