"""Observes which clients were gateways for which events, and how many copies their clients got."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bypass.models.radio.kernels.state import NOBODY
from bypass.ports.local_access import GATEWAY_PORT
from bypass.protocol.messages import Publish
from bypass.scenarios.figures.fairness import jain
from bypass.scenarios.figures.measures import EventColumn
from bypass.sim.system import SimulatedSystem

EVENT_COLUMNS = ("at_us", "x", "y", "gateways", "recipients", "attempts")

CELL_M = 20.0  # of the grid by which places of events are told apart
ENOUGH = 20  # events in a cell for the mean over them to say something

SETTLED_S = 1.0  # by then what a gateway passes on has arrived, or never will


@dataclass(frozen=True)
class GatewayUse:
    """`events` are columns, one row for each event that went by gateways; `times` is by client, of all."""

    events: dict[str, EventColumn]
    times: NDArray[np.int64]

    def summary(self) -> dict[str, Any]:
        """Figures; there are no means if there were no gateways."""
        gateways, attempts = self.events["gateways"], self.events["attempts"]
        known = attempts[~np.isnan(attempts)]
        return {
            "events": len(gateways),
            "per_event": float(gateways.mean()) if len(gateways) else None,
            "share": float((gateways / self.events["recipients"]).mean()) if len(gateways) else None,
            "fairness": jain(self.times) if len(gateways) else None,
            "attempts": float(known.mean()) if len(known) else None,
            "most_attempts": float(np.percentile(known, 97.5)) if len(known) else None,
            "attempts_where_most": self._attempts_where_most(),
        }

    def _attempts_where_most(self) -> float | None:
        """The largest mean of attempts by the place of events, in cells of 20 m that have enough of them."""
        attempts = self.events["attempts"]
        known = ~np.isnan(attempts) & ~np.isnan(self.events["x"])
        if not known.any():
            return None
        places = np.stack([np.floor(self.events[axis][known] / CELL_M) for axis in "xy"])
        _, cell = np.unique(places, axis=1, return_inverse=True)
        counts = np.bincount(cell)
        means = (np.bincount(cell, attempts[known]) / counts)[counts >= ENOUGH]
        return float(means.max()) if len(means) else None


class GatewayWatch:
    """Hears, as an analyzer, of gateways, and looks after a while at what has reached their clients."""

    def __init__(self, system: SimulatedSystem) -> None:
        self._system = system
        self._times = np.zeros(len(system.clients), np.int64)
        self._rows: list[tuple[int, float, float, int, int]] = []
        self._attempts: list[float] = []

    def assigned(self, publication: Publish, gateways: Mapping[int, frozenset[int]]) -> None:
        """An event goes to these gateways."""
        served = [client for clients in gateways.values() for client in clients]
        x, y = publication.location or (np.nan, np.nan)
        for gateway in gateways:
            self._times[gateway] += 1
        number = len(self._rows)
        self._rows.append((publication.at_us, x, y, len(gateways), len(gateways) + len(served)))
        self._attempts.append(np.nan)
        if served:
            self._system.clock.after(SETTLED_S, self._count, number, publication, served)

    def _count(self, number: int, publication: Publish, served: list[int]) -> None:
        place = self._system.local.place_of(GATEWAY_PORT, publication)
        if place != NOBODY:
            copies = self._system.local.ports.copies[place].take(served)
            self._attempts[number] = sum(copies.tolist()) / len(served)  # numpy's mean of a few costs more

    def use(self) -> GatewayUse:
        """The observations so far."""
        columns = EVENT_COLUMNS[:-1]
        values = list(zip(*self._rows, strict=True)) or [()] * len(columns)
        events: dict[str, EventColumn] = {
            name: np.array(column) for name, column in zip(columns, values, strict=True)
        }
        return GatewayUse(events | {"attempts": np.array(self._attempts)}, self._times.copy())
