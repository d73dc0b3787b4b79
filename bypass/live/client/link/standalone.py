"""The way of a node without a broker to its session: nobody welcomes it, neighbours and edges come and go."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from bypass.errors import shown
from bypass.live.client.errors import InvalidArgument, NotConnected
from bypass.live.client.live_node import LiveNode
from bypass.live.client.session.session import ClientSession

log = logging.getLogger(__name__)

LOOK_S = 0.1
"""Time between two looks at who is in reach."""


class Standalone:
    """Begins the session of a node, and stands where others have a connection to a broker: it is `connected`
    while another node, or an edge, is in reach. `tell` is called with "connected" and "disconnected". Belongs
    to the running loop.
    """

    malformed = 0

    def __init__(self, node: LiveNode, exchange: ClientSession, tell: Callable[[str], None]) -> None:
        self.connected = False
        self.failure: Exception | None = None
        self._node = node
        self._exchange = exchange
        self._tell = tell
        self._reached = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None

    async def open(self, patience: float) -> None:  # noqa: ARG002 - there is nobody to wait for
        """Begin; no effect if that is done. Raises InvalidInterface, DatabaseUnavailable, TransitionError for
        parameters that mechanisms do not take, and `failure` if the node has ended."""
        if self.failure is not None:
            raise self.failure
        if self._looking is not None:
            return
        try:
            await self._node.open()
            self._exchange.welcomed(self._node.welcome(), _to_nobody, _nothing)
        except BaseException:
            await self.end()
            raise
        self._looking = asyncio.get_running_loop().create_task(self._look())

    async def until_connected(self) -> None:
        """Wait until another node, or an edge, is in reach. Raises NotConnected if the node has ended."""
        await self._reached.wait()
        if self.failure is not None:
            raise self.failure

    async def leave(self, forget: bool, done: bool) -> None:  # noqa: ARG002 - nothing is acknowledged
        """End. Raises InvalidArgument, and nothing has changed, if somebody is to forget the session."""
        if forget:
            raise InvalidArgument(f"forget {shown(forget)}: expected False: no broker keeps a session")
        await self.end()

    async def end(self) -> None:
        """Be there no more; a second time nothing happens."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.wait([self._looking])
        if self.failure is None:
            self.failure = NotConnected(f"node {shown(self._node.name)}: it was closed")
            self._exchange.end(self.failure, ours=True)
            self._node.close()
            await asyncio.sleep(0)  # sockets are closed in the next turn: then others can use the addresses
        self.connected = False
        self._reached.set()

    async def _look(self) -> None:
        while True:
            routing = self._exchange.usable().node.routing
            connected = bool(routing.neighbours()) or routing.coverage() is not None
            if connected != self.connected:
                self.connected = connected
                (self._reached.set if connected else self._reached.clear)()
                self._say("connected" if connected else "disconnected")
            await asyncio.sleep(LOOK_S)

    def _say(self, state: str) -> None:
        try:
            self._tell(state)
        except Exception:
            log.exception("the function that is told of a node being %s failed", state)


def _to_nobody(data: bytes) -> None:
    """There is no broker."""


def _nothing() -> None:
    """Nothing is read from a broker."""
