"""Clients that store with the help of an edge."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bypass.objects.metadata import StoredObject
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.edge import (
    Download,
    Downloaded,
    DownloadKind,
    EdgeNotification,
    EdgeRelay,
    Item,
    item_key,
)
from bypass.protocol.storage import Delete, NodeState, OperationStatus
from tests.area_world import PERIOD_S, AreaWorld
from tests.object_strategies import SECRET, make_metadata

HERE, THERE = 0, 1


def area(clients: int = 4, cells: int = 3, **values: Any) -> AreaWorld:
    world = AreaWorld([HERE] * clients, cells, **values)
    world.run(10.0)
    return world


def test_insert_and_query() -> None:
    world = area()
    told = world.query(0, "a")
    world.run(3.0)
    inserted = world.insert(1, "x", "a", "b")
    world.run(3.0)
    assert inserted == [OperationStatus.OK]
    assert told.names == ["x"]
    assert world.found_by(2, "b") == ["x"]


def test_cells_leave_to_the_edge_what_it_has() -> None:
    world = area()
    for name in "vwxyz":
        world.insert(1, name, "a", "b")
    world.run(3.0)
    stored = [world.access(1).store.get(each.key) for each in world.access(1).store.own]
    world.edge().keep(*[each for each in stored if each is not None])
    world.run(1.0)
    told = world.query(0, "a")
    world.run(0.5)
    assert sorted(told.names) == list("vwxyz")
    assert told.ended[0].ok
    assert world.infra(0).edge_requests.described == 0
    assert told.own is not None
    assert told.own.duplicates == 0
    for each in list(world.edge().objects)[:2]:
        del world.edge().objects[each]
    again = world.query(2, "a & b")
    world.run(0.5)
    assert sorted(again.names) == list("vwxyz")
    assert world.infra(2).edge_requests.described == 2
    world.edge().silent = True
    more = world.query(3, "a | b")
    world.run(0.5)
    assert more.names == []
    world.run(1.0)
    assert sorted(more.names) == list("vwxyz")
    assert more.ended[0].ok
    assert world.infra(3).edge_requests.described == 10


def names(ended: list[OperationStatus]) -> list[str]:
    return [each.name for each in ended]


def test_the_edge_is_asked_for_an_object_before_its_copies() -> None:
    """Whoever has retrieved an object has a copy, wherever it came from."""
    world = area()
    world.insert(1, "x", "a", active=False, data=b"from the edge")
    world.run(3.0)
    stored = world.access(1).store.get(world.access(1).store.own[0].key)
    assert stored is not None
    told = world.query(0, "a")
    world.run(3.0)
    world.edge().keep(stored)
    world.run(1.0)
    world.sent.clear()
    ended = world.retrieve(0, told.metadata[0])
    world.run(0.5)
    assert [each.data for each in ended] == [b"from the edge"]
    assert world.sent["Retrieve"] == 0
    assert stored.key in world.access(0).store
    world.edge().objects.clear()
    ended = world.retrieve(2, told.metadata[0])
    world.run(0.5)
    assert [each.data for each in ended] == [b"from the edge"]
    world.edge().silent = True
    ended = world.retrieve(3, told.metadata[0])
    world.run(0.9)
    assert ended == []
    world.run(0.6)
    assert [each.data for each in ended] == [b"from the edge"]


def test_an_object_of_another_area_is_fetched_by_the_edge() -> None:
    """After what the edge has itself, and the copies that are in reach."""
    world = area()
    data = b"of another area"
    metadata = make_metadata(77, "far", frozenset("a"), 0, data=data, source=99)
    ended = world.retrieve(0, metadata)
    world.run(1.0)
    assert names([each.status for each in ended]) == ["NOT_FOUND"]
    asked = [body for _, body in world.edge().got if isinstance(body, Download)]
    assert [each.kind for each in asked] == [DownloadKind.REGULAR, DownloadKind.FORCED]
    world.edge().far[metadata.key] = StoredObject(metadata, data)
    ended = world.retrieve(0, metadata)
    world.run(1.0)
    assert [each.data for each in ended] == [data]
    near = make_metadata(78, "near", frozenset("a"), 0, data=data, source=world.edge().number)
    world.edge().got.clear()
    ended = world.retrieve(0, near)
    world.run(1.0)
    asked = [body for _, body in world.edge().got if isinstance(body, Download)]
    assert [each.kind for each in asked] == [DownloadKind.REGULAR]


def test_a_deletion_waits_for_the_edge_as_long_as_there_is_one() -> None:
    world = area()
    world.insert(1, "x", "a")
    world.insert(1, "y", "a")
    world.run(3.0)
    ended = world.delete(1, "x")
    world.run(1.0)
    assert names(ended) == ["OK"]
    assert [type(body) for _, body in world.edge().got].count(Delete) == 1
    world.edge().silent = True
    ended = world.delete(1, "y")
    world.run(0.5)
    assert world.found_by(2, "a", 2.0) == []
    assert ended == []
    for client in range(4):
        world.enter(client, None)
    world.run(5.0)
    assert names(ended) == ["OK"]
    world.edge().silent = False
    world.edge().got.clear()
    for client in range(4):
        world.enter(client, HERE)
    world.run(10.0)
    told = [
        each.key.name
        for _, body in world.edge().got
        if isinstance(body, NodeState)
        for each in body.tombstones
    ]
    assert sorted(told) == ["x", "y"], "an edge that is there again is told what was deleted"


def test_cells_report_subscriptions_and_downloads_once() -> None:
    world = area(6, 3)
    told = world.query(0, "a")
    world.query(1, "a & b", until="+30m")
    world.query(2, "c")
    world.run(3.0)
    world.insert(3, "x", "c", "a", active=False)
    world.run(3.0)
    world.retrieve(0, told.metadata[0])
    world.run(60.0)
    needs = world.edge().area.needs.needs(round(world.clock.now() * 1e6))
    assert sum(each.subscriptions for each in needs) == 3
    assert {each.tag for each in needs} <= {"a", "b", "c"}
    key = item_key(told.metadata[0])
    assert key.source == world.edge().number
    assert world.edge().area.popularity.downloads(key) == 1
    popularity = world.edge().area.popularity.get(key)
    assert popularity is not None
    assert [each.node for each in popularity.replicas] == [0]


def stable(world: AreaWorld, cell: int) -> int:
    """The client that has sent the latest report of a cell."""
    return next(node for node, body in reversed(world.edge().reports) if body.cell == cell)


def test_no_report_is_lost_while_one_client_of_the_cell_lives() -> None:
    """The stable client dies; nothing of what it has reported was confirmed. Its successor sends all."""
    world = area(6, 1)
    world.edge().confirms = False
    told = world.query(0, "c")
    world.insert(3, "x", "c", active=False)
    world.run(4 * PERIOD_S)
    retriever = next(each for each in range(6) if each not in (3, stable(world, 0)))
    world.retrieve(retriever, told.metadata[0])
    world.run(2 * PERIOD_S)
    world.edge().forget_area()
    world.die(stable(world, 0))
    world.edge().confirms = True
    world.run(4 * PERIOD_S)
    assert world.edge().area.popularity.downloads(item_key(told.metadata[0])) == 1
    world.edge().reports.clear()
    world.run(2 * PERIOD_S)
    assert all(len(body.cycles) <= 2 for _, body in world.edge().reports), "confirmed cycles came again"


def test_items_of_other_areas_are_told_to_those_who_asked_and_not_kept() -> None:
    world = area(6, 3)
    told = [world.query(0, "a"), world.query(1, "a & b"), world.query(2, "c")]
    world.run(3.0)
    items = [
        make_metadata(77, name, frozenset(tags), 1, source=99) for name, tags in (("x", "a"), ("y", "ab"))
    ]
    for cell in range(3):
        world.edge().relay(cell, EdgeNotification(tuple(Item(each) for each in items)), by=5)
    world.run(1.0)
    assert [sorted(each.names) for each in told] == [["x", "y"], ["y"], []]
    assert world.found_by(3, "a") == []


def test_a_client_gives_the_edge_what_it_asks_for_whoever_brings_the_question() -> None:
    world = area(4, 3)
    world.insert(1, "x", "a", data=bytes(range(200)))
    world.run(3.0)
    stored = world.access(1).store.get(world.access(1).store.own[0].key)
    assert stored is not None
    request = Download(7, item_key(stored.metadata), DownloadKind.POPULAR, 12, 100, 50)
    world.edge().got.clear()
    world.edge().send(EdgeRelay(NodeAddress(1), request), NodeAddress(2))
    missing = replace(request, item=request.item._replace(source=98))
    world.edge().send(missing, NodeAddress(1))
    world.run(1.0)
    nothing, found = [body for _, body in world.edge().got if isinstance(body, Downloaded)]
    assert nothing.item is None
    assert found.item is not None
    assert (found.op, found.cycle, found.offset, found.item.data) == (7, 12, 100, bytes(range(100, 150)))
    assert found.item.key == request.item


def test_a_deletion_in_another_area_reaches_the_cells_and_the_copies() -> None:
    world = area(4, 3)
    told = world.query(0, "a")
    world.insert(1, "x", "a", "b", active=True, secret=SECRET)
    world.run(3.0)
    assert told.names == ["x"]
    key = told.metadata[0].key
    for cell in range(3):
        world.edge().relay(cell, Delete(0, key, SECRET, frozenset("ab")))
    world.run(5.0)
    assert world.found_by(2, "a | b") == []
    assert all(key not in world.access(node).store for node in range(4))


@pytest.mark.parametrize("cells", [3, 4, 1])
def test_who_loses_the_edge_and_finds_it_again_misses_nothing(cells: int) -> None:
    world = area(6, cells)
    told = world.query(0, "a | b")
    early = world.insert(1, "early", "a")
    world.run(3.0)
    for client in range(6):
        world.enter(client, None)
    meanwhile = world.insert(2, "meanwhile", "b")
    world.run(30.0)
    assert names(early) == ["OK"]
    if cells > 1:
        assert names(meanwhile) == ["TIMEOUT"], "the object stays, and is announced later"
    for client in range(6):
        world.enter(client, HERE)
        world.run(0.5)
    world.run(40.0)
    assert sorted(told.names) == ["early", "meanwhile"]
    assert world.found_by(5, "a | b") == ["early", "meanwhile"]


def test_a_client_that_was_out_of_reach_alone_is_told_later() -> None:
    world = area(6, 3)
    told = world.query(0, "a | b")
    world.run(3.0)
    world.enter(0, None)
    world.run(1.0)
    world.insert(2, "meanwhile", "b")
    world.run(90.0)
    assert told.names == []
    world.enter(0, HERE)
    world.run(10.0)
    assert told.names == ["meanwhile"]


def test_a_client_that_comes_into_another_area_takes_its_queries_and_objects_along() -> None:
    """It is told what is there, and goes on being told; what it kept for others stays where they are."""
    world = AreaWorld([HERE, HERE, HERE, HERE, THERE, THERE, THERE])
    world.run(10.0)
    told = world.query(0, "a")
    world.insert(0, "mine", "a", active=False)
    world.insert(1, "here", "a", active=False)
    world.insert(4, "there", "a")
    world.run(5.0)
    assert sorted(told.names) == ["here", "mine"]
    world.enter(0, THERE)
    world.run(15.0)
    assert sorted(told.names) == ["here", "mine", "there"]
    world.insert(5, "new", "a")
    world.run(3.0)
    assert sorted(told.names) == ["here", "mine", "new", "there"]
    assert world.found_by(6, "a") == ["mine", "new", "there"]
    assert world.found_by(2, "a") == ["here", "mine"]
    assert told.metadata[0].source == world.edge().number
    mine = next(each for each in told.metadata if each.key.name == "mine")
    assert mine.source == world.access(0).store.own[0].source == world.edge(HERE).number


@pytest.mark.parametrize(("before", "after"), [(3, 5), (5, 2), (1, 4)])
def test_another_cell_map_moves_keys_and_loses_nothing(before: int, after: int) -> None:
    world = area(8, before)
    told = world.query(0, "a | b | c")
    inserted = [world.insert(node, f"early-{node}", "abc"[node % 3]) for node in range(6)]
    world.run(5.0)
    world.edge().set_cells("", after)
    inserted += [world.insert(node, f"during-{node}", "abc"[node % 3]) for node in range(6)]
    world.run(20.0)
    inserted += [world.insert(node, f"late-{node}", "abc"[node % 3]) for node in range(6)]
    world.run(5.0)
    assert {each for ended in inserted for each in names(ended)} == {"OK"}
    expected = sorted(f"{when}-{node}" for when in ("early", "during", "late") for node in range(6))
    assert sorted(told.names) == expected
    assert world.found_by(7, "a | b | c") == expected
