"""A photo gallery that several people share: what was published stays, and is found by its tags and its time.

Who is told of a photo sees its thumbnail, and downloads it now, later, or not at all. With --without-broker
people's devices keep the photos themselves.
"""

import asyncio
import sys
import tempfile
from collections.abc import Callable
from subprocess import DEVNULL, Popen

import bypass
from bypass.live import Connection, ObjectMatch
from bypass.objects import ObjectKey


class Gallery:
    """One person's view: own photos, what was downloaded, and what is available."""

    def __init__(self, name: str, me: Connection) -> None:
        self.name, self.me = name, me
        self.publications: list[ObjectKey] = []
        self.downloads: dict[str, bytes] = {}
        self.available: dict[str, ObjectMatch] = {}

    async def publish(self, name: str, photo: bytes, *tags: str) -> None:
        key = await self.me.insert(photo, tags, name=name, summary=photo[:7])
        self.publications.append(key)

    async def follow(
        self, formula: str, count: int, since: str, wanted: Callable[[ObjectMatch], bool] = bool
    ) -> None:
        """Take so many photos; those that are not wanted now can be downloaded later."""
        async with self.me.query(formula, since=since) as found:
            for _ in range(count):
                match = await anext(found)
                if wanted(match):
                    self.downloads[match.key.name] = await match.retrieve()
                else:
                    self.available[match.key.name] = match

    def show(self) -> None:
        print(self.name)
        print(f"  publications  {' '.join(key.name for key in self.publications) or '-'}")
        print(f"  downloads     {' '.join(sorted(self.downloads)) or '-'}")
        print(f"  available     {' '.join(sorted(self.available)) or '-'}")


def nearby(name: str, address: str) -> Connection:
    neighbours = bypass.Neighbours(b"known to all of this gallery", (f"{address}/8",))
    return bypass.connect(None, name=name, neighbours=neighbours)


async def main(first: Connection, second: Connection) -> None:
    async with first, second:
        ana, ben = Gallery("ana", first), Gallery("ben", second)
        await ana.publish("dawn.jpg", b"#dawn##" * 1000, "beach", "sunrise")
        await ana.publish("storm.jpg", b"#storm#" * 1000, "beach", "rain")
        await ana.publish("dusk.jpg", b"#dusk##" * 40_000, "beach", "sunset")

        print("Ben comes later, asks for the last hour, and postpones what is large:")
        await ben.follow("beach & (sunset | ~rain)", 2, "-1h", lambda match: match.metadata.size < 100_000)
        ben.show()

        print("\nHe waits for what comes, and downloads what he has postponed:")
        coming = asyncio.create_task(ben.follow("party", 1, "now"))
        while not coming.done():
            await ana.publish(f"party{len(ana.publications)}.jpg", b"#party#", "party")
            await asyncio.wait([coming], timeout=0.2)
        postponed = ben.available.pop("dusk.jpg")
        ben.downloads["dusk.jpg"] = await postponed.retrieve()
        print(f"  {len(ben.downloads)} downloads, dusk.jpg has {len(ben.downloads['dusk.jpg']):,} bytes")

        print("\nAna deletes a photo; nobody finds it any more, not even in the past:")
        for wrong in (ben.me, ana.me):
            try:
                await wrong.delete(ana.publications[0])
                print("  deleted by ana")
            except bypass.BypassError as error:
                print(f"  {type(error).__name__} for ben")
        async with ben.me.query("beach", until="now") as found:
            print("  left:", *[match.key.name async for match in found])


if sys.argv[1:] == ["--without-broker"]:
    asyncio.run(main(nearby("ana", "127.0.7.1"), nearby("ben", "127.0.7.2")))
    sys.exit()

with tempfile.TemporaryDirectory() as folder:
    endpoint = f"ipc://{folder}/gallery.sock"
    start = "from bypass.cli import main; main()"
    command = [sys.executable, "-c", start, "broker", "--open", "--listen", endpoint]
    broker = Popen([*command, "--store", f"{folder}/gallery.db"], stdout=DEVNULL, stderr=DEVNULL)  # noqa: S603
    people = [bypass.connect(endpoint, open=True, name=name, patience=120) for name in ("ana", "ben")]
    try:
        asyncio.run(main(*people))
    finally:
        broker.terminate()
        broker.wait()
