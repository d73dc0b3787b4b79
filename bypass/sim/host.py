"""A host in virtual time, and the random streams of hosts."""

from __future__ import annotations

import hashlib
import random

from bypass.places.sensor import LocationSensor
from bypass.ports.monitor import Monitor
from bypass.ports.state_info import StateInformation
from bypass.sim.clock import VirtualClock


def stream(seed: int, host: int, purpose: str) -> random.Random:
    """The stream of (seed, host, purpose): a function of these three alone, the same on every machine."""
    digest = hashlib.blake2b(f"{seed}/{host}/{purpose}".encode(), digest_size=16).digest()
    return random.Random(int.from_bytes(digest, "little"))


class SimHost:
    """A `Host` in virtual time: clock, timers, sensor, monitor and random streams of one participant."""

    def __init__(
        self, number: int, clock: VirtualClock, location: LocationSensor, monitor: Monitor, seed: int
    ) -> None:
        self.id = number
        self.location = location
        self.monitor = monitor
        self.now = clock.now
        self.state_info = StateInformation(clock.now)
        self.after = clock.after
        self._seed = seed
        self._streams: dict[str, random.Random] = {}

    def random(self, purpose: str) -> random.Random:
        if purpose not in self._streams:
            self._streams[purpose] = stream(self._seed, self.id, purpose)
        return self._streams[purpose]
