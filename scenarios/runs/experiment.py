"""One experiment in the simulator: people move and publish, the system works, the ledger watches."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bypass.core.adaptation import Adaptation
from bypass.errors import BypassError
from bypass.events.event import Event
from bypass.events.filters import attr
from bypass.mechanisms import Registry
from bypass.mechanisms.filters import FilterBroker
from bypass.models.maps import AttractionPoint
from bypass.models.radio.kernels.state import S
from bypass.models.waypoints import Waypoints, within
from bypass.models.workloads import World
from bypass.places.geo import PlanarLocation
from bypass.places.region import Region
from bypass.places.sensor import LocationRequest
from bypass.protocol.messages import Kind
from bypass.scenarios.experiments.rulebooks import load_rules
from bypass.scenarios.experiments.schema import Scenario, Step
from bypass.scenarios.figures.figures import distance_to_border
from bypass.scenarios.figures.gateway_watch import GatewayWatch
from bypass.scenarios.figures.measures import Around, EventColumn, Phase, Stats, between, precision, recall
from bypass.scenarios.figures.outcome import LOCAL_COUNTERS, LOCAL_PROXIES, TRAFFIC_COLUMNS, Run, rates
from bypass.scenarios.figures.usage import ClientExecution, JoinOrLeave, main_mechanism
from bypass.scenarios.runs.transition_watch import TransitionWatch
from bypass.sim.host import stream
from bypass.sim.ledger import HORIZON_S, Ledger
from bypass.sim.system import SimulatedSystem
from bypass.support.garbage import rare_collections
from bypass.support.units import MICROSECONDS
from bypass.transitions import Nothing, RuleBook, RuleEngine

DRAIN_S = 5.0  # what was published last must still arrive
LONGEST_AWAY = 10  # times the mean: what waits for who stays away longer is not waited for
FOREVER_S = 1e9  # what waits in a durable session counts whenever it arrives

RunProgress = Callable[[float], None]
Publication = tuple[int, int, int, tuple[float, float]]  # when (µs), by whom, of what kind, and where

EXPERIMENTER = -2  # the number of its random streams among those of hosts


class ExperimentFailed(BypassError):
    """An experiment could not be carried out as its file says."""


class Experiment:
    """A scenario without `runs`, set up with a seed and ready to run once."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self.scenario = scenario
        self.seed = seed
        n = scenario.clients
        self._workload = scenario.workload.build()
        attractions, movement = self._movement()
        self._trace = movement.cursor()
        self._fastest = movement.fastest()
        self._publications = self._scheduled(attractions)
        self.region = Region(
            (0.0, 0.0, scenario.world.width, scenario.world.height),
            tuple(p.place() for p in attractions),
        )
        registry = scenario.registry()
        here = [action for action in scenario.begin if action.proxy in registry.proxies("broker")]
        self.system = SimulatedSystem(
            n,
            self._trace,
            self.region,
            seed=seed,
            network=scenario.network,
            scheme=scenario.filter.scheme,
            set=scenario.filter.parameters,
            grace=scenario.grace,
            state_transfer=scenario.state_transfer,
            begin=[action for action in scenario.begin if action not in here],
            radios=scenario.all_radios,
            durable=scenario.durable,
            registry=registry,
            walls=scenario.walls(registry),
            projection=scenario.projection,
            **self._edges(registry),
        )
        registry.prepare(self.system.broker.engine, "broker", here)
        for action in here:
            self.system.broker.engine.transition(action.proxy, action.to or "", set=action.set)
        self._rules: RuleEngine | None = None
        churn = scenario.churn.build()
        self._end = scenario.duration  # of coming and going
        if scenario.churn.durable and churn.mean_away is not None:
            self._end += LONGEST_AWAY * churn.mean_away
        self._presence = churn.schedule(n, self._end, seed)
        self._active = np.ones(n, np.bool_)
        self._cut_off: set[int] = set()  # of those who take part
        self._attendance: list[JoinOrLeave] = []
        self._initiators = stream(seed, EXPERIMENTER, "initiators")
        self._gateways = GatewayWatch(self.system)
        self.system.monitor.register(self._gateways)
        self._ledger = Ledger(n, self.system.clock, FOREVER_S if scenario.durable else HORIZON_S)
        self.system.monitor.register(self._ledger)
        self._radius = np.full(n, self._workload.radius)
        self._event = Event(kind="event", payload=bytes(self._workload.payload))
        self._published: list[tuple[int, int, int, int, tuple[float, float]]] = []
        self._executions: list[ClientExecution] = []
        self._seconds: list[NDArray[np.int64]] = []
        self._marks: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        self._mechanisms: list[dict[str, Any]] = []

    def _edges(self, registry: Registry) -> dict[str, Any]:  # noqa: ARG002
        """The arguments of the system about edges: none."""
        return {}

    def _movement(self) -> tuple[tuple[AttractionPoint, ...], Waypoints]:
        """The places that attract people, and where everybody is."""
        scenario, mobility = self.scenario, self.scenario.mobility.build()
        return mobility.attractions, mobility.generate(scenario.clients, scenario.duration, self.seed)

    def _scheduled(self, attractions: tuple[AttractionPoint, ...]) -> Iterator[Publication]:
        """The publications, in the order of time."""
        scenario, world, start = self.scenario, self.scenario.world, self.scenario.workload.start
        publications = self._workload.schedule(
            scenario.clients,
            max(scenario.duration - start, 1e-6),
            self.seed,
            World(attractions, world.width, world.height),
        )
        return zip(
            (publications.at_us + round(start * MICROSECONDS)).tolist(),
            publications.client.tolist(),
            np.where(np.isnan(publications.x), Kind.LOCAL, Kind.PLACED).tolist(),
            zip(publications.x.tolist(), publications.y.tolist(), strict=True),
            strict=True,
        )

    @rare_collections()
    def run(self, progress: RunProgress = lambda _: None) -> Run:
        """Run to the end; `progress` is told how many seconds have been simulated."""
        began = time.perf_counter()
        scenario, system = self.scenario, self.system
        nowhere = float("nan")
        system.broker.engine.add_listener(TransitionWatch(self._executions, lambda: (nowhere, nowhere)))
        if scenario.rules.sources:
            book, more = load_rules(scenario.rules.sources, scenario.rules.parameters)
            self._rules = self._adaptation(book)
            self._rules.add(*more)
        self._begin_attendance()
        self._schedule_next()
        for step in scenario.timeline:
            system.clock.at(round(step.at * MICROSECONDS), self._step, step)
        self._mark()
        second = 0.0
        while second < scenario.duration:
            second = min(second + 1.0, scenario.duration)
            system.run_until(second)
            self._settle()
            self._seconds.append(self._sums())
            progress(second)
        self._mark()
        self._drain()
        self._settle()
        return self._result(time.perf_counter() - began)

    def _adaptation(self, book: RuleBook) -> RuleEngine:
        """Have the broker adapt by rules."""
        return Adaptation(self.system.broker, book, self.region.places).rules

    # -- what happens meanwhile ---------------------------------------------------------------------------

    def _begin_attendance(self) -> None:
        """Clients that are there from the beginning begin; others are not there yet."""
        changes = list(zip(*(column.tolist() for column in self._presence.changes()), strict=True))
        first = {client for at_us, client, _ in changes if at_us == 0}
        for number in range(self.scenario.clients):
            if number in first:
                self._take_part(number)
            else:
                self._active[number] = False
                self._radius[number] = np.nan
                self.system.leave(number)
        if len(first) == self.scenario.clients == len(changes):
            return  # nobody ever comes or goes
        self._attendance = [JoinOrLeave(0.0, number, True) for number in sorted(first)]
        for at_us, number, joins in changes:
            if at_us > 0:
                self.system.clock.at(at_us, self._come if joins else self._go, number)

    def _watch(self, number: int) -> None:
        """Have the transitions of a client recorded."""

        def place() -> tuple[float, float]:
            return self._trace.position(number, self.system.clock.now())

        self.system.clients[number].engine.add_listener(TransitionWatch(self._executions, place))

    def _take_part(self, number: int) -> None:
        self._watch(number)
        self.system.clients[number].subscribe(
            attr("kind") == "event",
            _application,
            radius=round(self._workload.radius),
            location_request=LocationRequest(interval=self.scenario.location.interval),
        )

    def _come(self, number: int) -> None:
        if number in self._cut_off:
            self._cut_off.remove(number)
            self.system.reconnect(number)
            return
        if self.system.clock.now() >= self.scenario.duration:
            return  # it has missed everything
        self._settle()  # what was published before did not concern this client
        self._active[number] = True
        self._radius[number] = self._workload.radius
        self._attendance.append(JoinOrLeave(self.system.clock.now(), number, True))
        self.system.join(number)
        self._take_part(number)

    def _go(self, number: int) -> None:
        if self.scenario.churn.durable:
            if self._active[number]:
                self._cut_off.add(number)
                self.system.cut_off(number)
            return
        self._settle()
        self._active[number] = False
        self._radius[number] = np.nan
        self._attendance.append(JoinOrLeave(self.system.clock.now(), number, False))
        self.system.leave(number)

    def _drain(self) -> None:
        """Let everything arrive that was published. Clients come and go as before, and in the end all are
        back."""
        system = self.system
        system.run_until(self.scenario.duration + DRAIN_S)
        while system.waiting:
            if system.clock.now() >= self._end:
                for number in sorted(self._cut_off):
                    self._come(number)
            system.run_until(system.clock.now() + DRAIN_S)

    def _schedule_next(self) -> None:
        publication = next(self._publications, None)
        if publication is not None:
            self.system.clock.at(publication[0], self._publish, *publication)

    def _publish(self, at_us: int, number: int, kind: int, place: tuple[float, float]) -> None:
        if not self._active[number]:
            self._schedule_next()
            return
        client = self.system.clients[number]
        if kind == Kind.LOCAL:
            event = client.publish_local(self._event)
        else:
            event = client.publish(self._event, PlanarLocation(*place))
        self._published.append((event, at_us, kind, number, place))
        self._schedule_next()

    def _settle(self) -> None:
        """Enter the publications since the last call, and count what was delivered.

        Kernels that are called in a row are several times as fast as kernels called between other work.
        """
        inside = self._inside()
        for event, at_us, kind, number, place in self._published:
            at = at_us / MICROSECONDS
            if kind != Kind.PLACED:
                place = self._trace.position(number, at)
            truth = self._concerned(kind, at, place)
            truth[number] = False  # nobody is told of his own events
            self._ledger.published(event, at_us, kind, number, place, truth, inside)
        self._published.clear()
        self._ledger.settle()

    def _concerned(self, kind: int, at: float, place: tuple[float, float]) -> NDArray[np.bool_]:  # noqa: ARG002
        """Which clients an event of a kind concerns that happens at a time at a place."""
        return within(*self._trace.arrays, at, *place, self._radius)

    def _inside(self) -> NDArray[np.bool_]:
        """The clients at an attraction point, who may hear of each other there."""
        x, y = self._trace.positions(self.system.clock.now())
        return distance_to_border(x, y, self.region.places) <= 0

    def _step(self, step: Step) -> None:
        self._mark()
        plan = step.plan
        if step.spread == "healing":
            there = np.flatnonzero(self._active).tolist()
            told = tuple(self._initiators.sample(there, min(step.initiators, len(there))))
            actions = tuple(action.model_copy(update={"members": told}) for action in plan.actions)
            plan = plan.model_copy(
                update={"actions": actions, "decision": self.system.broker.rollout.decide(0)}
            )
        for record in self.system.broker.execute(plan):
            if record.outcome == "failed":
                raise ExperimentFailed(f"plan {step.plan.plan!r} at {step.at} s: {record.error}")

    def _mark(self) -> None:
        """Note the moment at which the experiment begins or ends, or at which one phase follows another."""
        up, down = self._counters()
        self._marks.append((up, down))
        schemes = [s for s in self.system.broker.schemes.active if isinstance(s, FilterBroker)]
        mechanisms: dict[str, Any] = {
            "filter" if i == 0 else f"filter-{s.name}": {"name": s.name, "parameters": s.settings()}
            for i, s in enumerate(schemes)
        }
        selection = self.system.broker.engine.active("gateway-selection")
        if not isinstance(selection, Nothing):
            mechanisms["gateway-selection"] = {"name": selection.name, "parameters": selection.settings()}
        there = [self.system.clients[number] for number in np.flatnonzero(self._active)]
        for proxy in LOCAL_PROXIES:
            used = Counter(client.engine.active(proxy).name for client in there)
            if set(used) - {"nothing", "cloud"}:
                (name, number), *_ = used.most_common(1)
                example = next(c for c in there if c.engine.active(proxy).name == name).engine.active(proxy)
                mechanisms[proxy] = {"name": name, "parameters": example.settings(), "clients": number}
        self._mechanisms.append(mechanisms)

    def _counters(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Bytes sent and received so far: a row for each kind of cellular traffic, and one for radios."""
        cellular = self.system.cellular
        return (
            np.vstack((cellular.up, self._by_radio(S.BYTES_UP))),
            np.vstack((cellular.down, self._by_radio(S.BYTES_DOWN))),
        )

    def _by_radio(self, column: S) -> NDArray[np.int64]:
        """One of the counters of radios, by client."""
        return self.system.local.counter(column)[: self.scenario.clients]

    def _sums(self) -> NDArray[np.int64]:
        """Bytes so far by the columns of traffic, all clients together."""
        up, down = (counters.sum(axis=1) for counters in self._counters())
        return np.concatenate((up[:-1], down[:-1], (up[-1], down[-1])))

    # -- what came of it ----------------------------------------------------------------------------------

    def _result(self, wall_s: float) -> Run:
        scenario = self.scenario
        events = self._ledger.columns()
        seconds = np.diff(np.array([np.zeros_like(self._seconds[0]), *self._seconds]), axis=0)
        steps = scenario.timeline
        starts = [0.0, *(step.at for step in steps)]
        ends = [*starts[1:], scenario.duration]
        phases = tuple(
            self._phase(i, steps[i - 1].phase if i else scenario.phase, start, end, events)
            for i, (start, end) in enumerate(zip(starts, ends, strict=True))
        )
        up, down = self._counters()
        return Run(
            scenario=scenario,
            seed=self.seed,
            wall_s=wall_s,
            phases=phases,
            events=events,
            traffic={name: seconds[:, i] for i, name in enumerate(TRAFFIC_COLUMNS)},
            client_traffic={"up": up[:-1].sum(axis=0), "down": down[:-1].sum(axis=0)},
            executions=tuple(self._executions),
            around=tuple(
                Around.of(events, step.at, phase.name) for step, phase in zip(steps, phases[1:], strict=True)
            ),
            region=self.region,
            fastest=self._fastest,
            begun={action.proxy: action.to or "" for action in scenario.begin},
            attendance=tuple(self._attendance),
            gateways=self._gateways.use(),
            firings=tuple(self._rules.firings) if self._rules is not None else (),
            local={name: int(self._by_radio(column).sum()) for name, column in LOCAL_COUNTERS.items()},
            plans_sent=self.system.broker.rollout.plans_sent,
        )

    def _phase(self, i: int, name: str, start: float, end: float, events: dict[str, EventColumn]) -> Phase:
        own = between(events, start, end)
        (up0, down0), (up1, down1) = self._marks[i], self._marks[i + 1]
        mechanisms = self._mechanisms[i + 1]  # as it ends: partial transitions may have added some
        return Phase(
            name=name or main_mechanism(mechanisms),
            start_s=start,
            end_s=end,
            mechanisms=mechanisms,
            recall=Stats.of(recall(own)),
            precision=Stats.of(precision(own)),
            delay_ms=Stats.of(own["delay_us"] / 1000.0),
            events=len(own["id"]),
            deliveries=int(own["notified"].sum()),
            traffic=rates(up1 - up0, down1 - down0, self.scenario.clients * (end - start)),
        )


def _application(event: Event, handle: object) -> None:
    """Ignore an event. It stands for the application, whose callback is called."""
