"""Whatever is lost, late or doubled between a client and its broker, each event gets through once."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.core.client import Client
from bypass.events.event import Event
from bypass.live.client.session.outbox import MOST_UNACKNOWLEDGED
from bypass.live.client.session.session import ClientSession
from bypass.live.client.sources.sensor import LiveSensor
from bypass.live.client.subscription import LiveSubscription
from bypass.protocol.messages import Message, Notify, PlanMessage, Publish, Subscribe
from bypass.protocol.session import Ack, Hello, Refused, Welcome
from bypass.protocol.wire import decode, encode
from bypass.transitions import Action, Plan
from tests.live.scripted import AREA, NEWS, on_loop

FIRST, SECOND = 0, 1


class Timer:
    def __init__(self, action: Callable[[], None]) -> None:
        self.action: Callable[[], None] | None = action

    def cancel(self) -> None:
        self.action = None


class Clock:
    """Time passes when the test says so."""

    def __init__(self) -> None:
        self._timers: list[Timer] = []

    def now(self) -> float:
        return 1000.0

    def after(self, delay: float, action: Callable[..., None], *args: Any) -> Timer:
        timer = Timer(lambda: action(*args))
        self._timers.append(timer)
        return timer

    def pass_by(self) -> None:
        timers, self._timers = self._timers, []
        for timer in timers:
            if timer.action is not None:
                timer.action()


class Broker:
    """What a broker with a perfect memory does, and what it remembers."""

    def __init__(self, say: Callable[[Message], None]) -> None:
        self.accepted: list[tuple[int, int]] = []  # numbers of publications and what they say
        self.published = 0
        self.waiting: dict[int, Notify] = {}  # events that the client has not acknowledged
        self.handles: list[int] = []
        self._say = say
        self._events = 0

    def receive(self, message: Message) -> None:
        match message:
            case Hello():
                self._say(Welcome(self.published, 5.0, AREA, client=7, scheme=1, epoch=message.epoch))
                for notify in self.waiting.values():
                    self._say(notify)
            case Publish():
                count = message.id & 0xFFFFFFFF
                if message.event["n"] % 7 == 3:
                    self._say(Refused("unlucky", id=message.id))
                    return
                if count > self.published:
                    self.published = count
                    self.accepted.append((message.id, message.event["n"]))
                self._say(Ack((message.id,)))
            case Subscribe():
                if message.handle not in self.handles:
                    self.handles.append(message.handle)
                self._say(Ack(handles=(message.handle,)))
            case Ack():
                for number in message.ids:
                    self.waiting.pop(number, None)

    def has_event(self, which: tuple[int, ...]) -> None:
        handles = tuple(self.handles[each] for each in which if each < len(self.handles))
        if handles:
            self._events += 1
            number = 9 << 32 | self._events
            publication = Publish(number, Event(n=self._events), client=9, scheme=1)
            self.waiting[number] = Notify(publication, handles, client=7)
            self._say(self.waiting[number])

    def repeat(self, which: int) -> None:
        """Say something again that was not acknowledged."""
        if self.waiting:
            self._say([*self.waiting.values()][which % len(self.waiting)])


class World:
    """A client and a broker, and between them two queues that can be lost at any time."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.up: deque[bytes] = deque()
        self.down: deque[bytes] = deque()
        self.broker = Broker(lambda message: self.down.append(encode(message)))
        self.exchange = ClientSession("me", True, self.clock, LiveSensor(self.clock, None), None)
        self.published: list[tuple[int, asyncio.Future[int]]] = []
        self.called: list[int] = []
        self.iterated: list[int] = []
        self.expected: dict[int, list[int]] = {FIRST: [], SECOND: []}
        self.subscription: LiveSubscription
        self._greeting = False

    async def begin(self) -> None:
        self.connect()
        self.flow()
        self.exchange.subscribe(NEWS, None, None, lambda event, _: self.called.append(event["n"]))
        self.subscription, _ = self.exchange.subscribe(NEWS, None, None, None)
        self.flow()
        assert len(self.broker.handles) == 2

    def connect(self) -> None:
        self.lose()
        self._greeting = True
        self.up.append(encode(self.exchange.hello()))

    def lose(self) -> None:
        self._greeting = False
        self.up.clear()
        self.down.clear()
        self.exchange.disconnected()

    def broker_reads(self, count: int) -> None:
        for _ in range(min(count, len(self.up))):
            self.broker.receive(decode(self.up.popleft()))

    def client_reads(self, count: int) -> None:
        for _ in range(min(count, len(self.down))):
            data = self.down.popleft()
            message = decode(data)
            if isinstance(message, Welcome):
                self._greeting = False
                self.exchange.welcomed(message, self.up.append, lambda: None)
            elif not self._greeting:
                self.exchange.receive(message, len(data))

    def flow(self) -> None:
        """Until nothing is under way."""
        while self.up or self.down:
            self.broker_reads(len(self.up))
            self.client_reads(len(self.down))
            self.clock.pass_by()

    def publish(self) -> None:
        n = len(self.published)
        self.published.append(
            (n, self.exchange.publish(lambda client: publish(client, n), place_taken=False))
        )

    def check_nothing_was_given_up(self) -> None:
        """What has not reached the application is not acknowledged."""
        waiting = {number & 0xFFFFFFFF for number in self.broker.waiting}
        assert set(self.expected[FIRST]) - set(self.called) <= waiting
        assert set(self.expected[SECOND]) - set(self.iterated[:-1]) <= waiting

    async def consume(self, count: int) -> None:
        for _ in range(min(count, len(self.subscription))):
            self.iterated.append((await anext(self.subscription))["n"])


