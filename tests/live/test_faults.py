"""Networks that fail under a live system: what was acknowledged arrives, once, and nothing waits for ever."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import bypass
from bypass.events.event import Event
from bypass.events.filters import attr
from bypass.live.adhoc.datagrams import Refusal
from bypass.live.broker.service import Service
from bypass.live.client.connection import Connection
from bypass.live.client.link import reconnector
from bypass.mechanisms.filters.radial import ReportingClient
from bypass.places.geo import PlanarLocation
from bypass.transitions import Action, Plan
from tests.live.brokers import config, in_loop, running
from tests.live.devices import devices
from tests.live.faults import FINE, Air, FaultyNetwork, Lag, Weather, faulty_network, in_the_air
from tests.live.networks import Networks
from tests.live.test_namespaces import PORT, ROOT, networks  # noqa: F401 - the fixture

pytestmark = pytest.mark.slow

HEARTBEAT = 0.3
HERE = (10.0, 10.0)
LIMIT = 40.0


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients try again soon, as all here takes fractions of a second."""
    monkeypatch.setattr(reconnector, "ANSWER_WITHIN_S", 1.0)
    monkeypatch.setattr(reconnector, "LATEST_RETRY_S", 0.3)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    settings = config(
        tmp_path, listen=("tcp://127.0.0.1:*",), heartbeat=HEARTBEAT, limits={"client_rate": 0.0}
    )
    with running(settings) as service:
        yield service


@pytest.fixture
def network(service: Service) -> Iterator[FaultyNetwork]:
    with faulty_network(service.server.endpoints[0]) as network:
        yield network


def run(scenario: Coroutine[Any, Any, None]) -> None:
    """It ends, whatever happens."""

    async def limited() -> None:
        async with asyncio.timeout(2 * LIMIT):
            await scenario

    asyncio.run(limited())


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(LIMIT):
        while not condition():
            await asyncio.sleep(0.002)


class Group:
    """Publishers and subscribers at one place; what each subscriber was told, as publisher and number."""

    def __init__(self, publishers: list[Connection], subscribers: list[Connection]) -> None:
        self.publishers = publishers
        self.subscribers = subscribers
        self.heard: list[list[tuple[int, int]]] = [[] for _ in subscribers]
        self._published = [0] * len(publishers)
        self._pending: list[asyncio.Future[int]] = []

    @property
    def connections(self) -> list[Connection]:
        return [*self.publishers, *self.subscribers]

    @property
    def states(self) -> list[bool]:
        return [each.connected for each in self.connections]

    def publish(self, count: int) -> None:
        """So many events of each publisher, without waiting for what becomes of them."""
        for number, publisher in enumerate(self.publishers):
            for _ in range(count):
                event = Event(kind="x", publisher=number, n=self._published[number])
                self._published[number] += 1
                self._pending.append(publisher.publish_soon(event, PlanarLocation(*HERE)))

    async def acknowledged(self) -> None:
        """Every publication is safe: none was refused, none hangs."""
        async with asyncio.timeout(LIMIT):
            await asyncio.gather(*self._pending)
        self._pending.clear()

    async def check(self) -> None:
        """Every subscriber is told of every event, once, each publisher's in their order."""
        await self.acknowledged()
        total = sum(self._published)
        await until(lambda: all(len(heard) >= total for heard in self.heard))
        for heard in self.heard:
            for number, count in enumerate(self._published):
                assert [n for publisher, n in heard if publisher == number] == list(range(count))

    def hears(self, subscriber: int) -> Callable[[Event, object], None]:
        return lambda event, _: self.heard[subscriber].append((event["publisher"], event["n"]))


