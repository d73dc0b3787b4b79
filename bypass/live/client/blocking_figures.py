"""The figures of a connection, for programs without asyncio."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bypass.live.client.connection import Connection
    from bypass.places.geo import Projection


class BlockingFigures:
    """Tells an application how its session is; as `SessionFigures` does."""

    _connection: Connection

    @property
    def projection(self) -> Projection | None:
        """As `Connection.projection`."""
        return self._connection.projection

    @property
    def beyond_radius(self) -> int:
        """As `Connection.beyond_radius`."""
        return self._connection.beyond_radius

    @property
    def elsewhere(self) -> int:
        """As `Connection.elsewhere`."""
        return self._connection.elsewhere

    @property
    def expired(self) -> int:
        """As `Connection.expired`."""
        return self._connection.expired

    @property
    def places_refused(self) -> int:
        """As `Connection.places_refused`."""
        return self._connection.places_refused

    @property
    def places_unknown(self) -> int:
        """As `Connection.places_unknown`."""
        return self._connection.places_unknown

    @property
    def places_outside(self) -> int:
        """As `Connection.places_outside`."""
        return self._connection.places_outside

    @property
    def missed(self) -> int:
        """As `Connection.missed`."""
        return self._connection.missed

    @property
    def missed_by(self) -> dict[str, int]:
        """As `Connection.missed_by`."""
        return self._connection.missed_by

    @property
    def resubscribing(self) -> int:
        """As `Connection.resubscribing`."""
        return self._connection.resubscribing

    @property
    def subscriptions_lost(self) -> int:
        """As `Connection.subscriptions_lost`."""
        return self._connection.subscriptions_lost

    @property
    def held_up(self) -> int:
        """As `Connection.held_up`."""
        return self._connection.held_up

    @property
    def unreadable(self) -> int:
        """As `Connection.unreadable`."""
        return self._connection.unreadable

    @property
    def reports_dropped(self) -> int:
        """As `Connection.reports_dropped`."""
        return self._connection.reports_dropped
