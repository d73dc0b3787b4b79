"""A world without streets."""

from __future__ import annotations

from pydantic import Field

from bypass.models.mobility.base.model import MobilityModel


class OpenWorld(MobilityModel):
    """Clients move in [0, width] × [0, height] (m), wherever their model sends them."""

    width: float = Field(default=1300.0, ge=1, le=1e6)
    height: float = Field(default=1300.0, ge=1, le=1e6)

    @property
    def size(self) -> tuple[float, float]:
        return self.width, self.height
