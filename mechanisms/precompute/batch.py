"""Batch: the measurements of a minute are held back and go into the table together."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any

from pydantic import Field

from bypass.mechanisms.precompute.base import HeldMeasurement, Precompute
from bypass.ports.measurements import Measurement, MessageOrigin
from bypass.transitions import MechanismState

MINUTE_MS = 60_000


class MinuteBatch(Precompute):
    """Holds measurements in buckets, one for each device, metric and minute of the device's clock.

    A bucket goes into the table `hold` seconds after it was begun: then a row of the batched model has the
    whole minute. Nothing is left out.
    """

    name = "batch"
    hold: Annotated[float, MechanismState("hold"), Field(ge=0, le=3600)] = 60.0

    def __init__(self, host: Any = None, **values: Any) -> None:
        super().__init__(host, **values)
        self._buckets: dict[
            str, dict[tuple[str, int], list[HeldMeasurement]]
        ] = {}  # device -> (metric, minute) -> content
        self._begun: dict[tuple[str, str, int], int] = {}  # in the order in which they were begun (ms)

    def take(self, origin: MessageOrigin, measurements: list[Measurement]) -> None:
        if measurements:
            self.host.hold(origin)
        for number, measurement in enumerate(measurements):
            self.resume(HeldMeasurement(origin, measurement, accounts=number == 0))

    def resume(self, held: HeldMeasurement) -> None:
        device, measurement = held.origin.device, held.measurement
        metric, minute = measurement.metric, measurement.time // MINUTE_MS
        bucket = self._buckets.setdefault(device, {}).setdefault((metric, minute), [])
        if not bucket:
            self._begun[device, metric, minute] = self.host.now()
        bucket.append(held)

    def pass_time(self) -> None:
        due = self.host.now() - self.hold * 1000
        while self._begun and (first := next(iter(self._begun.items())))[1] <= due:
            self._hand_on(*first[0])

    def _hand_on(self, device: str, metric: str, minute: int) -> None:
        del self._begun[device, metric, minute]
        buckets = self._buckets[device]
        for origin, measurement, accounts in buckets.pop((metric, minute)):
            self.host.keep(origin, [measurement])
            if accounts:
                self.host.settle(origin, kept=True)
        if not buckets:
            del self._buckets[device]

    def held(self, device: str) -> list[HeldMeasurement]:
        content = [held for bucket in self._buckets.get(device, {}).values() for held in bucket]
        return sorted(content, key=lambda held: (held.origin.received, held.origin.log, held.origin.sequence))

    def holding(self) -> Collection[str]:
        return list(self._buckets)

    def forget(self, device: str) -> None:
        for metric, minute in self._buckets.pop(device, {}):
            del self._begun[device, metric, minute]

    def export(self) -> Any:
        return [
            [list(key), begun, [held.data() for held in self._buckets[key[0]][key[1:]]]]
            for key, begun in self._begun.items()
        ]

    def load(self, data: Any) -> None:
        for (device, metric, minute), begun, bucket in data or ():
            self._buckets.setdefault(device, {})[metric, minute] = [
                HeldMeasurement.of_data(each) for each in bucket
            ]
            self._begun[device, metric, minute] = begun
