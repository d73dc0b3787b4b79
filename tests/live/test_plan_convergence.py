"""Whatever the order of pauses, failures, lost connections, restarts and plans: in the end a client has the
configuration of one to which nothing of that has happened."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bypass.client import Client
from bypass.live.broker import followup
from bypass.live.broker.executions import OPEN
from bypass.live.broker.service import Service
from bypass.live.host import LiveHost
from bypass.location import NoSensor
from bypass.messages import OutcomeMessage, PlanMessage
from bypass.monitor import Monitor
from bypass.sim.clock import VirtualClock
from bypass.transitions import Action, Outcome, Plan
from bypass.transitions.coordinator import Summary
from tests.live.brokers import Peer, config, in_loop, peers, running, until

ACTIONS = [
    Action(proxy="filter", to="ste"),
    Action(proxy="filter", to="radial", set={"period": 3.0}),
    Action(proxy="filter", to="grid"),
    Action(proxy="filter", set={"period": 2.0}),
    Action(proxy="filter", set={"period": 7.0, "threshold": 9.0}),
    Action(proxy="direct", to="flooding", set={"jitter": 0.5}),
    Action(proxy="direct", to="gossip"),
    Action(proxy="direct", set={"jitter": 0.25}),
    Action(proxy="direct", set={"p": 0.5, "jitter": 0.125}),
    Action(proxy="gateway", to="broadcast"),
]
PLANS = st.lists(st.sampled_from(ACTIONS), min_size=1, max_size=2, unique_by=lambda action: action.proxy)
STEPS = st.one_of(PLANS, st.sampled_from(["pause", "go on", "wait", "stumble", "reconnect", "restart"]))


class Walker:
    """A client's mechanisms behind a connection, which is read when the test says so."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.stumbles = False
        host = LiveHost(peer.number, VirtualClock(), NoSensor(), Monitor())
        self.client = Client(host, lambda message: self.peer.send(message), scheme="radial")
        self.client.network.epoch = peer.welcome.epoch
        peer.subscribe()

    def reconnect(self, make: Any, endpoint: str) -> None:
        network = self.client.network
        self.peer = make(endpoint, self.peer.name, handles=(1,), scheme=network.flag, epoch=network.epoch)

    def read(self) -> None:
        """Do what the broker has said."""
        for message in self.peer.settle():
            if not isinstance(message, PlanMessage):
                continue
            if self.stumbles:
                self.stumbles = False
                plan = Plan.from_bytes(message.plan)
                failed = Summary(id=plan.id, outcome="failed", error="on purpose")
                outcome = Outcome(plan=plan.id, host="", ok=False, records=(failed,))
                self.client.network.send(OutcomeMessage(outcome.to_bytes()))
            else:
                self.client.network.receive(message)

    def configuration(self) -> dict[str, Any]:
        active = {proxy: self.client.engine.active(proxy) for proxy in ("filter", "direct", "gateway")}
        return {proxy: (mechanism.name, mechanism.settings()) for proxy, mechanism in active.items()}


class World:
    def __init__(self, service: Service, make: Any) -> None:
        self.make = make
        endpoint = service.server.endpoints[0]
        self.steady, self.tried = (Walker(make(endpoint, name)) for name in ("steady", "tried"))
        self.paused = False
        self.service = service

    def resume(self, service: Service) -> None:
        """A broker on the same store."""
        if service is not self.service:
            self.service = service
            for walker in (self.steady, self.tried):
                walker.reconnect(self.make, service.server.endpoints[0])

    def end(self) -> None:
        """Nothing is in the way any more."""
        self.tried.stumbles = False
        for walker in (self.steady, self.tried):
            self.settle(walker)

    def open(self, walker: Walker) -> list[int]:
        """Attempts of what the broker waits for."""
        told = self.service.server.settings.told
        number = walker.peer.number

        def ask() -> list[int]:
            return [each.attempts for each in told.of(number) if each.verdict in OPEN]

        attempts: list[int] = in_loop(self.service, ask)
        return attempts

    def settle(self, walker: Walker) -> None:
        def settled() -> bool:
            walker.read()
            return not self.open(walker)

        until(settled)

    def do(self, step: Any) -> None:
        if isinstance(step, list):
            plan = Plan(plan="p", on_error="continue", actions=tuple(step))
            in_loop(self.service, lambda: self.service.server.execute(plan))
            self.settle(self.steady)
            if not self.paused:
                self.tried.read()
        elif step == "pause":
            self.paused = True
        elif step == "go on":
            self.paused = False
            self.tried.read()
        elif step == "wait":
            self.settle(self.steady)
            until(lambda: all(self.open(self.tried)))
        elif step == "stumble":
            self.tried.stumbles = True
        elif step == "reconnect":
            self.tried.reconnect(self.make, self.service.server.endpoints[0])


CASES: list[list[Any]] = [
    ["pause", [ACTIONS[4]], [ACTIONS[3]], "wait", "go on"],
    ["pause", [ACTIONS[0]], [ACTIONS[1]], "wait", "go on"],
    ["stumble", [ACTIONS[5]], [ACTIONS[7]], "wait", "go on"],
    ["stumble", [ACTIONS[4]], [ACTIONS[3]], "restart", "go on"],
    ["pause", [ACTIONS[5], ACTIONS[0]], "wait", [ACTIONS[7]], "reconnect", "restart"],
]
SET = Action(proxy="filter", to="radial", set={"period": 3.0})
LOST: list[Any] = ["pause", [SET], "reconnect", "restart"]


@pytest.mark.slow
@pytest.mark.parametrize("steps", CASES, ids=range(len(CASES)))
def test_who_was_disturbed_ends_like_who_was_not(steps: list[Any]) -> None:
    compare(steps)


@pytest.mark.xfail(strict=True, reason="a parameter is not told to who missed it before a restart")
def test_a_parameter_reaches_who_connects_again_before_and_after_a_restart() -> None:
    compare(LOST)


@pytest.mark.soak
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(STEPS, min_size=2, max_size=14))
def test_whatever_disturbs_somebody_it_ends_like_who_was_not_disturbed(steps: list[Any]) -> None:
    compare(steps)


def compare(steps: list[Any]) -> None:
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder, peers() as make:
        patch.setattr(followup, "ANSWER_S", 0.05)
        patch.setattr(followup, "RETRY_S", 1e-9)
        patch.setattr(followup, "ATTEMPTS", 30)
        kept, world, left = config(Path(folder)), None, iter([*steps, "end"])
        step = ""
        while step != "end":
            with running(kept) as service:
                if world is None:
                    world = World(service, make)
                world.resume(service)
                while (step := next(left)) not in ("restart", "end"):
                    world.do(step)
                if step == "end":
                    world.end()
        assert world is not None
        assert world.tried.configuration() == world.steady.configuration()
