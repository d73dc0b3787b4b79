"""Queueing models: how long events take if those who send and receive them are ON only part of the time."""

from bypass.models.queueing.centre import Centre, InvalidCentre, Unstable
from bypass.models.queueing.connectivity import (
    Connectivity,
    InvalidConnectivity,
    Journey,
    Means,
    read_connectivity,
    write_connectivity,
)
from bypass.models.queueing.periods import InvalidPeriods, Periods
from bypass.models.queueing.simulation import Simulated, simulate
from bypass.models.queueing.study import Compared, sweep_paths

__all__ = [
    "Centre",
    "Compared",
    "Connectivity",
    "InvalidCentre",
    "InvalidConnectivity",
    "InvalidPeriods",
    "Journey",
    "Means",
    "Periods",
    "Simulated",
    "Unstable",
    "read_connectivity",
    "simulate",
    "sweep_paths",
    "write_connectivity",
]
