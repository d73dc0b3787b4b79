"""MULTI: ATTRACT inside the circles and RADIAL outside, in one mechanism that adapts by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, TypeAlias, cast

from pydantic import Field

from bypass.mechanisms.filters.attract import AttractClient, CircleBroker
from bypass.mechanisms.filters.base.scheme import FilterScheme
from bypass.mechanisms.filters.base.updates import Strategy, due
from bypass.places.sensor import Fix
from bypass.transitions import MechanismState

if TYPE_CHECKING:
    from bypass.mechanisms.filters.indexes.circle_areas import MultiAreas
    from bypass.mechanisms.filters.indexes.circles import CircleIndex
    from bypass.mechanisms.filters.indexes.multi import MultiIndex


class MultiClient(AttractClient):
    """Reports places while outside the circles, by RADIAL's rules."""

    updates: Annotated[Strategy, MechanismState("updates")] = "frequency"
    period: Annotated[float, MechanismState("period"), Field(ge=0)] = 0.0
    threshold: Annotated[float, MechanismState("threshold"), Field(ge=0)] = 10.0

    def update_due(self, fix: Fix, inside: bool) -> bool:
        if inside:
            return self.enable_updates
        return due(self.updates, self.period, self.threshold, self.reported, fix)


class MultiBroker(CircleBroker):
    """An event concerns the members of the attraction points it lies in and, by RADIAL's rule, everybody
    who is in none."""

    def make_index(self) -> MultiIndex:
        from bypass.mechanisms.filters.indexes.envelopes import EnvelopeIndex
        from bypass.mechanisms.filters.indexes.multi import MultiIndex

        return MultiIndex(self.make_circles(), EnvelopeIndex(self.table, self.resolver))

    def make_area_index(self) -> MultiAreas:
        from bypass.mechanisms.filters.indexes.circle_areas import MultiAreas

        return MultiAreas(self.circles)

    @property
    def circles(self) -> CircleIndex:
        return cast("MultiIndex", self.index).circles


class Multi(FilterScheme):
    """Clients listen to channels at attraction points and report where they are elsewhere."""

    flag: ClassVar[int] = 6
    memory: ClassVar[float | None] = 0.0
    kernels: ClassVar[str | type | None] = "bypass.mechanisms.filters.kernels.circles:CircleKernels"
    Client: TypeAlias = MultiClient
    Broker: TypeAlias = MultiBroker
