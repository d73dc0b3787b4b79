"""The world in real time: a broker in a thread, its clients in another one."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from bypass import connect
from bypass.core.broker import Broker
from bypass.core.client import Client
from bypass.events.event import Event
from bypass.live.broker.service import Service
from bypass.live.client.connection import Connection
from bypass.live.client.subscription import LiveSubscription
from bypass.places.areas import Area
from bypass.places.geo import PlanarLocation
from bypass.places.region import Region
from bypass.places.sensor import Fix, LocationRequest
from bypass.testing.rules import RULES, Point, SchemeRule
from bypass.testing.worlds.broker import PATIENCE, RunningBroker, config, in_loop, until
from bypass.testing.worlds.person import Wish
from bypass.testing.worlds.simulated import SETTLED_S
from bypass.testing.worlds.world import REGION, SmallWorld
from bypass.transitions import Plan, Record

T = TypeVar("T")

FIXES = LocationRequest(interval=0.05)
GRACE_S = 0.3
PAUSE_S = 0.002
"""Between two events of who publishes all the time; a hundred come while one scheme follows another."""
ENOUGH_FIXES = 2
"""The first one after a leap makes the leap a speed."""


class ClientLoop:
    """An asyncio loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="clients under test")
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    def ask(self, ask: Callable[[], T]) -> T:
        async def asking() -> T:
            return ask()

        return self.run(asking())

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        self._loop.close()


