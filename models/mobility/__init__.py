"""Mobility models by name."""

from bypass.models.mobility.areas import Areas
from bypass.models.mobility.base.model import MobilityModel
from bypass.models.mobility.base.trip_model import TripModel
from bypass.models.mobility.cities import Darmstadt, DarmstadtRandom, Mannheim, MannheimRandom
from bypass.models.mobility.gauss_markov import GaussMarkov
from bypass.models.mobility.group_movement import GroupMovement
from bypass.models.mobility.levy_walk import LevyWalk
from bypass.models.mobility.manhattan import Manhattan
from bypass.models.mobility.map_movement import MapMovement
from bypass.models.mobility.playback import Playback
from bypass.models.mobility.random_direction import RandomDirection
from bypass.models.mobility.random_waypoint import RandomWaypoint
from bypass.models.mobility.visitors import Visitors

MOBILITY: dict[str, type[MobilityModel]] = {
    "darmstadt": Darmstadt,
    "mannheim": Mannheim,
    "darmstadt-random": DarmstadtRandom,
    "mannheim-random": MannheimRandom,
    "map": MapMovement,
    "rwp": RandomWaypoint,
    "random-direction": RandomDirection,
    "gauss-markov": GaussMarkov,
    "manhattan": Manhattan,
    "rpgm": GroupMovement,
    "levy-walk": LevyWalk,
    "visitors": Visitors,
    "areas": Areas,
    "playback": Playback,
}

__all__ = [
    "MOBILITY",
    "Areas",
    "Darmstadt",
    "DarmstadtRandom",
    "GaussMarkov",
    "GroupMovement",
    "LevyWalk",
    "Manhattan",
    "Mannheim",
    "MannheimRandom",
    "MapMovement",
    "MobilityModel",
    "Playback",
    "RandomDirection",
    "RandomWaypoint",
    "TripModel",
    "Visitors",
]
