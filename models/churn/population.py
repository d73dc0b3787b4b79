"""Clients that come or go one by one, so that their number follows a straight line."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bypass.support.arrays import Ints
from bypass.support.counter_rng import Purpose, uniform_pair
from bypass.support.kernel import kernel


def turns(clients: int, first: int, from_us: float, to_us: float) -> Ints:
    """The moment (µs) of each turn: 0 for the `first` ones, then evenly from `from_us` to `to_us`.

    In between, the number of turns is that of the line from (from_us, first) to (to_us, clients), rounded.
    """
    first = min(first, clients)
    share = (np.arange(clients - first) + 0.5) / max(clients - first, 1)
    moments = np.concatenate((np.zeros(first), from_us + share * (to_us - from_us)))
    return np.rint(moments).astype(np.int64)


def turns_of_clients(seed: np.uint64, clients: int) -> npt.NDArray[np.intp]:
    """Each client's turn to come, and to go, in two rows: two independent random orders of all clients.

    Of two clients the same one comes first whoever else is there.
    """
    return np.argsort(np.argsort(_draws(seed, clients), axis=1, kind="stable"), axis=1)


@kernel
def _draws(seed: np.uint64, clients: int) -> npt.NDArray[np.float64]:
    draws = np.empty((2, clients))
    for client in range(clients):
        draws[0, client], draws[1, client] = uniform_pair(seed, Purpose.CHURN, client, 0)
    return draws
