"""Connections as the system knows them, so that a live broker can end one: ZeroMQ offers no way to do so."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import NamedTuple

import zmq

MOST_KNOWN = 50_000
"""Connections whose descriptors are remembered; those that are gone are among them."""


class _Known(NamedTuple):
    descriptor: int
    identity: tuple[int, int]  # of the socket behind it, which no other has while that is open
    turn: int  # in which that was looked up


class Connections:
    """The descriptors behind routes. `is_open` says whether something can be sent on a route now.

    A descriptor may be another connection's by the time that it is looked at. Hence a connection is ended
    only if it is still open in a later turn than the one in which its socket was looked up: then that was its
    own, and is ended if it is still the one behind the descriptor.
    """

    def __init__(self, is_open: Callable[[bytes], bool]) -> None:
        self.turn = 0
        """Number of the turn; before each, ZeroMQ has noted which connections are gone."""
        self._is_open = is_open
        self._known: dict[bytes, _Known] = {}

    def meet(self, route: bytes, frame: zmq.Frame) -> None:
        """Something came by this route; no effect if that is known."""
        if route in self._known:
            return
        try:
            descriptor = int(frame.get(zmq.SRCFD))
            status = os.fstat(descriptor)
        except (OSError, zmq.ZMQError):  # it is gone already
            return
        self._known[route] = _Known(descriptor, (status.st_dev, status.st_ino), self.turn)
        if len(self._known) > MOST_KNOWN:
            del self._known[next(iter(self._known))]

    def end(self, route: bytes) -> bool:
        """End a connection; gives whether that could be done, else it may be gone, or be too new."""
        known = self._known.get(route)
        if known is None or known.turn == self.turn or not self._is_open(route):
            return False
        try:
            descriptor = os.dup(known.descriptor)  # from here on nobody else can get it
        except OSError:
            return False
        try:
            status = os.fstat(descriptor)
            if (status.st_dev, status.st_ino) != known.identity:
                return False
            with socket.socket(fileno=os.dup(descriptor)) as peer:
                peer.shutdown(socket.SHUT_RDWR)
        except OSError:
            return False
        finally:
            os.close(descriptor)
        del self._known[route]
        return True
