"""One experiment in the simulator: people move and publish, the system works, the ledger watches."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bypass.errors import BypassError
from bypass.events import Event
from bypass.filters import attr
from bypass.geo import PlanarLocation
from bypass.location import LocationRequest
from bypass.mechanisms.filters import FilterBroker
from bypass.messages import Kind
from bypass.models.waypoints import within
from bypass.models.workloads import World
from bypass.region import Place, Region
from bypass.scenarios.borders import BorderRule
from bypass.scenarios.figures import (
    around_transition,
    by_place,
    share_imperfect,
    share_near_border,
    skewness,
)
from bypass.scenarios.measures import Around, Column, Phase, Stats, between, precision, recall
from bypass.scenarios.schema import Scenario, Step
from bypass.sim.cellular import Traffic
from bypass.sim.clock import MICROSECONDS
from bypass.sim.ledger import Ledger
from bypass.sim.system import SimulatedSystem
from bypass.transitions import Record

START_UP_S = 10.0
DRAIN_S = 5.0  # what was published last must still arrive

Progress = Callable[[float], None]

TRAFFIC_COLUMNS = tuple(f"{category.name.lower()}_{way}" for way in ("up", "down") for category in Traffic)


class ExperimentFailed(BypassError):
    """An experiment that could not be carried out as its file says."""


@dataclass(frozen=True, slots=True)
class Execution:
    """A transition as one host executed it, and where that host was (m; NaN for the broker)."""

    record: Record
    x: float
    y: float


@dataclass(frozen=True)
class Run:
    """What one experiment has shown. `events` and `traffic` are columns, one row an event or a second."""

    scenario: Scenario
    seed: int
    wall_s: float
    phases: tuple[Phase, ...]
    events: dict[str, Column]
    traffic: dict[str, Column]
    client_traffic: dict[str, NDArray[np.int64]]
    executions: tuple[Execution, ...]
    around: tuple[Around, ...]
    region: Region
    fastest: float  # the highest speed (m/s) that a client had

    def phase(self, name: str) -> Phase:
        """The first phase of that name. Raises KeyError."""
        for phase in self.phases:
            if phase.name == name:
                return phase
        raise KeyError(f"phase {name!r}: there are {', '.join(phase.name for phase in self.phases)}")

    def summary(self) -> dict[str, Any]:
        """The figures of the run, as the summary file has them."""
        return {
            "scenario": self.scenario.name,
            "seed": self.seed,
            "clients": self.scenario.clients,
            "duration_s": self.scenario.duration,
            "wall_s": self.wall_s,
            "phases": [phase.summary() for phase in self.phases],
            "extra": self._extra(),
        }

    def _extra(self) -> dict[str, Any]:
        # Not the broker, which has no place, nor the first moments, in which clients begin where they are.
        settled = [e for e in self.executions if not np.isnan(e.x) and e.record.at > START_UP_S]
        x, y = (np.array([getattr(each, axis) for each in settled]) for axis in "xy")
        places = self.region.places
        # A client notices at its next fix that it crossed a border; the plan comes a round trip later.
        fastest = self.fastest
        late = self.scenario.location.interval + 2 * self.scenario.network.latency
        return {
            "transitions": [
                around.summary() | around_transition(self.events, self.traffic, around.at_s)
                for around in self.around
            ],
            "executions": len(self.executions),
            "near_border": share_near_border(x, y, places, fastest * late + 5.0),
            "by_place": by_place(self.events, places),
            "imperfect": share_imperfect(self.events),
            "context_share_up": self._context_share("up"),
            "context_share_down": self._context_share("down"),
            "download_skewness": skewness(self.client_traffic["down"]),
        }

    def _context_share(self, way: str) -> float:
        total = sum(int(self.traffic[name].sum()) for name in TRAFFIC_COLUMNS if name.endswith(way))
        return float(self.traffic[f"context_{way}"].sum() / total) if total else 0.0


class _Watch:
    """Collects the records of one host's transitions."""

    def __init__(self, executions: list[Execution], place: Callable[[], tuple[float, float]]) -> None:
        self._executions = executions
        self._place = place

    def transition_started(self, record: Record) -> None:
        """Only what became of it is of interest."""

    def transition_finished(self, record: Record) -> None:
        self._executions.append(Execution(record, *self._place()))


