"""`Interest` finds the same handles as asking each subscription."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.core.borders.client.watching import wanted_kinds
from bypass.events.event import Event
from bypass.events.filters import Subscription, attr
from bypass.events.matching import matches
from bypass.places.area_of_interest import AreaOfInterest
from bypass.places.areas import Area
from bypass.places.borders import BorderOptions
from bypass.places.sensor import Fix, LocationRequest, NoSensor
from bypass.ports.interest import Interest
from bypass.ports.subscriptions import SubHandle, Subscriptions
from bypass.protocol.borders import BorderWatch
from bypass.protocol.messages import Kind, Publish


class Sensor(NoSensor):
    """Knows a place, or does not."""

    def __init__(self, at: tuple[float, float] | None) -> None:
        self.at = at

    def place(self) -> tuple[float, float] | None:
        return self.at

    def current(self) -> Fix | None:
        return None if self.at is None else Fix(*self.at, 0.0, 0.0, 0.0)


def ignore(event: Event, handle: SubHandle) -> None:
    """Nobody calls it here."""


metres = st.integers(0, 100).map(float)
places = st.tuples(metres, metres)
AREAS = [
    AreaOfInterest((Area.box((10, 10), (40, 40)), Area.circle((80, 80), 10.5))),
    AreaOfInterest((Area.circle((0, 0), 30.5),), True),
    AreaOfInterest((Area.circle((0, 0), 30.5),), True, "bus"),
    AreaOfInterest((Area.of_place("park"),)),
]
radii = st.sampled_from([None, 1, 20, 50, 200])
wanted = st.tuples(st.integers(0, 4), radii, st.none()) | st.tuples(
    st.integers(0, 4), st.none(), st.sampled_from(AREAS)
)
publications = st.tuples(
    st.integers(0, 4),
    st.tuples(st.just(Kind.PLAIN), st.none())
    | st.tuples(st.sampled_from([Kind.LOCAL, Kind.PLACED]), st.none() | places),
)


class Follower:
    """Keeps subscriptions, the interest made of them, and what it should say."""

    def __init__(self, at: tuple[float, float] | None) -> None:
        self.sensor = Sensor(at)
        self.subscriptions = Subscriptions()
        self.interest = Interest(self.subscriptions, self.sensor)

    def add(self, level: int, radius: int | None, interest: AreaOfInterest | None = None) -> None:
        subscription = Subscription.of(attr("level") >= level)
        self.subscriptions.add(subscription, ignore, radius, LocationRequest(), interest=interest)

    def expected(self, publication: Publish) -> list[int]:
        return [
            each.handle.id
            for each in self.subscriptions
            if matches(publication.event, each.handle.subscription)
            and (
                publication.kind is Kind.PLAIN
                or publication.location is None
                or self.is_near(each.handle, publication.location)
            )
        ]

    def is_near(self, handle: SubHandle, at: tuple[float, float]) -> bool:
        here, interest = self.sensor.at, handle.interest
        if interest is None:
            return here is None or handle.radius is None or math.dist(here, at) <= handle.radius
        if interest.around or interest.places:
            return False  # a broker alone knows
        if not interest.relative:
            return any(area.contains(*at) for area in interest.areas)
        return here is None or any(area.placed(*here).contains(*at) for area in interest.areas)


@settings(max_examples=60, deadline=None)
@given(
    st.none() | places,
    st.lists(
        st.one_of(
            st.tuples(st.just("add"), wanted),
            st.tuples(st.just("remove"), st.integers(0, 9)),
            st.tuples(st.just("move"), places),
            st.tuples(st.just("event"), publications),
            st.tuples(st.just("event"), publications),
        ),
        max_size=25,
    ),
)
def test_interest_is_what_each_subscription_says(
    at: tuple[float, float] | None, steps: list[tuple[str, Any]]
) -> None:
    follower = Follower(at)
    events = [Event(level=level) for level in range(5)]
    for number, (what, value) in enumerate(steps):
        match what, value:
            case "add", (level, radius, interest):
                follower.add(level, radius, interest)
            case "remove", int(which):
                handles = [each.handle for each in follower.subscriptions]
                if handles:
                    follower.subscriptions.remove(handles[which % len(handles)])
            case "move", place:
                follower.sensor.at = place
            case "event", (level, (kind, location)):
                publication = Publish(number, events[level], kind, location=location)
                assert sorted(follower.interest.handles(publication)) == follower.expected(publication)


def test_for_one_publication_it_does_not_change_its_mind() -> None:
    """It is asked whether to tell the application, and then whether to pass it on, somewhat later."""
    follower = Follower((0.0, 0.0))
    follower.add(0, 10)
    publication = Publish(1, Event(level=1), Kind.LOCAL, location=(5.0, 0.0))
    assert follower.interest.handles(publication) == (1,)
    follower.sensor.at = (100.0, 0.0)
    assert follower.interest.handles(publication) == (1,)
    assert follower.interest.handles(Publish(2, publication.event, Kind.LOCAL, location=(5.0, 0.0))) == ()


def test_a_withdrawn_subscription_does_not_count_at_once() -> None:
    follower = Follower((0.0, 0.0))
    follower.add(0, 10)
    follower.add(0, 20)
    publication = Publish(1, Event(level=1), Kind.LOCAL, location=(5.0, 0.0))
    assert follower.interest.handles(publication) == (1, 2)
    follower.subscriptions.remove(next(iter(follower.subscriptions)).handle)
    assert follower.interest.handles(publication) == (2,)


def test_watches_are_told_nothing_by_devices_nearby() -> None:
    """An event that says that somebody has entered an area is none of the broker's."""
    subscriptions = Subscriptions()
    terms = BorderWatch(BorderOptions(), (("zone", Area.circle((0, 0), 10)),), whom=None)
    subscriptions.add(wanted_kinds(terms), ignore, None, LocationRequest(), watch=terms)
    plain = subscriptions.add(Subscription.of(attr("border") == "enter"), ignore, None, LocationRequest())
    interest = Interest(subscriptions, Sensor((0.0, 0.0)))
    assert interest.handles(Publish(1, Event(border="enter", area="zone"))) == (plain.handle.id,)
