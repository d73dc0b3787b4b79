"""Nodes that store: callbacks come after calls, closing ends everything, silent nodes learn of decisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from bypass.core.objects.decision_exchange import SPREAD_S
from bypass.core.objects.kept_objects import KeptObjects
from bypass.core.objects.operations import OperationResult
from bypass.mechanisms.routing.one_hop import FIRST_HELLO_S
from bypass.mechanisms.storage.comparison import SOON_S
from bypass.mechanisms.storage.server import NodeServerStore
from bypass.models.radio.kernels.state import S
from bypass.objects.metadata import Metadata, Tombstone
from bypass.objects.node_store import NodeStore
from bypass.objects.persistence import MemoryPersistence
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.storage import LONGEST_DATA, NodeState, OperationStatus, QueryRecord
from bypass.support.database import DatabaseUnavailable
from bypass.testing.store_messages import StoreMessages
from bypass.testing.worlds.radio import cluster
from bypass.testing.worlds.storage import QUIET_S, StorageWorld, plan_for
from bypass.transitions import Action, InvalidPlan, Plan
from tests.object_strategies import make_metadata

AWAY = (20.0, 20.0)
GRID = {"area": [0.0, 0.0, 1000.0, 1000.0]}


def begun(nodes: int, storage: str, routing: str = "one-hop") -> StorageWorld:
    parameters = GRID if routing == "cells" else {}
    world = StorageWorld(cluster(nodes), (storage, {}), (routing, parameters))
    world.run(QUIET_S)
    return world


@pytest.mark.parametrize(
    ("storage", "routing"), [("local", "one-hop"), ("server", "one-hop"), ("cells", "cells")]
)
def test_the_ends_of_operations_come_after_the_calls(storage: str, routing: str) -> None:
    """Also where a mechanism is done at once, as at a node that has all itself."""
    world = begun(1, storage, routing)
    objects = world.client(0).objects
    ends: list[OperationResult] = []
    told: list[Metadata] = []
    metadata = objects.insert(b"x", {"a"}, ended=ends.append)
    assert ends == [], "an insertion ended before its caller had the metadata"
    world.run(5.0)
    objects.query("a", lambda found, _: told.append(found), ended=ends.append)
    assert (len(ends), told) == (1, []), "a query was answered before its caller had it"
    world.run(5.0)
    numbers = [objects.retrieve(metadata, ends.append)]
    assert len(ends) == 2
    world.run(5.0)
    numbers.append(objects.delete(metadata.key, ends.append))
    assert len(ends) == 3
    world.run(5.0)
    assert [end.ok for end in ends] == [True] * 4
    assert [end.op for end in ends[2:]] == numbers
    assert [each.key for each in told] == [metadata.key]


class FullDisk(MemoryPersistence):
    """Keeps what is stored; there is no room for tombstones."""

    def bury(self, tombstone: Tombstone, forgotten: Sequence[Tombstone], drops: bool) -> None:
        raise DatabaseUnavailable("x.db: disk is full: expected a store of objects")


def test_an_insertion_that_is_refused_ends_though_the_file_of_its_node_is_full() -> None:
    world = StorageWorld(cluster(1), ("cells", {"most_per_owner": 1}), ("cells", GRID))
    world.leave(0)
    world.client(0)._kept = KeptObjects(NodeStore(world.client(0).host.id, FullDisk()))
    world.join(0)
    world.run(QUIET_S)
    client = world.client(0)
    ends: list[OperationResult] = []
    client.objects.insert(b"x", {"a"}, ended=ends.append)
    world.run(5.0)
    client.objects.insert(b"y", {"a"}, ended=ends.append)
    with pytest.raises(DatabaseUnavailable):
        world.run(5.0)
    assert [end.status for end in ends] == [OperationStatus.OK, OperationStatus.QUOTA]


@pytest.mark.parametrize("routing", ["one-hop", "dsdv"])
def test_a_client_is_closed_once_and_hears_of_no_failure_afterwards(routing: str) -> None:
    world = begun(3, "server", routing)
    world.places[0] = AWAY  # the server: what is sent to it fails later
    world.insert(1, "a")
    world.run(0.0005)
    client = world.client(1)
    client.close()
    client.close()
    world.run(QUIET_S)


def test_silent_nodes_learn_of_decisions_that_they_have_missed() -> None:
    """Over `one-hop` nobody sends anything while no operation is under way."""
    world = begun(3, "server")
    home, world.places[2] = world.places[2], AWAY
    assert world.decide(1, "server", server=1).ok
    world.run(QUIET_S)
    world.places[2] = home
    world.run(2 * QUIET_S)
    assert len({world.client(node).node.decisions.current for node in world.present}) == 1


def test_nodes_that_tell_each_other_of_a_decision_are_neighbours() -> None:
    """Over `one-hop` a newcomer would wait for the next word of a silent node, 20 s in the worst case."""
    world = StorageWorld(cluster(2), ("server", {"server": 7}), ("one-hop", {}))  # 7 is not there
    older, newcomer = (world.client(number) for number in world.present)
    older.node.stays()
    while newcomer.node.decisions.current != older.node.decisions.current:
        world.run(0.1)
    world.run(SPREAD_S)
    assert [each.node for each in newcomer.node.routing.neighbours()] == [older.host.id]
    assert [each.node for each in older.node.routing.neighbours()] == [newcomer.host.id]


@pytest.mark.parametrize("routing", ["one-hop", "dsdv"])
def test_a_node_is_told_of_a_decision_as_often_as_it_begins_anew(routing: str) -> None:
    """Commands are lives of one node that follow each other at once: its first word is answered in each."""
    world = begun(2, "local", routing)
    world.client(0).node.stays()
    for _ in range(4):
        world.leave(1)
        world.join(1)
        world.run(SOON_S + 2 * SPREAD_S)
        assert world.client(1).node.decisions.current == world.client(0).node.decisions.current


@pytest.mark.parametrize("seed", range(4))
def test_a_node_that_knows_nobody_says_again_that_it_is_there(seed: int) -> None:
    """The first word of a newcomer may get lost: over `one-hop` it would wait for the next one of others."""
    world = StorageWorld(cluster(2), ("server", {"server": 7}), ("one-hop", {}), seed=seed)  # 7 is not there
    world.run(QUIET_S)
    world.client(0).node.stays()
    home, world.places[1] = world.places[1], AWAY
    world.leave(1)
    world.run(2.0)
    world.join(1)
    world.run(SOON_S + SPREAD_S)  # its digest reaches nobody
    world.places[1] = home
    world.run(2.0 * FIRST_HELLO_S)
    assert [each.node for each in world.client(1).node.routing.neighbours()] == [world.client(0).host.id]


def test_a_node_that_stays_alone_says_so_less_and_less_often() -> None:
    world = StorageWorld(cluster(1), ("local", {}), ("one-hop", {}))
    world.run(100.0)
    first = world.client(0).node.counts().control
    world.run(300.0)
    assert first > 2
    assert world.client(0).node.counts().control - first <= 300.0 / 18.0


def test_nodes_without_storage_are_not_told_of_decisions() -> None:
    """They send announcements of routing, but listen to nobody."""
    world = begun(3, "local", "dsdv")
    world.client(2).engine.transition("storage", "nothing")
    world.run(1.0)
    acknowledged = world.system.local.counter(S.HANDSHAKE_BYTES)[2]
    heard = world.client(1).node.decisions.obsolete
    world.run(2 * QUIET_S)
    assert world.client(1).node.decisions.obsolete > heard
    assert world.system.local.counter(S.HANDSHAKE_BYTES)[2] == acknowledged, "it was sent something"


def test_what_is_sent_while_nodes_disagree_is_made_up_for() -> None:
    """Also if a decision changes no mechanism, and an object is inserted before others know of it."""
    world = begun(4, "local")
    asked = world.ask(3, "a")
    world.run(3.0)
    assert world.decide(0, "local", grace_s=40.0).ok
    inserted = world.insert(0, "a")
    world.run(QUIET_S)
    assert asked.told == [inserted.metadata.key]


def test_the_past_of_those_who_come_later_is_told_to_who_has_read_all_pages() -> None:
    """A node that was alone decides, publishes, and is back long after another one has asked."""
    world = begun(3, "server", "dsdv")
    home, world.places[2] = world.places[2], AWAY
    assert world.decide(2, "local").ok
    inserted = world.insert(2, "a")
    world.run(100.0)
    asked = world.ask(1, "a")
    world.run(5.0)
    assert (asked.told, asked.own.more_past) == ([], False)
    world.places[2] = home
    world.run(2 * QUIET_S)
    assert asked.told == [inserted.metadata.key]


@pytest.mark.parametrize("seed", [2, 12, 14])
def test_a_page_that_is_asked_for_while_others_still_switch_is_whole(seed: int) -> None:
    places = [
        (15.0, 15.0),
        (20.0, 20.0),
        (46.0, 15.0),
        (77.0, 15.0),
        (80.0, 18.0),
        (15.0, 46.0),
        (46.0, 46.0),
        (77.0, 46.0),
    ]
    world = StorageWorld(places, ("server", {"server": 1}), ("dsdv", {}), seed=seed)
    world.run(40.0)
    inserted = [world.insert(node, "a") for node in (2, 5, 6)]
    world.run(60.0)
    for node in (3, 4, 7):
        x, y = places[node]
        world.places[node] = (x + 250.0, y + 250.0)
    world.run(1.0)
    assert world.decide(1, "local", "dsdv").ok
    asked = world.ask(0, "a")
    world.run(QUIET_S)
    assert set(asked.told) == {each.metadata.key for each in inserted}


@pytest.mark.parametrize("wait", [0.3, 4.0])
def test_objects_that_another_design_told_of_are_retrieved_after_a_switch(wait: float) -> None:
    """Metadata of `local` name no copies, and soon after a switch cells do not know all objects yet."""
    world = begun(6, "local", "dsdv")
    inserted = [world.insert(node, "a") for node in range(6)]
    world.run(3.0)
    world.client(0).decide(plan_for("cells", "cells"))
    world.run(wait)
    ends = [world.retrieve((node + 3) % 6, each.metadata) for node, each in enumerate(inserted)]
    world.run(10.0)
    assert [(end.status, end.data) for each in ends for end in each] == [
        (OperationStatus.OK, each.data) for each in inserted
    ]


def test_objects_that_no_message_can_hold_are_found_at_a_server_and_fetched_from_their_owner() -> None:
    """Whether they were inserted before the switch or after it, and after the server began anew."""
    world = begun(4, "local")
    size = LONGEST_DATA + 1000
    inserted = [world.insert(1, "a", size=size)]
    world.run(QUIET_S)
    assert world.decide(0, "server", server=0).ok
    world.run(QUIET_S)
    asked = world.ask(2, "a")
    world.run(3.0)
    inserted.append(world.insert(3, "a", size=size))
    world.run(5.0)
    assert all(each.acknowledged for each in inserted)
    keys = {each.metadata.key for each in inserted}
    assert set(asked.told) == keys
    world.leave(0)
    world.run(10.0)
    world.join(0)
    world.run(2 * QUIET_S)
    assert world.found_by(2, "a") == keys
    ends = [world.retrieve(2, each.metadata) for each in inserted]
    world.run(60.0)
    assert [[end.data for end in each] for each in ends] == [[each.data] for each in inserted]
    world.delete(inserted[0].metadata.key)
    world.run(QUIET_S)
    assert world.found_by(1, "a") == {inserted[1].metadata.key}


def test_a_server_learns_from_others_that_an_object_was_deleted_which_it_lists() -> None:
    world = begun(4, "server")
    inserted = world.insert(1, "a", size=LONGEST_DATA + 1)
    world.run(QUIET_S)
    assert world.found_by(2, "a") == {inserted.metadata.key}
    home, world.places[0] = world.places[0], AWAY
    world.delete(inserted.metadata.key)
    world.run(QUIET_S)
    world.leave(1)
    world.places[0] = home
    world.run(2 * QUIET_S)
    assert world.found_by(2, "a") == set()


def test_a_server_lists_so_many_objects_that_others_keep() -> None:
    store = NodeServerStore(NodeStore(7, MemoryPersistence()), most_elsewhere=2)
    size = LONGEST_DATA + 1
    large = [make_metadata(8, f"o{n}", frozenset("a"), n, data=bytes(size)) for n in range(3)]
    statuses = [store.insert(each, None)[0] for each in large]
    assert statuses == [OperationStatus.OK, OperationStatus.OK, OperationStatus.QUOTA]
    small = make_metadata(8, "small", frozenset("a"), 9, data=b"x")
    assert store.insert(small, None) == (OperationStatus.REFUSED, False)
    store.forget(large[0].key)
    assert store.insert(large[2], None) == (OperationStatus.OK, True)


def test_what_a_node_knows_as_deleted_is_not_asked_for() -> None:
    """Soon after a switch others are asked again, because they may not know of an object yet."""
    world = begun(3, "local", "dsdv")
    kept, deleted = world.insert(1, "a"), world.insert(1, "a")
    world.run(QUIET_S)
    world.delete(deleted.metadata.key)
    world.run(QUIET_S)
    world.client(0).decide(plan_for("cells", "cells"))
    world.run(0.3)
    ends = [world.retrieve(node, deleted.metadata) for node in (1, 2)]
    retrieved = world.retrieve(2, kept.metadata)
    world.run(0.1)
    assert [[end.status for end in each] for each in ends] == [[OperationStatus.NOT_FOUND]] * 2
    assert "was deleted" in ends[0][0].detail
    world.run(10.0)
    assert [end.data for end in retrieved] == [kept.data]


def test_a_plan_to_cells_fails_in_its_dry_run_while_a_query_has_negations_alone() -> None:
    world = begun(3, "local", "dsdv")
    asked = world.ask(1, "a | ~b")
    world.run(3.0)
    client = world.client(1)
    records = plan_for("cells", "cells").dry_run(client.engine)
    assert [record.outcome for record in records] == ["planned", "failed"]
    assert "~b" in (records[1].error or "")
    with pytest.raises(InvalidPlan, match="~b"):
        client.decide(plan_for("cells", "cells"))
    assert world.active() == ["local"] * 3
    assert world.active("routing") == ["dsdv"] * 3, "a plan that fails must leave both as they were"
    world.withdraw(asked)
    world.run(3.0)
    assert client.decide(plan_for("cells", "cells")).ok
    world.run(QUIET_S)
    assert world.active() == ["cells"] * 3


def test_a_deletion_that_nobody_answered_goes_on_in_the_next_life() -> None:
    world = begun(3, "server")
    stored = world.client(1).objects.insert(b"x", {"a"}, name="x")
    world.run(QUIET_S)
    home, world.places[0] = world.places[0], AWAY  # the server
    world.client(1).objects.delete(stored.key)
    world.run(1.0)
    world.system.leave(1)
    world.run(1.0)
    world.places[0] = home
    world.system.join(1)
    world.run(2 * QUIET_S)
    told: list[Metadata] = []
    world.client(2).objects.query("a", lambda found, _: told.append(found))
    world.run(QUIET_S)
    assert told == []


def test_an_object_that_is_deleted_before_a_server_had_it_does_not_come_back() -> None:
    """Its owner goes on announcing it; the deletion is done at once, after the server was given up."""
    world = begun(3, "local")
    stored = world.insert(1, "a")
    world.run(1.0)
    home, world.places[0] = world.places[0], AWAY
    assert world.decide(1, "server", server=0).ok
    world.run(1.0)
    assert world.decide(1, "local").ok
    world.delete(stored.metadata.key)
    world.run(1.0)
    world.places[0] = home
    world.run(2 * QUIET_S)
    assert world.found_by(2, "a") == set()


def test_a_page_that_comes_back_is_told_later() -> None:
    """Nobody asks for it again: the node that has asked knows nothing of it."""
    world = StorageWorld(cluster(3), ("local", {}), ("dsdv", {"queue": 0}))
    world.run(QUIET_S)
    inserted = world.insert(1, "a")
    home, world.places[0] = world.places[0], AWAY
    world.run(92.0)  # no way leads there any more, and the next announcement comes in 8 s
    world.places[0] = home
    world.run(0.1)
    asked = world.ask(0, "a", until="now")
    world.run(2.0)
    assert (asked.told, asked.own.more_past) == ([], False), "there was a way for the answer"
    world.run(60.0)
    assert asked.told == [inserted.metadata.key]


def test_all_that_is_published_after_a_query_is_told_whatever_room_its_page_has() -> None:
    """The cell answers seconds later: by then, objects have come that are not of the past."""
    world = StorageWorld([(15.0, 15.0), (46.0, 15.0), (15.0, 46.0)], ("local", {}), ("dsdv", {}))
    world.run(QUIET_S)
    assert world.client(0).decide(plan_for("cells", "cells", batch=20)).ok
    world.run(1.0)
    asked = world.ask(0, "b | c", limit=1)
    inserted = [world.insert(node, "b", "c") for node in (1, 2, 1)]
    world.run(QUIET_S)
    assert set(asked.told) == {each.metadata.key for each in inserted}


def test_a_page_that_is_asked_for_twice_ends_before_its_operation_is_tried_again() -> None:
    """Otherwise every query would be flooded four times after a switch, when the air is full anyway."""
    world = begun(2, "server")
    inserted = [world.insert(0, "a") for _ in range(2)]
    asked = world.ask(1, "a", limit=1)
    world.run(QUIET_S)
    assert world.decide(0, "local").ok
    world.run(QUIET_S)
    ends = world.more(asked)
    world.run(QUIET_S)
    assert [status.name for status in ends] == ["OK"]
    assert set(asked.told) == {each.metadata.key for each in inserted}
    assert [world.client(node).objects.operations.retried for node in range(2)] == [0, 0]


def test_a_query_that_is_asked_again_is_answered_by_a_node_that_learns_of_it_from_others() -> None:
    """A node that has not heard the flood knows the query from before, but not what was missed since then."""
    world = begun(2, "local")
    asked = world.ask(0, "a")
    world.run(1.0)
    inserted = world.insert(1, "a")
    world.run(1.0)
    assert (asked.told, asked.own.duplicates) == ([inserted.metadata.key], 0)
    again = QueryRecord(asked.own.query, at_us=world.client(0).objects.now_us())
    world.client(1).node.received(NodeState(queries=(again,)), NodeAddress(0), None)
    world.run(1.0)
    assert asked.own.duplicates == 1


def test_a_server_that_lost_its_queries_gets_them_from_whoever_did_not_hear_it() -> None:
    """A node that is out of reach while the server begins anew, and tells all that it has no queries."""
    world = begun(3, "server")
    asked = world.ask(2, "a")
    world.run(1.0)
    home, world.places[2] = world.places[2], AWAY
    world.leave(0)
    world.run(1.0)
    world.join(0)
    world.run(10.0)
    inserted = world.insert(1, "a")
    world.run(100.0)
    world.places[2] = home
    world.run(150.0)
    assert asked.told == [inserted.metadata.key]


def test_nodes_of_two_namespaces_do_not_meet() -> None:
    """They share a radio. Each namespace has its own grid, and makes its own decisions."""
    world = begun(6, "local")
    others = range(3, 6)
    for node in others:
        world.client(node).engine.transition("routing", "one-hop", set={"namespace": "b"})
    world.run(QUIET_S)
    there = world.ask(4, "x")
    here = world.ask(1, "x")
    for storage, side in (("cells", 40.0), ("local", None), ("cells", 25.0)):
        grid: dict[str, Any] = {"side": side, **GRID} if side else {}
        routing = Action(proxy="routing", to="cells" if side else "dsdv", set=grid)
        plan = Plan(plan=storage, actions=(routing, Action(proxy="storage", to=storage)))
        assert world.client(0).decide(plan).ok
        world.run(QUIET_S)
        assert len({world.client(node).node.decisions.current for node in range(3)}) == 1
        inserted = world.insert(2, "x")
        world.run(QUIET_S)
        assert inserted.acknowledged
        assert here.told[-1] == inserted.metadata.key
    for node in others:
        client = world.client(node)
        assert client.node.decisions.current.epoch == 0
        assert client.engine.active("storage").name == "local"
        assert client.engine.active("routing").namespace == "b"  # type: ignore[attr-defined]
    assert (len(here.told), there.told) == (3, [])
    world.insert(5, "x")
    world.run(QUIET_S)
    assert (len(here.told), len(there.told)) == (3, 1)
    assert world.decide(3, "server", "dsdv", server=3).ok
    world.run(QUIET_S)
    assert {world.client(node).node.decisions.current.initiator for node in others} == {3}
    assert {world.client(node).node.decisions.current.initiator for node in range(3)} == {0}
    world.insert(5, "x")
    world.run(QUIET_S)
    assert (len(here.told), len(there.told)) == (3, 2)


def test_a_notification_that_waits_at_a_node_that_goes_is_told_again() -> None:
    """Nobody reports it; but the way broke, over which it was sent."""
    world = StorageWorld([(100.0, 100.0), (160.0, 100.0), (220.0, 100.0)], ("local", {}))
    world.run(2 * QUIET_S)
    asked = world.ask(0, "a")
    world.run(2.0)
    world.places[0] = AWAY
    inserted = world.insert(2, "a")
    world.run(1.0)
    world.leave(1)
    world.run(60.0)
    world.places[0] = (160.0, 100.0)
    world.run(150.0)
    assert asked.told == [inserted.metadata.key]


def test_queries_whose_windows_ended_long_ago_are_not_asked_again_at_a_switch() -> None:
    """All others are, also by nodes that a neighbour had to tell of the decision."""
    world = begun(4, "local", "dsdv")
    for node in range(4):
        world.ask(node, "a", until=world.system.clock.now() + 5.0)
    lasting = world.ask(2, "b")
    world.run(60.0)
    messages = StoreMessages(lambda _: None)
    world.system.monitor.register(messages)
    assert world.decide(0, "server", None, server=1).ok
    world.run(QUIET_S)
    assert world.active() == ["server"] * 4
    assert messages.sent["subscribe"] == 2  # there and back
    inserted = world.insert(3, "a", "b")
    world.run(QUIET_S)
    assert lasting.told == [inserted.metadata.key]


def test_a_node_that_was_away_asks_for_what_was_published_since_it_left() -> None:
    """However long it was away, and if whoever has published has forgotten that it missed something."""
    world = begun(3, "local")
    asked = world.ask(2, "a")
    world.run(1.0)
    world.leave(2)
    inserted = world.insert(1, "a")
    world.run(50.0)
    world.leave(1)
    world.join(1)
    world.join(2)
    world.run(2 * QUIET_S)
    assert asked.told == [inserted.metadata.key]
