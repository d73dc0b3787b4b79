"""Edges in the simulator: their processes, their radios, and the rest of the system without them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from bypass.core.edge.bare_service import BareService
from bypass.core.edge.relay import RelaySettings
from bypass.models.radio.kernels.state import S
from bypass.objects.metadata import ObjectKey, Tombstone
from bypass.objects.node_store import NodeStore
from bypass.ports.edge import EdgeLink
from bypass.ports.host import Host
from bypass.protocol.datagrams import AreaHello, Datagram, EdgeBeacon, EdgeProbe, NodeAddress
from bypass.protocol.storage import Acknowledge, PlanCopy, StorageMessage
from bypass.sim.backhaul import BackhaulModel
from bypass.sim.edges import EdgeModel
from bypass.testing.rules import Point
from bypass.testing.worlds.storage import QUIET_S, StorageWorld

PLACES: list[Point] = [(440.0, 500.0), (560.0, 500.0), (1000.0, 500.0)]
EDGES: tuple[Point, ...] = ((500.0, 500.0), (1010.0, 510.0))
FIRST, SECOND = 3, 4


class Noting(BareService):
    """Notes what it is told, and how often it was made."""

    def __init__(self, host: Host, link: EdgeLink, store: NodeStore) -> None:
        super().__init__(host, link, store)
        self.link = link
        self.store = store
        self.number = host.id
        self.ended = False
        self.ticks = 0
        self.events: list[tuple[str, int]] = []
        self.got: list[tuple[int, StorageMessage]] = []
        host.after(1.0, self._tick, host)

    def _tick(self, host: Host) -> None:
        self.ticks += 1
        host.after(1.0, self._tick, host)

    def stop(self) -> None:
        self.ended = True

    def joined(self, world: str, client: int) -> None:
        self.events.append(("joined", client))

    def connected(self, edge: int) -> None:
        self.events.append(("connected", edge))

    def disconnected(self, edge: int) -> None:
        self.events.append(("disconnected", edge))

    def received(self, world: str, body: StorageMessage, origin: NodeAddress) -> None:
        assert origin.node is not None
        self.got.append((origin.node, body))
        self.link.send(world, Acknowledge(2), NodeAddress(origin.node))

    def from_edge(self, edge: int, body: StorageMessage) -> None:
        self.got.append((edge, body))


def begun(
    places: Sequence[Point] = PLACES, edges: Sequence[Point] = EDGES, storage: str = "cells"
) -> StorageWorld:
    model = EdgeModel(
        service=Noting, relay=RelaySettings(forget_s=30.0), backhaul=BackhaulModel(delay_s=0.02)
    )
    world = StorageWorld(places, (storage, {}), ("access-point", {}), edges=edges, edge_model=model)
    world.run(QUIET_S)
    return world


def service(world: StorageWorld, number: int) -> Noting:
    found = world.system.edges[number].service
    assert isinstance(found, Noting)
    return found


def bound(world: StorageWorld) -> list[int | None]:
    coverages = [world.client(node).node.routing.coverage() for node in world.present]
    return [None if each is None else each.edge for each in coverages]


def test_edges_are_numbered_behind_the_clients() -> None:
    world = begun()
    assert list(world.system.edges) == world.system.edges.running == [FIRST, SECOND]
    assert bound(world) == [FIRST, FIRST, SECOND]
    assert sorted(service(world, FIRST).events) == [("connected", SECOND), ("joined", 0), ("joined", 1)]
    assert sorted(service(world, SECOND).events) == [("connected", FIRST), ("joined", 2)]


def test_a_body_for_the_edge_goes_to_its_service_which_answers() -> None:
    world = begun()
    link = world.client(0).node.link
    link.send(Acknowledge(1), [NodeAddress(FIRST), NodeAddress(1)])
    world.run(1.0)
    assert service(world, FIRST).got == [(0, Acknowledge(1))]
    assert world.client(0).engine.active("routing").counters.bodies["Acknowledge"] == 1  # type: ignore[attr-defined]
    assert service(world, SECOND).got == []


def test_edges_send_each_other_bodies_by_wire() -> None:
    world = begun()
    counting = Counting()
    world.system.monitor.register(counting)
    assert service(world, FIRST).link.edges() == [SECOND]
    assert service(world, FIRST).link.to_edge(SECOND, Acknowledge(5))
    world.run(0.01)
    assert service(world, SECOND).got == []
    world.run(0.02)
    assert service(world, SECOND).got == [(FIRST, Acknowledge(5))]
    assert "Acknowledge" not in {kind for _, kind in counting.sent}, "that went by radio"


def test_a_process_that_ends_says_nothing_and_leaves_its_store() -> None:
    world = begun()
    edges, before = world.system.edges, service(world, FIRST)
    tombstone = Tombstone(ObjectKey(0, "x"), b"s" * 32)
    before.store.bury(tombstone)
    edges.kill(FIRST)
    assert before.ended
    edges.kill(FIRST)
    ticks = before.ticks
    world.run(10.0)
    assert before.ticks == ticks, "a timer of the process that has ended has fired"
    assert edges.running == [SECOND]
    assert bound(world) == [None, None, SECOND]
    assert service(world, SECOND).events[-1] == ("disconnected", FIRST)
    assert not service(world, SECOND).link.to_edge(FIRST, Acknowledge(1))
    edges.restart(FIRST)
    edges.restart(FIRST)
    world.run(10.0)
    after = service(world, FIRST)
    assert after is not before
    assert after.store is before.store
    assert [*after.store.tombstones] == [tombstone]
    assert sorted(after.events) == [("connected", SECOND), ("joined", 0), ("joined", 1)]
    assert service(world, SECOND).events[-1] == ("connected", FIRST)
    assert bound(world) == [FIRST, FIRST, SECOND]


def test_a_radio_that_is_off_leaves_the_wires() -> None:
    world = begun()
    edges = world.system.edges
    edges.switch_off(FIRST)
    world.run(10.0)
    assert bound(world) == [None, None, SECOND]
    assert service(world, SECOND).link.edges() == [FIRST]
    assert service(world, FIRST).link.to_edge(SECOND, Acknowledge(1))
    world.run(30.0)
    assert service(world, FIRST).link.members("") == ()
    edges.switch_on(FIRST)
    world.run(10.0)
    assert bound(world) == [FIRST, FIRST, SECOND]
    assert service(world, FIRST).link.members("") == (0, 1)


def test_a_client_that_moves_is_handed_over() -> None:
    world = begun()
    world.places[0] = (1000.0, 480.0)
    world.run(8.0)
    assert bound(world) == [SECOND, FIRST, SECOND]
    assert ("joined", 0) in service(world, SECOND).events
    world.run(30.0)
    assert service(world, FIRST).link.members("") == (1,)
    world.places[0] = PLACES[0]
    world.run(8.0)
    assert bound(world) == [FIRST, FIRST, SECOND]
    assert service(world, FIRST).events.count(("joined", 0)) == 2


class Counting:
    """Counts datagrams by node and kind; `unicasts` by node, kind and neighbour."""

    def __init__(self) -> None:
        self.sent: Counter[tuple[int, str]] = Counter()
        self.unicasts: Counter[tuple[int, str, int]] = Counter()

    def datagram_sent(self, node: int, datagram: Datagram, neighbour: int | None) -> None:
        kind = type(datagram.body).__name__
        self.sent[node, kind] += 1
        if neighbour is not None:
            self.unicasts[node, kind, neighbour] += 1

    def datagram_received(self, datagram: Datagram, nodes: Sequence[int]) -> None:
        """Do nothing: what is sent counts."""


@pytest.mark.parametrize("mps", [0.0, 2.0])
def test_clients_that_move_in_an_area_send_hellos_alone(mps: float) -> None:
    world = begun(storage="local")
    counting = Counting()
    world.system.monitor.register(counting)
    for step in range(60):
        for node in range(2):
            world.places[node] = (PLACES[node][0], 500.0 + (mps * step) % 40.0)
        world.run(1.0)
    for node in range(3):
        hellos = counting.sent[node, AreaHello.__name__]
        assert 2 <= hellos <= 4
        assert (node, EdgeProbe.__name__) not in counting.sent
    assert 54 <= counting.sent[FIRST, EdgeBeacon.__name__] <= 67


def test_an_edge_that_is_back_at_once_keeps_its_clients() -> None:
    """It knows no decision any more, which the beacons say; but they say that it is there, too."""
    world = begun(storage="local")
    assert world.decide(
        0, "local", repair_s=0.0
    ).ok  # from now on nobody says anything by which it could learn
    world.run(QUIET_S + 8.0)  # the next hello is not due soon
    counting = Counting()
    world.system.monitor.register(counting)
    world.system.edges.kill(FIRST)
    world.run(0.5)
    world.system.edges.restart(FIRST)
    world.run(QUIET_S)
    assert bound(world) == [FIRST, FIRST, SECOND]
    assert EdgeProbe.__name__ not in {kind for _, kind in counting.sent}, "a client took its edge for lost"
    assert world.system.edges[FIRST].relay.decision("").epoch == 1


def test_who_leads_out_of_an_area_sees_to_it_that_the_edge_knows() -> None:
    """A broadcast may be lost; what the edge takes is acknowledged."""
    world = begun()
    counting = Counting()
    world.system.monitor.register(counting)
    assert world.decide(0, "local", "one-hop").ok
    world.run(1.0)
    assert counting.unicasts[0, PlanCopy.__name__, FIRST] == 1
    assert world.active("routing") == ["one-hop", "one-hop", "access-point"]


def test_clients_that_speak_whenever_a_beacon_would_be_due_keep_their_edge() -> None:
    world = begun(storage="local")
    counting = Counting()
    world.system.monitor.register(counting)
    assert world.system.clock.now_us % 1_000_000 == 0, "the edge began at a whole second"
    for _ in range(20):
        for node in range(2):
            world.client(node).node.link.tell_neighbours(Acknowledge(1))
        world.run(1.0)
    assert EdgeProbe.__name__ not in {kind for _, kind in counting.sent}, "a client took its edge for lost"


@pytest.mark.parametrize("routing", ["one-hop", "access-point"])
def test_a_run_is_the_same_each_time(routing: str) -> None:
    def run() -> tuple[object, ...]:
        world = StorageWorld(PLACES, ("local", {}), (routing, {}), edges=EDGES, seed=3)
        world.run(5.0)
        asked = world.ask(0, "a")
        world.run(1.0)
        world.insert(1, "a", size=4000)
        world.run(10.0)
        return (
            asked.told,
            world.system.local.counter(S.SENT).tolist(),
            world.system.local.counter(S.BYTES_UP).tolist(),
        )

    assert run() == run()


def test_clients_that_do_not_look_for_edges_do_not_notice_them() -> None:
    """Edges that are far away: what clients do is the same to the bit."""

    def run(edges: Sequence[Point]) -> tuple[object, ...]:
        world = StorageWorld(PLACES, ("local", {}), ("dsdv", {}), edges=edges, seed=3)
        world.run(5.0)
        asked = world.ask(0, "a")
        world.run(1.0)
        world.insert(1, "a", size=4000)
        world.run(20.0)
        counters = [
            world.system.local.counter(column)[:3].tolist() for column in (S.SENT, S.BYTES_UP, S.BYTES_DOWN)
        ]
        return asked.told, counters

    assert run(()) == run([(5000.0, 5000.0)])
