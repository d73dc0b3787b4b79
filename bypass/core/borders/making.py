"""The watches of a broker, made of its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bypass.core.borders.announcer import Announcer
from bypass.core.borders.assignments import Assignments
from bypass.core.borders.borders import Borders
from bypass.core.borders.permissions import WatchPermissions
from bypass.core.borders.watch_scope import WatchScope
from bypass.core.plans.isolation import ClientDirectory
from bypass.places.areas import Area

if TYPE_CHECKING:
    from bypass.core.broker import Broker


def make_borders(broker: Broker, names: ClientDirectory) -> Borders:
    """Watches of what the clients of a broker do, whichever schemes run."""

    permissions = WatchPermissions(names, broker.areas.allows)

    def places() -> dict[str, Area]:
        return {
            place.name: place.area or Area.circle((place.x, place.y), place.radius)
            for place in broker.filter_schemes[0].region.places
        }

    assignments = Assignments(
        permissions,
        lambda client: broker.scheme_of(client).reports_places,
        broker.host.now,
        lambda client, message: broker.downlink.send(client, message),
    )
    return Borders(
        broker.host,
        WatchScope(permissions, places),
        assignments,
        lambda: [client for scheme in broker.filter_schemes for client in scheme.clients],
        Announcer(lambda deliveries: broker.downlink.notify(deliveries), broker.host.now),
    )
