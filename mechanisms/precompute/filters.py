"""Filters: some measurements go into the table, the others are left out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping
from math import isfinite
from typing import Annotated, Any

from pydantic import Field

from bypass.mechanisms.precompute.base import HeldMeasurement, Precompute
from bypass.mechanisms.precompute.device_values import DeviceValues
from bypass.mechanisms.precompute.held_buckets import HeldBuckets
from bypass.ports.measurements import Measurement, MessageOrigin, ValueType
from bypass.transitions import MechanismState


class MeasurementFilter(Precompute):
    """Keeps the measurements that `keeps` says yes to. Derive from it for a filter of your own."""

    def take(self, origin: MessageOrigin, measurements: list[Measurement]) -> None:
        kept = [measurement for measurement in measurements if self.keeps(origin.device, measurement)]
        if kept:
            self.host.keep(origin, kept)

    def resume(self, held: HeldMeasurement) -> None:
        kept = self.keeps(held.origin.device, held.measurement)
        if kept:
            self.host.keep(held.origin, [held.measurement])
        if held.accounts:
            self.host.settle(held.origin, kept)

    @abstractmethod
    def keeps(self, device: str, measurement: Measurement) -> bool:
        """Whether a measurement goes into the table. Called once for each, in the order in which they
        come."""


class ByMetric(MeasurementFilter):
    """Keeps the measurements of some metrics."""

    metrics: Annotated[frozenset[str], MechanismState("metrics")] = frozenset()

    def keeps(self, device: str, measurement: Measurement) -> bool:  # noqa: ARG002
        return measurement.metric in self.metrics


class ByType(MeasurementFilter):
    """Keeps the measurements of some types."""

    types: Annotated[frozenset[ValueType], MechanismState("types")] = frozenset(("Long", "Double"))

    def keeps(self, device: str, measurement: Measurement) -> bool:  # noqa: ARG002
        return measurement.type in self.types


class EveryNth(MeasurementFilter):
    """Keeps the first measurement of each metric of a device, and then every `n`-th."""

    n: Annotated[int, MechanismState("n"), Field(ge=1, le=1_000_000)] = 10

    def __init__(self, host: Any = None, **values: Any) -> None:
        super().__init__(host, **values)
        self._counts = DeviceValues[int]()  # how many came

    def keeps(self, device: str, measurement: Measurement) -> bool:
        count = self._counts.find(device, measurement.metric) or 0
        self._counts.set(device, measurement.metric, count + 1)
        return count % self.n == 0

    def forget(self, device: str) -> None:
        self._counts.forget(device)

    def changes(self) -> Iterable[tuple[str, Any]]:
        return self._counts.changes()

    def restore(self, memory: Mapping[str, Any]) -> None:
        self._counts.restore(memory)


class DeadBand(MeasurementFilter):
    """Keeps a number if it differs from the one that was kept last by more than `band`; keeps everything
    else."""

    band: Annotated[float, MechanismState("band"), Field(ge=0)] = 0.0

    def __init__(self, host: Any = None, **values: Any) -> None:
        super().__init__(host, **values)
        self._latest = DeviceValues[float]()  # the value that was kept last

    def keeps(self, device: str, measurement: Measurement) -> bool:
        value = measurement.value
        if not isinstance(value, int | float):
            return True
        latest = self._latest.find(device, measurement.metric)
        if latest is not None and abs(value - latest) <= self.band:
            return False
        self._latest.set(device, measurement.metric, value)
        return True

    def forget(self, device: str) -> None:
        self._latest.forget(device)

    def changes(self) -> Iterable[tuple[str, Any]]:
        return self._latest.changes()

    def restore(self, memory: Mapping[str, Any]) -> None:
        self._latest.restore(memory)


class MeanPerWindow(Precompute):
    """Keeps one number for each metric and window of `window` seconds of the device's clock: the mean, as a
    Double with the time of the first measurement. Text and bytes are kept as they are.

    A window ends with the first measurement of another one, or when twice its time has passed: a device whose
    clock stands still ends it, too. It ends early where too much is held.
    """

    window: Annotated[float, MechanismState("window"), Field(gt=0, le=86_400)] = 60.0

    def __init__(self, host: Any = None, **values: Any) -> None:
        super().__init__(host, **values)
        self._buckets = HeldBuckets()
        self._current: dict[tuple[str, str], int] = {}  # device and metric -> number of the open window

    def take(self, origin: MessageOrigin, measurements: list[Measurement]) -> None:
        numbers = [each for each in measurements if isinstance(each.value, int | float)]
        others = [each for each in measurements if not isinstance(each.value, int | float)]
        if others:
            self.host.keep(origin, others)
        elif numbers:
            self.host.hold(origin)
        for index, measurement in enumerate(numbers):
            self.resume(HeldMeasurement(origin, measurement, accounts=not others and index == 0))

    def resume(self, held: HeldMeasurement) -> None:
        device, measurement = held.origin.device, held.measurement
        if not isinstance(measurement.value, int | float):
            super().resume(held)
            return
        number = int(measurement.time // (self.window * 1000))
        current = self._current.get((device, measurement.metric))
        if current is not None and current != number:
            self._end(self._buckets.pop(device, measurement.metric, current))
        self._current[device, measurement.metric] = number
        self._buckets.put(held, number, self.host.now())

    def pass_time(self) -> None:
        due = self.host.now() - int(2 * self.window * 1000)
        for device, metric, _, content in self._buckets.pop_begun(due):
            del self._current[device, metric]
            self._end(content)

    def _end(self, content: list[HeldMeasurement]) -> None:
        origin, first, _ = content[0]
        values = [float(each.measurement.value) for each in content]
        total = sum(values)  # of the largest numbers there is no sum, but a mean
        mean = total / len(values) if isfinite(total) else sum(value / len(values) for value in values)
        self.host.keep(origin, [first._replace(type="Double", value=mean)])
        for number, held in enumerate(content):
            if held.accounts:
                self.host.settle(held.origin, kept=number == 0)

    def held(self, device: str) -> list[HeldMeasurement]:
        return self._buckets.of(device)

    def holding(self) -> Collection[str]:
        return self._buckets.devices()

    def forget(self, device: str) -> None:
        for held in self._buckets.of(device):
            self._current.pop((device, held.measurement.metric), None)
        self._buckets.forget(device)

    def changes(self) -> Iterable[tuple[str, Any]]:
        return self._buckets.changes()

    def restore(self, memory: Mapping[str, Any]) -> None:
        self._buckets.restore(memory)
        self._current = {(device, metric): number for device, metric, number in self._buckets}
