"""Whatever the order of pauses, failures, lost connections, deaths, restarts and plans: in the end a client
has the configuration of one to which nothing of that has happened."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bypass.core.client import NODE_PROXIES, Client
from bypass.core.plans import rollout_tracker as followup
from bypass.core.plans.isolation import ISOLATE
from bypass.core.plans.pending_plans import PendingPlan
from bypass.core.plans.plan_progress import PlanProgress
from bypass.core.plans.plan_shares import shares
from bypass.live.broker import housekeeping
from bypass.live.broker.service import Service
from bypass.live.host import LiveHost
from bypass.mechanisms import Registry
from bypass.mechanisms.families import CLIENT_PROXIES
from bypass.mechanisms.filters import FilterClient
from bypass.places.sensor import NoSensor
from bypass.ports.monitor import Monitor
from bypass.protocol.messages import ContextUpdate, OutcomeMessage, PlanMessage
from bypass.protocol.session import Bye
from bypass.sim.clock import VirtualClock
from bypass.transitions import Action, AtomicTransition, Outcome, Plan, auto_transfer
from bypass.transitions.coordinator import Summary
from tests.live.brokers import Peer, config, in_loop, killed, peers, running, until

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
    Action(proxy="filter", to="radial"),
    Action(proxy="filter", of="ste", set={"threshold": 4.0}),
    Action(proxy="direct", to="nothing"),
    Action(proxy="mode", to="augment"),
]
STE, RADIAL_3, GRID, PERIOD, BOTH, FLOODING, GOSSIP, JITTER = ACTIONS[:8]
RADIAL, OF_STE, NO_DIRECT = ACTIONS[10:13]

RULES = """
rules:
  - rule: park
    on: location
    when: place == 'park'
    plan:
      plan: park
      scope: "{area}"
      decision: "{next_decision}"
      actions:
        - {proxy: filter, to: ste, set: {period: 5.0}, members: ["{client}"]}
        - {proxy: direct, to: gossip, set: {p: 0.75}, members: ["{client}"]}
  - rule: square
    on: location
    when: place == 'square'
    plan:
      plan: square
      scope: "{area}"
      decision: "{next_decision}"
      actions: [{proxy: direct, to: flooding, members: ["{client}"]}]
"""
PLACES = {"park": (500.0, 500.0), "square": (800.0, 800.0)}

Steps = Sequence[Any]
"""A list of actions is a plan for everybody, a tuple of them one for an area; words are disturbances, and
places with rules that the clients go to."""

ALONE = st.lists(st.sampled_from(ACTIONS), min_size=1, max_size=2, unique_by=lambda action: action.proxy)
SOME = ALONE.map(lambda actions: tuple(action for action in actions if action.to)).filter(bool)
DISTURBANCES = [
    "pause",
    "go on",
    "wait",
    "stumble",
    "trip",
    "lose",
    "reconnect",
    "die",
    "restart",
    "kill",
    "note",
]
STEPS = st.lists(
    st.one_of(ALONE, ALONE, SOME, st.sampled_from([*DISTURBANCES, *PLACES, "check"])), min_size=2, max_size=14
)
RETRIES = st.sampled_from([0.0, 0.02])


def client_of(number: int) -> Client:
    return Client(LiveHost(number, VirtualClock(), NoSensor(), Monitor()), lambda message: None)


def configuration(client: Client, ideal: Client) -> dict[str, Any]:
    """All mechanisms of a client, their parameters, and the decisions that it tells devices nearby of.

    Who is told something without a decision keeps the number that it has: any is right then.
    """
    active = {proxy: client.engine.active(proxy) for proxy in CLIENT_PROXIES if proxy not in NODE_PROXIES}
    stamps = {
        proxy: (stamp.flag, stamp.scope, stamp.counter if ideal.nearby.healing[proxy].stamp.counter else 0)
        for proxy, stamp in ((proxy, healing.stamp) for proxy, healing in client.nearby.healing.items())
    }
    return {proxy: (each.name, each.settings()) for proxy, each in active.items()} | {"stamps": stamps}


class Tripping(AtomicTransition[FilterClient, FilterClient]):
    """Fails once if the client is to trip, so that other actions of a plan are done and this one is not."""

    def __init__(self, walker: Walker) -> None:
        self.walker = walker

    def transfer_state(self, a: FilterClient, b: FilterClient) -> None:
        if self.walker.trips:
            self.walker.trips = False
            raise RuntimeError("tripped")
        auto_transfer(a, b)


class Walker:
    """A client's mechanisms behind a connection, which is read when the test says so."""

    def __init__(self, make: Any, endpoint: str, name: str) -> None:
        self.make = make
        self.name = name
        self.life = 1
        self.stumbles = False
        self.trips = False
        self.away = False
        self.live(endpoint)
        self.ideal = client_of(self.peer.number)  # is told everything, at once and once

    def live(self, endpoint: str) -> None:
        """A new process."""
        self.peer: Peer = self.make(endpoint, self.name, life=self.life)
        host = LiveHost(self.peer.number, VirtualClock(), NoSensor(), Monitor())
        self.client = Client(host, lambda message: self.peer.send(message), scheme=self._scheme())
        self.client.network.epoch = self.peer.welcome.epoch
        self.client.engine.register_transition("filter", Tripping(self))
        self.peer.subscribe()

    def _scheme(self) -> str:
        scheme = Registry().flags.scheme(self.peer.welcome.scheme)
        assert scheme is not None
        return scheme

    def reconnect(self, endpoint: str) -> None:
        network = self.client.network
        self.peer.close()
        about = {"handles": (1,), "scheme": network.flag, "epoch": network.epoch}
        self.peer = self.make(endpoint, self.name, life=self.life, **about)
        self.away = False

    def die(self, endpoint: str) -> None:
        self.peer.close()
        self.life += 1
        self.live(endpoint)
        self.away = False

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


