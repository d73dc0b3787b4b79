"""A publisher and a subscriber in a process of their own, for tests that need it in another network.

`python -m tests.live.far_clients ENDPOINT` publishes numbers from 0 on, one after the other, until its input
ends. It says what happens, a line each: `heard N`, `acknowledged N`, `disconnected`, and at last `done`.
"""

from __future__ import annotations

import asyncio
import sys

import bypass
from bypass.events.event import Event
from bypass.events.filters import attr
from bypass.places.geo import PlanarLocation

HERE = (10.0, 10.0)


async def _main(endpoint: str) -> None:
    loop = asyncio.get_running_loop()
    ended = loop.run_in_executor(None, sys.stdin.read)
    acknowledged = 0
    heard: set[int] = set()
    all_heard = asyncio.Event()

    def hear(event: Event, _: object) -> None:
        heard.add(int(event["n"]))
        _say("heard", event["n"])
        if ended.done() and len(heard) == acknowledged:
            all_heard.set()

    async with (
        bypass.connect(endpoint, open=True, name="subscriber", location=lambda: HERE) as subscriber,
        bypass.connect(endpoint, open=True, name="publisher") as publisher,
    ):
        publisher.on_state = _say
        await subscriber.subscribe(attr("kind") == "x", radius=100, callback=hear)
        while not ended.done():
            await publisher.publish(Event(kind="x", n=acknowledged), PlanarLocation(*HERE))
            _say("acknowledged", acknowledged)
            acknowledged += 1
        if len(heard) < acknowledged:
            await all_heard.wait()
    _say("done")


def _say(*words: object) -> None:
    print(*words, flush=True)


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1]))
