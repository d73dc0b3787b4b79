"""Measurements that are held back, in buckets that go on together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from heapq import heapify, heappop, heappush
from operator import itemgetter
from typing import Any

from bypass.mechanisms.precompute.base import HeldMeasurement
from bypass.ports.measurements import Measurement, MessageOrigin

MOST_HELD = 250_000
"""Measurements that are held at most, of one part of the devices: memory is as large as there are."""

_FEW = 1000


class HeldBuckets:
    """Buckets by device, metric and a number, such as that of a minute. It knows what was put in and taken
    out since it was last asked, so that a step's memory need not have all that is held."""

    def __init__(self) -> None:
        self._buckets: dict[str, dict[tuple[str, int], tuple[int, list[tuple[int, HeldMeasurement]]]]] = {}
        """Device -> metric and number -> when it was begun (ms), and what it has, by serial number."""
        self._begun: list[tuple[int, str, str, int]] = []  # a heap; some of these buckets may be gone
        self._most_begun = _FEW
        self._serial = 0
        self._held = 0
        self._changes: dict[int, tuple[int, int, HeldMeasurement] | None] = {}

    def put(self, held: HeldMeasurement, number: int, now: int) -> None:
        """Put a measurement into the bucket of its device and metric with this number."""
        self._put(self._serial, held, number, now)
        self._changes[self._serial] = number, self._begun_at(held, number), held
        self._serial += 1

    def pop(self, device: str, metric: str, number: int) -> list[HeldMeasurement]:
        """Take a bucket out. Gives its measurements in the order in which they came; none if it is gone."""
        buckets = self._buckets.get(device, {})
        _, content = buckets.pop((metric, number), (0, []))
        if not buckets:
            self._buckets.pop(device, None)
        self._held -= len(content)
        for serial, _ in content:
            self._changes[serial] = None
        return [held for _, held in content]

    def pop_begun(self, until: int) -> Iterator[tuple[str, str, int, list[HeldMeasurement]]]:
        """Take out all buckets that were begun until a time (ms), and more while too much is held, the oldest
        first: device, metric, number and content."""
        while self._begun and (self._begun[0][0] <= until or self._held > MOST_HELD):
            begun, device, metric, number = heappop(self._begun)
            bucket = self._buckets.get(device, {}).get((metric, number))
            if bucket is not None and bucket[0] == begun:
                yield device, metric, number, self.pop(device, metric, number)

    def of(self, device: str) -> list[HeldMeasurement]:
        """List what is held of a device, in the order in which it came."""
        content = [each for _, content in self._buckets.get(device, {}).values() for each in content]
        return [held for _, held in sorted(content, key=itemgetter(0))]

    def devices(self) -> Collection[str]:
        """List the devices of which something is held, in the order of their ids."""
        return sorted(self._buckets)

    def __iter__(self) -> Iterator[tuple[str, str, int]]:
        """Give device, metric and number of each bucket."""
        return ((device, *key) for device, buckets in self._buckets.items() for key in buckets)

    def forget(self, device: str) -> None:
        """Take out all that is held of a device."""
        for metric, number in list(self._buckets.get(device, {})):
            self.pop(device, metric, number)

    def changes(self) -> Iterable[tuple[str, Any]]:
        """Give what was put in since the last call, each by its serial number; None for what was taken
        out."""
        changes, self._changes = self._changes, {}
        return ((str(serial), change) for serial, change in changes.items())

    def restore(self, memory: Mapping[str, Any]) -> None:
        """Take over all that `changes` gave."""
        for serial in sorted(map(int, memory)):
            number, begun, (origin, measurement, accounts) = memory[str(serial)]
            held = HeldMeasurement(MessageOrigin(*origin), Measurement(*measurement), accounts)
            self._put(serial, held, number, begun)
            self._serial = serial + 1

    def _put(self, serial: int, held: HeldMeasurement, number: int, begun: int) -> None:
        device, metric = held.origin.device, held.measurement.metric
        buckets = self._buckets.setdefault(device, {})
        bucket = buckets.get((metric, number))
        if bucket is None:
            bucket = buckets[metric, number] = begun, []
            heappush(self._begun, (begun, device, metric, number))
            if len(self._begun) > self._most_begun:
                self._leave_out_gone()
        bucket[1].append((serial, held))
        self._held += 1

    def _leave_out_gone(self) -> None:
        """Have the heap name the buckets that are there alone; it may become twice as long again."""
        self._begun = [
            (begun, device, metric, number)
            for device, buckets in self._buckets.items()
            for (metric, number), (begun, _) in buckets.items()
        ]
        heapify(self._begun)
        self._most_begun = 2 * len(self._begun) + _FEW

    def _begun_at(self, held: HeldMeasurement, number: int) -> int:
        return self._buckets[held.origin.device][held.measurement.metric, number][0]