@asynccontextmanager
async def group(endpoint: str, publishers: int = 1, subscribers: int = 2) -> AsyncIterator[Group]:
    async with AsyncExitStack() as stack:

        async def connect(name: str) -> Connection:
            here = bypass.connect(endpoint, open=True, name=name, location=lambda: HERE)
            return await stack.enter_async_context(here)

        made = Group(
            [await connect(f"publisher{n}") for n in range(publishers)],
            [await connect(f"subscriber{n}") for n in range(subscribers)],
        )
        for n, subscriber in enumerate(made.subscribers):
            await subscriber.subscribe(attr("kind") == "x", radius=100, callback=made.hears(n))
        yield made


# -- one fault --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "weather",
    [
        Weather(delay=0.1),
        Weather(delay=0.02, jitter=0.15),
        Weather(rate=30_000.0),
        Weather(delay=0.03, jitter=0.05, rate=60_000.0),
    ],
    ids=["delay", "jitter", "throttle", "all of them"],
)
def test_a_slow_network_loses_and_doubles_nothing(network: FaultyNetwork, weather: Weather) -> None:
    async def scenario() -> None:
        async with group(network.endpoint) as made:
            made.publish(10)
            network.become(weather)
            for _ in range(5):
                made.publish(20)
                await made.acknowledged()
            network.become(FINE)
            made.publish(10)
            await made.check()

    run(scenario())


@pytest.mark.parametrize("direction", ["both", "up", "down"])
def test_a_partition_is_noticed_and_survived(
    service: Service, network: FaultyNetwork, direction: str
) -> None:
    """Connections stay up, and nothing passes: both sides find out, and nothing is lost."""

    async def scenario() -> None:
        async with group(network.endpoint) as made:
            made.publish(20)
            await made.check()
            made.publish(20)
            network.change(stalled=direction)
            made.publish(20)
            await until(lambda: not any(made.states))
            made.publish(20)
            if direction != "down":
                await until(lambda: not service.server.sessions.by_route)
            network.become(FINE)
            await made.check()
            made.publish(20)
            await made.check()

    run(scenario())


@pytest.mark.parametrize("reset", [True, False])
def test_broken_connections_are_made_again(network: FaultyNetwork, reset: bool) -> None:
    async def scenario() -> None:
        async with group(network.endpoint) as made:
            for _ in range(10):
                made.publish(20)
                passed = network.passed
                await until(lambda before=passed: network.passed > before)  # type: ignore[misc]
                network.cut(reset=reset)
                made.publish(5)
            await made.check()

    run(scenario())


def test_who_is_refused_for_a_while_comes_back(network: FaultyNetwork) -> None:
    async def scenario() -> None:
        async with group(network.endpoint) as made:
            network.change(refusing=True)
            network.cut(reset=True)
            await until(lambda: not any(made.states))
            made.publish(50)
            before = network.refused
            await until(lambda: network.refused >= before + 6)  # all have tried again
            network.become(FINE)
            await made.check()

    run(scenario())


def test_a_half_open_connection_is_noticed_after_three_heartbeats(
    service: Service, network: FaultyNetwork
) -> None:
    """By both sides, before a fourth has passed, as far as the machine gives them time."""

    async def scenario() -> None:
        async with group(network.endpoint, subscribers=0) as made:
            (me,) = made.publishers
            await until(lambda: me.connected)
            loop, lag = asyncio.get_running_loop(), Lag()
            at: dict[str, float] = {}
            me.on_state = lambda state: at.update({state: at.get(state, loop.time())})
            broker_lag = BrokerLag(service)
            network.change(stalled="both")
            began = loop.time()
            await until(lambda: "disconnected" in at)
            await until(lambda: service.server.counters["silent"])
            broker_took = loop.time() - began
            assert at["disconnected"] - began <= 4 * HEARTBEAT + lag.end()
            assert broker_took <= 4 * HEARTBEAT + lag.most + broker_lag.end()
            network.become(FINE)
            await until(lambda: me.connected)

    run(scenario())


