"""The service of an edge with its clients, and several of them together."""

from __future__ import annotations

from typing import Any

import pytest

from bypass.mechanisms.caches.partition import InvalidCount
from bypass.mechanisms.storage.infra.edge.service.downloads import MOST_WAITING_EACH
from bypass.mechanisms.storage.infra.edge.service.losses import EdgeLoss
from bypass.mechanisms.storage.infra.edge.service.settings import EdgeSettings
from bypass.mechanisms.storage.infra.edge.service.worlds import LONGEST_WORLD_NAME, MOST_WORLDS_EACH
from bypass.objects.metadata import Replica
from bypass.objects.query import ObjectQuery
from bypass.objects.tags import TagFormula
from bypass.protocol.datagrams import NodeAddress, WorldMap
from bypass.protocol.edge import (
    MOST_WORLDS,
    CellNeed,
    CreateWorld,
    Download,
    DownloadCount,
    DownloadKind,
    Item,
    ItemConsumed,
    Provision,
    WorldList,
)
from bypass.protocol.storage import Acknowledge, Ask, Delete, FoundObjects, OperationStatus, Retrieve
from bypass.transitions import Plan, TransitionError
from tests.mechanisms.storage.infra.edge_world import item
from tests.mechanisms.storage.infra.service_world import ServiceWorld, WorldClient, WorldEdge, until

FAST = EdgeSettings(
    retrieval_period_s=10.0, retrieval_slack_s=1.0, needs_period_s=5.0, slot_s=5.0, cell_data_period_s=5.0
)


def downloads(of: Item, *nodes: int, count: int = 1) -> DownloadCount:
    replicas = tuple(Replica(node) for node in nodes)
    return DownloadCount(of.metadata.key, of.metadata.source, count, replicas)


