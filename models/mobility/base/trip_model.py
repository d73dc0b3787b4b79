"""The base of models whose clients make a trip, stay for a while, and make the next one."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from bypass.models.mobility.base.model import MobilityModel
from bypass.models.mobility.base.ranges import ordered

_Speed = Annotated[float, Field(gt=0, le=1000)]
_Pause = Annotated[float, Field(ge=0, le=1e9)]
Speeds = Annotated[tuple[_Speed, _Speed], AfterValidator(ordered)]
Pauses = Annotated[tuple[_Pause, _Pause], AfterValidator(ordered)]


class TripModel(MobilityModel):
    """A client makes a trip at one speed, pauses, makes the next trip.

    Speed (m/s) and pause (s) are drawn for each trip, uniformly from their ranges.
    """

    speed: Speeds = (1.0, 2.0)
    pause: Pauses = (1.0, 60.0)
