"""The wires between edges in virtual time: one for each two of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

from pydantic import BaseModel, ConfigDict, Field

from bypass.ports.edge import BackhaulReceiver
from bypass.protocol.datagrams import Datagram, DatagramScope, NodeAddress
from bypass.protocol.storage import StorageMessage
from bypass.protocol.wire import CODEC, Codec, datagram_size
from bypass.sim.clock import VirtualClock
from bypass.sim.host import stream
from bypass.support.units import MICROSECONDS


class BackhaulModel(BaseModel):
    """The parameters of a wire, the same both ways. Bodies arrive in order, or not at all."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    delay_s: float = Field(default=0.01, ge=0, description="one-way latency (s)")
    rate: float = Field(default=100e6, gt=0, description="bit/s, each way")
    loss: float = Field(default=0.0, ge=0, le=1, description="share of bodies that are lost")
    notice_s: float = Field(default=1.0, ge=0, description="s until an edge notices that a wire is broken")
    header: int = Field(default=40, ge=0, description="bytes that lower layers add to a body")


class _Wire:
    """A wire between two edges, which is `up` or not. `told` are the ends that count as connected. `breaks`
    counts how often that changed: what is on its way then is lost."""

    def __init__(self, ends: tuple[int, int], model: BackhaulModel) -> None:
        self.ends = ends
        self.model = model
        self.cut = False
        self.up = False
        self.breaks = 0
        self.told: set[int] = set()
        self.free_us = dict.fromkeys(ends, 0)

    def other(self, end: int) -> int:
        """The end that is not this one."""
        first, second = self.ends
        return second if end == first else first


class EdgeWires:
    """The `Backhaul` of one edge."""

    def __init__(self, backhaul: SimulatedBackhaul, edge: int) -> None:
        self._backhaul, self._edge = backhaul, edge

    def open(self, receiver: BackhaulReceiver) -> None:
        self._backhaul.open(self._edge, receiver)

    def close(self) -> None:
        self._backhaul.close(self._edge)

    def send(self, edge: int, body: StorageMessage) -> bool:
        return self._backhaul.send(self._edge, edge, body)

    def edges(self) -> Sequence[int]:
        return self._backhaul.connected(self._edge)


class SimulatedBackhaul:
    """The wires between `edges`. `bodies` and `sizes` (bytes) count what was sent, by sender and receiver."""

    def __init__(
        self,
        clock: VirtualClock,
        edges: Sequence[int],
        seed: int,
        model: BackhaulModel | None = None,
        codec: Codec = CODEC,
    ) -> None:
        self.bodies: Counter[tuple[int, int]] = Counter()
        self.sizes: Counter[tuple[int, int]] = Counter()
        self._clock = clock
        self._codec = codec
        self._random = {edge: stream(seed, edge, "backhaul") for edge in edges}
        self._receivers: dict[int, BackhaulReceiver] = {}
        model = model or BackhaulModel()
        self._wires = {frozenset(ends): _Wire(ends, model) for ends in combinations(sorted(edges), 2)}

    # -- what happens to wires ----------------------------------------------------------------------------

    def cut(self, a: int, b: int) -> None:
        """Break the wire between two edges; they notice that later."""
        self._wire(a, b).cut = True
        self._look_at(self._wire(a, b))

    def heal(self, a: int, b: int) -> None:
        """Mend the wire between two edges."""
        self._wire(a, b).cut = False
        self._look_at(self._wire(a, b))

    def alter(self, a: int, b: int, model: BackhaulModel) -> None:
        """Give the wire between two edges other parameters from now on."""
        self._wire(a, b).model = model

    # -- what edges ask for -------------------------------------------------------------------------------

    def open(self, edge: int, receiver: BackhaulReceiver) -> None:
        """Connect an edge to all others that are open."""
        self._receivers[edge] = receiver
        for wire in self._wires_of(edge):
            self._look_at(wire)

    def close(self, edge: int) -> None:
        """Disconnect an edge; it is told nothing any more."""
        self._receivers.pop(edge, None)
        for wire in self._wires_of(edge):
            wire.told.discard(edge)
            self._look_at(wire)

    def connected(self, edge: int) -> list[int]:
        """The edges that count as connected to an edge, by number."""
        return sorted(wire.other(edge) for wire in self._wires_of(edge) if edge in wire.told)

    def send(self, edge: int, to: int, body: StorageMessage) -> bool:
        """Send a body; False if the edges count as disconnected. Raises MalformedMessage."""
        wire = self._wires.get(frozenset((edge, to)))
        if wire is None or edge not in wire.told:
            return False
        model, now_us = wire.model, self._clock.now_us
        address = NodeAddress(edge)
        datagram = Datagram(edge << 32, address, (), DatagramScope.ROUTED, body, client=edge)
        size = datagram_size(datagram, self._codec) + model.header
        self.bodies[edge, to] += 1
        self.sizes[edge, to] += size
        free_us = max(wire.free_us[edge], now_us) + round(8 * size / model.rate * MICROSECONDS)
        wire.free_us[edge] = free_us
        if wire.up and self._random[edge].random() >= model.loss:
            at_us = free_us + round(model.delay_s * MICROSECONDS)
            self._clock.at(at_us, self._arrive, wire, wire.breaks, edge, to, body)
        return True

    # -- internals ----------------------------------------------------------------------------------------

    def _wire(self, a: int, b: int) -> _Wire:
        return self._wires[frozenset((a, b))]

    def _wires_of(self, edge: int) -> list[_Wire]:
        return [wire for ends, wire in self._wires.items() if edge in ends]

    def _look_at(self, wire: _Wire) -> None:
        """Note whether a wire works now, and have its ends told."""
        up = not wire.cut and all(end in self._receivers for end in wire.ends)
        if up == wire.up:
            return
        wire.up = up
        wire.breaks += 1
        model, now_us = wire.model, self._clock.now_us
        if up:
            at_us = now_us + round(model.delay_s * MICROSECONDS)
            self._clock.at(at_us, self._connect, wire, wire.breaks)
        else:
            at_us = now_us + round(model.notice_s * MICROSECONDS)
            self._clock.at(at_us, self._disconnect, wire, wire.breaks)

    def _connect(self, wire: _Wire, breaks: int) -> None:
        if wire.breaks != breaks:
            return
        self._disconnect(wire, breaks)  # if an end has not noticed yet that it was broken
        for end in wire.ends:
            wire.told.add(end)
        for end in wire.ends:
            if end in self._receivers:
                self._receivers[end].connected(wire.other(end))

    def _disconnect(self, wire: _Wire, breaks: int) -> None:
        if wire.breaks != breaks:
            return
        for end in sorted(wire.told):
            wire.told.discard(end)
            if end in self._receivers:
                self._receivers[end].disconnected(wire.other(end))

    def _arrive(self, wire: _Wire, breaks: int, edge: int, to: int, body: StorageMessage) -> None:
        if wire.breaks == breaks and to in self._receivers:
            self._receivers[to].from_edge(edge, body)
