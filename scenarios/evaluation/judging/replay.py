"""A filter scheme judged by running it: its parts, at every client and at the broker, event by event."""

from __future__ import annotations

import numpy as np

from bypass.mechanisms.filters.kernels.client_tree import ClientTree
from bypass.mechanisms.filters.kernels.ground_truth import GroundTruth, pairs
from bypass.mechanisms.filters.kernels.judge import Conditions, Counts, Judge
from bypass.mechanisms.filters.kernels.window import Leg, Window
from bypass.places.region import Region
from bypass.scenarios.evaluation.judging.instant_system import InstantSystem
from bypass.scenarios.evaluation.schemes import Scheme
from bypass.scenarios.evaluation.subscribed_areas import SubscribedAreas
from bypass.sim.clock import VirtualClock
from bypass.support.arrays import Ints
from bypass.support.units import MICROSECONDS


class LegMovement:
    """Where clients are during one leg, which is exchanged as time goes on; before it, where it begins."""

    def __init__(self, leg: Leg) -> None:
        self.leg = leg

    def position(self, client: int, at: float) -> tuple[float, float]:
        """x and y (m) at a time (s)."""
        leg = self.leg
        share = max(0.0, (at - leg.t) / leg.dt)
        return float(leg.x[client] + share * leg.dx[client]), float(leg.y[client] + share * leg.dy[client])

    def velocity(self, client: int, at: float) -> tuple[float, float]:  # noqa: ARG002 - the same all the time
        """Metres a second along x and y."""
        leg = self.leg
        return float(leg.dx[client] / leg.dt), float(leg.dy[client] / leg.dt)


class Replay(Judge):
    """Judges one scheme. Everybody has fixes each `interval_us`, from `phase_us` on; `seed` is for parts that
    draw random numbers."""

    def __init__(
        self,
        scheme: Scheme,
        region: Region,
        conditions: Conditions,
        leg: Leg,
        phase_us: Ints,
        interval_us: int,
        seed: int,
        areas: SubscribedAreas | None = None,
    ) -> None:
        start_us = round(leg.t * MICROSECONDS)
        self._clock = VirtualClock()
        self._clock.now_us = start_us - 1  # all is said that subscribing takes before the leg begins
        self._movement = LegMovement(leg)
        self._published = 0
        phases = phase_us / interval_us
        self._system = InstantSystem(
            scheme, region, self._movement, self._clock, phases, seed, conditions.header
        )
        self._system.subscribe_all(conditions.radius, interval_us / MICROSECONDS, areas)
        self._clock.run_until(start_us)

    def pass_window(self, window: Window) -> None:
        self.notified(window)

    def begin(self, carried: Ints | None) -> None:  # noqa: ARG002 - who replays comes from the start
        self._system.traffic[:] = 0

    def count(self, window: Window, crowd: ClientTree, concerned: GroundTruth) -> Counts:
        events, clients = len(concerned.subscribers), len(crowd.order)
        event, client = self.notified(window)
        event_concerned, client_concerned = pairs(concerned, crowd, window.events.client)
        right = np.isin(event * clients + client, event_concerned * clients + client_concerned)
        notified = np.bincount(event, minlength=events)
        correct = np.bincount(event[right], minlength=events)
        return Counts(notified[:, None], correct[:, None])

    def notified(self, window: Window) -> tuple[Ints, Ints]:
        """Let a window pass; gives all pairs of an event, by its number in the window, and a client that was
        told of it."""
        system, events = self._system, window.events
        self._movement.leg = window.leg
        columns = (column.tolist() for column in events)
        for e, (at_us, client, local, x, y) in enumerate(zip(*columns, strict=True)):
            self._clock.at(at_us, system.publish, self._published + e, client, local, x, y)
        self._clock.run_until(window.end_us)
        deliveries, system.deliveries = np.array(system.deliveries, np.int64).reshape(-1, 2), []
        event, client = deliveries[:, 0] - self._published, deliveries[:, 1]
        self._published += len(events.at_us)
        return event, client

    def traffic(self) -> Ints:
        return self._system.traffic[None].copy()
