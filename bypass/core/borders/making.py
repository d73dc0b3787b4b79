"""The watches of a broker, made of its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bypass.core.borders.announcer import Announcer
from bypass.core.borders.borders import Borders
from bypass.core.borders.permissions import WatchPermissions
from bypass.places.areas import Area

if TYPE_CHECKING:
    from bypass.core.broker import Broker


def make_borders(broker: Broker, permissions: WatchPermissions) -> Borders:
    """Watches of what the clients of a broker do, whichever schemes run."""

    def places() -> dict[str, Area]:
        return {
            place.name: place.area or Area.circle((place.x, place.y), place.radius)
            for place in broker.filter_schemes[0].region.places
        }

    return Borders(
        broker.host,
        permissions,
        places,
        lambda client: broker.scheme_of(client).reports_places,
        lambda: [client for scheme in broker.filter_schemes for client in scheme.clients],
        lambda client, message: broker.downlink.send(client, message),
        Announcer(lambda deliveries: broker.downlink.notify(deliveries), broker.host.now),
    )
