"""Churn models by name."""

from bypass.models.churn.crashes import Crashes
from bypass.models.churn.growth import Growth
from bypass.models.churn.model import ChurnModel
from bypass.models.churn.none import NoChurn
from bypass.models.churn.on_off import OnOff
from bypass.models.churn.periods import FixedPeriods
from bypass.models.churn.presence import Presence
from bypass.models.churn.ramp import Ramp
from bypass.models.churn.recorded import Recorded

CHURN: dict[str, type[ChurnModel]] = {
    "none": NoChurn,
    "ramp": Ramp,
    "growth": Growth,
    "on-off": OnOff,
    "recorded": Recorded,
    "periods": FixedPeriods,
    "crashes": Crashes,
}

__all__ = [
    "CHURN",
    "ChurnModel",
    "Crashes",
    "FixedPeriods",
    "Growth",
    "NoChurn",
    "OnOff",
    "Presence",
    "Ramp",
    "Recorded",
]
