"""A store in a cloud: clients reach it by the edge, whose wire to it is slow."""

from __future__ import annotations

import pytest

from bypass.core.edge.bare_service import BareService
from bypass.core.edge.cloud import CloudGateway, CloudServer
from bypass.objects.node_store import NodeStore
from bypass.ports.edge import EdgeLink
from bypass.ports.host import Host
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.edge import EdgeRelay
from bypass.protocol.storage import LONGEST_DATA, Acknowledge, OperationStatus
from bypass.sim.backhaul import BackhaulModel
from bypass.sim.edges import EdgeModel
from bypass.testing.worlds.storage import StorageWorld

EDGE, CLOUD = 4, 5
WIRE = BackhaulModel(delay_s=0.5, rate=8e6)  # a megabyte a second


def service(host: Host, link: EdgeLink, store: NodeStore) -> BareService:
    if host.id == CLOUD:
        return CloudServer(host, link)
    return CloudGateway(host, link, store, cloud=CLOUD)


@pytest.fixture
def world() -> StorageWorld:
    """Four clients around an edge; the cloud has no radio."""
    made = StorageWorld(
        [(50.0 + 10.0 * each, 60.0) for each in range(EDGE)],
        ("server", {"server": EDGE}),
        ("access-point", {}),
        edges=[(60.0, 50.0), (0.0, 0.0)],
        edge_model=EdgeModel(service=service, backhaul=WIRE),
    )
    made.system.edges.switch_off(CLOUD)
    made.run(5.0)
    return made


@pytest.mark.parametrize("size", [1000, LONGEST_DATA + 1, 2_000_000])
def test_what_a_client_inserts_is_in_the_cloud_and_comes_from_there(world: StorageWorld, size: int) -> None:
    asked = world.ask(0, "a")
    world.run(3.0)
    inserted = world.insert(1, "a", size=size)
    world.run(1.0)
    acknowledged = [inserted.acknowledged]  # there and back takes longer, whatever the size
    world.run(9.0)
    acknowledged.append(inserted.acknowledged)
    assert acknowledged == [False, True]
    assert asked.told == [inserted.metadata.key]
    world.leave(1)
    ends = world.retrieve(0, inserted.metadata)
    world.run(0.9 + size / 1e6)
    assert not ends
    world.run(5.0)
    assert [each.data for each in ends] == [inserted.data]


def test_a_deleted_object_is_gone_from_the_cloud(world: StorageWorld) -> None:
    inserted = world.insert(1, "a")
    world.run(3.0)
    world.delete(inserted.metadata.key)
    world.run(3.0)
    assert not world.found_by(2, "a")
    ends = world.retrieve(2, inserted.metadata)
    world.run(5.0)
    assert [each.status for each in ends] == [OperationStatus.NOT_FOUND]


def test_an_upload_that_was_cut_off_goes_on_when_the_wire_is_there_again(world: StorageWorld) -> None:
    inserted = world.insert(1, "a", size=2_000_000)
    world.run(1.2)
    world.system.edges.backhaul.cut(EDGE, CLOUD)
    world.run(12.0)
    world.system.edges.backhaul.heal(EDGE, CLOUD)
    world.run(60.0)
    assert inserted.acknowledged


def test_what_is_for_nobody_is_dropped_and_counted(world: StorageWorld) -> None:
    gateway, cloud = world.system.edges[EDGE].service, world.system.edges[CLOUD].service
    assert isinstance(gateway, CloudGateway)
    assert isinstance(cloud, CloudServer)
    before = gateway.dropped, cloud.dropped
    answer = Acknowledge(1)
    gateway.received("", EdgeRelay(NodeAddress(1), answer), NodeAddress(0))
    gateway.received("gallery", answer, NodeAddress(0))
    gateway.from_edge(CLOUD, answer)
    cloud.from_edge(EDGE, answer)
    cloud.from_edge(EDGE, EdgeRelay(NodeAddress(cell=1), answer))
    cloud.from_edge(EDGE, EdgeRelay(NodeAddress(0), answer))
    assert (gateway.dropped, cloud.dropped) == (before[0] + 3, before[1] + 3)
