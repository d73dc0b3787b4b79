"""Networks that are ON and OFF by turns, as a schedule says, while a block runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from bypass.models.churn import Presence
from tests.live.faults import PATIENCE, FaultyNetwork


class Switched(NamedTuple):
    """When (by the monotonic clock) whose network became ON, or OFF."""

    at: float
    client: int
    on: bool


class Switching:
    """Switches the networks of clients, from now on. `log` is what it has done so far.

    Who does not take part by the schedule, or does not yet, is OFF: who tries to connect is refused, or gets
    no answer until it is ON.
    """

    def __init__(
        self, networks: Mapping[int, FaultyNetwork], presence: Presence, refusing: bool = False
    ) -> None:
        self.log: list[Switched] = []
        self.began = time.monotonic()
        self._networks = networks
        self._presence = presence
        self._refusing = refusing
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="switching")
        self._thread.start()

    def wait(self) -> None:
        """Wait until the schedule is at its end, or ended."""
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    def end(self) -> None:
        """No more of it, and all are ON."""
        self._over.set()
        self.wait()
        for network in self._networks.values():
            network.switch(on=True)

    def _run(self) -> None:
        for client in self._networks:
            if not self._presence.active(client, 0.0):
                self._switch(client, on=False)
        for at_us, client, joins in zip(*(each.tolist() for each in self._presence.changes()), strict=True):
            if client in self._networks and at_us > 0:
                if self._over.wait(max(0.0, self.began + at_us / 1e6 - time.monotonic())):
                    return
                self._switch(client, joins)

    def _switch(self, client: int, on: bool) -> None:
        self._networks[client].switch(on, refusing=self._refusing)
        self.log.append(Switched(time.monotonic(), client, on))


@contextmanager
def switching(
    networks: Mapping[int, FaultyNetwork], presence: Presence, refusing: bool = False
) -> Iterator[Switching]:
    """Until the block ends; then all networks are ON."""
    switches = Switching(networks, presence, refusing)
    try:
        yield switches
    finally:
        switches.end()