class Experiment:
    """A scenario without `runs`, set up with a seed and ready to run once."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self.scenario = scenario
        self.seed = seed
        n = scenario.clients
        mobility = scenario.mobility.build()
        self._workload = scenario.workload.build()
        attractions = mobility.attractions
        world = scenario.world
        movement = mobility.generate(n, scenario.duration, seed)
        self._trace = movement.cursor()
        self._fastest = movement.fastest()
        start = scenario.workload.start
        publications = self._workload.schedule(
            n, max(scenario.duration - start, 1e-6), seed, World(attractions, world.width, world.height)
        )
        self._publications = iter(
            zip(
                (publications.at_us + round(start * MICROSECONDS)).tolist(),
                publications.client.tolist(),
                np.where(np.isnan(publications.x), Kind.LOCAL, Kind.PLACED).tolist(),
                zip(publications.x.tolist(), publications.y.tolist(), strict=True),
                strict=True,
            )
        )
        self.region = Region(
            (0.0, 0.0, world.width, world.height),
            tuple(Place(p.name, p.x, p.y, p.radius) for p in attractions),
        )
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
        )
        self._ledger = Ledger(n, self.system.clock)
        self.system.monitor.register(self._ledger)
        self._radius = np.full(n, self._workload.radius)
        self._event = Event(kind="event", payload=bytes(self._workload.payload))
        self._published: list[tuple[int, int, int, int, tuple[float, float]]] = []
        self._executions: list[Execution] = []
        self._seconds: list[NDArray[np.int64]] = []
        self._marks: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        self._mechanisms: list[dict[str, Any]] = []

    def run(self, progress: Progress = lambda _: None) -> Run:
        """Run to the end; `progress` is told how many seconds have been simulated."""
        began = time.perf_counter()
        scenario, system = self.scenario, self.system
        nowhere = float("nan")
        system.broker.engine.add_listener(_Watch(self._executions, lambda: (nowhere, nowhere)))
        if scenario.border_transitions:
            BorderRule(system.broker, self.region.places)
        for number, client in enumerate(system.clients):
            client.engine.add_listener(_Watch(self._executions, self._place_of(number)))
            client.subscribe(
                attr("kind") == "event",
                _application,
                radius=round(self._workload.radius),
                location=LocationRequest(interval=scenario.location.interval),
            )
        self._schedule_next()
        for step in scenario.timeline:
            system.clock.at(round(step.at * MICROSECONDS), self._step, step)
        self._mark()
        second = 0.0
        while second < scenario.duration:
            second = min(second + 1.0, scenario.duration)
            system.run_until(second)
            self._settle()
            self._seconds.append(np.concatenate([c.sum(axis=1) for c in self._counters()]))
            progress(second)
        self._mark()
        system.run_until(scenario.duration + DRAIN_S)
        self._settle()
        return self._result(time.perf_counter() - began)

    # -- what happens meanwhile ---------------------------------------------------------------------------

    def _schedule_next(self) -> None:
        publication = next(self._publications, None)
        if publication is not None:
            self.system.clock.at(publication[0], self._publish, *publication)

    def _publish(self, at_us: int, number: int, kind: int, place: tuple[float, float]) -> None:
        client = self.system.clients[number]
        if kind == Kind.LOCAL:
            event = client.publish_local(self._event)
        else:
            event = client.publish(self._event, PlanarLocation(*place))
        self._published.append((event, at_us, kind, number, place))
        self._schedule_next()

    def _settle(self) -> None:
        """Enter what was published since the last time, and count what was delivered.

        Together, because kernels are called several times as fast in a row as in between of all the rest.
        """
        for event, at_us, kind, number, place in self._published:
            at = at_us / MICROSECONDS
            if kind == Kind.LOCAL:
                place = self._trace.position(number, at)
            truth = within(*self._trace.arrays, at, *place, self._radius)
            truth[number] = False  # nobody is told of his own events
            self._ledger.published(event, at_us, kind, number, place, truth)
        self._published.clear()
        self._ledger.settle()

    def _step(self, step: Step) -> None:
        self._mark()
        for record in self.system.broker.execute(step.plan):
            if record.outcome == "failed":
                raise ExperimentFailed(f"plan {step.plan.plan!r} at {step.at} s: {record.error}")

    def _mark(self) -> None:
        """The experiment begins or ends, or one phase ends and another begins."""
        up, down = self._counters()
        self._marks.append((up, down.copy()))
        schemes = [s for s in self.system.broker.schemes.active if isinstance(s, FilterBroker)]
        self._mechanisms.append(
            {
                "filter" if i == 0 else f"filter-{s.name}": {"name": s.name, "parameters": s.settings()}
                for i, s in enumerate(schemes)
            }
        )

    def _counters(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self.system.cellular.up, self.system.cellular.down

    def _place_of(self, number: int) -> Callable[[], tuple[float, float]]:
        return lambda: self._trace.position(number, self.system.clock.now())

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
            client_traffic={"up": up.sum(axis=0), "down": down.sum(axis=0)},
            executions=tuple(self._executions),
            around=tuple(
                Around.of(events, step.at, phase.name) for step, phase in zip(steps, phases[1:], strict=True)
            ),
            region=self.region,
            fastest=self._fastest,
        )

    def _phase(self, i: int, name: str, start: float, end: float, events: dict[str, Column]) -> Phase:
        own = between(events, start, end)
        (up0, down0), (up1, down1) = self._marks[i], self._marks[i + 1]
        mechanisms = self._mechanisms[i + 1]  # as it ends: partial transitions may have added some
        return Phase(
            name=name or mechanisms["filter"]["name"],
            start_s=start,
            end_s=end,
            mechanisms=mechanisms,
            recall=Stats.of(recall(own)),
            precision=Stats.of(precision(own)),
            delay_ms=Stats.of(own["delay_us"] / 1000.0),
            events=len(own["id"]),
            deliveries=int(own["notified"].sum()),
            traffic=_rates(up1 - up0, down1 - down0, self.scenario.clients * (end - start)),
        )


def _application(event: Event, handle: object) -> None:
    """What a client's application does with an event here: nothing, but it is called."""


def _rates(up: NDArray[np.int64], down: NDArray[np.int64], client_seconds: float) -> dict[str, float]:
    """kbit/s per client."""

    def rate(size: int) -> float:
        return float(size * 8 / 1000 / client_seconds) if client_seconds > 0 else 0.0

    return {
        "cellular_up": rate(up.sum()),
        "cellular_down": rate(down.sum()),
        "adhoc_up": 0.0,
        "adhoc_down": 0.0,
        "context_up": rate(up[Traffic.CONTEXT].sum()),
        "context_down": rate(down[Traffic.CONTEXT].sum()),
        "coordination": rate(up[Traffic.COORDINATION].sum() + down[Traffic.COORDINATION].sum()),
    }
