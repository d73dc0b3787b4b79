"""The base of the algorithms that choose gateways: the rules of the result, and which gateway serves whom."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, final

import numpy as np
from pydantic import Field

from bypass.errors import BypassError, shown
from bypass.mechanisms.gateways.history import ROUNDING, History, Services, note
from bypass.ports.state_info import LOCATION, Vector
from bypass.support.arrays import Floats, Ints
from bypass.support.kernel import kernel
from bypass.transitions import Mechanism, MechanismState, TransferState

GatewayAssignment = dict[int, frozenset[int]]

NOBODY: frozenset[int] = frozenset()


class TooFewGateways(BypassError):
    """Clients cannot be served by fewer than one gateway."""


@dataclass(slots=True)
class Candidates:
    """Clients whose places are known, in ascending order; `rows` are theirs in `services`."""

    clients: list[int]
    rows: Ints
    services: Services
    x: Floats
    y: Floats

    def order(self) -> Ints:
        """A number for each to decide between equals, the same in every run; low clients gain nothing."""
        return (np.array(self.clients, np.int64) * 0x9E3779B1) & 0xFFFFFFFF


@kernel
def nearest(x: Floats, y: Floats, chosen: Ints) -> Ints:
    """For each place, which of the chosen ones is the nearest; the first of several."""
    found = np.zeros(len(x), np.int64)
    for i in range(len(x)):
        least = np.inf
        for c in range(len(chosen)):
            dx, dy = x[i] - x[chosen[c]], y[i] - y[chosen[c]]
            distance = dx * dx + dy * dy
            if distance < least:
                least, found[i] = distance, c
    return found


def wanted(number: int, share: float) -> int:
    """How many gateways a share of so many clients are: rounded up, at least 1."""
    return max(1, math.ceil(number * share - ROUNDING))


class GatewayChoice(Mechanism):
    """Chooses gateways by `choose`, and gives every other client to the gateway nearest to it.

    Places are those that the state information has. A client whose place is unknown is near nobody: it is its
    own gateway, one of those asked for, though at least one is chosen among clients with a place.

    `share`: how many of an event's recipients become gateways. `smallest`: fewer recipients than this are
    served directly. `serves`: all recipients, or only those that an attraction point's channel serves.
    `contacts`: tell gateways the addresses of their clients, for dissemination that addresses one by one.
    The last two concern the broker.
    """

    history: Annotated[History, TransferState("history", optional=True), Field(default_factory=History)]
    share: Annotated[float, MechanismState("share"), Field(gt=0, le=1)] = 0.4
    smallest: Annotated[int, MechanismState("smallest"), Field(ge=1)] = 2
    serves: Annotated[Literal["all", "channels"], MechanismState("serves")] = "all"
    contacts: Annotated[bool, MechanismState("contacts")] = False

    @abstractmethod
    def choose(self, candidates: Candidates, k: int) -> Ints:
        """Choose the candidates that become gateways, by their positions, each once: at least one.

        There are more than `k` candidates.
        """

    @final
    def assign(self, out_of: Collection[int]) -> Mapping[int, frozenset[int]]:
        """As many gateways as `share` says; none if there are fewer clients than `smallest`."""
        number = len(out_of)
        return self.get_gateways(out_of, wanted(number, self.share)) if number >= self.smallest else {}

    @final
    def get_gateways(self, out_of: Collection[int], k: int) -> Mapping[int, frozenset[int]]:
        """About `k` gateways, each with the clients it serves. Raises TooFewGateways if `k` is below 1, or if
        nobody is chosen.

        Every call is a round, which the history notes. The order of `out_of` does not matter.
        """
        clients = sorted(set(out_of))
        if not clients:
            return {}
        if k < 1:
            raise TooFewGateways(f"k {shown(k)}: expected at least 1")
        if k >= len(clients):
            return self._all(clients)
        known = zip(clients, self.host.state_info.get_many(LOCATION, clients), strict=True)
        places = {client: place for client, place in known if place is not None}
        if len(places) == len(clients):
            return self._some(clients, places, k)
        gateways = self._all([client for client in clients if client not in places])
        placed, left = [*places], max(k - len(gateways), 1)
        return gateways | (self._some(placed, places, left) if left < len(placed) else self._all(placed))

    def _all(self, clients: list[int]) -> GatewayAssignment:
        """Everybody is a gateway."""
        rows = self.history.rows(clients)
        note(self.history.services, rows, np.ones(len(rows), np.bool_), 1.0, self.host.now())
        return dict.fromkeys(clients, NOBODY)

    def _some(self, clients: list[int], places: dict[int, Vector], k: int) -> GatewayAssignment:
        """Some of the clients, the keys of `places`, are gateways; the others each have the nearest."""
        x = np.array([place[0] for place in places.values()], np.float64)
        y = np.array([place[1] for place in places.values()], np.float64)
        rows = self.history.rows(clients)
        services = self.history.services
        chosen = self.choose(Candidates(clients, rows, services, x, y), k)
        if not len(chosen):
            raise TooFewGateways(
                f"{self.name} chose nobody of {len(clients)} clients as a gateway: expected at least one"
            )
        is_gateway = np.zeros(len(clients), np.bool_)
        is_gateway[chosen] = True
        note(services, rows, is_gateway, k / len(clients), self.host.now())
        groups: list[list[int]] = [[] for _ in chosen]
        for client, gateway, c in zip(
            clients, is_gateway.tolist(), nearest(x, y, chosen).tolist(), strict=True
        ):
            if not gateway:
                groups[c].append(client)
        return {clients[i]: frozenset(group) for i, group in zip(chosen.tolist(), groups, strict=True)}
