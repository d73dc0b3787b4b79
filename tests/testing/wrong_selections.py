"""Selections of gateways that are wrong, each in a way of its own."""

from __future__ import annotations

import random

import numpy as np

from bypass import GatewayChoice
from bypass.mechanisms.gateways.selection import Candidates, GatewayAssignment
from bypass.ports.state_info import Vector
from bypass.support.arrays import Ints


class SameAgain(GatewayChoice):
    """Chooses the same client for each gateway that is wanted, and so drops whom it serves."""

    def choose(self, candidates: Candidates, k: int) -> Ints:
        return np.zeros(k, np.int64)


class Faithful(GatewayChoice):
    """Keeps the gateway of the round before, though that one may have gone."""

    last: int | None = None

    def choose(self, candidates: Candidates, k: int) -> Ints:
        return np.zeros(1, np.int64)

    def _some(self, clients: list[int], places: dict[int, Vector], k: int) -> GatewayAssignment:
        gateways = super()._some(clients, places, k)
        (chosen,) = gateways
        if self.last is not None and self.last != chosen:
            gateways = {self.last: gateways[chosen] | {chosen} - {self.last}}
        self.last = chosen if self.last is None else self.last
        return gateways


class Dice(GatewayChoice):
    """Draws its numbers from elsewhere than its host."""

    def choose(self, candidates: Candidates, k: int) -> Ints:
        return np.array(random.SystemRandom().sample(range(len(candidates.clients)), k), np.int64)
