"""Clients that may be killed at any moment: each notes what it knows, at once, in a journal of its own.

A line is a word, what belongs to it and, last, the time on the clock that all processes of a machine share.
What was noted outlives the process.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
import time
from pathlib import Path

from bypass.events.event import Event
from bypass.events.filters import attr
from bypass.live.client.connection import Connection, connect
from bypass.live.client.errors import PublicationRefused
from bypass.places.geo import PlanarLocation
from bypass.ports.subscriptions import SubHandle

HERE = (250.0, 250.0)
"""Where everybody stands, and everything happens."""

RADIUS = 100
WANTED = attr("kind") == "x"
EVENTS_A_LIFE = 1_000_000
WORKERS = 4
PAUSE_S = 0.05
PATIENCE_S = 120.0


class Journal:
    """A file that gets one line at a time."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._state = (-1, -1)

    def note(self, *words: object) -> None:
        os.write(self._file, f"{' '.join(map(str, words))} {time.monotonic()}\n".encode())

    def note_state(self, me: Connection) -> None:
        """The epoch and the flag of the scheme that the client has, if they are not what they were."""
        network = me._exchange.usable().network
        if self._state != (network.epoch, network.flag):
            self._state = (network.epoch, network.flag)
            self.note("state", *self._state)


async def publish_on(me: Connection, journal: Journal, name: str, life: int, size: int) -> None:
    """Publish without end, by saying where and by being there; what was refused is not tried again."""
    numbers = itertools.count(life * EVENTS_A_LIFE)

    async def work() -> None:
        while True:
            number = next(numbers)
            event = Event(kind="x", who=name, n=number, payload=bytes(size))
            journal.note("sent", number)
            try:
                if number % 2:
                    await me.publish(event, PlanarLocation(*HERE))
                else:  # in a channel, if the scheme has channels
                    await me.publish_local(event)
            except PublicationRefused as refusal:
                journal.note("refused", number, *str(refusal).split())
            else:
                journal.note("safe", number)
            journal.note_state(me)
            await asyncio.sleep(PAUSE_S)

    await asyncio.gather(*(work() for _ in range(WORKERS)))


async def listen(me: Connection, journal: Journal, life: int) -> None:
    """Subscribe and note every event."""

    def arrived(event: Event, handle: SubHandle) -> None:
        journal.note("got", life, event["who"], event["n"])
        journal.note_state(me)

    subscription = await me.subscribe(WANTED, radius=RADIUS, callback=arrived)
    journal.note("subscribed", life, subscription.handle.id, len(me.kept))
    await asyncio.Event().wait()


async def main(role: str, endpoint: str, keys: str, name: str, life: str, journal: str, size: str) -> None:
    notes = Journal(Path(journal))
    me = connect(
        endpoint,
        keys=keys or None,
        open=not keys,
        name=name,
        location=lambda: HERE,
        patience=PATIENCE_S,
    )
    async with me:
        notes.note("connected", life, me.number, me.missed)
        if role == "publisher":
            await publish_on(me, notes, name, int(life), int(size))
        else:
            await listen(me, notes, int(life))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
