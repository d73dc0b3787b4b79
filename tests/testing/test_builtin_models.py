"""The built-in models of mobility, workloads and churn pass the suites that others' are tested with, and the
examples do; wrong ones are caught."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bypass.models.churn import ChurnModel, Presence
from bypass.models.mobility import RandomWaypoint
from bypass.models.waypoints import Waypoints
from bypass.models.workloads import RND, World
from bypass.support.arrays import Floats
from bypass.testing.suites.models.churn import ChurnSuite
from bypass.testing.suites.models.mobility import MobilitySuite
from bypass.testing.suites.models.workloads import WorkloadSuite
from bypass.testing.suites.suite import Suite, UnknownCapability
from tests.testing.catching import failures

EXAMPLES = Path(__file__).parents[2] / "examples"
RECORD = Path(__file__).parents[1] / "models" / "connectivity.csv"


class BuiltInMobility(MobilitySuite):
    examples = 6


class TestRandomWaypoint(BuiltInMobility):
    model = "rwp"
    capabilities = {"fastest": 2.0}


class TestRandomDirection(BuiltInMobility):
    model = "random-direction"
    capabilities = {"fastest": 2.0}


class TestGaussMarkov(BuiltInMobility):
    model = "gauss-markov"


class TestManhattan(BuiltInMobility):
    model = "manhattan"


class TestGroupMovement(BuiltInMobility):
    model = "rpgm"


class TestLevyWalk(BuiltInMobility):
    model = "levy-walk"


class TestDarmstadt(BuiltInMobility):
    model = "darmstadt"


class TestCarousel(BuiltInMobility):
    model = f"{EXAMPLES}/carousel.py:Carousel"
    capabilities = {"off": 0.2}  # it goes straight for two seconds


class TestAugmentedReality(WorkloadSuite):
    model = "ar"


class TestLocationBased(WorkloadSuite):
    model = "lbs"


class TestRandomPlaces(WorkloadSuite):
    model, parameters = "rnd", {"rate": 3.0}


class TestStage(WorkloadSuite):
    model = f"{EXAMPLES}/stage.py:Stage"


class TestNoChurn(ChurnSuite):
    model = "none"
    capabilities = {"random": False}


class TestRamp(ChurnSuite):
    model, parameters = "ramp", {"start": 3, "end": 5}


class TestGrowth(ChurnSuite):
    model = "growth"


class TestOnOff(ChurnSuite):
    model, parameters = "on-off", {"on": 5.0, "off": 3.0}


class TestRecorded(ChurnSuite):
    model, parameters = "recorded", {"path": str(RECORD)}


class TestShifts(ChurnSuite):
    model = f"{EXAMPLES}/shifts.py:Shifts"
    capabilities = {"random": False}


class ByBlock(RandomWaypoint):
    """Numbers clients by their place in the block."""

    def block(self, first: int, last: int, duration: float, seed: np.uint64) -> Waypoints:
        return super().block(0, last - first, duration, seed)


class Beyond(RND):
    """Has events outside of the world."""

    def targets(self, draws: Floats, world: World, /) -> Floats:
        return super().targets(draws, world) + world.width


class Undecided(ChurnModel):
    """Draws its numbers from elsewhere than the seed."""

    def presence(self, clients: int, end_us: int, seed: np.uint64) -> Presence:
        rng = np.random.default_rng()
        return Presence.once(rng.integers(0, end_us, clients), np.full(clients, end_us), end_us)


@pytest.mark.parametrize(
    ("suite", "model", "test", "problem"),
    [
        (MobilitySuite, ByBlock, "test_blocks_fit_together", "moves otherwise in a block"),
        (WorkloadSuite, Beyond, "test_events_are_in_the_world_and_in_time", "x is ["),
        (ChurnSuite, Undecided, "test_the_seed_decides", ""),  # which hypothesis may call flaky
    ],
)
def test_a_wrong_one_is_caught(suite: type[Any], model: type, test: str, problem: str) -> None:
    assert problem in failures(type("Wrong", (suite,), {"model": model}))[test]


@pytest.mark.parametrize("suite", [MobilitySuite, WorkloadSuite])
def test_a_capability_that_no_suite_knows_is_refused(suite: type[Suite]) -> None:
    known = ", ".join(suite.defaults) or "none"
    with pytest.raises(UnknownCapability, match=rf"^Mine: capability 'exakt': expected one of {known}$"):
        type("Mine", (suite,), {"capabilities": {"exakt": True}})
