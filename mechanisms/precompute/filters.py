"""Filters: some measurements go into the table, the others are left out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection
from typing import Annotated, Any

from pydantic import Field

from bypass.mechanisms.precompute.base import HeldMeasurement, Precompute
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
        self._counts: dict[str, dict[str, int]] = {}  # device -> metric -> how many came

    def keeps(self, device: str, measurement: Measurement) -> bool:
        counts = self._counts.setdefault(device, {})
        count = counts.get(measurement.metric, 0)
        counts[measurement.metric] = count + 1
        return count % self.n == 0

    def forget(self, device: str) -> None:
        self._counts.pop(device, None)

    def export(self) -> Any:
        return self._counts

    def load(self, data: Any) -> None:
        self._counts = data or {}


class DeadBand(MeasurementFilter):
    """Keeps a number if it differs from the one that was kept last by more than `band`; keeps everything
    else."""

    band: Annotated[float, MechanismState("band"), Field(ge=0)] = 0.0

    def __init__(self, host: Any = None, **values: Any) -> None:
        super().__init__(host, **values)
        self._latest: dict[str, dict[str, float]] = {}  # device -> metric -> value

    def keeps(self, device: str, measurement: Measurement) -> bool:
        value = measurement.value
        if not isinstance(value, int | float):
            return True
        latest = self._latest.setdefault(device, {})
        if measurement.metric in latest and abs(value - latest[measurement.metric]) <= self.band:
            return False
        latest[measurement.metric] = value
        return True

    def forget(self, device: str) -> None:
        self._latest.pop(device, None)

    def export(self) -> Any:
        return self._latest

    def load(self, data: Any) -> None:
        self._latest = data or {}


class MeanPerWindow(Precompute):
    """Keeps one number for each metric and window of `window` seconds of the device's clock: the mean, as a
    Double with the time of the first measurement. Text and bytes are kept as they are.

    A window ends with the first measurement of another one, or when twice its time has passed: a device whose
    clock stands still ends it, too.
    """

    window: Annotated[float, MechanismState("window"), Field(gt=0, le=86_400)] = 60.0

    def __init__(self, host: Any = None, **values: Any) -> None:
        super().__init__(host, **values)
        self._open: dict[str, dict[str, tuple[int, int, list[HeldMeasurement]]]] = {}
        """Device -> metric -> number of the window, when it was begun (ms), what it has."""

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
        windows = self._open.setdefault(device, {})
        current = windows.get(measurement.metric)
        if current is not None and current[0] != number:
            self._end(device, measurement.metric)
            windows = self._open.setdefault(device, {})
            current = None
        content = current[2] if current is not None else []
        content.append(held)
        begun = current[1] if current is not None else self.host.now()
        windows[measurement.metric] = number, begun, content

    def pass_time(self) -> None:
        due = self.host.now() - 2 * self.window * 1000
        over = [
            (device, metric)
            for device, windows in self._open.items()
            for metric, (_, begun, _) in windows.items()
            if begun <= due
        ]
        for device, metric in over:
            self._end(device, metric)

    def _end(self, device: str, metric: str) -> None:
        _, _, content = self._open[device].pop(metric)
        if not self._open[device]:
            del self._open[device]
        origin, first, _ = content[0]
        mean = sum(float(each.measurement.value) for each in content) / len(content)
        self.host.keep(origin, [first._replace(type="Double", value=mean)])
        for number, held in enumerate(content):
            if held.accounts:
                self.host.settle(held.origin, kept=number == 0)

    def held(self, device: str) -> list[HeldMeasurement]:
        return [held for _, _, content in self._open.get(device, {}).values() for held in content]

    def holding(self) -> Collection[str]:
        return list(self._open)

    def forget(self, device: str) -> None:
        self._open.pop(device, None)

    def export(self) -> Any:
        return {
            device: {
                metric: [number, latest, [held.data() for held in content]]
                for metric, (number, latest, content) in windows.items()
            }
            for device, windows in self._open.items()
        }

    def load(self, data: Any) -> None:
        self._open = {
            device: {
                metric: (number, latest, [HeldMeasurement.of_data(each) for each in content])
                for metric, (number, latest, content) in windows.items()
            }
            for device, windows in (data or {}).items()
        }
