"""Queueing models: how long events take if those who send and receive them are ON only part of the time."""

from bypass.models.queueing.centre import Centre, InvalidCentre, Unstable

__all__ = ["Centre", "InvalidCentre", "Unstable"]
