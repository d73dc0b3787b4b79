"""The counting kernels against the rules written down as plainly as possible, on crowds of any shape."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings

from bypass.mechanisms.filters.kernels.client_tree import ClientTree
from bypass.mechanisms.filters.kernels.ground_truth import find_concerned, pairs
from bypass.mechanisms.filters.kernels.window import Window
from bypass.models.workloads import Publications
from bypass.scenarios.evaluation.judging.judges import Judges
from bypass.scenarios.evaluation.schemes import parse_schemes
from bypass.support.arrays import Floats
from tests.crowds import CIRCLES, RADIUS, REGION, WORLD, MovingCrowd, crowds

pytestmark = pytest.mark.slow

Place = tuple[float, float]

SCHEMES = parse_schemes(
    ["egrid:7", "radial", "attract", "grid:3", "ste:1.5", "multi", "attract:100", "ste:0.5"]
)


class Plainly:
    """One client at a time, one event at a time, from the beginning."""

    def __init__(self, x: Floats, y: Floats, step: float, interval_us: int, phases: list[int]) -> None:
        self.x, self.y, self.step, self.interval_us, self.phases = x, y, step, interval_us, phases

    def place(self, client: int, at_us: int) -> Place:
        k = min(int(at_us / 1e6 / self.step + 1e-12), len(self.x) - 2)
        share = (at_us / 1e6 - k * self.step) / self.step
        return (
            self.x[k, client] + share * (self.x[k + 1, client] - self.x[k, client]),
            self.y[k, client] + share * (self.y[k + 1, client] - self.y[k, client]),
        )

    def vector(self, client: int, at_us: int) -> Place:
        k = min(int(at_us / 1e6 / self.step + 1e-12), len(self.x) - 2)
        return (
            (self.x[k + 1, client] - self.x[k, client]) / self.step,
            (self.y[k + 1, client] - self.y[k, client]) / self.step,
        )

    def fixes(self, client: int, before_us: int) -> list[int]:
        """When the client told where it is: as it subscribed, then regularly."""
        return [0, *range(self.phases[client], before_us, self.interval_us)]

    def notified(self, scheme: str, client: int, event: Place, at_us: int, own: list[int]) -> bool:
        """Whether the scheme sends the event to the client, which has published locally at times `own`."""
        name, _, value = scheme.partition(":")
        fixes = self.fixes(client, at_us)
        known = self.place(client, fixes[-1])
        dx, dy = event[0] - known[0], event[1] - known[1]
        if name == "radial":
            return dx * dx + dy * dy <= RADIUS**2
        if name == "ste":
            return _in_envelope(dx, dy, self.vector(client, fixes[-1]), 60 * float(value))
        if name in ("grid", "egrid"):
            cell = _cell_of(int(value))
            checks = sorted([(t, False) for t in fixes] + [(t, True) for t in own if t < at_us])
            span = self._span(name, client, checks[0][0], cell)
            home = self._home(client, checks[0][0], cell)
            for at, publishing in checks:
                now, here = self._span(name, client, at, cell), self._home(client, at, cell)
                if here != home or (not publishing and not now <= span):
                    span, home = now, here
            return (cell(event[0]), cell(event[1])) in span
        inside = {c.name for c in CIRCLES if math.dist((c.x, c.y), known) <= c.radius}
        if name == "multi" and not inside:
            return dx * dx + dy * dy <= RADIUS**2
        extension = float(value or 0)
        around = {c.name for c in CIRCLES if math.dist((c.x, c.y), event) <= c.radius + extension}
        if not any(math.dist((c.x, c.y), event) <= c.radius for c in CIRCLES):
            around.add("elsewhere")
        return bool(around & (inside or {"elsewhere"}))

    def _span(self, name: str, client: int, at: int, cell: Callable[[float], int]) -> set[tuple[int, int]]:
        x, y = self.place(client, at)
        margin = RADIUS if name == "egrid" else 0.0
        columns = range(cell(x - margin), cell(x + margin) + 1)
        return {(i, j) for i in columns for j in range(cell(y - margin), cell(y + margin) + 1)}

    def _home(self, client: int, at: int, cell: Callable[[float], int]) -> tuple[int, int]:
        x, y = self.place(client, at)
        return cell(x), cell(y)


def _cell_of(n: int) -> Callable[[float], int]:
    return lambda v: min(max(int(v / (WORLD / n)), 0), n - 1)


def _in_envelope(dx: float, dy: float, vector: Place, ahead: float) -> bool:
    if math.hypot(dx, dy) <= RADIUS:
        return True
    speed = math.hypot(*vector)
    if speed == 0:
        return False
    along = (dx * vector[0] + dy * vector[1]) / speed
    across = abs(dx * vector[1] - dy * vector[0]) / speed
    return 0 <= along <= ahead * speed and across <= RADIUS + along * math.tan(math.radians(15))


@given(crowd=crowds())
@settings(max_examples=120, deadline=None)
def test_counting_follows_the_rules(crowd: MovingCrowd) -> None:
    published = crowd.published
    names = [str(scheme) for scheme in SCHEMES]
    plain = Plainly(crowd.x, crowd.y, crowd.step, crowd.interval_us, crowd.phases)
    own: dict[int, list[int]] = {}
    jury = None
    for window in crowd.windows():
        if jury is None:
            jury = begun(window, crowd.phases, crowd.interval_us)
        counted = jury.count(window)
        for e, at_us in enumerate(counted.events.at_us.tolist()):
            publisher = int(counted.events.client[e])
            event = float(counted.events.x[e]), float(counted.events.y[e])
            others = [c for c in range(len(crowd.phases)) if c != publisher]
            concerned = {c for c in others if math.dist(plain.place(c, at_us), event) <= RADIUS}
            assert counted.subscribers[e] == len(concerned)
            for number, name in enumerate(names):
                notified = {c for c in others if plain.notified(name, c, event, at_us, own.get(c, []))}
                assert (name, counted.notified[e, number]) == (name, len(notified))
                assert (name, counted.correct[e, number]) == (name, len(notified & concerned))
            if np.isnan(published.x[np.searchsorted(published.at_us, at_us)]):
                own.setdefault(publisher, []).append(at_us)


def begun(window: Window, phases: list[int], interval_us: int) -> Judges:
    jury = Judges(SCHEMES, REGION, RADIUS, window.leg, np.array(phases), interval_us, seed=1)
    jury.begin({})
    return jury


def standing(x: Floats, y: Floats, phases: list[int], published: Publications) -> MovingCrowd:
    """A crowd that stands still for a second."""
    still = [np.stack([each, each]) for each in (x, y)]
    return MovingCrowd(still[0], still[1], 1.0, 5_000_000, phases, published)


def test_a_crowd_is_counted_without_looking_at_everybody() -> None:
    clients = 4000
    rng = np.random.default_rng(1)
    x, y = rng.normal(500, 10, (2, clients))
    at_us = np.arange(clients)
    nowhere = np.full(clients, np.nan)
    published = Publications(at_us, at_us.astype(np.int32), nowhere, nowhere)
    [window] = standing(x, y, [4_000_000] * clients, published).windows()
    jury = begun(window, [4_000_000] * clients, 5_000_000)
    counted = jury.count(window)
    assert (counted.subscribers > 0.99 * clients).all()
    tested, in_bulk, _ = jury.work.tolist()
    assert tested < in_bulk / 100


@pytest.mark.parametrize("name", ["subscribers", "notified", "correct"])
def test_nobody_and_nothing_to_count(name: str) -> None:
    alone = Publications(np.array([1]), np.zeros(1, np.int32), np.full(1, np.nan), np.full(1, np.nan))
    [window] = standing(np.zeros(1), np.zeros(1), [0], alone).windows()
    assert not getattr(begun(window, [0], 5_000_000).count(window), name).any()


@given(crowd=crowds())
@settings(max_examples=60, deadline=None)
def test_pairs_are_whom_events_concern(crowd: MovingCrowd) -> None:
    plain = Plainly(crowd.x, crowd.y, crowd.step, crowd.interval_us, crowd.phases)
    for window in crowd.windows():
        everybody = ClientTree.of(window.leg, 60.0)
        concerned = find_concerned(window, everybody, RADIUS, np.zeros(3, np.int64))
        event, client = pairs(concerned, everybody, window.events.client)
        expected = {
            (e, c)
            for e, (at_us, publisher, _, ex, ey) in enumerate(zip(*window.events, strict=True))
            for c in range(len(crowd.phases))
            if c != publisher and math.dist(plain.place(c, int(at_us)), (ex, ey)) <= RADIUS
        }
        listed = list(zip(event.tolist(), client.tolist(), strict=True))
        assert len(listed) == len(expected) == concerned.subscribers.sum()
        assert set(listed) == expected
