"""Whatever clients and brokers do, each event for a session is received, waits, or is missed and counted."""

from __future__ import annotations

import secrets
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bypass.live.broker import housekeeping
from tests.live.brokers import in_loop, peers
from tests.live.reckoning import WANTED, Step, World, play, steps


@pytest.fixture(autouse=True)
def never_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is stored because some time has passed."""
    monkeypatch.setattr(housekeeping, "CURSORS_S", 3600.0)


def reckon(seed: int) -> None:
    script = steps(seed, 60)
    try:
        with TemporaryDirectory() as folder, peers() as make:
            play(make, Path(folder), script)
    except BaseException as error:
        error.add_note(f"seed {seed}: {script}")
        raise


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_every_event_is_received_or_missed(seed: int) -> None:
    reckon(seed)


ALL = frozenset(WANTED)
KEPT: list[Step] = [("subscribe", 0, 1), ("subscribe", 0, 2), ("publish", "xyx"), ("connect", 0, True, ALL)]
"""A session has two subscriptions of an earlier life, and events wait for both."""


@pytest.mark.parametrize(
    "script",
    [
        pytest.param([*KEPT, ("fail",), ("unsubscribe", 0, 1), ("publish", "xy")], id="withdrawal"),
        pytest.param([*KEPT, ("fail",), ("subscribe", 0, 3), ("publish", "xy")], id="subscription"),
        pytest.param([*KEPT, ("fail",), ("unclaimed", 0), ("publish", "xy")], id="unclaimed"),
    ],
)
def test_a_change_that_is_not_stored_leaves_kept_subscriptions(tmp_path: Path, script: list[Step]) -> None:
    with peers() as make:
        play(make, tmp_path, script)


def test_a_session_that_ends_does_not_miss_what_it_has_for_another_subscription(tmp_path: Path) -> None:
    script: list[Step] = [*KEPT, ("restart", False), ("publish", "xx"), ("connect", 0, False, ALL - {1})]
    with peers() as make, closing(World(make, tmp_path)) as world:
        for step in [*script, ("take", 0, 1.0, 0)]:
            world.do(step)
            world.check()
        now = world._now()
        assert now.lacking["s0"] < now.waiting["s0"]
        world.do(("leave", 0, True))
        world.check()


def test_unclaimed_subscriptions_are_withdrawn_only_when_a_script_says_so(tmp_path: Path) -> None:
    with peers() as make, closing(World(make, tmp_path)) as world:
        for step in [*KEPT, ("fail",), ("unclaimed", 0)]:
            world.do(step)
        in_loop(world._service, world._service.server.attendance.look_after)  # as the broker does each second
        world.do(("publish", "xy"))
        world.check()


@pytest.mark.soak
def test_every_event_is_received_or_missed_in_the_long_run() -> None:
    for _ in range(500):
        reckon(secrets.randbits(32))
