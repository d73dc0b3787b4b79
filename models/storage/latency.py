"""How long operations take beside one of a single hop, as measured with phones (Vieira 2018, 5.4.2)."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class LatencyRatios(BaseModel):
    """Times of operations beside that of one hop: each further one adds `further_hop`, and a download
    `from_edge` takes that share. Measured with objects of 64 bytes; one of 5 MB took half as long from an
    edge."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    further_hop: float = Field(default=1.7, ge=0, le=100)
    from_edge: float = Field(default=0.67, gt=0, le=100)

    def of_hops(self, hops: float) -> float:
        """The time over so many hops, at least one: linear in them, as the source expects it."""
        return 1 + self.further_hop * (hops - 1)
