"""Events of a live broker as messages: each is one JSON message of the device `broker:PUBLISHER`.

Its attributes are telemetries, and so are its payload (Base64) and its place (`location.x`, `location.y`).
An event counts as received at the broker once the log has its message: what a connector had taken and not
logged when it died comes again, as the same bytes. Events that ingestion has published are left out.
"""

from __future__ import annotations

import asyncio
import logging
from base64 import b64encode
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from bypass.events.event import Event
from bypass.events.filters import Filter, Subscription, attr
from bypass.ingest.connectors.connector import Connector, until_logged_or_refused
from bypass.ingest.connectors.frames import DeviceMessage
from bypass.ingest.connectors.intake import FOR_GOOD, LogIntake, MessageRefused
from bypass.ingest.event_mark import MARK
from bypass.live.client.connection import Connection, connect
from bypass.live.client.subscription import LiveSubscription
from bypass.root_error import BypassError

EVERYTHING = ~attr(MARK).exists()
"""A subscription to all events, but for those that ingestion has published."""

MOST_TOGETHER = 1000
"""Events that are handed in before the first of them is acknowledged."""

RETRY_S = 1.0
LONGEST_RETRY_S = 30.0

log = logging.getLogger(__name__)


class BrokerConnector(Connector):
    """A durable session called `name` with the live broker at `endpoint`, subscribed by a filter."""

    def __init__(
        self,
        endpoint: str,
        wanted: Subscription | Filter,
        *,
        name: str,
        keys: Path | None = None,
    ) -> None:
        """Use the key file `keys`, or an open broker. Raises as `connect` does."""
        self._endpoint = endpoint
        self._name = name
        self._keys = keys
        self._wanted = wanted
        self._connection()

    async def start(self, intake: LogIntake) -> None:
        self._intake = intake
        self._receiving = asyncio.create_task(self._receive())

    async def stop(self) -> None:
        self._receiving.cancel()
        with suppress(asyncio.CancelledError):
            await self._receiving

    def _connection(self) -> Connection:
        return connect(self._endpoint, keys=self._keys, open=self._keys is None, name=self._name)

    async def _receive(self) -> None:
        """Take events for ever; what ends the session is logged, and there is a new one after a while."""
        pause = RETRY_S
        while True:
            try:
                # Left by an exception, as it is when the connector stops: what was taken and not logged is
                # not acknowledged.
                async with self._connection() as connection:
                    subscription = await connection.subscribe(self._wanted)
                    log.info("%s: is subscribed at %s", self._name, self._endpoint)
                    pause = RETRY_S
                    await self._take(subscription)
            except (BypassError, StopAsyncIteration) as error:
                why = str(error) or "the subscription is over"
                log.warning("%s: %s; trying again in %g s", self._endpoint, why, pause)
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_RETRY_S)

    async def _take(self, subscription: LiveSubscription) -> None:
        """Hand in events, until the subscription ends. Raises as `LiveSubscription.take` does."""
        while True:
            events = await subscription.take(MOST_TOGETHER)
            messages = [message_of(event) for event in events if MARK not in event]
            while messages := await self._log(messages):
                await asyncio.sleep(RETRY_S)

    async def _log(self, messages: list[DeviceMessage]) -> list[DeviceMessage]:
        """Hand in messages and wait for them. Gives those that have to be handed in again."""
        handed_in: list[tuple[DeviceMessage, Future[None]]] = []
        again: list[DeviceMessage] = []
        for message in messages:
            try:
                handed_in.append((message, self._intake.submit(*message)))
            except MessageRefused as error:
                if error.reason not in FOR_GOOD:
                    again.append(message)
        if handed_in:
            await until_logged_or_refused(handed_in[-1][1])
        return [message for message, done in handed_in if done.exception() is not None] + again


def message_of(event: Event) -> DeviceMessage:
    """The message of an event that was received: the same bytes each time it is."""
    device = f"broker:{event.publisher}"
    telemetries = [_telemetry(name, value) for name, value in event.attributes]
    if event.payload:
        telemetries.append({"metric": "payload", "value": b64encode(event.payload).decode(), "type": "Bytes"})
    place = event.location
    for axis, value in (("x", place.x), ("y", place.y)) if place is not None else ():
        telemetries.append({"metric": f"location.{axis}", "value": value, "type": "Double", "uom": "m"})
    content = {
        "id": device,
        "event": event.id,
        "timestamp": None if event.at is None else round(event.at * 1000),
        "telemetries": telemetries,
    }
    return DeviceMessage(device, msgspec.json.encode(content))


def _telemetry(name: str, value: Any) -> dict[str, Any]:
    """An attribute as a telemetry; one whose values are neither numbers nor text becomes text."""
    if isinstance(value, int):
        return {"metric": name, "value": int(value), "type": "Long"}
    if isinstance(value, float):
        return {"metric": name, "value": value, "type": "Double"}
    text = value if isinstance(value, str) else _text(value)
    return {"metric": name, "value": text, "type": "String"}


def _text(value: Any) -> str:
    """A set as its members in order, anything else as Python shows it."""
    return ",".join(sorted(map(str, value))) if isinstance(value, frozenset) else str(value)
