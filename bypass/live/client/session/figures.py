"""The figures of a session: places that could not be used, events that were missed, and the like."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bypass.live.client.session.session import ClientSession
    from bypass.places.geo import Projection


class SessionFigures(ABC):
    """Tells an application how its session is."""

    @property
    @abstractmethod
    def _exchange(self) -> ClientSession:
        """The session. Raises NotConnected before it is opened."""

    @property
    def projection(self) -> Projection | None:
        """Turns places of events into degrees: `projection.to_geo(event.location)`. None if the broker's
        region has no origin on earth."""
        return self._exchange.sensor.projection

    @property
    def beyond_radius(self) -> int:
        """Events that came for exact subscriptions and were not handed over, being too far away."""
        return self._exchange.usable().subscriptions.beyond

    @property
    def elsewhere(self) -> int:
        """Events that came for who is in an area, and were not handed over, because this client was not."""
        return self._exchange.usable().subscriptions.elsewhere

    @property
    def expired(self) -> int:
        """Events that came when their lifetime had passed, and were not handed over."""
        return self._exchange.usable().subscriptions.expired

    @property
    def places_refused(self) -> int:
        """Give the number of things that `location` has said and that are no places. The first is logged."""
        return self._exchange.sensor.refused

    @property
    def places_unknown(self) -> int:
        """How often the place was to be known, for subscriptions with a radius, and `location` has said none
        so far. The tenth time in a row is logged."""
        return self._exchange.sensor.unknown

    @property
    def places_outside(self) -> int:
        """Places, of this client or of its events, that are further from the broker's region than this is
        wide. The first is logged."""
        return self._exchange.sensor.outside

    @property
    def missed(self) -> int:
        """Events for this session that the broker had to give up, as far as it has said so."""
        return sum(self._exchange.missed.by_reason().values())

    @property
    def missed_by(self) -> dict[str, int]:
        """Those that were `missed`, by reason: "too many waiting", "too old", "not durable and not taken",
        "unclaimed", "withdrawn" and others."""
        return self._exchange.missed.by_reason()

    @property
    def resubscribing(self) -> int:
        """Subscriptions that the broker has not confirmed on the present connection. Those that it refuses
        for the moment, for the rate of its key or for want of room, are asked for again until it takes them.
        A durable session's are in force meanwhile, others are not."""
        return self._exchange.resubscribing

    @property
    def subscriptions_lost(self) -> int:
        """Subscriptions that were in force, and that the broker has refused for good when it was told of them
        again. Each is logged, has ended, and says why: those that iterate get the `SubscriptionRefused`, and
        others find it in `error`."""
        return self._exchange.subscriptions_lost

    @property
    def held_up(self) -> int:
        """How often events of some subscriptions, which the application did not take, have kept others
        from getting theirs for more than a second. The first time is logged, and others ever more rarely."""
        return self._exchange.unread.held_up

    @property
    def reports_dropped(self) -> int:
        """Reports of border events that the broker will not get: too many publications and reports are not
        acknowledged, or the mode leaves the broker out."""
        return self._exchange.reports_dropped

    @property
    def unreadable(self) -> int:
        """Events that have come and could not be read, such as those with values of a type that is registered
        elsewhere alone. Each is logged, and the broker does not send it again."""
        return self._exchange.events_unreadable
