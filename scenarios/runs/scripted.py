"""An experiment by a script: clients do what it says, and each subscription is watched."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bypass.events.event import Event
from bypass.events.filters import attr
from bypass.models.maps import AttractionPoint
from bypass.models.waypoints import Waypoints
from bypass.places.geo import PlanarLocation, within
from bypass.places.sensor import LocationRequest
from bypass.ports.subscriptions import SubHandle
from bypass.protocol.messages import Kind
from bypass.scenarios.experiments.schema import Scenario
from bypass.scenarios.experiments.script import Script, ScriptStep
from bypass.scenarios.figures.outcome import Run, ScriptCounts
from bypass.scenarios.figures.usage import JoinOrLeave
from bypass.scenarios.runs.experiment import Experiment, ExperimentFailed, Publication
from bypass.support.units import MICROSECONDS


class _Subscribed(NamedTuple):
    """A subscription of a script: whose it is, its radius, and the client's handle of it."""

    client: int
    radius: int | None
    handle: SubHandle


class ScriptedExperiment(Experiment):
    """A scenario in which clients do what a script says; sessions outlast that a client leaves."""

    def __init__(self, scenario: Scenario, script: Script, seed: int) -> None:
        self._script = script
        super().__init__(scenario, seed)
        self._radius[:] = np.nan  # nobody has subscribed anything
        self._subscribed: dict[int, _Subscribed] = {}
        self._owed: set[tuple[int, int]] = set()
        self._told: Counter[tuple[int, int]] = Counter()
        self._events_so_far = 0

    def _movement(self) -> tuple[tuple[AttractionPoint, ...], Waypoints]:
        scenario = self.scenario
        return self._script.places, self._script.movement(scenario.clients, scenario.duration)

    def _scheduled(self, _: tuple[AttractionPoint, ...]) -> Iterator[Publication]:
        return iter(())

    def _begin_attendance(self) -> None:
        for number in range(self.scenario.clients):
            self._take_part(number)
        for step in self._script.steps:
            self.system.clock.at(round(step.at * MICROSECONDS), self._do, step)

    def _take_part(self, number: int) -> None:
        self._watch(number)

    def _concerned(self, kind: int, at: float, place: tuple[float, float]) -> NDArray[np.bool_]:
        subscribed: NDArray[np.bool_] = ~np.isnan(self._radius)
        return subscribed if kind == Kind.PLAIN else super()._concerned(kind, at, place)

    def _result(self, wall_s: float) -> Run:
        doubled = sum(times > 1 for times in self._told.values())
        lost = len(self._owed - self._told.keys())
        return replace(super()._result(wall_s), script=ScriptCounts(len(self._owed), lost, doubled))

    # -- steps --------------------------------------------------------------------------------------------

    def _do(self, step: ScriptStep) -> None:
        match step.do:
            case "subscribe":
                self._subscribe(step)
            case "unsubscribe":
                self._settle()  # what was published before concerned this client
                client, _, handle = self._subscribed.pop(step.subscription)
                self.system.clients[client].unsubscribe(handle)
                self._measure(client)
            case "publish":
                self._publish_one(step.client, step)
            case "leave":
                self._cut_off.add(step.client)
                self.system.cut_off(step.client)
            case "kill":
                self._kill(step.client)
            case "return":
                self._return(step.client)
            case "plan":
                self._execute(step)
            case "move":
                pass  # the trace has it

    def _subscribe(self, step: ScriptStep) -> None:
        def told(event: Event, _: SubHandle) -> None:
            self._told[event["number"], step.subscription] += 1

        self._settle()  # what was published before did not concern this client
        handle = self.system.clients[step.client].subscribe(
            attr("kind") == "event",
            told,
            radius=step.radius,
            location_request=LocationRequest(interval=self.scenario.location.interval),
        )
        self._subscribed[step.subscription] = _Subscribed(step.client, step.radius, handle)
        self._measure(step.client)

    def _publish_one(self, number: int, step: ScriptStep) -> None:
        client, clock = self.system.clients[number], self.system.clock
        self._events_so_far += 1
        event = Event(kind="event", number=self._events_so_far, payload=self._event.payload)
        place = step.place or self._trace.position(number, clock.now())
        if step.local:
            kind, made = Kind.LOCAL, client.publish_local(event)
        elif step.place is None:
            kind, made = Kind.PLAIN, client.publish(event)
        else:
            kind, made = Kind.PLACED, client.publish(event, PlanarLocation(*place))
        self._published.append((made, clock.now_us, kind, number, place))
        for subscription, (owner, radius, _) in self._subscribed.items():
            near = (
                kind == Kind.PLAIN
                or radius is None
                or within(*place, *self._trace.position(owner, clock.now()), radius)
            )
            if owner != number and near:
                self._owed.add((self._events_so_far, subscription))

    def _kill(self, number: int) -> None:
        self._settle()
        self._subscribed = {own: each for own, each in self._subscribed.items() if each.client != number}
        self._active[number] = False
        self._measure(number)
        self._attendance.append(JoinOrLeave(self.system.clock.now(), number, False))
        self.system.leave(number)

    def _return(self, number: int) -> None:
        if number in self._cut_off:
            self._cut_off.remove(number)
            self.system.reconnect(number)
            return
        self._active[number] = True
        self._attendance.append(JoinOrLeave(self.system.clock.now(), number, True))
        self.system.join(number)
        self._take_part(number)

    def _execute(self, step: ScriptStep) -> None:
        assert step.plan is not None
        for record in self.system.broker.execute(step.plan):
            if record.outcome == "failed":
                raise ExperimentFailed(f"plan {step.plan.plan!r} at {step.at} s: {record.error}")

    def _measure(self, client: int) -> None:
        """Have the ledger know how far a client's largest subscription reaches."""
        radii = [each.radius for each in self._subscribed.values() if each.client == client]
        self._radius[client] = max((math.inf if r is None else r for r in radii), default=math.nan)
