"""A simulated client's ports: the kernels of the medium have sorted what arrives there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bypass.models.radio.kernels.arrivals import count_neighbours, take
from bypass.models.radio.kernels.state import NOBODY, L, PortVerdict
from bypass.models.radio.medium import Medium
from bypass.ports.frames import SendingPort
from bypass.ports.local_access import FrameSender, LocalReceiver, Tuning
from bypass.protocol.messages import Frame, Publish
from bypass.support.units import MICROSECONDS

if TYPE_CHECKING:
    from bypass.sim.radios import LocalNetwork


class ArrivedFrame:
    """A frame with the medium's data about it, kept to be looked at once more.

    It is a copy, because the frame's row may be given to another frame as soon as somebody sends.
    """

    def __init__(self, frame: Frame, medium: Medium, row: int) -> None:
        self.frame = frame
        self.medium = medium
        self.columns = medium.air.frames[row].copy()
        self.keys = medium.air.keys[row : row + 1].copy()


class SimPort(SendingPort):
    """One port of one client."""

    __slots__ = ("_network",)

    def __init__(self, network: LocalNetwork, station: int, number: int) -> None:
        super().__init__(number, station)
        self._network = network

    # -- the client's side --------------------------------------------------------------------------------

    def bind(
        self,
        receiver: LocalReceiver,
        sender: FrameSender,
        strange: Callable[[Frame], bool],
        place: Callable[[], tuple[float, float] | None],
    ) -> None:
        super().bind(receiver, sender, strange, place)
        self._network.heard[self._number][self._client] = receiver.heard

    def tune(self, tuning: Tuning) -> None:
        self._network.flush()  # frames go by the tuning with which they were sent
        super().tune(tuning)
        own = self._network.ports.listening[self._client, self._number]
        own[L.FLAG], own[L.COUNTER], own[L.SCOPE] = tuning.flag, tuning.counter, tuning.scope
        own[L.NEAR_MM] = round(1000.0 * tuning.near_m)
        own[L.NEW_AFTER] = round(MICROSECONDS * tuning.new_after_s)

    # -- what mechanisms ask for --------------------------------------------------------------------------

    def copies(self, publication: Publish) -> int:
        self._network.flush()
        return self._count(self._network.ports.copies, publication)

    def near_copies(self, publication: Publish) -> int:
        return self._count(self._network.ports.near, publication)

    def neighbours(self, max_age: float) -> int:
        network = self._network
        since = network.clock.now_us - round(max_age * MICROSECONDS)
        ports = network.ports
        return count_neighbours(ports.heard_at, ports.counts, self._client, self._number, since)

    # -- what the medium found ----------------------------------------------------------------------------

    def found(self, arrived: ArrivedFrame, what: int) -> None:
        """A frame has something for this port other than the first copy of an event."""
        frame = arrived.frame
        if what == PortVerdict.NEW_NEIGHBOUR:
            self._receiver.neighbour_appeared(frame.client)
        elif what == PortVerdict.DIGEST:
            self._receiver.digest_arrived(frame.ids or (), frame.client)
        elif what == PortVerdict.FOREIGN and self._strange(frame):
            self._take(arrived)

    def _take(self, arrived: ArrivedFrame) -> None:
        """Do what was not done with a frame when it arrived, because its sender followed another decision."""
        self._network.flush()
        air, frame, now_us = arrived.medium.air, arrived.frame, self._network.clock.now_us
        count = take(
            now_us,
            0,
            self._client,
            arrived.columns,
            arrived.keys,
            air.x,
            air.y,
            self._network.ports,
            air.found,
            0,
        )
        for _, what, distance in air.found[:count].tolist():
            if what >= 0:
                far = 0.0 if frame.place is None else distance / 1000.0
                self._receiver.heard(frame.publications[what], frame.client, far)
            else:
                self.found(arrived, what)

    def _count(self, table: NDArray[np.uint8], publication: Publish) -> int:
        place = self._network.place_of(self._number, publication)
        return 0 if place == NOBODY else int(table[place, self._client])
