"""Queueing models of how long events take when those who send and receive them are ON only part of the time."""

from bypass.models.queueing.centre import Centre, InvalidCentre, Unstable

__all__ = ["Centre", "InvalidCentre", "Unstable"]
