"""When clients publish, and where what they publish belongs."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from bypass.messages import Kind
from bypass.models.maps.street_map import StreetMap
from bypass.models.streams import Purpose, check_request, stream

Floats = npt.NDArray[np.float64]


class World(NamedTuple):
    """What a workload may know of the world: its streets, if it has any, and its size (m)."""

    street_map: StreetMap | None
    width: float
    height: float


@dataclass(frozen=True, eq=False)
class Publications:
    """Publications in columns, in the order of time, and of client numbers where times are equal.

    `kind` holds values of `Kind`; `x` and `y` (m) are NaN for local events.
    """

    t: Floats
    client: npt.NDArray[np.int32]
    kind: npt.NDArray[np.int8]
    x: Floats
    y: Floats

    def __len__(self) -> int:
        return len(self.t)


class Workload(BaseModel, ABC):
    """Each client publishes `rate` times a second, evenly, from a random moment of the first interval on.

    An event carries `payload` bytes and concerns subscribers within `radius` (m).
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    rate: float = Field(default=1.0, gt=0)
    payload: int = Field(default=128, ge=0)
    radius: float = Field(default=125.0, gt=0)

    @abstractmethod
    def targets(self, draws: Floats, world: World, /) -> Floats:
        """Where the events of one client belong, a row (x, y) for each row of two uniform draws.

        A row of NaN is a local event.
        """

    def schedule(
        self,
        clients: int,
        duration: float,
        seed: int,
        street_map: StreetMap | None,
        width: float,
        height: float,
    ) -> Publications:
        """All publications before `duration` (s). Raises InvalidRequest.

        The k-th publication of a client depends on the seed, the client's number, k and the workload's
        parameters, not on other clients.
        """
        check_request(clients, duration, seed)
        world = World(street_map, width, height)
        moments = np.arange(math.ceil(duration * self.rate)) / self.rate
        times, targets = [], []
        for number in range(clients):
            rng = stream(seed, Purpose.WORKLOAD, number)
            t = rng.random() / self.rate + moments
            times.append(t[t < duration])
            targets.append(self.targets(rng.random((len(times[-1]), 2)), world))
        t = np.concatenate(times)
        order = np.argsort(t, kind="stable")
        client = np.repeat(np.arange(clients, dtype=np.int32), [len(own) for own in times])
        x, y = np.concatenate(targets)[order].T.copy()
        kind = np.where(np.isnan(x), Kind.LOCAL, Kind.PLACED).astype(np.int8)
        return Publications(t[order], client[order], kind, x, y)
