"""A broker that clients reach already and that cannot serve them yet: its kernels are being compiled, and
its store is read."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import zmq

from bypass.live.broker.loop.listener import NOW, Listener
from bypass.live.broker.loop.loop import Loop
from bypass.protocol.session import RETRY, Bye, Hello, Refused
from bypass.protocol.wire import MalformedMessage, decode, encode, unpack

log = logging.getLogger(__name__)

RETRY_S = 2.0
"""After so long, clients may come again."""

SILENT_S, SAID_EVERY_S = 3.0, 10.0
"""Where everything was compiled before, loading it takes less than the first: then nothing is said."""

MOST_PER_TURN = 500


def _nothing() -> None:
    """Nothing is done."""


class Starting:
    """Does `work`, which compiles, and then `restore`, which reads the store, in a thread of its own; tells
    whoever comes meanwhile to come again."""

    def __init__(
        self,
        listener: Listener,
        loop: Loop,
        work: Callable[[], None],
        restore: Callable[[], None] = _nothing,
    ) -> None:
        self._listener = listener
        self._loop = loop
        self._work = work
        self._restore = restore
        self._compiled = False
        self._began = time.monotonic()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._compile, name="compiling", daemon=True)

    def run(self) -> None:
        """Return when everything is compiled. Raises what went wrong with that."""
        self._loop.serve(self._listener.socket, self._read)
        saying = self._loop.after(SILENT_S, self._say)
        self._thread.start()
        self._loop.run_while(self._thread.is_alive)
        saying.cancel()
        self._loop.leave(self._listener.socket)
        if self._error is not None:
            raise self._error

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._began

    def _compile(self) -> None:
        try:
            self._work()
            self._compiled = True
            if self._seconds > SILENT_S:
                log.info("compiled in %.0f s", self._seconds)
            self._restore()
        except BaseException as error:
            self._error = error
        self._loop.soon(_nothing)  # so that it sees the end at once

    def _say(self) -> None:
        if self._thread.is_alive():
            log.info("%s: %s", ", ".join(self._listener.endpoints), self._reason())
            self._loop.after(SAID_EVERY_S, self._say)

    def _reason(self) -> str:
        if self._compiled:
            return (
                f"starting for {self._seconds:.0f} s now: reads its store: clients come again by themselves"
            )
        return (
            f"compiling for {self._seconds:.0f} s now: takes about a minute, the first time on a machine: "
            "clients come again by themselves"
        )

    def _read(self) -> None:
        listener, connections = self._listener, self._listener.connections
        connections.turn += 1
        for _ in range(MOST_PER_TURN):
            try:
                first, packet, *_ = listener.socket.recv_multipart(NOW, copy=False)
            except zmq.Again:
                return
            route, size = first.bytes, len(packet)
            connection = connections.meet(route, packet)
            connection.taken += listener.wire_bytes(size)
            if connection.floods(size):
                connections.end(route)
                continue
            with suppress(MalformedMessage, zmq.ZMQError):  # who cannot be read or reached comes again
                self._answer(route, packet.bytes)

    def _answer(self, route: bytes, packet: bytes) -> None:
        for data in unpack(packet):
            message = decode(data)
            if isinstance(message, Hello):
                # Who knows no refusals for a while would take one for the end, but comes again after a Bye.
                understood = RETRY in message.capabilities
                answer = Refused(self._reason(), retry=RETRY_S) if understood else Bye()
                self._listener.send(route, encode(answer))
                return
