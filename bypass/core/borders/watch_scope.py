"""The scope of watches: the areas that they are in, and the clients that they are about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from bypass.core.borders.permissions import WatchPermissions
from bypass.core.borders.watched_client import KeptWatch
from bypass.errors import InvalidWatch
from bypass.protocol.borders import BorderWatch

if TYPE_CHECKING:
    from bypass.places.areas import Area


class WatchScope:
    """Knows the `places` of the region, by name, and whom each watch is about. `granted` are watches of
    clients that had allowed them before the broker was started again, and have not said so since."""

    def __init__(self, permissions: WatchPermissions, places: Callable[[], Mapping[str, Area]]) -> None:
        self.granted: set[tuple[KeptWatch, int]] = set()
        self.permissions = permissions
        self._places = places

    def check(self, watcher: int, terms: BorderWatch) -> None:
        """Raises InvalidWatch for a watch that is not possible: of everybody by a client that is no
        operator's, or in a place that there is not."""
        if terms.whom is None and not self.permissions.may_watch_all(watcher):
            raise InvalidWatch("a watch of everybody: expected a key with the right 'admin'")
        places = self._places()
        for _, area in terms.areas:
            if area.place and area.place not in places:
                raise InvalidWatch(f"place {area.place!r}: expected one of the region's")

    def areas(self, terms: BorderWatch) -> dict[str, Area]:
        """The areas of a watch, by name; places that there are no more are left out."""
        places = self._places() if terms.names_places else {}
        areas = dict(places) if terms.every_place else {}
        for key, area in terms.areas:
            if not area.place:
                areas[key] = area
            elif area.place in places:
                areas[key] = places[area.place]
        return areas

    def name(self, client: int) -> str:
        """The name of a client; empty if it is gone for good."""
        return self.permissions.name(client)

    def concerns(self, kept: KeptWatch, client: int) -> bool:
        """Whether a watch is about a client, and the client allows it."""
        if kept.terms.whom is None:
            return kept.watcher != client
        if not kept.terms.whom:
            return kept.watcher == client
        name = self.permissions.name(client)
        if name not in kept.terms.whom and name.partition("/")[0] not in kept.terms.whom:
            return False
        return (kept, client) in self.granted or self.permissions.may_watch(kept.watcher, client)

    def renewed(self, client: int) -> None:
        """A client has said whom it allows what: what it had allowed before counts no more."""
        self.granted = {each for each in self.granted if each[1] != client}
