"""The suite for workloads."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from hypothesis import strategies as st

from bypass.models.catalogue import INSTALLED_WORKLOADS
from bypass.models.maps import AttractionPoint
from bypass.models.workloads import WORKLOADS, Publications, Rhythm, Workload, World
from bypass.support.units import MICROSECONDS
from bypass.testing.suites.models.model_suite import ModelSuite

CLIENTS, DURATION = 8, 20.0
WORLD = World(
    (
        AttractionPoint(name="park", x=300.0, y=300.0, radius=100.0, weight=2.0),
        AttractionPoint(name="station", x=800.0, y=700.0, radius=80.0, weight=1.0),
    ),
    1000.0,
    900.0,
)
"""A world with places that attract people."""

_seeds = st.integers(0, 2**64 - 1)


class WorkloadSuite(ModelSuite[Workload]):
    """A client's publications depend on the seed, its number and the parameters alone."""

    builtin, base, group = WORKLOADS, Workload, INSTALLED_WORKLOADS
    world: ClassVar[World] = WORLD

    def published(self, clients: int, duration: float, seed: int) -> Publications:
        """Publications in the suite's world."""
        return self.made().schedule(clients, duration, seed, self.world)

    def test_events_are_in_the_world_and_in_time(self) -> None:
        def fits(clients: int, duration: float, seed: int) -> None:
            found = self.published(clients, duration, seed)
            assert (np.diff(found.at_us) >= 0).all(), "events are not in the order of time"
            late = found.at_us[(found.at_us < 0) | (found.at_us >= np.ceil(duration * MICROSECONDS))]
            assert not len(late), f"an event at {late[:1]} µs: expected from 0 to before {duration} s"
            assert set(found.client.tolist()) <= {*range(clients)}, "somebody publishes who is not there"
            local = np.isnan(found.x)
            assert (local == np.isnan(found.y)).all(), "an event has half a place"
            for name, column, most in (("x", found.x, self.world.width), ("y", found.y, self.world.height)):
                placed = column[~local]
                outside = placed[(placed < 0) | (placed > most)]
                assert not len(outside), f"{name} is {outside[:1]}: expected from 0 to {most}"

        self.for_all(fits, clients=st.integers(1, 40), duration=st.floats(0.01, DURATION), seed=_seeds)

    def test_the_seed_decides(self) -> None:
        def decides(seed: int) -> None:
            one, again, other = (
                _rows(self.published(CLIENTS, DURATION, each)) for each in (seed, seed, seed ^ 1)
            )
            assert one == again, "the same seed gave other events"
            assert one != other, "another seed gave the same events"

        self.for_all(decides, seed=_seeds)

    def test_others_do_not_matter(self) -> None:
        """A client publishes the same, however many there are besides."""

        def alike(clients: int, seed: int) -> None:
            few, many = (_rows(self.published(number, DURATION, seed)) for number in (clients, 2 * clients))
            assert few == [row for row in many if row[1] < clients], "who is there besides matters"

        self.for_all(alike, clients=st.integers(1, CLIENTS), seed=_seeds)

    def test_stretches_fit_together(self) -> None:
        """All at once or stretch by stretch, the same is published."""

        def fit(cut: float, seed: int) -> None:
            model, end = self.made(), round(DURATION * MICROSECONDS)
            rhythm, middle = Rhythm.of(model.rate, 0, CLIENTS, seed), round(cut * MICROSECONDS)
            parts = [
                model.between(rhythm, *bounds, seed, self.world) for bounds in ((0, middle), (middle, end))
            ]
            assert [row for part in parts for row in _rows(part)] == _rows(
                self.published(CLIENTS, DURATION, seed)
            ), f"cut at {cut} s it is something else"

        self.for_all(fit, cut=st.floats(0.0, DURATION), seed=_seeds)


def _rows(found: Publications) -> list[tuple[int, int, str, str]]:
    """Publications, comparable also where a place is missing."""
    places = (map(repr, column.tolist()) for column in (found.x, found.y))
    return [*zip(found.at_us.tolist(), found.client.tolist(), *places, strict=True)]
