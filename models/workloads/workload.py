"""The base of workloads: when clients publish, and to which places their events belong."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from bypass.models.maps import AttractionPoint
from bypass.models.request import check_request
from bypass.support.arrays import Floats, Ints
from bypass.support.counter_rng import Purpose, uniform_pair
from bypass.support.kernel import kernel
from bypass.support.units import MICROSECONDS


class World(NamedTuple):
    """The world as a workload sees it: the places that attract people, if any, and its size (m)."""

    attractions: tuple[AttractionPoint, ...]
    width: float
    height: float


@dataclass(frozen=True, eq=False)
class Publications:
    """Publications in columns, in the order of time.

    `at_us` is in microseconds; `x` and `y` (m) are NaN for local events.
    """

    at_us: Ints
    client: npt.NDArray[np.int32]
    x: Floats
    y: Floats

    def __len__(self) -> int:
        return len(self.at_us)


class Workload(BaseModel, ABC):
    """Each client publishes `rate` times a second, evenly, from a random moment of the first interval on.

    An event carries `payload` bytes and concerns subscribers within `radius` (m).
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    rate: float = Field(default=1.0, gt=0, le=1000)
    payload: int = Field(default=128, ge=0)
    radius: float = Field(default=125.0, gt=0)

    @abstractmethod
    def targets(self, draws: Floats, world: World, /) -> Floats:
        """Where events belong, a row (x, y) for each row of two uniform draws.

        A row of NaN is a local event.
        """

    def schedule(self, clients: int, duration: float, seed: int, world: World) -> Publications:
        """All publications before `duration` (s). Raises InvalidRequest.

        The k-th publication of a client depends on the seed, the client's number, k and the workload's
        parameters, not on other clients.
        """
        check_request(clients, duration, seed)
        return self.between(
            Rhythm.of(self.rate, 0, clients, seed), 0, math.ceil(duration * MICROSECONDS), seed, world
        )

    def between(self, rhythm: Rhythm, start_us: int, end_us: int, seed: int, world: World) -> Publications:
        """The publications from `start_us` on and before `end_us`: a stretch of `schedule`."""
        at_us, client, number = rhythm.between(start_us, end_us)
        draws = _draws(np.uint64(seed), Purpose.WORKLOAD, client, number)
        x, y = self.targets(draws, world).T.copy()
        return Publications(at_us, client, x, y)


@dataclass(frozen=True, eq=False)
class Rhythm:
    """Every client's moment of the first interval, in the order of time, and how long an interval is.

    All intervals have the same order, so no stretch of time needs sorting.
    """

    rate: float
    phase_us: Ints
    client: npt.NDArray[np.int32]

    @classmethod
    def of(cls, rate: float, first: int, last: int, seed: int) -> Rhythm:
        """The rhythm of clients `first` to `last` - 1."""
        everybody = np.arange(first, last, dtype=np.int32)
        draws = _draws(np.uint64(seed), Purpose.WORKLOAD, everybody, np.zeros(last - first, np.int64))
        # Rounded down: the last moment of an interval must not come after the first one of the next.
        phase_us = np.floor(draws[:, 0] / rate * MICROSECONDS).astype(np.int64)
        order = np.argsort(phase_us, kind="stable")
        return cls(rate, phase_us[order], everybody[order])

    def between(self, start_us: int, end_us: int) -> tuple[Ints, npt.NDArray[np.int32], Ints]:
        """Moments from `start_us` on and before `end_us`, whose they are, and their numbers from 1 on."""
        first = max(0, math.floor(start_us * self.rate / MICROSECONDS) - 1)
        last = math.ceil(end_us * self.rate / MICROSECONDS) + 1
        moments, clients, numbers = [], [], []
        for k in range(first, last):
            at_us = self.phase_us + math.ceil(k / self.rate * MICROSECONDS)
            low, high = np.searchsorted(at_us, (start_us, end_us))
            moments.append(at_us[low:high])
            clients.append(self.client[low:high])
            numbers.append(np.full(high - low, k + 1))
        return np.concatenate(moments), np.concatenate(clients), np.concatenate(numbers)


@kernel
def _draws(seed: np.uint64, purpose: int, client: npt.NDArray[np.int32], number: Ints) -> Floats:
    """A row of two uniform draws for each client and number."""
    draws = np.empty((len(client), 2))
    for i in range(len(client)):
        draws[i, 0], draws[i, 1] = uniform_pair(seed, purpose, client[i], number[i])
    return draws
