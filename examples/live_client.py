"""A client of a live broker: `subscribe`, `hear` some events, or `say` something; it stands at (100, 100)."""

import asyncio
import sys

from bypass import Event, attr, connect


async def main(name: str, do: str, *words: str) -> None:
    keys = f"keys/{name}.key"
    async with connect("tcp://127.0.0.1:7700", keys=keys, location=lambda: (100.0, 100.0)) as me:
        if do == "say":
            await me.publish_local(Event(kind="hello", text=" ".join(words)))  # the broker has it, for good
            return
        hellos = await me.subscribe(attr("kind") == "hello", radius=50)
        if do == "hear":
            for _ in range(int(words[0])):
                event = await anext(hellos)
                print(f"{name} hears: {event['text']}")


asyncio.run(main(*sys.argv[1:]))
