"""Mechanisms of your own: two ways to smooth a sensor's readings, exchanged while it is read."""

from statistics import mean, median
from typing import Annotated, Protocol

from pydantic import Field

from bypass.transitions import Engine, Mechanism, MechanismState, Plan, TransferState, TransitionFailed


class Smoothing(Protocol):
    def smooth(self, reading: float) -> float: ...


class Average(Mechanism):
    window: Annotated[int, MechanismState(), Field(ge=1, le=100)] = 3  # plans may set it
    readings: Annotated[list[float], TransferState(optional=True)]  # the next mechanism gets it

    def smooth(self, reading: float) -> float:
        self.readings = [*self.readings, reading][-self.window :]
        return mean(self.readings)


class Median(Average):
    def smooth(self, reading: float) -> float:
        super().smooth(reading)
        return median(self.readings)


PLAN = """
plan: resist-outliers
why: the sensor has begun to spike
actions:
  - {proxy: smoothing, to: median, set: {window: 5}}
"""

engine = Engine("thermometer")
sensor = engine.create_proxy("smoothing", Smoothing, Average, mechanisms=[Median])
print([sensor.smooth(reading) for reading in (20, 22, 21)])
[record] = engine.execute(Plan.from_yaml(PLAN))
print(f"{record.source} -> {record.target}: {record.outcome}, moved {', '.join(record.moved)}")
print([sensor.smooth(reading) for reading in (90, 23)])
try:
    engine.set("smoothing", window=0)
except TransitionFailed as failure:
    print(failure.cause)
