"""The record of which clients were gateways, how often and when.

All selection algorithms remember the same, so that one that follows another does not start from nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bypass.support.arrays import Bools, Ints
from bypass.support.kernel import kernel

Services = NDArray[np.void]

LONGEST_SERVICE_S = 1.0
"""Nobody serves longer for having been chosen once: it may have gone where no events are."""

ROUNDING = 1e-9
"""Shares that are added up to 1 may miss it by this."""

SERVICE = np.dtype(
    [
        ("rounds", np.int64),  # selections that the client took part in
        ("times", np.int64),  # how often it was gateway
        ("last_round", np.int64),  # the last of its rounds in which it was; 0: never
        ("last_at", np.float64),  # when that was
        ("seconds", np.float64),  # how long it was gateway until its last round: each time until its next
        ("passed", np.float64),  # how much of its current period has passed, at least 0 and below 1
        ("served", np.bool_),  # whether it has been gateway in this period
    ],
    align=True,
)
"""The record of one client.

Rounds are its own: different events concern different clients, and nobody is late in rounds it was no part
of. In a round it should be chosen with probability P, the number of gateways by that of clients, which
changes too. So a period is not 1/P rounds but as many as it takes for their shares P to reach 1.
"""


@kernel
def served_until(service: Any, now: float) -> float:
    """For how many seconds a client has been gateway, if it still is one since its last round."""
    seconds: float = service.seconds
    if service.times > 0 and service.last_round == service.rounds:
        seconds += min(now - service.last_at, LONGEST_SERVICE_S)
    return seconds


@kernel
def note(services: Services, rows: Ints, chosen: Bools, share: float, now: float) -> None:
    """Write down a round of these clients, in which `share` of them were to be gateways."""
    for i in range(len(rows)):
        service = services[rows[i]]
        service.seconds = served_until(service, now)
        service.rounds += 1
        if chosen[i]:
            service.times += 1
            service.last_round = service.rounds
            service.last_at = now
        service.passed += share
        if service.passed < 1.0 - ROUNDING:
            service.served = service.served or chosen[i]
        else:
            # The round belongs to two periods. Who was still to serve in the first one has done that; for
            # who had served, it counts in the second.
            service.passed = max(0.0, service.passed - 1.0)
            service.served = service.served and chosen[i]


class History:
    """The service of each client; one row of `services` each."""

    def __init__(self) -> None:
        self.services: Services = np.zeros(64, SERVICE)
        self._rows: dict[int, int] = {}

    def of(self, client: int) -> dict[str, Any]:
        """The record of a client: the fields of `SERVICE`, all 0 if it never took part."""
        row = self._rows.get(client)
        service = np.zeros((), SERVICE) if row is None else self.services[row]
        return {name: service[name].item() for name in SERVICE.fields or ()}

    def rows(self, clients: Sequence[int]) -> Ints:
        """The rows of these clients, new ones for those that are new."""
        known = self._rows
        rows = np.array([known.setdefault(client, len(known)) for client in clients], np.int64)
        if len(known) > len(self.services):
            grown = np.zeros(2 * len(known), SERVICE)
            grown[: len(self.services)] = self.services
            self.services = grown
        return rows
