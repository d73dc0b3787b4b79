"""The base of the client's part of every filter scheme."""

from __future__ import annotations

import logging
from abc import abstractmethod
from typing import Annotated, Any, ClassVar

from bypass.places.geo import within
from bypass.places.sensor import Fix, LocationRequest
from bypass.ports.subscriptions import Registered, Subscriptions
from bypass.protocol.messages import ContextMessage, Kind, Publish, Unsubscribe
from bypass.transitions import Mechanism, MechanismState, TransferState

log = logging.getLogger(__name__)

LOCAL = Kind.LOCAL  # asked for at every event: looking a member up in its enumeration takes long


class FilterClient(Mechanism):
    """Sends subscriptions and events with the context that the broker's part needs, and keeps it current.

    `resubscribe`: send all subscriptions again after the switch, for a broker that starts from nothing.
    """

    scheme: ClassVar[Any] = None
    """The `FilterScheme` that it is the client's part of."""

    subscriptions: Annotated[Subscriptions, TransferState("subscriptions")]
    resubscribe: Annotated[bool, MechanismState("resubscribe")] = False

    def start(self) -> None:
        self.reported: Fix | None = None
        self._interval: float | None = None
        self._watch()
        self.host.after(0.0, self._bootstrap)

    # -- what the application does ------------------------------------------------------------------------

    def subscribe(self, registered: Registered) -> None:
        """Announce a subscription that is in `subscriptions` already."""
        self._watch()
        piggyback = None if registered.request is None else self._current_context()
        self.host.link.send(registered.message(self.host.now(), piggyback))

    def watch(self) -> None:
        """The place may be wanted more often, or less, by those who watch the client; it is told at once."""
        self._watch()
        fix = None if self.subscriptions.watched is None else self.host.location.current()
        if fix is not None:
            self.report(fix)

    def unsubscribe(self, handle: int) -> None:
        """Withdraw a subscription that is no longer in `subscriptions`."""
        self._watch()
        self.host.link.send(Unsubscribe(handle))

    def publish(self, publication: Publish) -> None:
        """Send an event on its way; a local one already carries the client's place."""
        if publication.kind is LOCAL:
            self.tag(publication)
        self.host.link.send(publication)

    # -- what the broker says -----------------------------------------------------------------------------

    def event_arrived(self, publication: Publish, handles: tuple[int, ...], unfiltered: bool) -> None:
        """Hand an event to the application, once for each of its handles, unless its lifetime has passed or
        it is for who is elsewhere."""
        if publication.lifetime is not None and publication.expired(self.host.now()):
            self.subscriptions.expired += 1
            return
        if publication.area is not None and not publication.is_for(self.host.location.current()):
            self.subscriptions.elsewhere += 1
            return
        event = publication.received()
        for number in handles:
            registered = self.subscriptions.get(number)
            if registered is None:
                continue
            if (unfiltered or registered.exact) and not self._concerned(registered, publication):
                self.subscriptions.beyond += registered.exact
                continue
            try:
                registered.callback(event, registered.handle)
            except Exception:
                log.exception("callback of handle %d failed; the event counts as delivered", number)

    def context_arrived(self, message: ContextMessage) -> None:
        """The broker's part of this scheme has something to say. Nothing, by default."""

    # -- what schemes differ in ---------------------------------------------------------------------------

    @abstractmethod
    def moved(self, fix: Fix) -> None:
        """The sensor has a new fix: report it, if this scheme must."""

    @abstractmethod
    def context(self, fix: Fix) -> ContextMessage:
        """The message that tells the broker's part where the client is."""

    def tag(self, publication: Publish) -> None:
        """Add to a local event what this scheme adds. Nothing, by default."""

    # -- internals ----------------------------------------------------------------------------------------

    def report(self, fix: Fix) -> None:
        """Tell the broker where the client is."""
        self.reported = fix
        self.host.link.send_context(self.context(fix))

    def _bootstrap(self) -> None:
        if self.resubscribe:
            for registered in self.subscriptions:
                self.subscribe(registered)
        elif self.reported is None and self._interval is not None:
            fix = self.host.location.current()
            if fix is not None:
                self.bootstrap(fix)

    def bootstrap(self, fix: Fix) -> None:
        """Send what the new broker's part must know, right after the switch."""
        self.report(fix)

    def _watch(self) -> None:
        """Listen to the sensor as often as the subscriptions want, and not at all if none does."""
        interval = self.subscriptions.interval()
        if interval == self._interval:
            return
        if self._interval is not None:
            self.host.location.release(self._fixed)
        if interval is not None:
            self.host.location.request(LocationRequest(interval=interval), self._fixed)
        self._interval = interval

    def _fixed(self, fix: Fix) -> None:
        self.subscriptions.turned(fix)
        self.moved(fix)

    def _current_context(self) -> ContextMessage | None:
        fix = self.host.location.current()
        if fix is None:
            return None
        self.reported = fix
        return self.context(fix)

    def _concerned(self, registered: Registered, publication: Publish) -> bool:
        """Whether an event lies within the subscription's radius or areas, as far as places are known."""
        fix = self.host.location.current()
        if registered.interest is not None:
            return self.subscriptions.inside(registered.interest, publication, fix)
        radius = registered.handle.radius
        if fix is None or radius is None or publication.location is None:
            return True
        return within(*publication.location, fix.x, fix.y, radius)
