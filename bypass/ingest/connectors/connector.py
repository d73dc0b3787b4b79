"""The base of all connectors, and what they have in common: addresses and limits that are checked."""

from __future__ import annotations

import asyncio
import socket
from abc import ABC, abstractmethod
from concurrent.futures import Future
from contextlib import suppress
from typing import NamedTuple

from bypass.errors import shown
from bypass.ingest.connectors.intake import LogIntake, MessageRefused
from bypass.ingest.names import REPLAYS, check_name
from bypass.live.addresses import can_serve
from bypass.root_error import BypassError
from bypass.support.validation import Misfit


class InvalidConnector(BypassError):
    """A connector's address or limit cannot be used."""


def check_writer(name: str) -> None:
    """Check the name under which connectors write to the log. Raises InvalidConnector."""
    try:
        check_name(name)
    except Misfit as error:
        raise InvalidConnector(f"connectors: name {error.args[0]}") from None
    if name == REPLAYS:
        raise InvalidConnector(f"connectors: name is {shown(name)}: expected another one: replays have it")


class Connector(ABC):
    """Hands what comes over one transport to an intake. It belongs to the loop that it is started in.

    What it cannot read is counted by reason and dropped. What it keeps in memory for its peers is bounded.
    """

    @abstractmethod
    async def start(self, intake: LogIntake) -> None:
        """Begin to hand in messages. Raises InvalidConnector if the address cannot be used."""

    @abstractmethod
    async def stop(self) -> None:
        """End, within seconds. What was handed in and not answered may be in the log nevertheless."""


class Address(NamedTuple):
    """A host, by name or number, and a port."""

    host: str
    port: int

    @classmethod
    def of(cls, what: str, text: str) -> Address:
        """The address of `what`, written HOST:PORT. Raises InvalidConnector."""
        if not can_serve(text):
            raise InvalidConnector(f"{what}: address {shown(text)}: expected HOST:PORT")
        host, _, port = text.rpartition(":")
        return cls(host.strip("[]"), int(port))


def bound_socket(what: str, text: str, kind: socket.SocketKind) -> socket.socket:
    """A socket of its kind at HOST:PORT; port 0 is any free one. Raises InvalidConnector."""
    host, port = Address.of(what, text)
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=kind)[0]
        made = socket.socket(family, kind, protocol)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, kind == socket.SOCK_STREAM)
            made.bind(place)
        except BaseException:
            made.close()
            raise
    except OSError as error:
        raise InvalidConnector(f"{what}: address {text}: {error.strerror}: expected a free one") from None
    made.setblocking(False)
    return made


def check_at_least(what: str, limit: str, value: float, least: float) -> None:
    """Refuse a limit that is too small. Raises InvalidConnector."""
    if not value >= least:
        raise InvalidConnector(f"{what}: {limit} {shown(value)}: expected at least {least:g}")


async def until_logged_or_refused(handed_in: Future[None]) -> None:
    """Wait until the intake has done with a message; all that were handed in before are done then, too."""
    with suppress(MessageRefused):
        await asyncio.wrap_future(handed_in)
