"""Random numbers without state: each is a function of its purpose, client and number, so they can be had in
any order.

The n-th number for a client has the same bits whichever others are drawn, on every machine. The generator is
Philox 4×32 with 10 rounds (Salmon et al. 2011): the seed is its key; purpose, client and number are its
counter.
"""

from __future__ import annotations

import math
from enum import IntEnum

import numpy as np

from bypass.support.kernel import kernel


class Purpose(IntEnum):
    """The purposes of random numbers. A value never changes, because it is part of the counter."""

    MOBILITY = 1
    WORKLOAD = 2
    SENSOR = 3
    GROUP = 4
    RADIO = 5
    CHURN = 6
    QUEUEING = 7
    POSTS = 8


_MULTIPLIER_0, _MULTIPLIER_1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL_0, _WEYL_1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)


@kernel
def philox(
    c0: np.uint64, c1: np.uint64, c2: np.uint64, c3: np.uint64, k0: np.uint64, k1: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Four words of 32 bits from a counter of four such words and a key of two."""
    for _ in range(10):
        product_0, product_1 = _MULTIPLIER_0 * c0, _MULTIPLIER_1 * c2
        c0, c1, c2, c3 = (
            (product_1 >> _HALF) ^ c1 ^ k0,
            product_1 & _LOW,
            (product_0 >> _HALF) ^ c3 ^ k1,
            product_0 & _LOW,
        )
        k0, k1 = (k0 + _WEYL_0) & _LOW, (k1 + _WEYL_1) & _LOW
    return c0, c1, c2, c3


@kernel
def uniform_pair(seed: np.uint64, purpose: int, client: int, number: int) -> tuple[float, float]:
    """Two independent uniform numbers from [0, 1), 53 bits each.

    `seed` is an np.uint64; `client` and `number` are at least 0 and below 2**32.
    """
    a, b, c, d = philox(
        np.uint64(number),
        np.uint64(client),
        np.uint64(purpose),
        np.uint64(0),
        np.uint64(seed) & _LOW,
        np.uint64(seed) >> _HALF,
    )
    high, low = np.uint64(5), np.uint64(6)
    return (
        (np.float64(a >> high) * 67108864.0 + np.float64(b >> low)) / 9007199254740992.0,
        (np.float64(c >> high) * 67108864.0 + np.float64(d >> low)) / 9007199254740992.0,
    )


@kernel
def normal_pair(seed: np.uint64, purpose: int, client: int, number: int) -> tuple[float, float]:
    """Two independent standard normal numbers, from the same counter as `uniform_pair`'s."""
    u, v = uniform_pair(seed, purpose, client, number)
    length = math.sqrt(-2.0 * math.log(1.0 - u))
    return length * math.cos(2.0 * math.pi * v), length * math.sin(2.0 * math.pi * v)