class World:
    """A client that only the broker disturbs, one that much else does, and a third that is in no area."""

    def __init__(self, service: Service, make: Any) -> None:
        self.make = make
        self.service = service
        bystander = make(self.endpoint, "bystander")
        bystander.subscribe()
        bystander.send(Bye())
        bystander.get(Bye)
        self.steady, self.tried = (Walker(make, self.endpoint, name) for name in ("steady", "tried"))
        self.paused = False
        self.watch()

    @property
    def endpoint(self) -> str:
        return self.service.server.endpoints[0]

    @property
    def walkers(self) -> tuple[Walker, Walker]:
        return self.steady, self.tried

    def watch(self) -> None:
        in_loop(self.service, lambda: self.service.server.broker.rollout.tracker.listeners.append(self))

    def rollout_begun(self, progress: PlanProgress) -> None:
        plan = progress.plan
        if plan.plan == "join":
            return  # what holds already
        assert plan.plan != ISOLATE
        for walker in self.walkers:
            for share, _ in shares(
                plan, walker.client.registry.catalogue("client"), [{walker.peer.number}], False
            ):
                walker.ideal.carry_out(share)

    def plan_settled(self, client: int, plan: PendingPlan) -> None:
        pass

    def rollout_concluded(self, progress: PlanProgress) -> None:
        pass

    def resume(self, service: Service) -> None:
        """A broker on the same store, or on what was left of it."""
        if service is not self.service:
            self.service = service
            self.watch()
            for walker in self.walkers:
                if not walker.away:
                    walker.reconnect(self.endpoint)

    def check(self) -> None:
        """Nothing is in the way any more: all have what they should have, as soon as the broker thinks so."""
        self.tried.stumbles = self.tried.trips = self.paused = False
        if self.tried.away:
            self.tried.reconnect(self.endpoint)
        for walker in self.walkers:
            self.settle(walker)
            client, ideal = walker.client, walker.ideal
            assert configuration(client, ideal) == configuration(ideal, ideal)

    def open(self, walker: Walker) -> list[int]:
        """Attempts of what the broker waits for."""
        pending, number = self.service.server.broker.rollout.tracker.pending, walker.peer.number
        attempts: list[int] = in_loop(self.service, lambda: [each.attempts for each in pending.of(number)])
        return attempts

    def settle(self, walker: Walker) -> None:
        def settled() -> bool:
            walker.read()
            return not self.open(walker)

        until(settled)

    def do(self, step: Any) -> None:
        server, tried = self.service.server, self.tried
        if isinstance(step, list | tuple):
            members = None if isinstance(step, list) else tuple(walker.peer.number for walker in self.walkers)
            actions = tuple(action.model_copy(update={"members": members}) for action in step)
            plan = Plan(plan="p", on_error="abort" if members else "continue", actions=actions)
            in_loop(self.service, lambda: server.broker.execute(plan))
            self.read()
        elif step in PLACES and not tried.away:
            for walker in self.walkers:
                walker.peer.send(ContextUpdate(PLACES[step]))
                until(partial(self.is_at, walker.peer.number, PLACES[step]))
            self.read()
        elif step == "pause":
            self.paused = True
        elif step == "go on":
            self.paused = False
            self.read()
        elif step == "wait":
            self.settle(self.steady)
            until(lambda: tried.away or all(self.open(tried)))
        elif step == "stumble":
            tried.stumbles = True
        elif step == "trip":
            tried.trips = True
        elif step == "lose":
            tried.peer.close()
            tried.away = True
        elif step in ("reconnect", "die"):
            getattr(tried, step)(self.endpoint)
        elif step == "note":
            in_loop(self.service, lambda: server.housekeeping._note(0, 1))
        elif step == "check":
            self.check()

    def is_at(self, number: int, where: tuple[float, float]) -> bool:
        table = self.service.server.broker.table
        place = in_loop(self.service, lambda: table.place(number))
        return place is not None and place[:2] == where

    def read(self) -> None:
        self.settle(self.steady)
        if not self.paused and not self.tried.away:
            self.tried.read()


