"""STE: space-time envelopes reach ahead of subscribers that move."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, TypeAlias

from pydantic import Field

from bypass.mechanisms.filters.base.broker import FilterBroker
from bypass.mechanisms.filters.base.scheme import FilterScheme
from bypass.mechanisms.filters.radial import ReportingClient
from bypass.places.sensor import Fix
from bypass.protocol.messages import ContextMessage, ContextUpdate
from bypass.transitions import MechanismState

if TYPE_CHECKING:
    from bypass.mechanisms.filters.indexes.envelopes import EnvelopeIndex


class SteClient(ReportingClient):
    """Reports the client's place and movement vector."""

    def context(self, fix: Fix) -> ContextMessage:
        return self.timed(ContextUpdate((fix.x, fix.y), (fix.vx, fix.vy)), fix)


class SteBroker(FilterBroker):
    """An event concerns a subscription if it lies in the owner's envelope, `alpha` minutes of way long.

    While no movement vector is known the envelope is the disc of RADIAL.
    """

    alpha: Annotated[float, MechanismState("alpha"), Field(ge=0, le=60)] = 1.5

    def make_index(self) -> EnvelopeIndex:
        from bypass.mechanisms.filters.indexes.envelopes import EnvelopeIndex

        return EnvelopeIndex(self.table, self.resolver, self.alpha)

    def set_alpha(self, value: float) -> None:
        """Stretch or shorten every envelope."""
        self.alpha = value
        self.rebuild()


class Ste(FilterScheme):
    """Clients report where they are and how they move; an event concerns whom it is near, or on whose way."""

    flag: ClassVar[int] = 2
    memory: ClassVar[float | None] = 0.0
    kernels: ClassVar[str | type | None] = "bypass.mechanisms.filters.kernels.envelopes:EnvelopeKernels"
    Client: TypeAlias = SteClient
    Broker: TypeAlias = SteBroker
