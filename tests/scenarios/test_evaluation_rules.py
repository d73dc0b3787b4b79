"""The counting kernels against the rules written down as plainly as possible, on crowds of any shape."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.models.maps import AttractionPoint
from bypass.models.workloads import Publications
from bypass.scenarios.evaluation.schemes import SchemeCatalogue, parse_schemes
from bypass.scenarios.evaluation.stretch import Context, Counter, windows
from bypass.support.arrays import Floats

pytestmark = pytest.mark.slow

Place = tuple[float, float]

WORLD = 1000.0
RADIUS = 100.0
CIRCLES = (
    AttractionPoint(name="square", x=300.0, y=300.0, radius=120.0, weight=1.0),
    AttractionPoint(name="park", x=400.0, y=330.0, radius=80.0, weight=1.0),
    AttractionPoint(name="station", x=800.0, y=700.0, radius=50.0, weight=1.0),
)
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


@st.composite
def crowds(draw: st.DrawFn) -> tuple[Floats, Floats, float, int, list[int], Publications]:
    """Positions of clients that stand, walk, jump or crowd together, and what they publish."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    clients, samples = draw(st.integers(1, 60)), draw(st.integers(2, 8))
    step = draw(st.sampled_from([1.0, 0.5, 2.0]))
    interval_us = draw(st.sampled_from([5_000_000, 1_500_000, 400_000]))
    start = rng.uniform(0, WORLD, (2, clients))
    crowd = rng.random(clients) < draw(st.sampled_from([0.0, 0.7, 1.0]))
    start[:, crowd] = rng.uniform(0, WORLD, (2, 1)) + rng.normal(0, 15, (2, crowd.sum()))
    moves = rng.normal(0, draw(st.sampled_from([0.0, 2.0, 40.0])), (samples, 2, clients))
    moves[:, :, rng.random(clients) < 0.3] = 0.0
    places = np.clip(start + np.cumsum(moves, axis=0), 0, WORLD).astype(np.float32).astype(np.float64)
    phases = rng.integers(0, interval_us, clients).tolist()
    count = draw(st.integers(0, 40))
    at_us = np.sort(rng.integers(0, round((samples - 1) * step * 1e6), count))
    target = np.where(rng.random(count) < 0.5, np.nan, rng.uniform(-50, WORLD + 50, (2, count)))
    published = Publications(at_us, rng.integers(0, clients, count).astype(np.int32), *target)
    return places[:, 0], places[:, 1], step, interval_us, phases, published


def between(published: Publications, start_us: int, end_us: int) -> Publications:
    low, high = np.searchsorted(published.at_us, (start_us, end_us))
    p = published
    return Publications(p.at_us[low:high], p.client[low:high], p.x[low:high], p.y[low:high])


@given(crowd=crowds())
@settings(max_examples=120, deadline=None)
def test_counting_follows_the_rules(
    crowd: tuple[Floats, Floats, float, int, list[int], Publications],
) -> None:
    x, y, step, interval_us, phases, published = crowd
    catalogue = SchemeCatalogue.of(SCHEMES, RADIUS, (WORLD, WORLD), CIRCLES)
    names = [str(SCHEMES[i]) for i in catalogue.order]
    plain = Plainly(x, y, step, interval_us, phases)
    own: dict[int, list[int]] = {}
    context = counter = None
    for window in windows(x.astype(np.float32), y.astype(np.float32), 0, step, interval_us):
        if context is None or counter is None:
            context = Context(catalogue, RADIUS, np.array(phases), interval_us, window.leg)
            counter = Counter(context, RADIUS)
        counted, _ = counter.pass_window(window, between(published, window.start_us, window.end_us))
        for e, at_us in enumerate(counted.at_us.tolist()):
            publisher, event = int(counted.client[e]), (float(counted.x[e]), float(counted.y[e]))
            others = [c for c in range(len(phases)) if c != publisher]
            concerned = {c for c in others if math.dist(plain.place(c, at_us), event) <= RADIUS}
            assert counted.subscribers[e] == len(concerned)
            for number, name in enumerate(names):
                notified = {c for c in others if plain.notified(name, c, event, at_us, own.get(c, []))}
                assert (name, counted.notified[e, number]) == (name, len(notified))
                assert (name, counted.correct[e, number]) == (name, len(notified & concerned))
            if np.isnan(published.x[np.searchsorted(published.at_us, at_us)]):
                own.setdefault(publisher, []).append(at_us)


def test_a_crowd_is_counted_without_looking_at_everybody() -> None:
    clients = 4000
    rng = np.random.default_rng(1)
    x, y = (rng.normal(500, 10, (1, clients)).repeat(2, axis=0).astype(np.float32) for _ in range(2))
    catalogue = SchemeCatalogue.of(SCHEMES, RADIUS, (WORLD, WORLD), CIRCLES)
    [window] = windows(x, y, 0, 1.0, 5_000_000)
    phases = np.full(clients, 4_000_000)
    counter = Counter(Context(catalogue, RADIUS, phases, 5_000_000, window.leg), RADIUS)
    at_us = np.arange(clients)
    nowhere = np.full(clients, np.nan)
    counted, _ = counter.pass_window(window, Publications(at_us, at_us.astype(np.int32), nowhere, nowhere))
    assert (counted.subscribers > 0.99 * clients).all()
    tested, in_bulk, _ = counter.work.tolist()
    assert tested < in_bulk / 100


@pytest.mark.parametrize("name", ["subscribers", "notified", "correct"])
def test_nobody_and_nothing_to_count(name: str) -> None:
    x = y = np.zeros((2, 1), np.float32)
    catalogue = SchemeCatalogue.of(SCHEMES, RADIUS, (WORLD, WORLD), CIRCLES)
    [window] = windows(x, y, 0, 1.0, 5_000_000)
    counter = Counter(Context(catalogue, RADIUS, np.zeros(1, np.int64), 5_000_000, window.leg), RADIUS)
    alone = Publications(np.array([1]), np.zeros(1, np.int32), np.full(1, np.nan), np.full(1, np.nan))
    counted, _ = counter.pass_window(window, alone)
    assert not getattr(counted, name).any()
