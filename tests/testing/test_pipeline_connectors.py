"""The suite for connectors: those that are built in pass, and one that is wrong is caught."""

from __future__ import annotations

import asyncio
import http.client
from urllib.parse import quote

import pytest

from bypass.ingest import Connector, encode_frame
from bypass.ingest.connectors.http import HttpConnector
from bypass.ingest.connectors.intake import LogIntake
from bypass.ingest.connectors.tcp import TcpConnector
from bypass.testing import ConnectorSuite
from tests.testing.catching import failures


class Tcp(ConnectorSuite):
    examples = 5

    def make(self) -> Connector:
        return TcpConnector("127.0.0.1:0")

    async def send(self, connector: Connector, device: str, payload: bytes) -> bool:
        assert isinstance(connector, TcpConnector | Hasty)
        reader, writer = await asyncio.open_connection("127.0.0.1", connector.port)
        try:
            writer.write(encode_frame(device, payload))
            return await reader.readexactly(1) == b"\0"
        finally:
            writer.close()


class TestTcp(Tcp):
    pass


class TestHttp(ConnectorSuite):
    examples = 5

    def make(self) -> Connector:
        return HttpConnector("127.0.0.1:0")

    async def send(self, connector: Connector, device: str, payload: bytes) -> bool:
        assert isinstance(connector, HttpConnector)
        port = connector.port

        def post() -> bool:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
            try:
                connection.request("POST", f"/messages/{quote(device, safe='')}", payload)
                return connection.getresponse().status == 200
            finally:
                connection.close()

        return await asyncio.to_thread(post)


class Hasty(Connector):
    """Replies as soon as a message has come."""

    async def start(self, intake: LogIntake) -> None:
        self.intake = intake
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)

    @property
    def port(self) -> int:
        port: int = self.server.sockets[0].getsockname()[1]
        return port

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        length = int.from_bytes(await reader.readexactly(4), "big")
        message = await reader.readexactly(length)
        end = 2 + int.from_bytes(message[:2], "big")
        self.intake.submit(message[2:end].decode(), message[end:])
        writer.write(b"\0")
        writer.close()

    async def stop(self) -> None:
        self.server.close()


@pytest.mark.parametrize(
    ("test", "problem"),
    [
        ("test_nothing_is_acknowledged_before_it_is_in_the_log", "before it was in the log"),
        ("test_what_cannot_be_logged_is_not_acknowledged", "acknowledged, and not in the log"),
    ],
)
def test_a_wrong_connector_is_caught(test: str, problem: str) -> None:
    class Wrong(Tcp):
        def make(self) -> Connector:
            return Hasty()

    assert problem in failures(Wrong, test)[test]
