"""Matching of attributes at a live broker is exchanged while events go on; a restart keeps it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from bypass.events.event import Event
from bypass.events.filters import attr
from bypass.live.client.connection import connect
from tests.command import bypass
from tests.live.brokers import config, killed, running

PATIENCE_S = 20.0


def test_events_arrive_whatever_matches_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One of forty subscriptions is concerned by each event, before and after each transition."""

    async def follow(endpoint: str) -> None:
        told: asyncio.Queue[tuple[int, int]] = asyncio.Queue()
        async with (
            connect(endpoint, open=True, name="publisher") as publisher,
            connect(endpoint, open=True, name="subscriber") as subscriber,
        ):
            for number in range(40):
                await subscriber.subscribe(
                    (attr("n") == number) & (attr("round") >= 0),
                    callback=lambda event, _, number=number: told.put_nowait((event["round"], number)),  # type: ignore[misc]
                )
            for turn, to in enumerate((None, "tree", "linear", "counting", "tree")):
                if to is not None:
                    arguments = ("transition", "matching", to, "--broker", endpoint, "--open")
                    assert await asyncio.to_thread(bypass, *arguments) == 0
                for number in (3, 39):
                    await publisher.publish(Event(n=number, round=turn))
                    assert await asyncio.wait_for(told.get(), PATIENCE_S) == (turn, number)
            assert told.empty()

    def named(endpoint: str) -> str:
        capsys.readouterr()
        assert bypass("status", "--broker", endpoint, "--open") == 0
        (line,) = [each for each in capsys.readouterr().out.splitlines() if each.startswith("matching")]
        return line.split()[1]

    with running(config(tmp_path)) as service:
        assert named(service.server.endpoints[0]) == "counting"
        asyncio.run(follow(service.server.endpoints[0]))
        assert named(service.server.endpoints[0]) == "tree"
        after = killed(service, tmp_path / "after")
    with running(after) as service:
        assert named(service.server.endpoints[0]) == "tree"
