"""The access point of an edge: it answers clients that look for one, says who is in its area, and passes
on what they send each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from bypass.core.edge.area_routing import AreaRouting
from bypass.core.edge.carried_decision import CarriedDecision
from bypass.core.objects.decision_exchange import NO_DECISION, StampedPort
from bypass.mechanisms.routing.counters import DropReason
from bypass.ports.datagrams import DatagramLoss, DatagramPort
from bypass.ports.edge import EdgeService, Sent
from bypass.ports.host import Host, Lease
from bypass.protocol.datagrams import (
    MOST_MEMBERS,
    AreaHello,
    Datagram,
    DatagramScope,
    EdgeAnswer,
    EdgeBeacon,
    EdgeProbe,
    NodeAddress,
    WorldMap,
)
from bypass.protocol.domains import Domain, domain_of
from bypass.protocol.storage import Decision, StorageMessage
from bypass.support.units import MICROSECONDS
from bypass.transitions.recent import Recent

ANSWER_AGAIN_S = 0.1
"""A client that asks for an edge again so soon gets no answer."""


class RelaySettings(BaseModel):
    """The parameters of an access point."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    beacon_s: Annotated[float, Field(ge=0.01, le=3600, description="s between two beacons")] = 1.0
    forget_s: Annotated[float, Field(gt=0, le=86400, description="s until a silent client is gone")] = 70.0
    most_members: Annotated[int, Field(ge=1, le=MOST_MEMBERS, description="clients in the area")] = (
        MOST_MEMBERS
    )
    most_answers: Annotated[int, Field(ge=1, description="answers to probes in a second")] = 200


class _Answered(Recent[int, float]):
    """When clients were answered."""

    LIMIT = 4096


@dataclass(frozen=True, slots=True)
class _Area:
    """One world in the area: its routing, and the decision that holds there."""

    routing: AreaRouting
    decision: CarriedDecision
    lease: Lease


class _WorldSink:
    """Hands what clients of one world send to the edge over to its service."""

    def __init__(self, world: str, service: EdgeService) -> None:
        self._world, self._service = world, service

    def received(self, body: StorageMessage, origin: NodeAddress, target: NodeAddress | None) -> None:  # noqa: ARG002
        self._service.received(self._world, body, origin)

    def undeliverable(self, body: StorageMessage, target: NodeAddress) -> None:
        self._service.undeliverable(self._world, body, target)

    def doubtful(self, body: StorageMessage, target: NodeAddress) -> None:
        """Never called: an edge has no ways that break."""

    def surroundings_changed(self) -> None:
        """Never called: an edge does not move."""


