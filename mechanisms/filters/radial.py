"""RADIAL: the broker compares the event's place with each subscriber's last reported one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar, TypeAlias

from pydantic import Field

from bypass.mechanisms.filters.base.broker import FilterBroker
from bypass.mechanisms.filters.base.client import FilterClient
from bypass.mechanisms.filters.base.scheme import FilterScheme
from bypass.mechanisms.filters.base.updates import Strategy, due
from bypass.places.sensor import Fix
from bypass.protocol.messages import ContextMessage, ContextUpdate
from bypass.transitions import MechanismState

if TYPE_CHECKING:
    from bypass.mechanisms.filters.indexes.envelopes import EnvelopeIndex


class ReportingClient(FilterClient):
    """A client's part that reports places as they change.

    `updates` chooses the rule, `period` (s, 0: every fix) and `threshold` (m) are its parameters.
    """

    updates: Annotated[Strategy, MechanismState("updates")] = "frequency"
    period: Annotated[float, MechanismState("period"), Field(ge=0)] = 0.0
    threshold: Annotated[float, MechanismState("threshold"), Field(ge=0)] = 10.0

    def moved(self, fix: Fix) -> None:
        if due(self.updates, self.period, self.threshold, self.reported, fix):
            self.report(fix)

    def context(self, fix: Fix) -> ContextMessage:
        return self.timed(ContextUpdate((fix.x, fix.y)), fix)

    def timed(self, message: ContextUpdate, fix: Fix) -> ContextUpdate:
        """The message, which says when the client was there if somebody watches it."""
        if self.subscriptions.watched is not None:
            message.at, message.z = fix.at, getattr(fix, "z", None)
        return message


class RadialClient(ReportingClient):
    """Reports the client's place."""


class RadialBroker(FilterBroker):
    """An event concerns a subscription if it lies within the radius around the owner's reported place."""

    def make_index(self) -> EnvelopeIndex:
        from bypass.mechanisms.filters.indexes.envelopes import EnvelopeIndex

        return EnvelopeIndex(self.table, self.resolver)


class Radial(FilterScheme):
    """Clients report where they are; an event concerns whom it is near."""

    flag: ClassVar[int] = 1
    memory: ClassVar[float | None] = 0.0
    kernels: ClassVar[str | type | None] = "bypass.mechanisms.filters.kernels.envelopes:EnvelopeKernels"
    Client: TypeAlias = RadialClient
    Broker: TypeAlias = RadialBroker
