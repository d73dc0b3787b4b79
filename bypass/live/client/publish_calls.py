"""Ways to publish by a connection."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from bypass.events.event import Event
from bypass.live.client.session.session import ClientSession
from bypass.places.geo import GeoLocation, PlanarLocation

if TYPE_CHECKING:
    from bypass.places.areas import Area


class PublishCalls(ABC):
    """The methods of a connection that publish."""

    @property
    @abstractmethod
    def _exchange(self) -> ClientSession:
        """The session. Raises NotConnected before it is opened."""

    async def publish(
        self,
        event: Event,
        location: PlanarLocation | GeoLocation | None = None,
        *,
        area: Area | None = None,
        expires: float | None = None,
    ) -> int:
        """Publish an event; gives its number when the broker has it safe.

        `area` and `expires` say for whom, and how long, as at `Client.publish`. Waits if too many others are
        not acknowledged. Who stops waiting does not stop the event. Raises as `Client.publish` does,
        PublicationRefused, MalformedMessage for what cannot travel, Unsupported, and ConnectionRefused or
        NotConnected if the connection has ended: then nobody knows about the event.
        """
        exchange = self._exchange
        await exchange.place_for_publication()
        return await exchange.publish(
            lambda client: client.publish(event, location, area=area, expires=expires), place_taken=True
        )

    async def publish_local(
        self, event: Event, *, area: Area | None = None, expires: float | None = None
    ) -> int:
        """Publish an event where the client is, as `publish`. Raises InvalidLocation if that is not known."""
        exchange = self._exchange
        await exchange.place_for_publication()
        return await exchange.publish(
            lambda client: client.publish_local(event, area=area, expires=expires), place_taken=True
        )

    def publish_soon(
        self,
        event: Event,
        location: PlanarLocation | GeoLocation | None = None,
        *,
        area: Area | None = None,
        expires: float | None = None,
    ) -> asyncio.Future[int]:
        """As `publish`, but does not wait. Raises OutboxFull if too many are not acknowledged."""
        return self._exchange.publish(
            lambda client: client.publish(event, location, area=area, expires=expires), place_taken=False
        )
