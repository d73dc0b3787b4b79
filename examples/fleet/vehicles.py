"""A fleet of vehicles: each seals 15 seconds of measurements in one message, and sends an accident at once.

`register` makes the vehicles known and gives each its keys; `drive` sends what they measure, and waits until
all of it is in the tables.
"""

import argparse
import asyncio
import json
import math
import random
import time
from collections.abc import Iterator
from pathlib import Path

from bypass.ingest import (
    DeviceRegistry,
    IngestFolder,
    KeyStore,
    Sealer,
    encode_frame,
    find_suite,
    make_device,
    read_status,
)

SUITE = "AES256-GCM"
TOGETHER = 15  # seconds in a message
CENTRE = 49.8728, 8.6512
DEGREE_M = 111_195.0


def register(folder: IngestFolder, vehicles: int) -> None:
    """Register two devices for each vehicle: its measurements, and its accidents, which expire apart."""
    keys = KeyStore(folder.keys)
    with DeviceRegistry(folder.registry) as registry:
        for number in range(vehicles):
            keys.generate(f"truck-{number}", find_suite(SUITE).roles)
            common = {
                "tenant": "fleet",
                "suite": SUITE,
                "keys": f"truck-{number}",
                "sequenced": True,
                "compression": "zstd",
            }
            for name, region in (
                (f"truck-{number}", "measurements"),
                (f"truck-{number}.accidents", "accidents"),
            ):
                metadata = {"kind": "truck", "depot": "north" if number % 2 else "south"}
                registry.register(make_device({"id": name, "region": region, "metadata": metadata, **common}))
    print(f"{vehicles} vehicles are registered")


def journey(number: int, start: int, seconds: int, seed: int) -> Iterator[tuple[str, dict[str, object]]]:
    """The messages of a vehicle that circles around the centre, each with the id of the device that sends
    it."""
    chance = random.Random(f"{seed} {number}")
    radius, speed, angle = chance.uniform(200, 2000), chance.uniform(5, 25), chance.uniform(0, 2 * math.pi)
    gathered: list[dict[str, object]] = []
    for second in range(seconds):
        speed = min(max(speed + chance.gauss(0, 0.5), 0.0), 30.0)
        angle += speed / radius
        lat = CENTRE[0] + radius * math.cos(angle) / DEGREE_M
        lon = CENTRE[1] + radius * math.sin(angle) / (DEGREE_M * math.cos(math.radians(CENTRE[0])))
        at = start + 1000 * second
        for metric, uom, value in (("speed", "m/s", speed), ("lat", "deg", lat), ("lon", "deg", lon)):
            gathered.append(
                {"metric": metric, "uom": uom, "type": "Double", "value": round(value, 6), "timestamp": at}
            )
        if len(gathered) == 3 * TOGETHER:
            yield f"truck-{number}", {"telemetries": gathered}
            gathered = []
        if chance.random() < 0.001:
            place = f"{lat:.5f} {lon:.5f}"
            yield (
                f"truck-{number}.accidents",
                {"telemetries": [{"metric": "accident", "type": "String", "value": place, "timestamp": at}]},
            )
    if gathered:
        yield f"truck-{number}", {"telemetries": gathered}


async def connect(address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect as soon as somebody listens, within a minute."""
    host, port = address.rsplit(":", 1)
    async with asyncio.timeout(60):
        while True:
            try:
                return await asyncio.open_connection(host, int(port))
            except ConnectionRefusedError:
                await asyncio.sleep(0.2)


async def send(folder: IngestFolder, address: str, number: int, start: int, seconds: int, seed: int) -> int:
    """Send the messages of a vehicle, one after the other; gives how many were acknowledged."""
    reader, writer = await connect(address)
    sealer = Sealer(suite=SUITE, keys=KeyStore(folder.keys).find(f"truck-{number}")[0], compression="zstd")
    sent = 0
    for sequence, (device, message) in enumerate(journey(number, start, seconds, seed), start):
        writer.write(encode_frame(device, sealer.seal(json.dumps(message).encode(), sequence)))
        (refused,) = await reader.readexactly(1)
        if refused:
            raise SystemExit(f"{device}: {(await reader.readexactly(refused)).decode()}")
        sent += 1
    writer.close()
    return sent


async def drive(folder: IngestFolder, address: str, vehicles: int, seconds: int, seed: int) -> None:
    """Send what all vehicles have measured in the last `seconds`, and say what became of it."""
    before = read_status(folder)
    start = int(time.time() - seconds) * 1000
    sent = sum(
        await asyncio.gather(
            *(send(folder, address, number, start, seconds, seed) for number in range(vehicles))
        )
    )
    while (now := read_status(folder)).lag_messages or now.received - before.received < sent:
        await asyncio.sleep(0.1)
    stored, measured = now.stored - before.stored, now.measurements - before.measurements
    print(f"{sent} messages acknowledged, {stored} stored: {measured} measurements")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("do", choices=("register", "drive"))
    parser.add_argument("--folder", type=Path, default=Path("fleet"))
    parser.add_argument("--vehicles", type=int, default=20)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--address", default="127.0.0.1:7791")
    given = parser.parse_args()
    folder = IngestFolder(given.folder)
    if given.do == "register":
        register(folder, given.vehicles)
    else:
        asyncio.run(drive(folder, given.address, given.vehicles, given.seconds, given.seed))


if __name__ == "__main__":
    main()