def make_popular(edge: WorldEdge, client: WorldClient, *items: Item) -> None:
    """Have a client hold items, and its cell report downloads, until they are in the local cache."""
    for each in items:
        client.copies[each.metadata.key] = each
        edge.index(each.metadata)
    cycle = int(edge.world.clock.now() // edge.settings.cell_data_period_s)
    client.report(cycle, [downloads(each, client.number) for each in items])
    until(edge.world, lambda: all(each.key in edge.service.caches.local for each in items), 60)


def of(edge: WorldEdge, name: str | int, tags: str = "a", data: bytes = b"data") -> Item:
    return item(name, tags, world="", source=edge.number, data=data)


def test_a_popular_item_is_fetched_told_to_its_cells_found_and_served() -> None:
    world = ServiceWorld(1, FAST)
    edge = world.edges[100]
    client, other = edge.add_client(1), edge.add_client(2)
    one = of(edge, "one", "ab")
    op = client.report(0, [downloads(one, 1)])
    world.run(0.1)
    assert client.acknowledged(op)
    make_popular(edge, client, one)
    for cell in range(9):  # each cell has a stable client
        client.report(int(world.clock.now() // 5), cell=cell)
    world.run(1.0)
    for cell in range(9):
        told = edge.state("", cell).at_edge
        assert told == ({one.key} if cell in edge.index_cells(one.metadata) else set())
    assert other.ask() == [one.metadata]
    op = other.download(one.key)
    world.run(0.1)
    assert other.downloaded(op) == one
    assert edge.service.losses == {}


def test_the_first_decision_fetches_nothing() -> None:
    world = ServiceWorld(1, FAST)
    edge = world.edges[100]
    client = edge.add_client(1)
    one = of(edge, "one")
    client.copies[one.metadata.key] = one
    client.report(0, [downloads(one, 1)])
    world.run(19.9)
    assert not any(isinstance(each, Download) for each in edge.sent)
    world.run(10.0)
    assert one.key in edge.service.caches.local


def test_items_go_to_the_edge_whose_clients_want_them_and_are_promoted() -> None:
    world = ServiceWorld(2, FAST)
    here, there = world.edges[100], world.edges[101]
    owner, reader = here.add_client(1), there.add_client(2)
    for cell in range(9):
        reader.report(0, needs=[CellNeed("a", 1)] if cell == 0 else (), cell=cell)
    one = of(here, "one", "ab")
    make_popular(here, owner, one)
    until(world, lambda: one.key in there.service.caches.prefetch, 60)
    world.run(1.0)
    for cell in range(9):
        assert there.state("", cell).notified == (
            [one.key] if cell in there.index_cells(one.metadata) else []
        )
    assert reader.ask() == [one.metadata]
    op = reader.download(one.key)
    world.run(1.0)
    assert reader.downloaded(op) == one
    assert one.key in there.service.caches.global_.data
    assert one.key not in there.service.caches.prefetch
    assert world.wire[ItemConsumed] == 1
    before = world.wire[Provision]
    world.run(40.0)  # four slots of its own at most
    assert world.wire[Provision] == before


def test_a_forced_download_goes_to_the_source_which_asks_its_clients() -> None:
    world = ServiceWorld(2, FAST)
    here, there = world.edges[100], world.edges[101]
    owner, reader = here.add_client(1), there.add_client(2)
    one = of(here, "one", data=b"x" * (3 << 19))  # three messages long
    owner.copies[one.metadata.key] = one
    op = reader.download(one.key)
    world.run(10.0)
    assert reader.answered(op)
    assert reader.downloaded(op) is None
    assert world.wire[Download] == 0
    op = reader.download(one.key, DownloadKind.FORCED)
    world.run(10.0)
    found = reader.downloaded(op)
    assert found is not None
    assert found.data == b"x" * (1 << 19)
    assert one.key in there.service.caches.global_.data
    owner.copies.clear()
    rest = reader.download(one.key, DownloadKind.FORCED, 1 << 19)
    again = reader.download(one.key)  # a hit here
    world.run(0.1)
    for each in (rest, again):
        found = reader.downloaded(each)
        assert found is not None
        assert found.data == b"x" * (1 << 19)
    missing = reader.download(of(here, "missing").key, DownloadKind.FORCED)
    world.run(20.0)
    assert reader.answered(missing)
    assert reader.downloaded(missing) is None


def test_an_item_is_deleted_in_all_areas_also_after_a_partition() -> None:
    world = ServiceWorld(3, FAST)
    edges = list(world.edges.values())
    clients = [edge.add_client(number) for number, edge in enumerate(edges, 1)]
    one, two = of(edges[0], "one"), of(edges[0], "two")
    for edge, client in zip(edges, clients, strict=True):
        make_popular(edge, client, one, two)
        for cell in range(9):
            client.report(int(world.clock.now() // 5), cell=cell)
    assert [len(client.ask()) for client in clients] == [2, 2, 2]
    op = clients[0].delete(one)
    world.run(1.0)
    assert clients[0].acknowledged(op)
    for edge, client in zip(edges, clients, strict=True):
        assert client.ask() == [two.metadata]
        assert {key.name for state in edge.cell_states.values() for key in state.objects} == {"two"}
    world.cut(100, 102)
    world.cut(101, 102)
    clients[1].delete(two)
    world.run(1.0)
    assert [len(client.ask()) for client in clients] == [0, 0, 1]
    world.mend(100, 102)
    world.run(1.0)
    assert [len(client.ask()) for client in clients] == [0, 0, 0]
    assert not any(state.objects for edge in edges for state in edge.cell_states.values())


def test_a_world_is_told_to_all_edges_and_to_one_that_comes_later() -> None:
    world = ServiceWorld(2, FAST)
    client = world.edges[100].add_client(1)
    world.run(10.0)
    op = client.op()
    client.send(CreateWorld(op, "gallery"))
    client.send(CreateWorld(op, "gallery"))  # again, because the answer may be lost
    world.run(1.0)
    answers = [each for each in client.inbox if isinstance(each, WorldList)]
    made = answers[0].worlds[0]
    assert answers == [WorldList(op, (made,))] * 2
    assert made.world == "gallery~100~10"
    late = world.add_edge(102, FAST)
    world.run(1.0)
    for edge in world.edges.values():
        assert [each.world for each in edge.service.worlds()] == ["", made.world]
    late.crash()
    late.restart()
    assert [each.world for each in late.service.worlds()] == ["", made.world]


def test_notifications_follow_a_client_to_another_edge() -> None:
    world = ServiceWorld(2, FAST)
    here, there = world.edges[100], world.edges[101]
    here.add_client(1)
    world.run(1.0)
    one = of(here, "one")
    notification = FoundObjects(0, 1 << 32, (one.metadata,))
    del here.clients[1]
    here.service.undeliverable("", notification, NodeAddress(1, 0))
    moved = there.add_client(1)
    world.run(1.0)
    assert moved.inbox == [notification]
    assert here.service.pending.handed_over == 1


def test_what_nobody_sends_is_counted_and_dropped() -> None:
    world = ServiceWorld(1, FAST)
    edge = world.edges[100]
    client = edge.add_client(1)
    client.send(Retrieve(1, of(edge, "one").metadata.key))
    client.send(Ask(1, ObjectQuery(1 << 32, 1, TagFormula.parse("a"), namespace="other")))
    edge.service.received("other", Retrieve(1, of(edge, "one").metadata.key), NodeAddress(1, 0))
    edge.service.received("", Retrieve(1, of(edge, "one").metadata.key), NodeAddress(None, 0))
    edge.service.from_edge(101, Retrieve(1, of(edge, "one").metadata.key))
    client.report(0, cell=9)
    assert edge.service.losses == {
        EdgeLoss.UNEXPECTED: 2,
        EdgeLoss.OTHER_WORLD: 1,
        EdgeLoss.NO_WORLD: 1,
        EdgeLoss.NO_SENDER: 1,
        EdgeLoss.OTHER_MAP: 1,
    }
    world.run(1.0)
    assert client.inbox == []


# ---- transitions


def plan(*actions: dict[str, Any], on_error: str = "abort") -> Plan:
    return Plan.from_data({"plan": "test", "actions": list(actions), "on_error": on_error})


def test_a_plan_changes_batches_slots_cells_sizes_and_mechanisms_while_the_edge_runs() -> None:
    world = ServiceWorld(2, FAST)
    edge = world.edges[100]
    service = edge.service
    client = edge.add_client(1)
    items = [of(edge, number) for number in range(9)]
    make_popular(edge, client, *items)
    for cell in range(9):
        client.report(int(world.clock.now() // 5), cell=cell)
    world.run(1.0)
    epoch, told_before = edge.epoch(""), edge.maps_told
    records = service.execute(
        plan(
            {"proxy": "cache", "to": "lru"},
            {"proxy": "partition", "to": "flat", "members": ["local"]},
            {"proxy": "insertion", "set": {"count": 6}},
            {"proxy": "ranking", "to": "everything"},
            {"proxy": "slots", "set": {"length_s": 7.0}},
            {"proxy": "cell-map", "set": {"count": 4}},
            {"proxy": "capacities", "set": {"local": 3, "addresses": 50}},
        )
    )
    assert {each.outcome for each in records} == {"done"}
    assert {each.proxy for each in records} == {
        "cache", "partition", "insertion", "ranking", "slots", "cell-map", "capacities",
    }  # fmt: skip
    assert [each.capacity for each in service.caches.all()] == [3, 100, 100, 100, 100]
    assert len(service.caches.local) == 3
    assert service.contact.addresses.size == 50
    assert edge.cells("") == 4
    assert edge.epoch("") > epoch
    assert edge.maps_told > told_before
    left = {each.key for each in service.caches.local}
    edge.cell_states.clear()  # the clients index anew
    for cell in range(4):
        client.report(int(world.clock.now() // 5), cell=cell)
    world.run(1.0)
    told = {cell: state.at_edge for (_, cell), state in edge.cell_states.items()}
    for each in items:
        for cell in edge.index_cells(each.metadata):
            assert (each.key in told.get(cell, ())) == (each.key in left)
    assert service.engine.active("insertion").settings() == {"count": 6}


def test_a_plan_that_makes_no_sense_changes_nothing() -> None:
    service = ServiceWorld(1, FAST).edges[100].service
    wrong_actions: list[tuple[dict[str, Any], str]] = [
        ({"proxy": "cache", "set": {"capacity": 5}}, "expected a parameter of 'capacities'"),
        ({"proxy": "cache", "to": "lru", "members": ["other"]}, "there is no cache 'other'"),
        ({"proxy": "cache", "to": "mru"}, "has no mechanism 'mru'"),
        ({"proxy": "cell-map", "set": {"count": 0}}, "cannot be 0"),
    ]
    for wrong, error in wrong_actions:
        with pytest.raises(TransitionError, match=error):
            service.execute(plan({"proxy": "insertion", "set": {"count": 6}}, wrong))
    assert service.engine.active("insertion").settings() == {"count": 3}
    records = service.execute(
        plan({"proxy": "slots", "set": {"guard_s": 9.0}}, {"proxy": "cache", "to": "lru"})
    )
    assert [each.outcome for each in records] == ["failed", "skipped"]


def test_a_plan_is_executed_once_by_its_id() -> None:
    service = ServiceWorld(1, FAST).edges[100].service
    told = plan({"proxy": "cache", "to": "lru"}).model_copy(update={"id": "one"})
    assert service.execute(told)
    assert service.execute(told) == []


def test_more_clients_bring_more_cells_and_what_waits_goes_to_the_new_ones() -> None:
    settings = FAST.model_copy(update={"cell_map": "cells-by-clients", "clients_per_cell": 2})
    world = ServiceWorld(2, settings)
    here, there = world.edges[100], world.edges[101]
    assert here.cells("") == 1
    one = of(there, "one")
    here.service.from_edge(101, Provision((one,)))  # no client, so it waits
    assert here.service.contact.cells.waiting("", 0) == 1
    for number in range(1, 9):
        here.add_client(number)
    world.run(70.0)
    assert here.cells("") == 4
    assert there.cells("") == 1
    client = here.clients[1]
    for cell in range(4):
        client.report(int(world.clock.now() // 5), cell=cell)
    world.run(1.0)
    assert [cell for (_, cell), state in here.cell_states.items() if state.notified == [one.key]] == [
        *here.index_cells(one.metadata)
    ]


def test_items_are_ahead_of_a_client_that_goes_where_it_usually_goes() -> None:
    settings = FAST.model_copy(update={"arrivals": True, "arrivals_ahead_s": 8.0})
    world = ServiceWorld(2, settings)
    here, there = world.edges[100], world.edges[101]
    owner = here.add_client(1)
    one, used = of(here, "one"), of(here, "used")
    make_popular(here, owner, one, used)
    for _ in range(2):  # 20 s here, 20 s there
        for edge in (here, there):
            client = edge.add_client(7)
            world.run(20.0)
            edge.service.left("", 7)
            del edge.clients[7]
    client = here.add_client(7)
    client.ask()
    client.download(used.key)
    world.run(10.0)
    assert len(there.service.caches.prefetch.data) == 0
    world.run(5.0)
    assert [each.key for each in there.service.caches.prefetch.data] == [one.key]


def test_a_number_of_cells_that_was_given_stays_until_a_plan_comes() -> None:
    world = ServiceWorld(1, FAST)
    edge = world.edges[100]
    epoch = edge.epoch("")
    edge.service.set_cells("", 5)
    assert (edge.cells(""), edge.epoch("") > epoch) == (5, True)
    world.run(30.0)
    assert edge.cells("") == 5
    with pytest.raises(InvalidCount, match="0 cells of world ''"):
        edge.service.set_cells("", 0)
    with pytest.raises(InvalidCount, match="5 cells of world 'other'"):
        edge.service.set_cells("other", 5)
    edge.service.execute(plan({"proxy": "cell-map", "set": {"count": 7}}))
    assert edge.cells("") == 7


# ---- bounds


def test_a_damaged_item_of_another_edge_is_dropped() -> None:
    world = ServiceWorld(2, FAST)
    here, there = world.edges[100], world.edges[101]
    one = of(here, "one")
    there.service.from_edge(100, Provision((one._replace(data=b"evil"), item("other", world="unknown"))))
    assert one.key not in there.service.caches.prefetch
    assert there.service.losses == {EdgeLoss.DAMAGED: 1, EdgeLoss.NO_WORLD: 1}


def test_a_forced_download_ends_when_the_source_is_cut_off() -> None:
    world = ServiceWorld(2, FAST)
    here, there = world.edges[100], world.edges[101]
    owner, reader = here.add_client(1), there.add_client(2)
    one = of(here, "one")
    owner.copies[one.metadata.key] = one
    owner.delays[one.metadata.key] = 2.0
    op = reader.download(one.key, DownloadKind.FORCED)
    world.run(1.0)
    assert not reader.answered(op)
    world.cut(100, 101)
    world.run(0.1)
    assert reader.answered(op)
    assert reader.downloaded(op) is None


def test_clients_that_want_the_same_item_wait_together_up_to_a_bound() -> None:
    world = ServiceWorld(2, FAST)
    here, there = world.edges[100], world.edges[101]
    owner = here.add_client(1)
    one = of(here, "one")
    owner.copies[one.metadata.key] = one
    owner.delays[one.metadata.key] = 2.0
    readers = [there.add_client(number) for number in (2, 3)]
    ops = [reader.download(one.key, DownloadKind.FORCED) for reader in readers]
    world.run(5.0)
    assert [reader.downloaded(op) for reader, op in zip(readers, ops, strict=True)] == [one, one]
    assert world.wire[Download] == 1
    for number in range(MOST_WAITING_EACH + 1):
        missing = of(here, f"missing {number}")
        readers[0].download(missing.key, DownloadKind.FORCED)
    assert there.service.losses[EdgeLoss.MANY_WAITING] == 1


def test_a_client_creates_so_many_worlds_and_an_edge_knows_so_many() -> None:
    world = ServiceWorld(2, FAST)
    edge, other = world.edges[100], world.edges[101]
    client = edge.add_client(1)
    for number in range(MOST_WORLDS_EACH + 1):
        client.send(CreateWorld(client.op(), f"w{number}"))
    client.send(CreateWorld(client.op(), "x" * (LONGEST_WORLD_NAME + 1)))
    world.run(1.0)
    assert len(edge.service.worlds()) == len(other.service.worlds()) == MOST_WORLDS_EACH + 1
    answers = [each.worlds for each in client.inbox if isinstance(each, WorldList)]
    assert [len(each) for each in answers] == [1] * MOST_WORLDS_EACH + [0, 0]
    for first in range(0, 200, 50):
        told = tuple(WorldMap(f"t{number}", "t", 9, 1) for number in range(first, first + 50))
        edge.service.from_edge(101, WorldList(0, told))
    assert len(edge.service.worlds()) == MOST_WORLDS
    assert edge.service.losses[EdgeLoss.MANY_WORLDS] == 2 + 200 - (MOST_WORLDS - MOST_WORLDS_EACH - 1)


def test_notifications_for_clients_that_are_gone_are_few_and_not_old() -> None:
    world = ServiceWorld(1, FAST.model_copy(update={"pending_per_client": 2, "pending_ttl_s": 10.0}))
    edge = world.edges[100]
    told = [FoundObjects(0, 1 << 32, (of(edge, number).metadata,)) for number in range(4)]
    for each in told[:3]:
        edge.service.undeliverable("", each, NodeAddress(1, 0))
        edge.service.undeliverable("", each, NodeAddress(1, 0))  # reported twice
    client = edge.add_client(1)
    world.run(1.0)
    assert client.inbox == told[1:3]
    assert edge.service.losses[EdgeLoss.MANY_PENDING] == 1
    edge.service.undeliverable("", told[3], NodeAddress(1, 0))
    world.run(11.0)
    client.send(Retrieve(1, told[0].items[0].key))
    world.run(1.0)
    assert client.inbox == told[1:3]
    assert edge.service.counts()["pending notification too old"] == 1


def test_a_deleted_object_is_not_told_of_after_a_hand_over() -> None:
    world = ServiceWorld(1, FAST)
    edge = world.edges[100]
    one, two = of(edge, "one"), of(edge, "two")
    edge.service.undeliverable("", FoundObjects(0, 2 << 32, (one.metadata, two.metadata)), NodeAddress(2, 0))
    edge.service.undeliverable("", FoundObjects(0, 2 << 32, (one.metadata,)), NodeAddress(2, 0))
    edge.add_client(1).delete(one)
    client = edge.add_client(2)
    world.run(1.0)
    assert client.inbox == [FoundObjects(0, 2 << 32, (two.metadata,))]


def test_a_deletion_that_cannot_be_one_is_refused() -> None:
    world = ServiceWorld(1, FAST)
    edge = world.edges[100]
    client = edge.add_client(1)
    client.send(Delete(7, of(edge, "one").metadata.key, b""))
    world.run(1.0)
    assert client.inbox == [Acknowledge(7, OperationStatus.REFUSED)]
    assert edge.service.losses == {EdgeLoss.INVALID: 1}


def test_notifications_follow_a_client_although_the_edge_that_it_left_has_not_noticed() -> None:
    world = ServiceWorld(2, FAST)
    here, there = world.edges[100], world.edges[101]
    here.add_client(1)
    world.run(1.0)
    one, two = of(here, "one"), of(here, "two")
    first, second = (FoundObjects(0, 1 << 32, (each.metadata,)) for each in (one, two))
    moved = there.add_client(1)  # it is still among the clients of the other edge
    world.run(1.0)
    here.service.undeliverable("", first, NodeAddress(1, 0))
    world.run(1.0)
    assert moved.inbox == [first]
    back = here.clients[1]
    there.service.left("", 1)
    del there.clients[1]
    back.send(Retrieve(1, one.metadata.key))  # the first sign of life
    world.run(1.0)
    there.service.undeliverable("", second, NodeAddress(1, 0))
    world.run(1.0)
    assert back.inbox == [second]


def test_an_edge_that_begins_again_uses_no_epoch_twice() -> None:
    world = ServiceWorld(1, FAST)
    edge = world.edges[100]
    for cells in (4, 5):
        edge.service.set_cells("", cells)
    epochs = [edge.epoch("")]
    for _ in range(2):  # within the same second
        edge.crash()
        edge.restart()
        epochs.append(edge.epoch(""))
    assert epochs == sorted(set(epochs))
