"""Events on their way through centres, block by block: however many there are, memory stays the same."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from bypass.models.queueing.centre import Centre
from bypass.models.queueing.simulation import kernels
from bypass.models.queueing.simulation.periods import Periods
from bypass.support.arrays import Floats

BLOCK = 4096
"""Events at a time: what a block takes should stay in a core's cache."""

_ALWAYS = (0.0, math.inf, math.inf, 0.0, 0.0)


def passages(
    centres: Sequence[Centre],
    events: int,
    seed: np.uint64,
    *,
    arrivals: Floats | None,
    periods: Mapping[str, Periods],
    lifetime: float,
) -> Iterator[Floats]:
    """Blocks of events, a column each: when it was produced, then when it left each centre (s).

    Production is Poisson with the first centre's rate, or at `arrivals`. Centres whose name is in `periods`
    are ON when these say so. An event whose lifetime is over is gone, wherever it is: NaN from there on.
    Random numbers depend on the seed, the centre's number and the event's, not on blocks.
    """
    servers = [
        Server(number, centre, periods.get(centre.name), seed) for number, centre in enumerate(centres)
    ]
    rows = len(servers) + 1
    last = 0.0
    for first in range(0, events, BLOCK):
        size = min(BLOCK, events - first)
        draws, moments = np.empty((rows + rows % 2, size)), np.empty((rows, size))
        kernels.draw(seed, first, draws)
        if arrivals is None:
            last = kernels.produce(last, draws[0], 1.0 / centres[0].rate, moments[0])
        else:
            moments[0] = arrivals[first : first + size]
        deadlines = moments[0] + lifetime if math.isfinite(lifetime) else np.empty(0)
        for k, server in enumerate(servers):
            server.serve(moments[k], draws[k + 1], deadlines, moments[k + 1])
        yield moments


class Server:
    """A centre at work: where its clock stands, and until when it has something to do."""

    def __init__(self, number: int, centre: Centre, periods: Periods | None, seed: np.uint64) -> None:
        self._number, self._centre, self._seed = number, centre, seed
        self._span = 0.0 if periods is None else periods.span
        self._periods = np.empty((2, 0)) if periods is None else np.stack((periods.begins, periods.lengths))
        self._hands = np.array([self._first_period()] * 3)
        self._state = np.zeros(4)
        if centre.other:
            kernels.next_of_others(self._state, centre.other, centre.service, seed, number)
        else:
            self._state[kernels.OTHER_AT] = math.inf

    def _first_period(self) -> Floats:
        centre, recorded = self._centre, self._periods.shape[1]
        if not recorded and (centre.off == 0 or math.isinf(centre.on)):
            return np.array(_ALWAYS)
        hand = np.zeros(5)
        if recorded:
            hand[kernels.NEXT] = self._periods[0, 0]
        else:
            hand[kernels.NEXT] = kernels.first_begin(centre.on, centre.off, self._seed, self._number)
            hand[kernels.NUMBER] = 1
        kernels.turn(hand, centre.on, centre.off, self._periods, self._span, self._seed, self._number)
        return hand

    def serve(self, arrivals: Floats, draws: Floats, deadlines: Floats, departures: Floats) -> None:
        centre = self._centre
        kernels.serve(
            arrivals,
            draws,
            deadlines,
            departures,
            self._state,
            self._hands,
            centre.service,
            centre.other,
            centre.on,
            centre.off,
            self._periods,
            self._span,
            self._seed,
            self._number,
        )
