"""A rider hears of trams within 300 m, wherever both are."""

import asyncio

from bypass import Event, attr, connect

BROKER = "ipc://trams.sock"


async def main() -> None:
    async with (
        connect(BROKER, open=True, name="rider", location=lambda: (0.0, 0.0)) as rider,
        connect(BROKER, open=True, name="tram 9", location=lambda: (150.0, 80.0)) as tram,
    ):
        trams = await rider.subscribe(attr("kind") == "tram", radius=300)
        await tram.publish_local(Event(kind="tram", line=9))  # the broker has it, for good
        event = await anext(trams)
        print(f"line {event['line']} at {event.location}")


asyncio.run(main())
