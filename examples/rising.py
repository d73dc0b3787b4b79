"""A policy of your own: a value is kept if it is higher than the last one that was kept, by `step`."""

from typing import Annotated, Any

from pydantic import Field

from bypass import MechanismState
from bypass.mechanisms.precompute.base import Precompute
from bypass.ports.measurements import Measurement, MessageOrigin


class Rising(Precompute):
    step: Annotated[float, MechanismState(), Field(ge=0)] = 0.0

    def __init__(self, host: Any = None, **values: Any) -> None:
        super().__init__(host, **values)
        self.last: dict[str, dict[str, Any]] = {}  # by device and metric

    def take(self, origin: MessageOrigin, measurements: list[Measurement]) -> None:
        last = self.last.setdefault(origin.device, {})
        higher = [m for m in measurements if m.metric not in last or m.value > last[m.metric] + self.step]
        last.update({each.metric: each.value for each in higher})
        if higher:
            self.host.keep(origin, higher)

    def forget(self, device: str) -> None:
        self.last.pop(device, None)

    def export(self) -> Any:
        return self.last

    def load(self, data: Any) -> None:
        self.last = data
