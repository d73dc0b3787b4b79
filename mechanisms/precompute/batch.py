"""Batch: the measurements of a minute are held back and go into the table together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Any

from pydantic import Field

from bypass.mechanisms.precompute.base import HeldMeasurement, Precompute
from bypass.mechanisms.precompute.held_buckets import HeldBuckets
from bypass.ports.measurements import Measurement, MessageOrigin
from bypass.transitions import MechanismState

MINUTE_MS = 60_000


class MinuteBatch(Precompute):
    """Holds measurements in buckets, one for each device, metric and minute of the device's clock.

    A bucket goes into the table `hold` seconds after it was begun: then a row of the batched model has the
    whole minute. It goes early where too much is held. Nothing is left out.
    """

    name = "batch"
    hold: Annotated[float, MechanismState("hold"), Field(ge=0, le=3600)] = 60.0

    def __init__(self, host: Any = None, **values: Any) -> None:
        super().__init__(host, **values)
        self._buckets = HeldBuckets()

    def take(self, origin: MessageOrigin, measurements: list[Measurement]) -> None:
        if measurements:
            self.host.hold(origin)
        for number, measurement in enumerate(measurements):
            self.resume(HeldMeasurement(origin, measurement, accounts=number == 0))

    def resume(self, held: HeldMeasurement) -> None:
        self._buckets.put(held, held.measurement.time // MINUTE_MS, self.host.now())

    def pass_time(self) -> None:
        due = self.host.now() - int(self.hold * 1000)
        for _, _, _, content in self._buckets.pop_begun(due):
            for origin, measurement, accounts in content:
                self.host.keep(origin, [measurement])
                if accounts:
                    self.host.settle(origin, kept=True)

    def held(self, device: str) -> list[HeldMeasurement]:
        return self._buckets.of(device)

    def holding(self) -> Collection[str]:
        return self._buckets.devices()

    def forget(self, device: str) -> None:
        self._buckets.forget(device)

    def changes(self) -> Iterable[tuple[str, Any]]:
        return self._buckets.changes()

    def restore(self, memory: Mapping[str, Any]) -> None:
        self._buckets.restore(memory)
