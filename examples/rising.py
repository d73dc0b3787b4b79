"""A policy of your own: a number is kept if it is higher than the last one that was kept, by `step`."""

from typing import Annotated, Any

from pydantic import Field

from bypass import MechanismState
from bypass.mechanisms.precompute.base import Precompute
from bypass.ports.measurements import Measurement, MessageOrigin


class Rising(Precompute):
    step: Annotated[float, MechanismState(), Field(ge=0)] = 0.0

    def __init__(self, host: Any = None, **values: Any) -> None:
        super().__init__(host, **values)
        self.last: dict[str, dict[str, float]] = {}  # by device and metric

    def take(self, origin: MessageOrigin, measurements: list[Measurement]) -> None:
        last = self.last.setdefault(origin.device, {})
        kept = []
        for each in measurements:
            if isinstance(each.value, int | float):
                if each.metric in last and each.value <= last[each.metric] + self.step:
                    continue
                last[each.metric] = each.value
            kept.append(each)
        if kept:
            self.host.keep(origin, kept)

    def forget(self, device: str) -> None:
        self.last.pop(device, None)

    def export(self) -> Any:
        return self.last

    def load(self, data: Any) -> None:
        self.last = data
