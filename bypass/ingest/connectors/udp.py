"""UDP: one message a datagram, and no promise. The system drops what comes faster than it is taken."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress

from bypass.ingest.connectors.connector import Connector, bound_socket
from bypass.ingest.connectors.frames import MalformedFrame, decode_message
from bypass.ingest.connectors.intake import LogIntake, MessageRefused


class UdpConnector(Connector):
    """Listens at `address`."""

    def __init__(self, address: str) -> None:
        """Raises InvalidConnector, also if the address cannot be listened at."""
        self._socket = bound_socket("udp", address, socket.SOCK_DGRAM)
        self.port: int = self._socket.getsockname()[1]

    async def start(self, intake: LogIntake) -> None:
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_datagram_endpoint(
            lambda: _Datagrams(intake), sock=self._socket
        )

    async def stop(self) -> None:
        self._transport.close()


class _Datagrams(asyncio.DatagramProtocol):
    """Hands in datagrams."""

    def __init__(self, intake: LogIntake) -> None:
        self._intake = intake

    def datagram_received(self, data: bytes, addr: object) -> None:  # noqa: ARG002
        try:
            device, payload = decode_message(data)
        except MalformedFrame:
            self._intake.refuse("malformed datagram")
            return
        with suppress(MessageRefused):  # which is counted
            self._intake.submit_unacknowledged(device, payload)
