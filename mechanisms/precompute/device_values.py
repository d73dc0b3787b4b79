"""Values that a mechanism knows of devices, one for each metric."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Generic, TypeVar

V = TypeVar("V", int, float)

MOST_METRICS = 1000
"""Metrics that are known of a device, which names them: those with the latest values."""


class DeviceValues(Generic[V]):
    """A number for each metric of a device, which knows what has changed since it was last asked. If a device
    has too many, the metric whose value is the oldest is forgotten."""

    def __init__(self) -> None:
        self._values: dict[str, dict[str, V]] = {}
        self._changed: set[str] = set()

    def find(self, device: str, metric: str) -> V | None:
        """Give the value of a metric; None if there is none yet."""
        return self._values.get(device, {}).get(metric)

    def set(self, device: str, metric: str, value: V) -> None:
        """Give a metric a value."""
        values = self._values.setdefault(device, {})
        values.pop(metric, None)  # the latest are last
        values[metric] = value
        if len(values) > MOST_METRICS:
            del values[next(iter(values))]
        self._changed.add(device)

    def forget(self, device: str) -> None:
        """Remove all values of a device."""
        if self._values.pop(device, None) is not None:
            self._changed.add(device)

    def changes(self) -> Iterable[tuple[str, Any]]:
        """Give the values of each device that has changed since the last call; None if it has none."""
        changed, self._changed = self._changed, set()
        for device in sorted(changed):
            yield device, self._values.get(device)

    def restore(self, memory: Mapping[str, Any]) -> None:
        """Take over all that `changes` gave."""
        self._values = {device: dict(values) for device, values in memory.items()}
