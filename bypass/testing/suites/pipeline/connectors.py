"""The suite for connectors of the data pipeline."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Coroutine
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import strategies as st

from bypass.ingest.connectors.connector import Connector
from bypass.testing.suites.suite import Suite
from bypass.testing.worlds.reception import LoggedIntake, reception

PATIENCE_S = 30.0
SHORT_S = 0.2
"""The time in which an acknowledgement that comes too early would come."""


class ConnectorSuite(Suite):
    """A connector acknowledges messages that are in the log, and no others; what it acknowledges is there
    once, in the order in which it was sent; it ends when it is told to.

    `make` makes the connector, and `send` is a device's side.
    """

    @abstractmethod
    def make(self) -> Connector:
        """Make a connector that has not been started."""

    @abstractmethod
    async def send(self, connector: Connector, device: str, payload: bytes) -> bool:
        """Send a message to a connector that was started, and give whether it was acknowledged."""

    def test_what_is_acknowledged_is_in_the_log(self) -> None:
        def is_logged(messages: list[tuple[str, bytes]]) -> None:
            async def exchange(here: LoggedIntake, connector: Connector) -> None:
                for device, payload in messages:
                    assert await self.send(connector, device, payload), "a good message was refused"
                    logged = here.logged()
                    assert (device, payload) in logged, f"{device}: acknowledged, and not in the log"

            logged = self._run(exchange)
            assert logged == messages, f"logged {logged}, expected {messages}"

        devices = st.sampled_from(["device", "Gerät 7", "a.b-c_d"])
        self.for_all(
            is_logged, messages=st.lists(st.tuples(devices, st.binary(min_size=1, max_size=50)), max_size=5)
        )

    def test_nothing_is_acknowledged_before_it_is_in_the_log(self) -> None:
        async def exchange(here: LoggedIntake, connector: Connector) -> None:
            here.gate.open.clear()
            sending = asyncio.create_task(self.send(connector, "device", b"message"))
            await _until(here.gate.waiting.is_set)
            done, _ = await asyncio.wait([sending], timeout=SHORT_S)
            assert not done, "acknowledged before it was in the log"
            here.gate.open.set()
            assert await sending, "a message that is in the log was refused"

        assert self._run(exchange) == [("device", b"message")]

    def test_what_cannot_be_logged_is_not_acknowledged(self) -> None:
        """It may be sent again, and is in the log once if that succeeds."""

        async def exchange(here: LoggedIntake, connector: Connector) -> None:
            here.gate.error = OSError(28, "No space left on device")
            sending = asyncio.create_task(self.send(connector, "device", b"message"))
            await _until(lambda: here.intake.refused["log failed"])
            done, _ = await asyncio.wait([sending], timeout=SHORT_S)
            assert not (done and sending.result()), "acknowledged, and not in the log"
            here.gate.error = None
            if done:
                assert await self.send(connector, "device", b"message"), "refused though there is room again"
            else:
                assert await sending, "refused though there is room again"

        assert {*self._run(exchange)} == {("device", b"message")}

    def test_it_ends_and_takes_nothing_more(self) -> None:
        async def work(here: LoggedIntake) -> None:
            connector = self.make()
            await connector.start(here.intake)
            assert await self.send(connector, "device", b"before")
            await asyncio.wait_for(connector.stop(), PATIENCE_S)
            try:
                late = await asyncio.wait_for(self.send(connector, "device", b"after"), 1)
            except (OSError, TimeoutError, EOFError):
                late = False
            assert not late, "acknowledged after it had ended"

        with TemporaryDirectory() as folder, reception(Path(folder)) as here:
            asyncio.run(work(here))
            assert here.logged() == [("device", b"before")]

    def _run(
        self, exchange: Callable[[LoggedIntake, Connector], Coroutine[Any, Any, None]]
    ) -> list[tuple[str, bytes]]:
        """Have a connector run while messages are exchanged. Gives what the log has then."""

        async def work(here: LoggedIntake) -> None:
            connector = self.make()
            await connector.start(here.intake)
            try:
                await asyncio.wait_for(exchange(here, connector), PATIENCE_S)
            finally:
                here.gate.open.set()
                await connector.stop()

        with TemporaryDirectory() as folder, reception(Path(folder)) as here:
            asyncio.run(work(here))
            return here.logged()


async def _until(condition: Callable[[], object]) -> None:
    while not condition():
        await asyncio.sleep(0.005)
