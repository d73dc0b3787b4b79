"""Pairs of clients, live and simulated: client 2i publishes what client 2i + 1 has subscribed."""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # networks are those of the tests

from bypass import Event, PlanarLocation, Region, SimulatedSystem, attr, connect
from bypass.live.client.connection import Connection
from bypass.models.churn import Presence
from bypass.protocol.messages import Publish
from bypass.protocol.wire import notify_size
from bypass.sim.cellular import CellularModel
from bypass.support.units import MICROSECONDS
from tests.live.faults import FaultyNetwork, faulty_network
from tests.live.switching import Switched, switching

HERE = (10.0, 10.0)
RADIUS = 100
PATIENCE = 120.0


@dataclass
class Live:
    """The observations, on the clock of the measurement; those about pairs by pair, the others by client."""

    published: list[list[float]]
    arrived: list[list[float]]
    states: dict[int, list[tuple[float, bool]]] = field(default_factory=lambda: defaultdict(list))
    switched: list[Switched] = field(default_factory=list)

    @property
    def delays(self) -> list[float]:
        """Of all events, from publishing to the subscriber's callback."""
        pairs = zip(self.published, self.arrived, strict=True)
        return [b - a for one, other in pairs for a, b in zip(one, other, strict=True)]

    @property
    def end(self) -> float:
        """When the last event was published."""
        return max(own[-1] for own in self.published)

    def periods(self, client: int) -> tuple[list[float], list[float]]:
        """How long a client was connected, and how long not, each time while events were published."""
        found: tuple[list[float], list[float]] = [], []
        own = [(at, on) for at, on in self.states[client] if at < self.end]
        for (at, on), (following, _) in pairwise([*own, (self.end, False)]):
            found[not on].append(following - at)
        return found

    def switches(self) -> list[tuple[float, int, bool]]:
        """When which client was connected and disconnected."""
        return sorted((at, client, on) for client, own in self.states.items() for at, on in own)

    def reconnect(self) -> tuple[float, float, int]:
        """From when a network was ON until its client was connected: mean, median, and how often it was OFF
        again before."""
        took, missed = [], 0
        for client, own in self.states.items():
            connected = [at for at, on in own if on]
            log = [each for each in self.switched if each.client == client]
            for each, following in zip(log, [*log[1:], None], strict=True):
                if each.on:
                    first = next((at for at in connected if at >= each.at), None)
                    if first is None or (following is not None and first > following.at):
                        missed += 1
                    else:
                        took.append(first - each.at)
        return (statistics.mean(took), statistics.median(took), missed) if took else (0.0, 0.0, missed)

    def service(self) -> float:
        """How long one event takes after the other, of those that have waited for the same connection."""
        seconds, count = 0.0, 0
        for client, own in self.states.items():
            events = list(zip(self.published[client // 2], self.arrived[client // 2], strict=True))
            for (at, on), (following, _) in pairwise([*own, (inf, False)]):
                burst = [b for a, b in events if a < at < b < following] if on else []
                if len(burst) > 1:
                    seconds += max(burst) - min(burst)
                    count += len(burst) - 1
        return seconds / count if count else 1e-6


# -- live -------------------------------------------------------------------------------------------------


async def measure(
    endpoint: str, arrivals: Sequence[Sequence[float]], who: Sequence[int], schedule: Presence, refusing: bool
) -> Live:
    """Publish at the moments in `arrivals`, of each pair, while `who` of each is switched by the schedule.

    Who is OFF and tries to connect is refused, or gets no answer.
    """
    found = Live([[] for _ in arrivals], [[] for _ in arrivals])
    async with AsyncExitStack() as stack:
        clients = range(2 * len(arrivals))
        networks = {n: stack.enter_context(faulty_network(endpoint)) for n in clients if n % 2 in who}
        connections = [await _connect(stack, networks, endpoint, n) for n in clients]
        for pair, subscriber in enumerate(connections[1::2]):
            note = _Note(found.arrived[pair])
            await subscriber.subscribe(attr("kind") == f"pair{pair}", radius=RADIUS, callback=note)
        with switching(networks, schedule, refusing) as switches:
            began = switches.began
            for n in networks:
                found.states[n].append((0.0, True))
                connections[n].on_state = _Watch(found.states[n], began)
            publishers = connections[::2]
            async with asyncio.timeout(PATIENCE + max(own[-1] for own in arrivals)):
                published = await asyncio.gather(
                    *(
                        _publish(p, i, arrivals[i], began, found.published[i])
                        for i, p in enumerate(publishers)
                    )
                )
                await asyncio.gather(*(each for own in published for each in own))
                while any(len(a) < len(b) for a, b in zip(found.arrived, found.published, strict=True)):
                    await asyncio.sleep(0.01)
        for connection in connections:
            await connection.until_connected()
            connection.on_state = lambda _: None
            await connection.close(forget=True)
        found.switched = [each._replace(at=each.at - began) for each in switches.log]
    found.arrived = [[at - began for at in own] for own in found.arrived]
    return found


async def _connect(
    stack: AsyncExitStack, networks: dict[int, FaultyNetwork], endpoint: str, n: int
) -> Connection:
    through = networks[n].endpoint if n in networks else endpoint
    connection = connect(through, open=True, name=f"client{n}", location=lambda: HERE)
    return await stack.enter_async_context(connection)


class _Note:
    """Notes when events arrive: in order, each once."""

    def __init__(self, arrived: list[float]) -> None:
        self._arrived = arrived

    def __call__(self, event: Event, _: object) -> None:
        assert event["n"] == len(self._arrived), f"event {event['n']}: expected {len(self._arrived)}"
        self._arrived.append(time.monotonic())


class _Watch:
    """Notes when a client is connected and disconnected."""

    def __init__(self, states: list[tuple[float, bool]], began: float) -> None:
        self._states = states
        self._began = began

    def __call__(self, state: str) -> None:
        self._states.append((time.monotonic() - self._began, state == "connected"))


async def _publish(
    publisher: Connection, pair: int, moments: Sequence[float], began: float, published: list[float]
) -> list[asyncio.Future[int]]:
    sent = []
    for n, at in enumerate(moments):
        await asyncio.sleep(max(0.0, began + at - time.monotonic()))
        published.append(time.monotonic() - began)
        sent.append(publisher.publish_soon(Event(kind=f"pair{pair}", n=n), PlanarLocation(*HERE)))
    return sent


# -- simulated --------------------------------------------------------------------------------------------


class _Standing:
    """All clients stand at one place."""

    def position(self, client: int, at: float) -> tuple[float, float]:  # noqa: ARG002 - always
        return HERE

    def velocity(self, client: int, at: float) -> tuple[float, float]:  # noqa: ARG002
        return 0.0, 0.0


def simulate(
    arrivals: Sequence[Sequence[float]],
    switches: Sequence[tuple[float, int, bool]],
    service: float,
    base: float,
) -> list[float]:
    """Delays of the events of each pair that are published at the moments in `arrivals`, while clients are
    switched: (when, who, ON or not). An event takes `service` on a link, and `base` in any case."""
    sample = Publish(1 << 32, Event(kind="pair0", n=1000), location=HERE)
    network = CellularModel(
        latency=base / 2, jitter=0.0, header=0, bandwidth=8 * notify_size(sample, 1, False) / service
    )
    system = SimulatedSystem(
        2 * len(arrivals), _Standing(), Region((0, 0, 1000, 1000)), network=network, durable=True
    )
    clock, delays = system.clock, []
    begin = 5 * MICROSECONDS  # all have subscribed

    def note(event: Event, _: object) -> None:
        delays.append(clock.now() - event["at"])

    for pair in range(len(arrivals)):
        system.clients[2 * pair + 1].subscribe(attr("kind") == f"pair{pair}", note, radius=RADIUS)

    def publish(client: int, pair: int) -> None:
        event = Event(kind=f"pair{pair}", at=clock.now())
        system.clients[client].publish(event, PlanarLocation(*HERE))

    for pair, moments in enumerate(arrivals):
        for at in moments:
            clock.at(begin + round(at * MICROSECONDS), publish, 2 * pair, pair)
    away: set[int] = set()
    for at, client, on in switches:
        if on and client in away:
            away.remove(client)
            clock.at(begin + round(at * MICROSECONDS), system.reconnect, client)
        elif not on:
            away.add(client)
            clock.at(begin + round(at * MICROSECONDS), system.cut_off, client)
    last = max(at for at, *_ in switches) if switches else 0.0
    system.run_until(6.0 + max(last, *(own[-1] for own in arrivals)))
    for client in sorted(away):
        system.reconnect(client)
    while system.waiting:
        system.run_until(clock.now() + 1.0)
    return delays
