"""Gateways in turn, after LEACH (Heinzelman et al. 2000): a client that has served is spared until others
have.

LEACH has periods of 1/P rounds in which all nodes take part. At a broker each event concerns other clients
and P changes with their number, so periods are a client's own, measured in shares (see `SERVICE`). With the
same clients in each round and 1/P whole, that is LEACH.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from bypass.mechanisms.gateways.history import ROUNDING, Services
from bypass.mechanisms.gateways.selection import Candidates, GatewayChoice
from bypass.support.arrays import Floats, Ints
from bypass.support.kernel import kernel


@kernel
def turns(services: Services, rows: Ints, order: Ints, x: Floats, y: Floats, k: int) -> Ints:
    """Choose the `k` clients that have waited for most rounds since they served, or first came.

    Of those who have waited equally long, the farthest from all chosen so far is next; then `order` decides.
    """
    n = len(rows)
    waiting = np.empty(n, np.int64)
    for i in range(n):
        waiting[i] = services[rows[i]].rounds - services[rows[i]].last_round
    chosen = np.empty(k, np.int64)
    free = np.ones(n, np.bool_)
    apart = np.full(n, np.inf)
    for c in range(k):
        best = -1
        for i in range(n):
            if free[i] and (
                best < 0
                or waiting[i] > waiting[best]
                or (
                    waiting[i] == waiting[best]
                    and (apart[i] > apart[best] or (apart[i] == apart[best] and order[i] < order[best]))
                )
            ):
                best = i
        chosen[c] = best
        free[best] = False
        for i in range(n):
            dx, dy = x[i] - x[best], y[i] - y[best]
            apart[i] = min(apart[i], dx * dx + dy * dy)
    return chosen


@kernel
def threshold(share: float, passed: float) -> float:
    """LEACH's T(n) = P / (1 - P·i), for one who has not served yet in its period.

    `passed` is how much of the period has passed, P·i if all rounds had the same share P.
    """
    left = 1.0 - passed
    return share / left if share < left - ROUNDING else 1.0


@kernel
def chance(share: float, passed: float, served: bool) -> float:
    """The probability with which a client is chosen, so that it serves once in each period.

    Over all that can have happened before it is `share`, in every round, so that the expected number of
    gateways is right whichever clients take part. That decides what happens in a round that belongs to two
    periods: who has served in the first is chosen with the probability that is left beside those who must.
    """
    if not served:
        return threshold(share, passed)
    into_next = passed + share - 1.0
    return into_next / passed if into_next > ROUNDING else 0.0


@kernel
def drawn(services: Services, rows: Ints, share: float, draws: Floats) -> Ints:
    """Choose clients by chance, with one uniform random number for each."""
    found = np.empty(len(rows), np.int64)
    n = 0
    for i in range(len(rows)):
        service = services[rows[i]]
        if draws[i] < chance(share, service.passed, service.served):
            found[n] = i
            n += 1
    return found[:n].copy()


class DkcLeach(GatewayChoice):
    """Exactly `k` gateways, without chance: those who have waited longest, spread out where several have."""

    name: ClassVar[str] = "dkc-leach"

    def choose(self, candidates: Candidates, k: int) -> Ints:
        c = candidates
        return turns(c.services, c.rows, c.order(), c.x, c.y, k)


class SkcLeach(GatewayChoice):
    """`k` gateways on average, by chance, each client once in a period.

    If nobody is drawn it is the turn of one client, by the rule of DKC-LEACH: an event must not be lost.
    """

    name: ClassVar[str] = "skc-leach"

    def choose(self, candidates: Candidates, k: int) -> Ints:
        c, n = candidates, len(candidates.clients)
        draw = self.host.random("gateways").random
        found = drawn(c.services, c.rows, k / n, np.array([draw() for _ in range(n)]))
        return found if len(found) else turns(c.services, c.rows, c.order(), c.x, c.y, 1)
