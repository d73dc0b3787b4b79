"""Nothing that was acknowledged is lost when processes are killed, in short: see `benchmarks/crashes.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.crashes import MOMENTS, World

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(400),
]  # many processes start, and others may use the machine


def test_killed_processes_lose_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    world = World(tmp_path, seed=1)
    with world.running():
        for moment in MOMENTS:
            world.kill_somebody(moment)
        outcome = world.finish()
    assert outcome["violations"] == []
    assert outcome["missing"] == 0
    assert outcome["safe"] > 0
    assert outcome["refused"] == 0
    assert outcome["kills"] >= 6


@pytest.mark.parametrize("fault", ["no descriptors"])
def test_a_machine_that_fails_loses_nothing_that_was_acknowledged(tmp_path: Path, fault: str) -> None:
    """Pauses and full disks take longer: `make soak`, `test_failing_stores`."""
    world = World(tmp_path, seed=1, publishers=1, subscribers=1, encrypted=True)
    with world.running():
        world.suffer(fault)
        world.suffer(fault)
        outcome = world.finish()
    assert outcome["violations"] == []
    assert outcome["missing"] == 0
    assert outcome["safe"] > 0
    assert outcome["refused"] == 0
    assert outcome["faults"] == {fault: 2}
