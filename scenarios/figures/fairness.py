"""Jain's index of fairness."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def jain(counts: NDArray[Any]) -> float:
    """Jain's index of how often each did something: 1 if all did equally often, 1/N if one of N did it all.

    NaN if nobody did anything.
    """
    x = np.asarray(counts, np.float64)
    squares = float(np.dot(x, x))
    return float(x.sum()) ** 2 / (len(x) * squares) if squares else float("nan")
