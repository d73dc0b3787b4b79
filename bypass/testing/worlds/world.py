"""A small system as a test sees it: people with names, at places, whatever runtime is beneath them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple, TypeVar

from bypass.core.broker import Broker
from bypass.core.client import Client
from bypass.events.event import Event
from bypass.events.filters import Filter, Subscription, attr
from bypass.events.matching import matches
from bypass.places.region import Place, Region
from bypass.ports.subscriptions import Callback, SubHandle
from bypass.testing.rules import RULES, LocatedSubscriber, Point, Rule
from bypass.transitions import Action, Plan, Record

T = TypeVar("T")

REGION = Region(
    (0.0, 0.0, 1000.0, 1000.0),
    (
        Place("park", 300.0, 300.0, 100.0),
        Place("pond", 360.0, 300.0, 60.0),
        Place("station", 800.0, 800.0, 80.0),
    ),
)
"""A square kilometre with places that overlap, and one apart."""

NEWS = attr("kind") == "news"


subscription_to = cache(Subscription.of)


class Wish(NamedTuple):
    """What somebody has subscribed: events, within a radius or anywhere."""

    wanted: Subscription | Filter
    radius: int | None


class Published(NamedTuple):
    """What somebody has published, and where."""

    publisher: str
    event: Event
    at: Point | None


@dataclass
class Person:
    """Stands at `place`, or walks on from there by `vector` since a time; away from the system or not."""

    place: Point
    vector: Point = (0.0, 0.0)
    since: float = 0.0
    present: bool = True
    interests: dict[int, Wish] = field(default_factory=dict)

    def position(self, now: float) -> Point:
        (x, y), (vx, vy), elapsed = self.place, self.vector, now - self.since
        return x + vx * elapsed, y + vy * elapsed


class Serving(NamedTuple):
    """The scheme that serves somebody, at the broker, with its parameters."""

    scheme: str
    settings: Mapping[str, Any]


class SmallWorld(ABC):
    """One system under test, in `region`; `rules` say whom events concern, by the name of the scheme.

    Subscriptions are known by numbers that the world gives, whatever handles they have, and keep them when
    their owner leaves and comes back. `deliveries` are (name, subscription) by event, in the order in which
    callbacks were called; `received` are the events as they arrived.
    """

    def __init__(self, region: Region = REGION, rules: Mapping[str, Rule] = RULES) -> None:
        self.region = region
        self.rules = rules
        self.people: dict[str, Person] = {}
        self.published: dict[int, Published] = {}
        self.deliveries: defaultdict[int, list[tuple[str, int]]] = defaultdict(list)
        self.received: dict[int, Event] = {}
        self._subscriptions = 0

    # -- people -------------------------------------------------------------------------------------------

    def enter(self, name: str, place: Point, *radii: int | None) -> list[int]:
        """Somebody new, who subscribes news with each of `radii`; gives the subscriptions."""
        self.people[name] = Person(place)
        self._enter(name)
        return [self.subscribe(name, radius) for radius in radii]

    def leave(self, name: str, *, for_good: bool = False) -> None:
        """Somebody goes; unless it is for good the broker remembers it, and what it would get waits."""
        self.people[name].present = False
        self._leave(name, for_good)

    def come_back(self, name: str) -> None:
        """Somebody who has left is there again, and subscribes what it had subscribed."""
        self.people[name].present = True
        self._enter(name)
        for number, interest in self.people[name].interests.items():
            self._subscribe(name, number, interest)

    def whereabouts(self, name: str) -> Point:
        """Where somebody is at this moment."""
        return self.people[name].position(self.now())

    @abstractmethod
    def now(self) -> float:
        """The time by which people walk, in seconds."""

    @abstractmethod
    def move(self, name: str, place: Point, vector: Point = (0.0, 0.0)) -> None:
        """From now on somebody is there, and walks on by `vector`."""

    @abstractmethod
    def settle(self) -> None:
        """Return when all that has happened has had all of its consequences."""

    # -- events -------------------------------------------------------------------------------------------

    def subscribe(
        self, name: str, radius: int | None = 100, wanted: Subscription | Filter | None = None
    ) -> int:
        self._subscriptions += 1
        interest = Wish(NEWS if wanted is None else wanted, radius)
        self.people[name].interests[self._subscriptions] = interest
        self._subscribe(name, self._subscriptions, interest)
        return self._subscriptions

    def unsubscribe(self, name: str, subscription: int) -> None:
        del self.people[name].interests[subscription]
        self._unsubscribe(name, subscription)

    def publish(self, name: str, at: Point | None = None, **attributes: Any) -> int:
        """Publish news, at a place if one is given; gives the number of the event."""
        number = self.announce(name, at, attributes)
        self._publish(name, number, at)
        return number

    def publish_local(self, name: str, **attributes: Any) -> int:
        """Publish news where its publisher, who stands, is."""
        number = self.announce(name, self.people[name].place, attributes)
        self._publish_local(name, number)
        return number

    @abstractmethod
    def publishing(self, name: str, places: Sequence[Point]) -> AbstractContextManager[list[int]]:
        """Publish all the time while the block runs, at `places` and locally in turn; gives the events so
        far, of which there is at least one for each place before the block begins."""

    def announce(self, name: str, at: Point | None, attributes: Mapping[str, Any]) -> int:
        """A new event, which is about to be published."""
        number = len(self.published)
        event = Event(**{"kind": "news", "number": number, **attributes})
        self.published[number] = Published(name, event, at)
        return number

    def callback(self, name: str, subscription: int) -> Callback:
        """What somebody is told by."""

        def told(event: Event, _: SubHandle) -> None:
            self.received[event["number"]] = event
            self.deliveries[event["number"]].append((name, subscription))

        return told

    # -- transitions --------------------------------------------------------------------------------------

    def execute(self, to: str | None = None, members: Sequence[str] | None = None, **values: Any) -> Record:
        """One transition of the filter scheme, at the broker and then at its clients."""
        numbers = None if members is None else tuple(self.number(name) for name in members)
        action = Action(proxy="filter", to=to, set=values, members=numbers)
        (record,) = self.execute_plan(Plan(plan="test", actions=(action,)))
        return record

    @abstractmethod
    def execute_plan(self, plan: Plan) -> list[Record]: ...

    @abstractmethod
    def number(self, name: str) -> int:
        """Somebody's number at the broker."""

    @abstractmethod
    def at_broker(self, ask: Callable[[Broker], T]) -> T:
        """What `ask` gives where the broker runs."""

    @abstractmethod
    def at_client(self, name: str, ask: Callable[[Client], T]) -> T:
        """What `ask` gives where somebody's client runs."""

    def running(self, name: str) -> str:
        """The filter scheme that somebody's client runs."""
        return self.at_client(name, lambda client: client.engine.active("filter").name)

    def serving(self) -> dict[str, Serving]:
        """By which scheme the broker serves everybody whom it knows."""

        def ask(broker: Broker) -> dict[int, Serving]:
            return {
                client: Serving(scheme.name, scheme.settings())
                for scheme in broker.filter_schemes
                for client in scheme.clients
            }

        schemes = self.at_broker(ask)
        present = {name: self.number(name) for name, person in self.people.items() if person.present}
        return {name: schemes[number] for name, number in present.items() if number in schemes}

    # -- what each runtime does ---------------------------------------------------------------------------

    @abstractmethod
    def _enter(self, name: str) -> None: ...

    @abstractmethod
    def _leave(self, name: str, for_good: bool) -> None: ...

    @abstractmethod
    def _subscribe(self, name: str, subscription: int, interest: Wish) -> None: ...

    @abstractmethod
    def _unsubscribe(self, name: str, subscription: int) -> None: ...

    @abstractmethod
    def _publish(self, name: str, number: int, at: Point | None) -> None: ...

    @abstractmethod
    def _publish_local(self, name: str, number: int) -> None: ...

    @abstractmethod
    def close(self) -> None:
        """End everything."""

    # -- what has happened, and what should have ----------------------------------------------------------

    def heard(self, event: int) -> list[tuple[str, int]]:
        """Who was told of an event: (name, subscription), sorted, as often as it happened."""
        return sorted(self.deliveries.get(event, ()))

    def selected(self, event: int, serving: Mapping[str, Serving] | None = None) -> list[tuple[str, int]]:
        """Whom an event concerns as people stand now, by the rule of the scheme that serves each of them, or
        that was `serving` them."""
        return sorted(each for each, told in self.judged(event, serving) if told)

    def possible(self, event: int, serving: Mapping[str, Serving] | None = None) -> list[tuple[str, int]]:
        """Who may be told of an event: whom it concerns, and of whom the rules leave it open."""
        return sorted(each for each, told in self.judged(event, serving) if told is not False)

    def judged(
        self, event: int, serving: Mapping[str, Serving] | None = None
    ) -> Iterator[tuple[tuple[str, int], bool | None]]:
        """What the rules say of everybody who is there and wants such an event: (name, subscription), and
        whether it must be told, must not, or may be (None)."""
        publisher, content, at = self.published[event]
        schemes = self.serving() if serving is None else serving
        for name, person in self.people.items():
            if name == publisher or not person.present:
                continue
            for number, wish in person.interests.items():
                if matches(content, subscription_to(wish.wanted)):
                    if at is None or wish.radius is None:
                        yield (name, number), True
                    else:
                        scheme, settings = schemes[name]
                        who = LocatedSubscriber(
                            person.place, person.vector, wish.radius, settings, self.region
                        )
                        yield (name, number), self.rules[scheme](who, at)
