"""Keep everything: each measurement goes into the table as it comes."""

from __future__ import annotations

from bypass.mechanisms.precompute.base import Precompute
from bypass.ports.measurements import Measurement, MessageOrigin


class KeepEverything(Precompute):
    """Keeps every measurement, at once."""

    keeps_everything = True

    def take(self, origin: MessageOrigin, measurements: list[Measurement]) -> None:
        self.host.keep(origin, measurements)
