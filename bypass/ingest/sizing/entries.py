"""Sizes of measurements in a store of keys and values, one by one or batched."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EntrySizes:
    """The bytes of an entry's parts. Those of another store are measured there and given here.

    The parts of a batch are one `batch` and a `batched_value` for each measurement. `index` multiplies
    what is indexed.
    """

    key: float = 90
    value: float = 35
    batch: float = 47
    batched_value: float = 24
    overhead: float = 200
    index: float = 1.3

    def standard(self) -> float:
        """The bytes of a measurement that has an entry of its own."""
        return self.overhead + (self.key + self.value) * self.index

    def batched(self, measurements: float, *, key_indexed: bool = True) -> float:
        """The bytes of one of so many measurements that share an entry.

        The source of these sizes prints the formula without an index on the key; its results are those with
        it.
        """
        content = (self.batch + self.batched_value * measurements) * self.index
        key = self.key * (self.index if key_indexed else 1)
        return (self.overhead + key + content) / measurements

    def saving(self, measurements: float, *, key_indexed: bool = True) -> float:
        """The part of the bytes that batching saves; negative if it costs some."""
        return 1 - self.batched(measurements, key_indexed=key_indexed) / self.standard()


IGNITE = EntrySizes()
"""Sizes that were measured in Apache Ignite 2.4, with a Long as value and no unit."""
