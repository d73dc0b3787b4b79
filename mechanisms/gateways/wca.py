"""One gateway in each cluster of clients, by place and movement, after WCA (Chatterjee et al. 2002)."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from bypass.mechanisms.gateways.history import Services, served_until
from bypass.mechanisms.gateways.selection import Candidates, GatewayChoice
from bypass.ports.state_info import VELOCITY
from bypass.support.arrays import Bools, Floats, Ints
from bypass.support.kernel import kernel
from bypass.transitions import MechanismState

DEGREE, DISTANCE, SPEED, TENURE = 0.7, 0.2, 0.05, 0.05
"""Weights of the terms in a gateway's score."""


@kernel
def weights(
    services: Services,
    rows: Ints,
    now: float,
    x: Floats,
    y: Floats,
    speed: Floats,
    reach: float,
    ideal: int,
) -> Floats:
    """How badly each client would do as gateway.

    What counts: how far the number of its neighbours within `reach` is from `ideal`, how far away they are
    together (in units of `reach`), how fast it moves (m/s), and how long it has been gateway (seconds).
    """
    n = len(x)
    neighbours = np.zeros(n)
    distances = np.zeros(n)
    weight = np.empty(n)
    for i in range(n):
        for j in range(i):
            dx, dy = x[i] - x[j], y[i] - y[j]
            if dx * dx + dy * dy <= reach * reach:
                distance = math.sqrt(dx * dx + dy * dy)
                neighbours[i] += 1.0
                neighbours[j] += 1.0
                distances[i] += distance
                distances[j] += distance
    for i in range(n):
        weight[i] = (
            DEGREE * abs(neighbours[i] - ideal)
            + DISTANCE * distances[i] / reach
            + SPEED * speed[i]
            + TENURE * served_until(services[rows[i]], now)
        )
    return weight


@kernel
def heads(x: Floats, y: Floats, weight: Floats, order: Ints, reach: float) -> Ints:
    """The heads of clusters, lightest first: everybody is within `reach` of one, no head of another.

    The lightest client, by `order` among equals, takes all within reach into its cluster, then the lightest
    of those left, until nobody is.
    """
    n = len(x)
    found = np.empty(n, np.int64)
    free = np.ones(n, np.bool_)
    count = 0
    while True:
        best = -1
        for i in range(n):
            if free[i] and (
                best < 0 or weight[i] < weight[best] or (weight[i] == weight[best] and order[i] < order[best])
            ):
                best = i
        if best < 0:
            return found[:count].copy()
        found[count] = best
        count += 1
        free[best] = False
        for i in range(n):
            dx, dy = x[i] - x[best], y[i] - y[best]
            if dx * dx + dy * dy <= reach * reach:
                free[i] = False


@kernel
def nearest_lighter(x: Floats, y: Floats, left: Bools, b: int) -> tuple[int, float]:
    """The remaining head before `b` that is nearest to it, and the square of the distance."""
    least, found = np.inf, 0
    for a in range(b):
        dx, dy = x[a] - x[b], y[a] - y[b]
        if left[a] and dx * dx + dy * dy < least:
            least, found = dx * dx + dy * dy, a
    return found, least


@kernel
def merged(x: Floats, y: Floats, k: int) -> Bools:
    """Which heads are left, of those at these places, lightest first, if there may be at most `k` clusters.

    The two clusters whose heads are nearest become one, whose head is the lighter one, again and again.
    """
    n = len(x)
    left = np.ones(n, np.bool_)
    lighter = np.zeros(n, np.int64)
    apart = np.full(n, np.inf)
    for b in range(1, n):
        lighter[b], apart[b] = nearest_lighter(x, y, left, b)
    for _ in range(n - k):
        gone = -1
        for b in range(1, n):  # the lightest of all never goes
            if left[b] and (gone < 0 or apart[b] < apart[gone]):
                gone = b
        left[gone] = False
        for b in range(gone + 1, n):
            if left[b] and lighter[b] == gone:
                lighter[b], apart[b] = nearest_lighter(x, y, left, b)
    return left


class CsWca(GatewayChoice):
    """One gateway in each cluster of clients within `range_m` of it, at most `k`.

    Where clients are dense, that is fewer than `k`. Only if clusters had to be merged may a client be farther
    from its gateway. `ideal_degree` is how many neighbours a gateway should have. Who moves at an unknown
    speed is taken to stand.
    """

    name: ClassVar[str] = "cs-wca"

    range_m: Annotated[float, MechanismState("range_m"), Field(gt=0, allow_inf_nan=False)] = 70.4
    ideal_degree: Annotated[int, MechanismState("ideal_degree"), Field(ge=0)] = 10

    def choose(self, candidates: Candidates, k: int) -> Ints:
        c, x, y = candidates, candidates.x, candidates.y
        velocities = self.host.state_info.get_many(VELOCITY, c.clients)
        speed = np.array([0.0 if vector is None else math.hypot(*vector) for vector in velocities])
        weight = weights(c.services, c.rows, self.host.now(), x, y, speed, self.range_m, self.ideal_degree)
        found = heads(x, y, weight, c.order(), self.range_m)
        return found if len(found) <= k else found[merged(x[found], y[found], k)]