class LiveWorld(SmallWorld):
    """Runs on a broker over a socket of this machine, with a store in `folder`."""

    virtual = False

    def __init__(
        self,
        scheme: str,
        values: Mapping[str, Any],
        folder: Path,
        *,
        mechanisms: Sequence[str | type] = (),
        region: Region = REGION,
        rules: Mapping[str, SchemeRule] = RULES,
    ) -> None:
        super().__init__(scheme, values, mechanisms, region, rules)
        self._clients: dict[str, Connection] = {}
        self._subscribed: dict[int, LiveSubscription] = {}
        self._put_at: dict[str, float] = {}  # when somebody was put where it is, by its client's clock
        self._fixes: dict[str, int] = {}  # that its client was told since
        self._rests = 0
        self._folder, self._brokers = folder, 1
        places = [{"name": p.name, "x": p.x, "y": p.y, "radius": p.radius} for p in region.places]
        self._settings: dict[str, Any] = {
            "region": {"area": region.area, "places": places},
            "scheme": scheme,
            "set": dict(values),
            "grace": GRACE_S,
            "limits": {"client_rate": 0},
            "mechanisms": tuple(map(reference, mechanisms)),
        }
        self._broker = RunningBroker(config(folder, **self._settings))
        self._loop = ClientLoop()

    def close(self) -> None:
        async def end() -> None:
            await asyncio.gather(*(me.close() for me in self._clients.values()))

        with ExitStack() as stack:
            stack.callback(self._broker.stop)
            stack.callback(self._loop.close)
            self._loop.run(end())

    def restart_broker(self) -> None:
        self._record("restart")
        self._brokers += 1
        folder = self._folder / f"broker{self._brokers}"
        folder.mkdir()
        store = self._broker.kill(folder)
        self._broker = RunningBroker(config(self._folder, **self._settings, store=store))

    @property
    def _service(self) -> Service:
        return self._broker.service

    # -- people -------------------------------------------------------------------------------------------

    def now(self) -> float:
        return time.monotonic()

    def moment(self) -> float:
        return self._rests * SETTLED_S

    def _move(self, name: str, place: Point, vector: Point) -> None:
        def put() -> None:
            person = self.people[name]
            person.place, person.vector, person.since = place, vector, self.now()
            self._note_move(name)

        self._loop.ask(put)

    def settle(self) -> None:
        self._rests += 1
        until(lambda: all(me.connected for me in self._clients.values()))
        until(lambda: all(self._fixes[name] >= ENOUGH_FIXES for name in self._clients))
        until(self._agreed)
        for _ in range(2):  # what the broker has told clients they may have answered
            self._loop.run(self._round_trip())

    def _agreed(self) -> bool:
        """Whether everybody has followed every plan, and nothing of what was before is left."""
        if in_loop(self._service, self._is_changing):
            return False
        return all(serving.scheme == self.running(name) for name, serving in self.serving().items())

    def _is_changing(self) -> bool:
        server = self._service.server
        grace = server.broker.filter_schemes[0].grace
        # What waits for one of several subscriptions that are claimed anew comes after an acknowledgement.
        apart = any(session.lanes for session in server.sessions.by_route.values())
        return apart or grace.overlapping or any(each["pending"] for each in self._service.plans.latest(100))

    async def _round_trip(self) -> None:
        """Have the broker answer everybody: it does so in order, with what it had to say before."""
        await asyncio.gather(*(me.publish(Event(kind="none")) for me in self._clients.values()))

    def _told(self, name: str, fix: Fix) -> None:
        if fix.at >= self._put_at[name]:
            self._fixes[name] += 1

    def _note_move(self, name: str) -> None:
        self._fixes[name] = 0
        self._put_at[name] = self._client(name).host.now()

    def _enter(self, name: str) -> None:
        person = self.people[name]
        me = connect(
            self._service.server.endpoints[0],
            open=True,
            name=name,
            location=lambda: person.position(self.now()),
            mechanisms=self.mechanisms,
        )
        self._clients[name] = self._loop.run(me.open())
        self._loop.ask(lambda: self._note_move(name))
        self.at_client(name, lambda client: client.host.location.request(FIXES, partial(self._told, name)))

    def _leave(self, name: str, for_good: bool) -> None:
        self._loop.run(self._clients.pop(name).close(forget=for_good))

    def _kill(self, name: str) -> None:
        self._loop.run(self._clients.pop(name)._keeper.end())

    # -- events -------------------------------------------------------------------------------------------

    def _subscribe(self, name: str, subscription: int, interest: Wish) -> None:
        self._subscribed[subscription] = self._loop.run(
            self._clients[name].subscribe(
                interest.wanted,
                **interest.scope,
                location_request=FIXES,
                callback=self.callback(name, subscription),
            )
        )

    def _change(self, name: str, subscription: int, areas: Sequence[Area]) -> None:  # noqa: ARG002
        self._loop.run(self._subscribed[subscription].change(area=areas))

    def _unsubscribe(self, name: str, subscription: int) -> None:
        self._loop.run(self._clients[name].unsubscribe(self._subscribed.pop(subscription)))

    def _publish(self, name: str, number: int, at: Point | None) -> None:
        where = None if at is None else PlanarLocation(*at)
        self._loop.run(self._clients[name].publish(self.published[number].event, where))

    def _publish_local(self, name: str, number: int) -> None:
        self._loop.run(self._clients[name].publish_local(self.published[number].event))

    @contextmanager
    def publishing(self, name: str, places: Sequence[Point]) -> Iterator[list[int]]:
        events: list[int] = []
        me, here = self._clients[name], self.people[name].place
        going_on = True

        async def publish() -> None:
            while going_on:
                for place in places:
                    events.append(self.announce(name, place, {}))
                    await me.publish(self.published[events[-1]].event, PlanarLocation(*place))
                    await asyncio.sleep(PAUSE_S)
                    events.append(self.announce(name, here, {}))
                    await me.publish_local(self.published[events[-1]].event)
                    await asyncio.sleep(PAUSE_S)

        task = self._loop.ask(lambda: asyncio.ensure_future(publish()))
        try:
            until(lambda: len(events) >= 2 * len(places) or task.done())
            yield events
        finally:
            going_on = False
            self._loop.run(_ended(task))

    # -- inside -------------------------------------------------------------------------------------------

    def _execute_plan(self, plan: Plan) -> list[Record]:
        records: list[Record] = in_loop(self._service, lambda: self._service.server.broker.execute(plan))
        return records

    def number(self, name: str) -> int:
        return self._clients[name].number

    def at_broker(self, ask: Callable[[Broker], T]) -> T:
        answer: T = in_loop(self._service, lambda: ask(self._service.server.broker))
        return answer

    def at_client(self, name: str, ask: Callable[[Client], T]) -> T:
        return self._loop.ask(lambda: ask(self._client(name)))

    def _client(self, name: str) -> Client:
        return self._clients[name]._exchange.usable()


async def _ended(task: asyncio.Future[None]) -> None:
    await asyncio.wait_for(task, PATIENCE)


def reference(mechanism: str | type) -> str:
    """Names a mechanism as a broker's configuration does."""
    return mechanism if isinstance(mechanism, str) else f"{mechanism.__module__}:{mechanism.__qualname__}"