CASES: list[Steps] = [
    ["pause", [BOTH], [PERIOD], "wait", "go on"],
    ["pause", [STE], [RADIAL_3], "wait", "go on"],
    ["stumble", [FLOODING], [JITTER], "wait", "go on"],
    ["stumble", [BOTH], [PERIOD], "restart", "go on"],
    ["pause", [FLOODING, STE], "wait", [JITTER], "reconnect", "restart"],
    [[BOTH], "stumble", [STE], [RADIAL_3]],
    [[BOTH], "pause", [STE], [RADIAL], "reconnect"],
    ["pause", (FLOODING,), "reconnect"],
    ["pause", (STE, FLOODING), "lose"],
    ["pause", (RADIAL_3, FLOODING), "restart"],
    ["pause", "park", "reconnect"],
    [[GOSSIP], "note", "pause", [FLOODING], "kill"],
    [[FLOODING], "note", "pause", "die", "kill"],
    ["park", "die"],
    ["stumble", [JITTER, STE], [FLOODING], "kill"],
    ["pause", [FLOODING], (NO_DIRECT,), "stumble", "go on"],
]
LOST: Steps = ["pause", [RADIAL_3], "reconnect", "restart"]


@pytest.mark.slow
@pytest.mark.parametrize("steps", CASES, ids=range(len(CASES)))
def test_who_was_disturbed_ends_like_who_was_not(steps: Steps) -> None:
    compare(steps)


def test_a_parameter_reaches_who_connects_again_before_and_after_a_restart() -> None:
    compare(LOST)


@pytest.mark.slow
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=STEPS, retry=RETRIES)
def test_whatever_disturbs_somebody_it_ends_like_who_was_not_disturbed(steps: Steps, retry: float) -> None:
    compare(steps, retry)


@pytest.mark.soak
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=STEPS, retry=RETRIES)
def test_whatever_disturbs_somebody_again_and_again_it_ends_like_who_was_not(
    steps: Steps, retry: float
) -> None:
    compare(steps, retry)


def compare(steps: Steps, retry: float = 0.0) -> None:
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder, peers() as make:
        patch.setattr(followup, "ANSWER_S", 0.05)
        patch.setattr(followup, "RETRY_S", retry)
        patch.setattr(followup, "ATTEMPTS", 1000)
        patch.setattr(housekeeping, "CURSORS_S", 3600.0)  # what was told is noted when the test says so
        book = Path(folder) / "rules.yaml"
        book.write_text(RULES)
        places = [{"name": name, "x": x, "y": y, "radius": 50} for name, (x, y) in PLACES.items()]
        changes = {"rules": book, "region": {"area": [0, 0, 1000, 1000], "places": places}}
        kept, world, left = config(Path(folder), **changes), None, iter([*steps, "end"])
        step, copies = "", 0
        while step != "end":
            with running(kept) as service:
                if world is None:
                    world = World(service, make)
                world.resume(service)
                while (step := next(left)) not in ("restart", "kill", "end"):
                    world.do(step)
                if step == "kill":
                    copies += 1
                    kept = killed(service, Path(folder) / str(copies), **changes)
                elif step == "end":
                    world.check()