class AccessPointRelay:
    """The clients in the area of an edge, by worlds. `port` sends to those in reach.

    Clients that are silent for `forget_s` seconds, or do not take what is sent to them, are no members any
    more; whatever a client sends makes it one again. An edge with `most_members` clients answers no probes.
    Counted are `answers`, and what was `dropped`; DropReason.FULL is a client too many, or a probe.
    """

    def __init__(self, host: Host, port: DatagramPort, settings: RelaySettings | None = None) -> None:
        self.answers = 0
        self.dropped: Counter[DropReason] = Counter()
        self.settings = settings or RelaySettings()
        self._host = host
        self._port = port
        self._areas: dict[str, _Area] = {}
        self._members = 0
        self._sequence = 0
        self._number: int = host.random("relay-numbers").getrandbits(32)
        self._draw = host.random("relay-jitter").random
        self._answered = _Answered()
        self._budget, self._budget_at = float(self.settings.most_answers), host.now()
        self._running = False
        self._service: EdgeService

    def start(self, service: EdgeService) -> None:
        """Take up work for a service, which has been made and not started yet."""
        self._service = service
        self._running = True
        self._refresh()
        self._host.after(0.0, self._beat)

    def stop(self) -> None:
        """Neither hear nor say anything any more."""
        self._running = False
        for area in self._areas.values():
            area.routing.stop()
            area.lease.close()

    # -- what the service asks for ------------------------------------------------------------------------

    def send(self, world: str, body: StorageMessage, target: NodeAddress, sent: Sent | None = None) -> None:
        """Send a body to a client of a world, or to one client of a cell; see `EdgeLink.send`."""
        area = self._areas.get(world)
        if area is not None:
            area.routing.send_to(body, target, sent)
        else:
            self.dropped[DropReason.NO_WORLD] += 1
            if sent is not None:
                self._host.after(0.0, sent, False)

    def tell(self, world: str, body: StorageMessage) -> None:
        """Send a body to all clients of a world."""
        area = self._areas.get(world)
        if area is None:
            self.dropped[DropReason.NO_WORLD] += 1
        else:
            area.routing.tell_neighbours(body)

    def members(self, world: str) -> Sequence[int]:
        """The clients of a world that were heard lately, by number."""
        area = self._areas.get(world)
        return () if area is None else area.routing.members.nodes

    def maps_changed(self) -> None:
        """Go by the worlds and cell maps of the service, and tell the clients of those that are new."""
        if self._running:
            for area in self._refresh():
                self._tell_members(area)

    # -- what is known about worlds -----------------------------------------------------------------------

    def decision(self, world: str) -> Decision:
        """The latest decision in a world here."""
        area = self._areas.get(world)
        return NO_DECISION if area is None else area.decision.current

    def _refresh(self) -> list[_Area]:
        """Take over the service's worlds; gives those whose cell maps are others now."""
        changed = []
        maps = {each.world: each for each in self._service.worlds()}
        for world in [world for world in self._areas if world not in maps]:
            area = self._areas.pop(world)
            self._members -= len(area.routing.members)
            area.routing.stop()
            area.lease.close()
        for world, each in maps.items():
            area = self._areas.get(world) or self._add(each)
            if area.routing.use(each):
                changed.append(area)
        return changed

    def _add(self, world: WorldMap) -> _Area:
        namespace = Domain(world.world, self._host.id).namespace()
        port = StampedPort(self._port, lambda: decision.current)
        decision = CarriedDecision(self._host, port, lambda: namespace)
        lease = Lease(self._host, f"edge {self._host.id}'s area", port)
        lease.open()
        routing = AreaRouting(lease, namespace=namespace)
        routing.sink = _WorldSink(world.world, self._service)
        routing.begin(world, partial(self._left, world.world))
        area = self._areas[world.world] = _Area(routing, decision, lease)
        return area

    # -- what clients send --------------------------------------------------------------------------------

    def arrived(self, datagram: Datagram) -> None:
        """Take a datagram from a client in reach, of whatever namespace."""
        domain = domain_of(datagram.namespace)
        if domain is None or not self._running:
            self.dropped[DropReason.NAMESPACE] += 1
            return
        if isinstance(datagram.body, EdgeProbe):
            self._forget(domain.world, datagram.client)  # who asks belongs to no edge
            self._answer(domain.world, datagram.body, datagram.client)
        elif domain.edge != self._host.id:
            self.dropped[DropReason.NAMESPACE] += 1
        elif (area := self._areas.get(domain.world)) is None:
            self.dropped[DropReason.NO_WORLD] += 1
        elif isinstance(datagram.body, AreaHello) and datagram.body.leaving:
            self._forget(domain.world, datagram.client)
        elif not self._is_member(domain.world, area, datagram.client):
            self.dropped[DropReason.FULL] += 1
        elif isinstance(datagram.body, AreaHello):
            area.routing.members.note(datagram.client, datagram.body.visiting)
            self._admit(area, datagram)
        else:
            self._admit(area, datagram)

    def _admit(self, area: _Area, datagram: Datagram) -> None:
        if area.decision.admits(datagram):
            area.routing.arrived(datagram)

    def _is_member(self, world: str, area: _Area, client: int) -> bool:
        """Note that a client was heard; returns whether there is room for it."""
        members = area.routing.members
        if client not in members and self._members >= self.settings.most_members:
            return False
        if members.heard(client, self._host.now()):
            self._members += 1
            self._service.joined(world, client)
        return True

    def _forget(self, world: str, client: int) -> None:
        area = self._areas.get(world)
        if area is not None and area.routing.members.forget(client):
            self._left(world, client)

    def _left(self, world: str, client: int) -> None:
        """A client is no member any more."""
        self._members -= 1
        self._service.left(world, client)

    def _answer(self, world: str, probe: EdgeProbe, client: int) -> None:
        now, most = self._host.now(), float(self.settings.most_answers)
        self._budget = min(most, self._budget + most * (now - self._budget_at))
        self._budget_at = now
        again = now - self._answered.get(client, -ANSWER_AGAIN_S) < ANSWER_AGAIN_S
        if again or self._budget < 1.0 or self._members >= self.settings.most_members:
            self.dropped[DropReason.FULL] += 1
            return
        self._budget -= 1.0
        self._answered[client] = now
        self.answers += 1
        self._refresh()
        answer = EdgeAnswer(probe.nonce, self._host.id, tuple(self._service.worlds()))
        area = self._areas.get(world)
        port = self._port if area is None else area.routing.host.link
        port.unicast(self._datagram(answer, world), client, _ignore)

    # -- what they are told -------------------------------------------------------------------------------

    def _beat(self) -> None:
        if not self._running:
            return
        self._refresh()
        before = self._host.now() - self.settings.forget_s
        for world, area in list(self._areas.items()):
            for client in area.routing.members.silent(before):
                self._forget(world, client)
            self._tell_members(area)
        # Clients that speak when a beacon is due would do so at the next one, too, if it came on time.
        self._host.after(self.settings.beacon_s * (0.9 + 0.2 * self._draw()), self._beat)

    def _tell_members(self, area: _Area) -> None:
        """Broadcast a beacon. Its number begins with the time: it grows though the edge has been away."""
        self._sequence = max(self._sequence + 1, round(self._host.now() * MICROSECONDS))
        world, members = area.routing.world, area.routing.members.nodes
        visitors = area.routing.members.visitors
        beacon = EdgeBeacon(self._host.id, self._sequence, world, members, visitors=visitors)
        area.routing.host.link.broadcast(self._datagram(beacon, world.world))

    def _datagram(self, body: EdgeAnswer | EdgeBeacon, world: str) -> Datagram:
        self._number = (self._number + 1) & 0xFFFFFFFF
        return Datagram(
            self._host.id << 32 | self._number,
            NodeAddress(self._host.id),
            (),
            DatagramScope.HOP,
            body,
            namespace=Domain(world, self._host.id).namespace(),
            client=self._host.id,
        )


def _ignore(_: DatagramLoss) -> None:
    """Do nothing: a client that is still there asks again."""