class BrokerLag:
    """How late the broker's loop is at most."""

    def __init__(self, service: Service) -> None:
        self._loop = service.server.loop
        self._going = True
        self._most = 0.0
        service.server.loop.soon(self._measure, None)

    def _measure(self, due: float | None) -> None:
        now = self._loop.now()
        if due is not None:
            self._most = max(self._most, now - due)
        if self._going:
            self._loop.after(0.01, self._measure, now + 0.01)

    def end(self) -> float:
        self._going = False
        return self._most


def test_a_transition_during_a_partition_reaches_who_was_cut_off(
    service: Service, network: FaultyNetwork
) -> None:
    async def scenario() -> None:
        async with group(network.endpoint) as made:
            made.publish(5)
            await made.check()
            network.change(stalled="both")
            execute(service, "ste", threshold=2.0)
            made.publish(5)
            await until(lambda: not any(made.states))
            execute(service, "ste", threshold=3.0)
            network.become(FINE)
            await until(lambda: schemes(made) == {("ste", 3.0)})
            assert serving(service, made) == "ste"
            await made.check()

    run(scenario())


def execute(service: Service, scheme: str, threshold: float) -> None:
    plan = Plan(plan="p", actions=(Action(proxy="filter", to=scheme, set={"threshold": threshold}),))
    in_loop(service, lambda: service.server.broker.execute(plan))


def schemes(made: Group) -> set[tuple[str, float]]:
    """What clients filter with, and how far they go before they report."""
    found = set()
    for connection in made.connections:
        client = connection._exchange.client
        assert client is not None
        active = client.engine.active("filter")
        assert isinstance(active, ReportingClient)
        found.add((active.name, active.threshold))
    return found


def serving(service: Service, made: Group) -> str:
    """The one scheme by which the broker serves everybody."""
    (scheme,) = service.server.broker.filter_schemes
    assert {each.number for each in made.connections} <= set(scheme.clients)
    return scheme.name


# -- many -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_whatever_happens_in_whatever_order(service: Service, network: FaultyNetwork, seed: int) -> None:
    rng = random.Random(seed)

    async def some_bytes(made: Group) -> None:
        """Unless somebody loses its connection, or finds it again."""
        before, states = network.passed, made.states
        await until(lambda: network.passed > before + 5_000 or made.states != states)

    async def noticed(made: Group) -> None:
        await until(lambda: not all(made.states))

    async def scenario() -> None:
        async with group(network.endpoint, publishers=2) as made:
            for step in range(12):
                kind = rng.choice(("slow", "stall", "cut", "refuse", "transition", "fine"))
                made.publish(rng.randint(1, 30))
                if kind == "slow":
                    network.become(
                        Weather(rng.random() * 0.1, rng.random() * 0.1, rng.choice((0.0, 50_000.0)))
                    )
                elif kind == "stall":
                    network.change(stalled=rng.choice(("both", "up", "down")))
                    if rng.random() < 0.7:
                        await noticed(made)
                    network.change(stalled=None)
                elif kind == "cut":
                    network.cut(reset=rng.random() < 0.5)
                elif kind == "refuse":
                    network.change(refusing=True)
                    network.cut(reset=rng.random() < 0.5)
                    await noticed(made)
                    network.change(refusing=False)
                elif kind == "transition":
                    execute(service, rng.choice(("ste", "radial")), threshold=1.0 + step)
                else:
                    network.become(FINE)
                made.publish(rng.randint(1, 30))
                if rng.random() < 0.5:
                    await some_bytes(made)
            execute(service, "ste", threshold=50.0)
            network.become(FINE)
            await made.check()
            await until(lambda: schemes(made) == {("ste", 50.0)})
            assert serving(service, made) == "ste"

    run(scenario())


# -- devices nearby ---------------------------------------------------------------------------------------


@pytest.fixture
def port() -> int:
    """Of its own for each process that runs tests."""
    return 20_000 + os.getpid() % 10_000


