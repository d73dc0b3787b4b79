"""A client's messages on their way to the broker, by the connection that there is at the moment."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from bypass.core.client import Client
from bypass.live.client.errors import PublicationRefused, Unsupported
from bypass.live.client.session.outbox import MOST_UNACKNOWLEDGED, Outbox
from bypass.live.client.sources.sensor import LiveSensor
from bypass.places.geo import PlanarLocation
from bypass.protocol.messages import AllowFollowing, FollowedPlace, Kind, Message, Publish, Subscribe
from bypass.protocol.session import AREAS, Ack, needed
from bypass.protocol.wire import Codec, encode

MOST_WITH_REPORTS = 2 * MOST_UNACKNOWLEDGED
"""Publications that are not acknowledged, reports of borders included."""

REPORTED_AGAIN_S = 1.0
"""After so long a report that the broker has refused is sent again."""


class Uplink:
    """Sends what a client says, if it is connected, and keeps publications until the broker has answered.

    `capabilities` are those of the broker that has answered last.
    """

    def __init__(self, codec: Codec, sensor: LiveSensor) -> None:
        self.capabilities: frozenset[str] = frozenset()
        self.outbox = Outbox()
        self.reports_dropped = 0  # of borders, because too much else was not answered
        self._codec = codec
        self._sensor = sensor
        self._send: Callable[[bytes], None] | None = None  # None: not connected

    def connected(self, send: Callable[[bytes], None]) -> None:
        """Send by this connection from now on."""
        self._send = send

    def disconnected(self) -> None:
        """Send nothing until there is another connection."""
        self._send = None

    def send(self, message: Message) -> None:
        """Send a message; a publication is kept. Raises MalformedMessage for what cannot travel, and
        Unsupported for a publication that the broker cannot read: it is not kept."""
        if isinstance(message, AllowFollowing | FollowedPlace) and AREAS not in self.capabilities:
            return  # it would not be understood
        data = self._codec.encode(message)
        if isinstance(message, Publish) and message.id not in self.outbox:
            if lacking := self.lacking(message):
                raise Unsupported(f"{message.event}: {lacking}")
            if message.kind is Kind.BORDER:
                if not self._keep_report(message):
                    return
            else:
                self.outbox.add(message)
            if message.kind is Kind.PLACED and message.location is not None:
                where = PlanarLocation(*message.location)
                self._sensor.check(where, where)
        if self._send is not None:
            self._send(data)

    def _keep_report(self, report: Publish) -> bool:
        """Keep a report of borders, which needs no place and is sent until the broker has it; gives whether
        there was room for it."""
        if len(self.outbox) >= MOST_WITH_REPORTS:
            self.reports_dropped += 1
            return False
        self.outbox.take_extra_place()
        self.outbox.add(report).add_done_callback(partial(self._reported, report))
        return True

    def _reported(self, report: Publish, settled: asyncio.Future[int]) -> None:
        error = None if settled.cancelled() else settled.exception()
        if isinstance(error, PublicationRefused):
            later = max(error.retry, REPORTED_AGAIN_S)
            asyncio.get_running_loop().call_later(later, self._report_again, report)

    def _report_again(self, report: Publish) -> None:
        if report.id not in self.outbox:
            self.send(report)

    def publish(
        self, client: Client, publish: Callable[[Client], int], place_taken: bool
    ) -> asyncio.Future[int]:
        """Have the client publish something; gives what will have its number once the broker has it.

        Raises what `publish` raises, OutboxFull unless a place in the outbox is taken, and Unsupported.
        """
        if not place_taken:
            self.outbox.take_place()
        before = len(self.outbox)
        try:
            number = publish(client)
        except BaseException:
            if len(self.outbox) == before:
                self.outbox.give_back()
            raise
        settled = self.outbox.settled(number)
        if settled is None:  # it is not for the broker
            self.outbox.give_back()
            settled = asyncio.get_running_loop().create_future()
            settled.set_result(number)
        return settled

    def publish_again(self, client: Client) -> None:
        """Send all publications that are not answered; what the broker cannot read is refused, and so is what
        has expired."""
        now = client.host.now()
        for publication in self.outbox:
            if publication.expired(now):
                self.outbox.refused(publication.id, "expired before the broker had it")
                continue
            # Where the publisher was then, and which channels there were, is of no interest any more.
            publication.piggyback = publication.channel = None
            if lacking := self.lacking(publication):
                self.outbox.refused(publication.id, lacking)
            else:
                client.network.send(publication)

    def acknowledge(self, client: int, events: tuple[int, ...]) -> None:
        """Tell the broker that the application has these events."""
        if self._send is not None:
            self._send(encode(Ack(events, client=client)))

    def lacking(self, message: Publish | Subscribe) -> str:
        """Say what the broker lacks to read a message; empty if that is nothing."""
        lacking = needed(message) - self.capabilities
        return f"the broker's version does not know {', '.join(sorted(lacking))}" if lacking else ""
