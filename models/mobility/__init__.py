"""Mobility models by name."""

from bypass.models.mobility.map_movement import MapMovement
from bypass.models.mobility.random_waypoint import RandomWaypoint
from bypass.models.mobility.trip_model import TripModel

MOBILITY: dict[str, type[TripModel]] = {"rwp": RandomWaypoint, "map": MapMovement}

__all__ = ["MOBILITY", "MapMovement", "RandomWaypoint", "TripModel"]