def test_datagrams_that_come_late_and_twice_are_heard_once(port: int) -> None:
    async def scenario() -> None:
        with in_the_air(seed=1) as airs:
            async with devices(4, "flooding", port=port, jitter=0.0) as made:
                airs.air = Air(doubled=0.4, late=0.5, delay=0.05)
                for event in range(40):
                    made[0].publish(event)
                await until(lambda: all(len(device.heard) >= 40 for device in made[1:]))
                airs.air = Air()
                made[0].publish(100)
                await until(lambda: all(100 in device.heard for device in made[1:]))
                for device in made[1:]:
                    assert sorted(device.heard) == [*range(40), 100]
                    assert {*device.neighbourhood.refused} <= {Refusal.REPEATED, Refusal.OWN}
                    assert device.neighbourhood.refused[Refusal.REPEATED] > 10
                    assert made[0].heard == []

    run(scenario())


def test_datagrams_that_get_lost_disturb_nothing_else(port: int) -> None:
    """What is heard is heard once, and all that is said when the air is clear again is heard."""

    async def scenario() -> None:
        with in_the_air(seed=2) as airs:
            async with devices(4, "flooding", port=port, jitter=0.0) as made:
                airs.air = Air(loss=0.3, doubled=0.1, late=0.3, delay=0.02)
                for event in range(50):
                    made[0].publish(event)
                    await asyncio.sleep(0)
                airs.air = Air()
                for event in range(50, 60):
                    made[0].publish(event)
                await until(lambda: all({*range(50, 60)} <= {*device.heard} for device in made[1:]))
                for device in made[1:]:
                    assert len(device.heard) == len({*device.heard})

    run(scenario())


# -- a network of its own ---------------------------------------------------------------------------------


def test_a_cable_that_is_pulled_while_events_are_published(
    networks: Networks,  # noqa: F811
    tmp_path: Path,
) -> None:
    networks.bridge("lan")
    broker_at = networks.device("broker", ("lan", "10.78.0.1/24"))
    clients_at = networks.device("clients", ("lan", "10.78.0.2/24"))
    endpoint = f"tcp://10.78.0.1:{PORT}"
    settings = {
        "listen": [endpoint], "open": True, "store": "store.db", "sync": "normal",
        "heartbeat": HEARTBEAT, "limits": {"client_rate": 0},
    }  # fmt: skip
    (tmp_path / "broker.yaml").write_text(json.dumps(settings), encoding="utf-8")

    async def scenario() -> None:
        broker = ("-c", "from bypass.cli import main; main()", "broker", "--config")
        async with (
            process(broker_at, *broker, str(tmp_path / "broker.yaml")),
            process(clients_at, "-m", "tests.live.far_clients", endpoint) as clients,
        ):
            for _ in range(3):
                await clients.heard_more(20)
                networks.plug(1, False)
                await clients.until("disconnected")
                networks.plug(1, True)
                await clients.until("connected")
            await clients.heard_more(20)
            clients.end_input()
            await clients.until("done")
            assert clients.events("heard") == clients.events("acknowledged")
            assert clients.events("heard") == list(range(len(clients.events("heard"))))

    run(scenario())


class Process:
    """A process in a namespace, and the lines that it has said."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.said: list[list[str]] = []

    async def until(self, word: str) -> None:
        """The next line that begins with a word."""
        assert self._process.stdout is not None
        async with asyncio.timeout(LIMIT):
            while line := (await self._process.stdout.readline()).decode().split():
                self.said.append(line)
                if line[0] == word:
                    return
        raise AssertionError(f"it has ended before it said {word!r}")

    async def heard_more(self, count: int) -> None:
        for _ in range(count):
            await self.until("heard")

    def events(self, word: str) -> list[int]:
        return sorted(int(line[1]) for line in self.said if line[0] == word)

    def end_input(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()


@asynccontextmanager
async def process(namespace: str, *arguments: str) -> AsyncIterator[Process]:
    started = await asyncio.create_subprocess_exec(
        "ip", "netns", "exec", namespace, sys.executable, *arguments,
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield Process(started)
    finally:
        if started.returncode is None:
            started.kill()
        await started.wait()
