"""A few devices with radios in virtual time: who stands where, what each of them runs, and who heard what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bypass.events.event import Event
from bypass.events.filters import attr
from bypass.mechanisms import Registry
from bypass.models.radio.kernels.state import S
from bypass.places.geo import PlanarLocation
from bypass.places.region import Region
from bypass.ports.subscriptions import SubHandle
from bypass.sim.system import SimulatedSystem
from bypass.testing.rules import Point
from bypass.transitions import Action, Plan, Record

REACH = 88.0
"""How far (m) the radio of the simulator is heard by itself."""

STEP = 60.0
"""Apart by so much (m), devices in a row reach their neighbours and nobody else."""

SETTLED_S = 1.0
AREA = (0.0, 0.0, 2000.0, 2000.0)


def row(devices: int) -> list[Point]:
    """Places in a row: each device reaches the next ones alone."""
    return [(50.0 + STEP * n, 500.0) for n in range(devices)]


def cluster(devices: int) -> list[Point]:
    """Places close together: everybody reaches everybody."""
    return [(500.0 + 7.0 * (n % 4), 500.0 + 9.0 * (n // 4)) for n in range(devices)]


class RadioWorld:
    """Devices at `places`, all of which have subscribed news anywhere near; `begin` is what they begin with,
    by proxy, each with parameters. `told` are (time, client, event) as callbacks were called."""

    def __init__(
        self,
        places: Sequence[Point],
        begin: Mapping[str, tuple[str, Mapping[str, Any]]],
        mechanisms: Sequence[str | type] = (),
        seed: int = 1,
    ) -> None:
        self._places = places
        self._begin = {"transport": ("wifi", {}), **begin}
        actions = [Action(proxy=proxy, to=to, set=dict(v)) for proxy, (to, v) in self._begin.items()]
        self.system = SimulatedSystem(
            len(places), self, Region(AREA), seed=seed, begin=actions, registry=Registry(mechanisms)
        )
        self.told: list[tuple[float, int, int]] = []
        self._events = 0
        self.gone: set[int] = set()
        for number in range(len(places)):
            self._subscribe(number)
        self.run()

    def position(self, client: int, at: float) -> Point:  # noqa: ARG002 - nobody moves
        """Where a client is, as the system asks."""
        return self._places[client]

    def velocity(self, client: int, at: float) -> Point:  # noqa: ARG002 - nobody moves
        """How fast a client moves, as the system asks."""
        return (0.0, 0.0)

    # -- what happens -------------------------------------------------------------------------------------

    def run(self, seconds: float = SETTLED_S) -> None:
        """Let time pass; by default long enough for every event and all who pass it on."""
        self.system.run_until(self.system.clock.now() + seconds)

    def publish(self, client: int, at: Point | None = None) -> int:
        """Publish news, at a place if one is given; gives the number of the event."""
        event = self._news()
        self.system.clients[client].publish(event, None if at is None else PlanarLocation(*at))
        return self._events

    def publish_local(self, client: int) -> int:
        """Publish news where a client is."""
        event = self._news()
        self.system.clients[client].publish_local(event)
        return self._events

    def leave(self, client: int) -> None:
        """A client is gone for good."""
        self.gone.add(client)
        self.system.leave(client)

    def change(self, client: int, proxy: str, to: str, **values: Any) -> Record:
        """Exchange a mechanism at one client, by itself."""
        return self.system.clients[client].engine.transition(proxy, to, set=values)

    def plan(self, proxy: str, to: str, *members: int, decision: int = 0, **values: Any) -> None:
        """Have the broker exchange a mechanism, at some clients or wherever it is."""
        action = Action(proxy=proxy, to=to, set=values, members=members or None)
        self.system.broker.execute(Plan(plan="test", decision=decision, actions=(action,)))

    # -- what happened ------------------------------------------------------------------------------------

    def heard(self, event: int) -> list[int]:
        """The clients that were told of an event, sorted, as often as they were."""
        return sorted(client for _, client, number in self.told if number == event)

    def active(self, proxy: str) -> list[str]:
        """The mechanism that each client runs behind a proxy."""
        return [client.engine.active(proxy).name for client in self.system.clients]

    def frames(self) -> list[int]:
        """How many frames each client has sent."""
        return [int(number) for number in self.system.local.counter(S.SENT)]

    def repeated(self) -> list[int]:
        """How often each client was handed an event that it had already; the application was not told."""
        return [client.network.duplicates for client in self.system.clients]

    def _news(self) -> Event:
        self._events += 1
        return Event(kind="news", number=self._events)

    def _subscribe(self, number: int) -> None:
        def told(event: Event, _: SubHandle) -> None:
            self.told.append((self.system.clock.now(), number, event["number"]))

        self.system.clients[number].subscribe(attr("kind") == "news", told, radius=1500)
