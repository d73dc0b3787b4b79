"""The base of all dissemination mechanisms."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from typing import Annotated, ClassVar

from bypass.ports.interest import Interest
from bypass.ports.proxies import EventListener
from bypass.protocol.messages import Kind, Publish
from bypass.transitions import Mechanism, MechanismState, TransferState

LOCAL = Kind.LOCAL  # asked for at every event: looking a member up in its enumeration takes long


class Disseminator(Mechanism):
    """Sends events to clients nearby and tells listeners of those that it hears.

    `geofence`: a local event is passed on only by clients that it concerns, one with an area only by clients
    that are there. `flag` is a number from 1 to 127 that no other dissemination mechanism has; numbers from
    64 on are free for mechanisms of one's own.
    """

    flag: ClassVar[int]
    places: ClassVar[bool] = False
    """Whether frames say where their sender is."""

    listeners: Annotated[list[EventListener], TransferState("listeners")]
    interest: Annotated[Interest, TransferState("interest")]
    geofence: Annotated[bool, MechanismState("geofence")] = True

    near_m: float = 0.0
    """Copies from senders at most so far away are counted as near."""

    new_after_s: float = 0.0
    """A device that has not said hello for so long counts as a new neighbour."""

    @abstractmethod
    def disseminate_locally(self, publication: Publish, targets: Collection[int] | None = None) -> None:
        """Send an event to clients nearby; `targets` are the addresses of those that should get it."""

    @abstractmethod
    def heard(self, publication: Publish, sender: int, distance: float) -> None:
        """The first copy of an event arrived."""

    def neighbour_appeared(self, neighbour: int) -> None:
        """A new neighbour said hello. Nothing, by default."""

    def digest_arrived(self, ids: Sequence[int], sender: int) -> None:
        """A neighbour told which events it has heard of. Nothing, by default."""

    def tell(self, publication: Publish) -> None:
        """Tell all listeners of an event."""
        for listener in self.listeners:
            listener.event_arrived(publication)

    def admits(self, publication: Publish) -> bool:
        """Whether this client may pass an event on: it lies within the fence, or has none, and its lifetime
        has not passed."""
        if publication.lifetime is not None and publication.expired(self.host.now()):
            return False
        if publication.area is not None and self.geofence:
            return publication.is_for(self.host.location.current())
        if publication.kind is not LOCAL or not self.geofence:
            return True
        return bool(self.interest.handles(publication))
