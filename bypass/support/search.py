"""Search in ascending numbers, for kernels."""

from __future__ import annotations

from bypass.support.arrays import Floats, Ints
from bypass.support.kernel import kernel


@kernel
def count_up_to(ascending: Floats | Ints, value: float) -> int:
    """The number of elements that are at most `value`.

    The same as numpy's `searchsorted` to the right. A process that loads a kernel with that one imports
    scipy, which takes as long as all else that a broker loads at its start.
    """
    low, high = 0, len(ascending)
    while low < high:
        middle = (low + high) // 2
        if ascending[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low
