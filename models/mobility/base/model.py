"""The base of all mobility models."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict

from bypass.models.maps import AttractionPoint
from bypass.models.maps.georeference import Georeference
from bypass.models.maps.street_map import Polygon
from bypass.models.request import check_request
from bypass.models.waypoints import Waypoints


class MobilityModel(BaseModel, ABC):
    """How clients move in a world from (0, 0) to `size` (m).

    Where a client is depends on the seed, its number, the time and the model's parameters, and on nothing
    else: any block of clients may be computed anywhere, in any order, and all blocks fit together.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @property
    @abstractmethod
    def size(self) -> tuple[float, float]:
        """Width and height (m) of the world: nobody ever is outside of it."""

    @property
    def attractions(self) -> tuple[AttractionPoint, ...]:
        """The places that attract people there, if any are known."""
        return ()

    @property
    def buildings(self) -> tuple[Polygon, ...]:
        """The buildings there, if any are known."""
        return ()

    @property
    def georeference(self) -> Georeference | None:
        """Where on earth the world is, if it is known."""
        return None

    @property
    def inputs(self) -> tuple[Path, ...]:
        """The files and folders that the movement is made of."""
        return ()

    def generate(self, clients: int, duration: float, seed: int) -> Waypoints:
        """Movement of clients 0 to `clients` - 1, as `block` gives it. Raises InvalidRequest."""
        check_request(clients, duration, seed)
        return self.block(0, clients, float(duration), np.uint64(seed))

    @abstractmethod
    def block(self, first: int, last: int, duration: float, seed: np.uint64) -> Waypoints:
        """Movement of clients `first` to `last` - 1 from time 0 to exactly `duration` (s), first < last."""
