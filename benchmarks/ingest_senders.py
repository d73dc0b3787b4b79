"""Devices of `ingest_crashes.py`, a process for each kind: python ingest_senders.py mqtt|broker SETTINGS.

All messages have been acknowledged when it ends with 0: by mosquitto at QoS 1, or by the live broker.
"""

from __future__ import annotations

import asyncio
import json
import struct
import sys
import time
from typing import NamedTuple

from bypass import Event, connect
from bypass.ingest.categories import topic_of

IN_FLIGHT = 50
"""Messages that one connection sends before the first of them is acknowledged."""

PATIENCE_S = 600.0
T = 1_763_459_000_000
"""The time of message 0, in milliseconds; each later one is a millisecond later."""

WARM = "warm-up"
"""The device whose messages do not count."""

_CONNECT, _PUBLISH_1, _PUBACK = 0x10, 0x32, 0x40


class Load(NamedTuple):
    """The messages of a process: so many of them from `devices` devices over `connections` connections,
    `rate` a second. Without devices they are of the one that warms up."""

    address: str
    messages: int
    devices: int
    connections: int
    rate: float


def device_of(number: int, devices: int) -> str:
    """The device that sends a message over MQTT, or as a session to the broker: one of these, or the one that
    warms up."""
    return f"device-{number % devices:06d}" if devices else WARM


def message(number: int, devices: int) -> bytes:
    """A message over MQTT: its number, and a text that is not in any other."""
    device = device_of(number, devices)
    return json.dumps(
        {
            "id": device,
            "timestamp": T + number,
            "telemetries": [
                {"metric": "number", "value": number, "type": "Long"},
                {"metric": "label", "value": f"mqtt {number}", "type": "String"},
            ],
        }
    ).encode()


class _Pace:
    """Lets through so many a second."""

    def __init__(self, rate: float) -> None:
        self._rate, self._began, self._passed = rate, time.monotonic(), 0

    async def step(self) -> None:
        self._passed += 1
        ahead = self._passed / self._rate - (time.monotonic() - self._began)
        if ahead > 0.01:
            await asyncio.sleep(ahead)


# -- MQTT 3.1.1, no more of it than it takes ---------------------------------------------------------------


async def publish_over_mqtt(load: Load) -> None:
    """Publish all messages, connection by connection in turn. Raises ConnectionError."""
    pace = _Pace(load.rate)
    await asyncio.gather(*(_one_connection(load, index, pace) for index in range(load.connections)))


async def _one_connection(load: Load, index: int, pace: _Pace) -> None:
    host, _, port = load.address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    name = f"devices-{index}".encode()
    head = b"\0\4MQTT\4\2" + struct.pack(">HH", 0, len(name)) + name  # a clean session, no keep-alive
    writer.write(bytes((_CONNECT,)) + _length(len(head)) + head)
    if (await reader.readexactly(4))[3]:
        raise ConnectionError(f"{load.address}: expected to be admitted")
    room = asyncio.Semaphore(IN_FLIGHT)
    mine = range(index, load.messages, load.connections)

    async def acknowledgements() -> None:
        for _ in mine:
            kind, *_ = await reader.readexactly(4)
            if kind != _PUBACK:
                raise ConnectionError(f"packet {kind:#x}: expected an acknowledgement")
            room.release()

    acknowledged = asyncio.create_task(acknowledgements())
    for packet, number in enumerate(mine):
        await room.acquire()
        await pace.step()
        topic = topic_of("app", device_of(number, load.devices)).encode()
        body = struct.pack(">H", len(topic)) + topic + struct.pack(">H", packet % 65_535 + 1)
        body += message(number, load.devices)
        writer.write(bytes((_PUBLISH_1,)) + _length(len(body)) + body)
        await writer.drain()
    await asyncio.wait_for(acknowledged, PATIENCE_S)
    writer.close()


def _length(number: int) -> bytes:
    """A length as MQTT writes it: seven bits a byte."""
    written = bytearray()
    while True:
        number, low = number >> 7, number & 127
        written.append(low | (128 if number else 0))
        if not number:
            return bytes(written)


# -- a live broker ------------------------------------------------------------------------------------------


async def publish_to_broker(load: Load) -> None:
    """Publish all events. Raises as `Connection.publish` does."""
    pace = _Pace(load.rate)
    await asyncio.gather(*(_one_session(load, index, pace) for index in range(load.connections)))


async def _one_session(load: Load, index: int, pace: _Pace) -> None:
    name = device_of(index, load.devices)
    async with connect(load.address, open=True, name=name, patience=PATIENCE_S) as session:
        room = asyncio.Semaphore(IN_FLIGHT)

        async def publish(number: int) -> None:
            try:
                await session.publish(Event(number=number, label=f"broker {number}"))
            finally:
                room.release()

        async with asyncio.TaskGroup() as publications:
            for number in range(index, load.messages, load.connections):
                await room.acquire()
                await pace.step()
                publications.create_task(publish(number))


def main() -> None:
    kind, settings = sys.argv[1:]
    publish = {"mqtt": publish_over_mqtt, "broker": publish_to_broker}[kind]
    asyncio.run(publish(Load(*json.loads(settings))))


if __name__ == "__main__":
    main()
