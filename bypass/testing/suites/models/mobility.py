"""The suite for mobility models."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from hypothesis import strategies as st

from bypass.models.catalogue import INSTALLED_MODELS
from bypass.models.mobility import MOBILITY, MobilityModel
from bypass.models.waypoints import Waypoints
from bypass.testing.suites.models.model_suite import ModelSuite

CLIENTS, DURATION = 12, 120.0
COLUMNS = ("t", "x", "y")

_seeds = st.integers(0, 2**64 - 1)


class MobilitySuite(ModelSuite[MobilityModel]):
    """Where a client is depends on the seed, its number, the time and the parameters, and on nothing else.

    Capabilities: nobody is faster than `fastest` (m/s); what does not depend on the seed is not `random`; in
    a longer run a client may be `off` by so many metres, where a curve is cut into legs elsewhere.
    """

    builtin, base, group = MOBILITY, MobilityModel, INSTALLED_MODELS
    defaults: ClassVar[Mapping[str, Any]] = {"fastest": math.inf, "random": True, "off": 1e-6}

    def test_movement_lasts_to_the_end_inside_the_world(self) -> None:
        model = self.made()
        width, height = model.size

        def stays(duration: float, seed: int) -> None:
            ways = model.generate(CLIENTS, duration, seed)
            assert len(ways) == CLIENTS, f"{len(ways)} clients move: expected {CLIENTS}"
            begins, ends = ways.t[ways.offsets[:-1]], ways.t[ways.offsets[1:] - 1]
            assert (begins == 0).all(), f"movement begins at {begins.max()} s: expected 0"
            assert (ends == duration).all(), f"movement ends at {ends.min()} s: expected {duration}"
            for name, column, most in (("x", ways.x, width), ("y", ways.y, height)):
                outside = column[(column < 0) | (column > most)]
                assert not len(outside), f"{name} is {outside[:1]}: expected from 0 to {most}"

        self.for_all(stays, duration=st.floats(0.01, DURATION), seed=_seeds)

    def test_blocks_fit_together(self) -> None:
        """Whichever clients are computed together, each of them moves the same way."""
        model = self.made()

        def fit(cuts: set[int], seed: int) -> None:
            whole = model.generate(CLIENTS, DURATION, seed)
            for first, last in pairwise([0, *sorted(cuts), CLIENTS]):
                block = model.block(first, last, DURATION, np.uint64(seed))
                for client in range(first, last):
                    alike = _track(block, client - first) == _track(whole, client)
                    assert alike, f"client {client} moves otherwise in a block from {first} to {last - 1}"

        self.for_all(fit, cuts=st.sets(st.integers(1, CLIENTS - 1)), seed=_seeds)

    def test_a_longer_run_begins_like_a_shorter_one(self) -> None:
        model = self.made()

        def begins(duration: float, seed: int) -> None:
            short, long = (model.generate(CLIENTS, until, seed) for until in (duration, DURATION))
            for at in (0.0, duration / 3, duration):
                away = np.hypot(*(np.subtract(short.positions(at), long.positions(at)))).max()
                assert away <= self.capability("off"), f"at {at} s somebody is {away} m off in a longer run"

        self.for_all(begins, duration=st.floats(0.01, DURATION), seed=_seeds)

    def test_the_seed_decides(self) -> None:
        model = self.made()

        def decides(seed: int) -> None:
            one, again, other = (model.generate(CLIENTS, DURATION, each) for each in (seed, seed, seed ^ 1))
            ways = [[_track(each, client) for client in range(CLIENTS)] for each in (one, again, other)]
            assert ways[0] == ways[1], "the same seed gave another movement"
            assert ways[0] != ways[2] or not self.capability("random"), "another seed gave the same movement"

        self.for_all(decides, seed=_seeds)

    def test_nobody_is_too_fast(self) -> None:
        model, most = self.made(), self.capability("fastest")

        def walks(seed: int) -> None:
            fastest = model.generate(CLIENTS, DURATION, seed).fastest()
            assert fastest <= most * (1 + 1e-9) + 1e-9, f"somebody has {fastest} m/s: expected {most} at most"

        self.for_all(walks, seed=_seeds)


def _track(ways: Waypoints, client: int) -> list[bytes]:
    """The movement of one client, to the bit."""
    part = slice(ways.offsets[client], ways.offsets[client + 1])
    return [getattr(ways, name)[part].tobytes() for name in COLUMNS]
