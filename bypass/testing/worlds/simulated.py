"""The world in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from bypass.core.broker import Broker
from bypass.core.client import Client
from bypass.mechanisms import Registry
from bypass.places.areas import Area
from bypass.places.geo import PlanarLocation
from bypass.places.region import Region
from bypass.places.sensor import LocationRequest
from bypass.ports.subscriptions import SubHandle
from bypass.sim.system import SimulatedSystem
from bypass.support.units import MICROSECONDS
from bypass.testing.rules import RULES, Point, SchemeRule
from bypass.testing.worlds.person import Person, Wish
from bypass.testing.worlds.world import REGION, SmallWorld
from bypass.transitions import Plan, Record

T = TypeVar("T")

MOST_PEOPLE = 16
FIXES = LocationRequest(interval=0.5)
SETTLED_S = 3.0
"""Long enough for several fixes, for a grace period, and for every message and its answers."""

PAUSE_S = 0.05


class SimulatedWorld(SmallWorld):
    """Runs on a `SimulatedSystem`, whose trace it is, for so many people at most."""

    virtual = True

    def __init__(
        self,
        scheme: str,
        values: Mapping[str, Any],
        *,
        mechanisms: Sequence[str | type] = (),
        region: Region = REGION,
        rules: Mapping[str, SchemeRule] = RULES,
        seed: int = 1,
        most: int = MOST_PEOPLE,
    ) -> None:
        super().__init__(scheme, values, mechanisms, region, rules)
        self.seed = seed
        self._numbers: dict[str, int] = {}
        self._cut_off: set[str] = set()
        self._handles: dict[int, SubHandle] = {}
        self._system = SimulatedSystem(
            most,
            self,
            region,
            seed=seed,
            scheme=scheme,
            set=values,
            durable=True,
            registry=Registry(mechanisms),
        )

    def close(self) -> None:
        """Nothing runs by itself."""

    # -- the trace ----------------------------------------------------------------------------------------

    def position(self, client: int, at: float) -> Point:
        return self._person(client).position(at)

    def velocity(self, client: int, at: float) -> Point:  # noqa: ARG002 - it does not change by itself
        return self._person(client).vector

    # -- people -------------------------------------------------------------------------------------------

    def now(self) -> float:
        return self._system.clock.now()

    def moment(self) -> float:
        return self.now()

    def restart_broker(self) -> None:
        raise NotImplementedError("a broker in virtual time has no store to begin again with")

    def _move(self, name: str, place: Point, vector: Point) -> None:
        person = self.people[name]
        person.place, person.vector, person.since = place, vector, self.now()

    def settle(self) -> None:
        self._run(SETTLED_S)

    def _enter(self, name: str) -> None:
        if name in self._cut_off:
            self._cut_off.remove(name)
            self._system.reconnect(self._numbers[name])
        elif name in self._numbers:
            self._system.join(self._numbers[name])
        else:
            self._numbers[name] = len(self._numbers)

    def _leave(self, name: str, for_good: bool) -> None:
        if for_good:
            self._system.leave(self._numbers[name])
            for subscription in self.people[name].interests:
                del self._handles[subscription]
        else:
            self._system.cut_off(self._numbers[name])
            self._cut_off.add(name)

    def _kill(self, name: str) -> None:
        self._leave(name, for_good=False)

    # -- events -------------------------------------------------------------------------------------------

    def _subscribe(self, name: str, subscription: int, interest: Wish) -> None:
        if subscription in self._handles:
            return  # its client has kept it
        self._handles[subscription] = self._client(name).subscribe(
            interest.wanted, self.callback(name, subscription), **interest.scope, location_request=FIXES
        )

    def _change(self, name: str, subscription: int, areas: Sequence[Area]) -> None:
        self._client(name).change(self._handles[subscription], area=areas)

    def _unsubscribe(self, name: str, subscription: int) -> None:
        self._client(name).unsubscribe(self._handles.pop(subscription))

    def _publish(self, name: str, number: int, at: Point | None) -> None:
        where = None if at is None else PlanarLocation(*at)
        self._client(name).publish(self.published[number].event, where)

    def _publish_local(self, name: str, number: int) -> None:
        self._client(name).publish_local(self.published[number].event)

    @contextmanager
    def publishing(self, name: str, places: Sequence[Point]) -> Iterator[list[int]]:
        events: list[int] = []
        going_on = True

        def publish() -> None:
            place = places[len(events) // 2 % len(places)]
            events.append(self.publish_local(name) if len(events) % 2 else self.publish(name, place))
            if going_on:
                self._system.clock.after(PAUSE_S, publish)

        publish()
        while len(events) < 2 * len(places):
            self._run(PAUSE_S)
        yield events
        going_on = False

    # -- inside -------------------------------------------------------------------------------------------

    def _execute_plan(self, plan: Plan) -> list[Record]:
        return self._system.broker.execute(plan)

    def number(self, name: str) -> int:
        return self._numbers[name]

    def at_broker(self, ask: Callable[[Broker], T]) -> T:
        return ask(self._system.broker)

    def at_client(self, name: str, ask: Callable[[Client], T]) -> T:
        return ask(self._client(name))

    def _client(self, name: str) -> Client:
        return self._system.clients[self._numbers[name]]

    def _person(self, client: int) -> Person:
        return self.people[next(name for name, number in self._numbers.items() if number == client)]

    def _run(self, seconds: float) -> None:
        clock = self._system.clock
        clock.run_until(clock.now_us + round(seconds * MICROSECONDS))
