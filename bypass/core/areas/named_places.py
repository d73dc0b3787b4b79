"""Named places that come and go while a broker runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bypass.errors import InvalidLocation, shown
from bypass.places.region import Place

if TYPE_CHECKING:
    from bypass.core.broker import Broker

MOST_PLACES = 1000


class NamedPlaces:
    """The places of a broker's region. Whoever depends on them is told of others at once: channels,
    subscriptions, watches and rules."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.listeners: list[Callable[[Sequence[Place]], None]] = []
        """Called with the places that there are now."""

    @property
    def all(self) -> tuple[Place, ...]:
        """The places that there are."""
        return self._broker.filter_schemes[0].region.places

    def change(self, put: Iterable[Place] = (), remove: Iterable[str] = ()) -> None:
        """Have some places no longer, and others, each instead of one that has its name. Raises
        InvalidLocation for a name that none has and for too many, before anything changes."""
        known = {place.name: place for place in self.all}
        for name in remove:
            if known.pop(name, None) is None:
                there = ", ".join(place.name for place in self.all) or "there are none"
                raise InvalidLocation(f"place {shown(name)}: expected the name of one: {there}")
        self.use(tuple((known | {place.name: place for place in put}).values()))

    def use(self, places: Sequence[Place]) -> None:
        """Have these places and no others. Raises InvalidLocation for too many."""
        if len(places) > MOST_PLACES:
            raise InvalidLocation(f"{len(places)} places: expected at most {MOST_PLACES}")
        broker = self._broker
        if tuple(places) == self.all:
            return
        region = replace(broker.filter_schemes[0].region, places=tuple(places))
        for scheme in broker.filter_schemes:
            scheme.use_region(region)
        broker.areas.places_changed()
        broker.borders.places_changed()
        for listener in self.listeners:
            listener(region.places)
