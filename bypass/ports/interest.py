"""Tests whether an event concerns a client, by the client's own subscriptions and place, without a broker."""

from __future__ import annotations

from math import inf

from bypass.events.event import Event
from bypass.events.matching import matches
from bypass.places.area_of_interest import AreaOfInterest
from bypass.places.sensor import LocationSensor
from bypass.ports.subscriptions import Subscriptions
from bypass.protocol.messages import Publish


class Interest:
    """Tests events against a client's subscriptions, as they and the client's place are at this moment."""

    __slots__ = ("_accepting", "_all", "_event", "_handles", "_least", "_location", "_most", "_place",
                 "_publication", "_subscriptions", "_with_areas")  # fmt: skip

    def __init__(self, subscriptions: Subscriptions, location: LocationSensor) -> None:
        self._subscriptions = subscriptions
        self._place = location.place
        self._location = location
        self._event: Event | None = None
        self._accepting: list[tuple[float, int]] = []  # squared radii of handles that accept the event
        self._with_areas: list[tuple[AreaOfInterest, int]] = []  # handles that accept it, and have areas
        self._all: tuple[int, ...] = ()  # the handles with radii
        self._least = self._most = 0.0  # the smallest and the largest of their squared radii
        self._publication: Publish | None = None
        self._handles: tuple[int, ...] = ()
        subscriptions.on_change = self._forget

    def handles(self, publication: Publish) -> tuple[int, ...]:
        """The handles that an event concerns. The answer for one publication stays the same."""
        if publication is self._publication:
            return self._handles
        if publication.event is not self._event:
            self._look_at(publication.event)
        location = publication.location
        squared = 0.0
        if location is not None:
            place = self._place()
            if place is not None:  # who does not know where it is takes what it gets
                dx, dy = location[0] - place[0], location[1] - place[1]
                squared = dx * dx + dy * dy
        handles: tuple[int, ...]
        if squared <= self._least:
            handles = self._all
        elif squared > self._most:
            handles = ()
        else:
            handles = tuple([number for reach, number in self._accepting if squared <= reach])
        if self._with_areas:
            handles += self._in_areas(publication)
        if handles and publication.area is not None and not publication.is_for(self._location.current()):
            handles = ()
        self._publication, self._handles = publication, handles
        return handles

    def _in_areas(self, publication: Publish) -> tuple[int, ...]:
        """The handles whose areas an event lies in; places and clients that only a broker knows have none."""
        fix = self._location.current()
        inside = self._subscriptions.inside
        return tuple(
            [
                number
                for interest, number in self._with_areas
                if publication.location is None
                or (not (interest.around or interest.places) and inside(interest, publication, fix))
            ]
        )

    def _look_at(self, event: Event) -> None:
        self._event = event
        # Watches of others are told by the broker alone: anybody nearby could publish such events.
        asked = [each for each in self._subscriptions if each.watch is None]
        accepting = [each for each in asked if matches(event, each.handle.subscription)]
        self._with_areas = [
            (each.interest, each.handle.id) for each in accepting if each.interest is not None
        ]
        self._accepting = [
            (inf if each.handle.radius is None else float(each.handle.radius) ** 2, each.handle.id)
            for each in accepting
            if each.interest is None
        ]
        self._all = tuple(number for _, number in self._accepting)
        self._least = min((reach for reach, _ in self._accepting), default=-1.0)
        self._most = max((reach for reach, _ in self._accepting), default=-1.0)

    def _forget(self) -> None:
        """Forget all answers, because subscriptions have changed."""
        self._event = self._publication = None
