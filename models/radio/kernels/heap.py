"""A heap of things that are due, for kernels: rows of (key, number), the smallest first."""

from __future__ import annotations

from bypass.support.arrays import Ints
from bypass.support.kernel import borrowing_kernel


@borrowing_kernel
def push(heap: Ints, size: int, key: int, number: int) -> int:
    """Add a row; gives the new size. There must be room for it."""
    i = size
    while i > 0:
        parent = (i - 1) >> 1
        if heap[parent, 0] < key or (heap[parent, 0] == key and heap[parent, 1] <= number):
            break
        heap[i, 0], heap[i, 1] = heap[parent, 0], heap[parent, 1]
        i = parent
    heap[i, 0], heap[i, 1] = key, number
    return size + 1


@borrowing_kernel
def pop(heap: Ints, size: int) -> int:
    """Remove the first row; gives the new size. There must be one."""
    size -= 1
    key, number = heap[size, 0], heap[size, 1]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (
            heap[right, 0] < heap[child, 0]
            or (heap[right, 0] == heap[child, 0] and heap[right, 1] < heap[child, 1])
        ):
            child = right
        if heap[child, 0] > key or (heap[child, 0] == key and heap[child, 1] >= number):
            break
        heap[i, 0], heap[i, 1] = heap[child, 0], heap[child, 1]
        i = child
    heap[i, 0], heap[i, 1] = key, number
    return size