def publish(client: Client, n: int) -> int:
    return client.publish(Event(n=n))


few = st.integers(1, 5)
STEPS = st.one_of(
    st.tuples(st.just("connect")),
    st.tuples(st.just("lose")),
    st.tuples(st.just("broker_reads"), few),
    st.tuples(st.just("client_reads"), few),
    st.tuples(st.just("publish")),
    st.tuples(st.just("cancel"), few),
    st.tuples(st.just("event"), st.sampled_from([(FIRST,), (SECOND,), (FIRST, SECOND)])),
    st.tuples(st.just("repeat"), few),
    st.tuples(st.just("consume"), few),
    st.tuples(st.just("pass_by")),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(STEPS, min_size=5, max_size=60))
def test_everything_gets_through_once(steps: list[tuple[Any, ...]]) -> None:
    asyncio.run(everything_gets_through_once(steps))


async def everything_gets_through_once(steps: list[tuple[Any, ...]]) -> None:
    world = World()
    await world.begin()
    events = 0
    for name, *arguments in steps:
        match name:
            case "event":
                events += 1
                for which in arguments[0]:
                    world.expected[which].append(events)
                world.broker.has_event(*arguments)
            case "repeat":
                world.broker.repeat(*arguments)
            case "consume":
                await world.consume(*arguments)
            case "pass_by":
                world.clock.pass_by()
            case "cancel":
                if world.published:
                    world.published[arguments[0] % len(world.published)][1].cancel()
            case _:
                getattr(world, name)(*arguments)
        world.check_nothing_was_given_up()
    world.connect()
    world.flow()
    await world.consume(len(world.subscription))
    world.subscription.done()
    world.clock.pass_by()
    world.flow()
    assert sorted(world.called) == world.expected[FIRST]
    assert sorted(world.iterated) == world.expected[SECOND]
    assert world.broker.waiting == {}
    assert not world.exchange.unanswered
    lucky = [n for n, _ in world.published if n % 7 != 3]
    assert [n for _, n in world.broker.accepted] == lucky  # in order, each once
    assert [number for number, _ in world.broker.accepted] == [7 << 32 | n + 1 for n in lucky]
    for n, answer in world.published:
        assert answer.done()
        if not answer.cancelled() and answer.exception() is None:
            assert answer.result() == 7 << 32 | n + 1


@on_loop
async def test_what_came_from_nearby_is_acknowledged_only_if_the_broker_sends_it_too() -> None:
    world = World()
    await world.begin()
    client = world.exchange.client
    assert client is not None
    for n in (2, 77):  # as the client's own mechanisms say it
        heard = Publish(9 << 32 | n, Event(n=n), client=9, scheme=1)
        client.network.heard(heard, (world.broker.handles[SECOND],))
    world.broker.has_event((FIRST,))
    world.broker.has_event((SECOND,))
    world.flow()
    assert [number & 0xFF for number in world.broker.waiting] == [2]  # it has not been taken yet
    await world.consume(2)
    world.subscription.done()
    world.clock.pass_by()
    acknowledged = [decode(data) for data in world.up]
    assert [number & 0xFF for m in acknowledged if isinstance(m, Ack) for number in m.ids] == [2]
    world.flow()
    assert world.broker.waiting == {}
    assert world.iterated == [2, 77]


@on_loop
async def test_a_silent_client_waits_for_nobody() -> None:
    world = World()
    await world.begin()
    plan = Plan(plan="p", id="p-1", epoch=1, actions=(Action(proxy="mode", to="ad-hoc"),))
    world.exchange.receive(PlanMessage(plan.to_bytes(), client=7, epoch=1), 0)
    world.flow()
    world.publish()
    assert world.published[0][1].done()  # the broker is not told
    subscription, answer = world.exchange.subscribe(NEWS, None, None, None)
    assert answer.done()
    assert not world.exchange.unanswered
    world.connect()
    (greeting,) = [decode(data) for data in world.up]
    assert isinstance(greeting, Hello)
    assert greeting.handles == ()
    world.flow()
    subscription.close()
    assert not world.exchange.unanswered


@on_loop
async def test_a_client_registers_nothing_in_its_monitor() -> None:
    """Analyzers look on: what they raise is lost, and so would be what they were needed for."""
    world = World()
    await world.begin()
    assert world.exchange.usable().host.monitor._analyzers == []


@pytest.mark.parametrize("kept", [False, True])
@on_loop
async def test_a_publication_that_fails_costs_no_place(kept: bool) -> None:
    world = World()
    await world.begin()

    def fail(client: Client) -> int:
        if kept:
            publish(client, 0)
        raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError):
        world.exchange.publish(fail, place_taken=False)
    assert world.exchange.unanswered == kept
    world.flow()
    assert not world.exchange.unanswered
    assert world.exchange._uplink.outbox._free == MOST_UNACKNOWLEDGED
