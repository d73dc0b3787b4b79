"""The movement that the thesis evaluates with: two city centres, people drawn to places or to anywhere."""

from __future__ import annotations

from typing import Literal

from bypass.models.mobility.map_movement import MapMovement, MapName


class Darmstadt(MapMovement):
    """To attraction points of Darmstadt's centre: DA in the thesis."""

    map: MapName = "darmstadt"


class Mannheim(MapMovement):
    """To attraction points of Mannheim's centre: MA in the thesis."""

    map: MapName = "mannheim"


class DarmstadtRandom(Darmstadt):
    """To anywhere on the streets of Darmstadt's centre: DA-RND in the thesis."""

    targets: Literal["attraction", "random"] = "random"


class MannheimRandom(Mannheim):
    """To anywhere on the streets of Mannheim's centre: MA-RND in the thesis."""

    targets: Literal["attraction", "random"] = "random"
