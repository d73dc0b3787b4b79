"""Whatever clients and brokers do, each event for a session is received, waits, or is missed and counted."""

from __future__ import annotations

import secrets
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bypass.live.broker import housekeeping
from tests.live.brokers import peers
from tests.live.reckoning import play, steps


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


@pytest.mark.soak
def test_every_event_is_received_or_missed_in_the_long_run() -> None:
    for _ in range(500):
        reckon(secrets.randbits(32))
