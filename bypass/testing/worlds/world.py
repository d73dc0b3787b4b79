"""A small system as a test sees it: people with names, at places, whatever runtime is beneath them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar, TypeVar

from bypass.core.broker import Broker
from bypass.core.client import Client
from bypass.events.event import Event
from bypass.events.filters import Filter, Subscription, attr
from bypass.events.matching import matches
from bypass.places.area_of_interest import AreaOfInterest
from bypass.places.areas import Area
from bypass.places.region import Place, Region
from bypass.ports.subscriptions import Callback, SubHandle
from bypass.testing.rules import RULES, LocatedSubscriber, Point, SchemeRule
from bypass.testing.worlds.person import OPEN, Person, Published, Serving, Wish, undecided
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


class SmallWorld(ABC):
    """One system under test, in `region`, which begins with a scheme and parameters; `mechanisms` are those
    of one's own, and `rules` say whom events concern, by the name of the scheme.

    Subscriptions are known by numbers that the world gives, whatever handles they have, and keep them when
    their owner leaves and comes back. `deliveries` are (name, subscription) by event, in the order in which
    callbacks were called; `received` are the events as they arrived. `recording` is what happened, as steps
    of a script. A `virtual` world has neither programs that can be killed nor a broker with a store.
    """

    virtual: ClassVar[bool]

    def __init__(
        self,
        scheme: str,
        values: Mapping[str, Any],
        mechanisms: Sequence[str | type] = (),
        region: Region = REGION,
        rules: Mapping[str, SchemeRule] = RULES,
    ) -> None:
        self.scheme, self.values, self.mechanisms = scheme, dict(values), tuple(mechanisms)
        self.region = region
        self.rules = {**rules, OPEN.scheme: undecided}
        self.recording: list[dict[str, Any]] = []
        self.people: dict[str, Person] = {}
        self.published: dict[int, Published] = {}
        self.deliveries: defaultdict[int, list[tuple[str, int]]] = defaultdict(list)
        self.received: dict[int, Event] = {}
        self._subscriptions = 0

    # -- people -------------------------------------------------------------------------------------------

    def enter(self, name: str, place: Point, *radii: int | None) -> list[int]:
        """Somebody new, who subscribes news with each of `radii`; gives the subscriptions."""
        self.people[name] = Person(place)
        self._record("move", name, place=place)
        self._enter(name)
        return [self.subscribe(name, radius) for radius in radii]

    def leave(self, name: str, *, for_good: bool = False) -> None:
        """Somebody goes; unless it is for good the broker remembers it, and what it would get waits."""
        person = self.people[name]
        person.present, person.forgotten = False, for_good
        self._record("kill" if for_good else "leave", name)
        self._leave(name, for_good)

    def kill(self, name: str) -> None:
        """Somebody's program ends without a word to the broker, which remembers it. In a virtual world that
        is the connection."""
        self.people[name].present = False
        self._record("leave", name)
        self._kill(name)

    def come_back(self, name: str, place: Point | None = None) -> None:
        """Somebody who has left is there again, elsewhere if a place is given, and subscribes what it had
        subscribed."""
        person = self.people[name]
        if place is not None:
            person.place = place
        self._record("move", name, place=person.place)
        self._record("return", name)
        person.present = True
        self._enter(name)
        for number, interest in person.interests.items():
            if person.forgotten:
                self._record("subscribe", name, subscription=number, radius=interest.radius)
            self._subscribe(name, number, interest)
        person.forgotten = False

    def whereabouts(self, name: str) -> Point:
        """Where somebody is at this moment."""
        return self.people[name].position(self.now())

    @abstractmethod
    def now(self) -> float:
        """The time by which people walk, in seconds."""

    @abstractmethod
    def moment(self) -> float:
        """The time (s) of what happens now, as a script of it says."""

    def move(self, name: str, place: Point, vector: Point = (0.0, 0.0)) -> None:
        """From now on somebody is there, and walks on by `vector`."""
        self._record("move", name, place=place)
        self._move(name, place, vector)

    @abstractmethod
    def restart_broker(self) -> None:
        """Have the broker die, and another one go on with what it has stored. Raises NotImplementedError in a
        virtual world."""

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
        self._record("subscribe", name, subscription=self._subscriptions, radius=radius)
        self._subscribe(name, self._subscriptions, interest)
        return self._subscriptions

    def subscribe_areas(self, name: str, interest: AreaOfInterest) -> int:
        """Subscribe news in areas."""
        self._subscriptions += 1
        wish = Wish(NEWS, None, interest)
        self.people[name].interests[self._subscriptions] = wish
        self._record("subscribe-areas", name, subscription=self._subscriptions)
        self._subscribe(name, self._subscriptions, wish)
        return self._subscriptions

    def change_areas(self, name: str, subscription: int, areas: Sequence[Area]) -> None:
        """Have other areas in a subscription, which move as those before do."""
        wish = self.people[name].interests[subscription]
        assert wish.interest is not None
        changed = wish._replace(interest=replace(wish.interest, areas=tuple(areas)))
        self.people[name].interests[subscription] = changed
        self._record("change-areas", name, subscription=subscription)
        self._change(name, subscription, areas)

    def unsubscribe(self, name: str, subscription: int) -> None:
        del self.people[name].interests[subscription]
        self._record("unsubscribe", name, subscription=subscription)
        self._unsubscribe(name, subscription)

    def publish(self, name: str, at: Point | None = None, **attributes: Any) -> int:
        """Publish news, at a place if one is given; gives the number of the event."""
        self._record("publish", name, place=at)
        number = self.announce(name, at, attributes)
        self._publish(name, number, at)
        return number

    def publish_local(self, name: str, **attributes: Any) -> int:
        """Publish news where its publisher, who stands, is."""
        self._record("publish", name, local=True)
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
        """The callback by which somebody is told."""

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

    def execute_plan(self, plan: Plan) -> list[Record]:
        """Have the broker execute a plan, and its clients then."""
        names = {self.number(name): name for name, person in self.people.items() if person.present}
        members = [
            action.members and tuple(self._order(names[each]) for each in action.members if each in names)
            for action in plan.actions
        ]
        actions = [
            action.model_copy(update={"members": own})
            for action, own in zip(plan.actions, members, strict=True)
        ]
        recorded = plan.model_copy(update={"actions": tuple(actions)})
        self._record("plan", plan=recorded.model_dump(mode="json", exclude_defaults=True))
        return self._execute_plan(plan)

    def _order(self, name: str) -> int:
        return [*self.people].index(name)

    def _record(self, do: str, name: str | None = None, **keys: Any) -> None:
        who = {} if name is None else {"client": self._order(name)}
        self.recording.append({"at": self.moment(), "do": do, **who, **keys})

    @abstractmethod
    def number(self, name: str) -> int:
        """Somebody's number at the broker."""

    @abstractmethod
    def at_broker(self, ask: Callable[[Broker], T]) -> T:
        """Call `ask` where the broker runs, and give its result."""

    @abstractmethod
    def at_client(self, name: str, ask: Callable[[Client], T]) -> T:
        """Call `ask` where somebody's client runs, and give its result."""

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
    def _kill(self, name: str) -> None: ...

    @abstractmethod
    def _move(self, name: str, place: Point, vector: Point) -> None: ...

    @abstractmethod
    def _execute_plan(self, plan: Plan) -> list[Record]: ...

    @abstractmethod
    def _subscribe(self, name: str, subscription: int, interest: Wish) -> None: ...

    @abstractmethod
    def _change(self, name: str, subscription: int, areas: Sequence[Area]) -> None: ...

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
        """List those who were told of an event: (name, subscription), sorted, as often as it happened."""
        return sorted(self.deliveries.get(event, ()))

    def selected(self, event: int, serving: Mapping[str, Serving] | None = None) -> list[tuple[str, int]]:
        """List those whom an event concerns as people stand now, by the rule of the scheme that serves
        each of them, or that was `serving` them."""
        return sorted(each for each, told in self.judged(event, serving) if told)

    def possible(self, event: int, serving: Mapping[str, Serving] | None = None) -> list[tuple[str, int]]:
        """List those who may be told of an event: whom it concerns, and those of whom the rules leave it
        open."""
        return sorted(each for each, told in self.judged(event, serving) if told is not False)

    def judged(
        self,
        event: int,
        serving: Mapping[str, Serving] | None = None,
        people: Mapping[str, Person] | None = None,
    ) -> Iterator[tuple[tuple[str, int], bool | None]]:
        """Give the verdict of the rules on everybody who is there and wants such an event: (name,
        subscription), and whether it must be told, must not, or may be (None). That is as things are now,
        or as they were."""
        publisher, content, at = self.published[event]
        schemes = self.serving() if serving is None else serving
        for name, person in (self.people if people is None else people).items():
            if name == publisher or not person.present:
                continue
            for number, wish in person.interests.items():
                if matches(content, subscription_to(wish.wanted)):
                    if at is None:
                        yield (name, number), True
                    elif wish.interest is not None:
                        yield (name, number), self._in_areas(name, wish.interest, person, at)
                    elif wish.radius is None:
                        yield (name, number), True
                    else:
                        scheme, settings = schemes[name]
                        who = LocatedSubscriber(
                            person.place, person.vector, wish.radius, settings, self.region
                        )
                        yield (name, number), self.rules[scheme](who, at)

    def _in_areas(self, name: str, interest: AreaOfInterest, person: Person, at: Point) -> bool | None:
        """Whether an event at a place is in areas that are fixed, or, without regard to where somebody looks,
        around a person. Who is away may be elsewhere by the time that it hears of the event."""
        if not interest.relative:
            known = {place.name: place for place in self.region.places}
            return any(
                known[area.place].contains(*at) if area.place else area.contains(*at)
                for area in interest.areas
            )
        x, y = person.place
        inside = any(area.contains(at[0] - x, at[1] - y) for area in interest.areas)
        return inside if self.people[name].present or not inside else None
