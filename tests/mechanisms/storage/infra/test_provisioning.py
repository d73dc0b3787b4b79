"""The items that edges send each other: quotas, windows, suppression, slots."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.mechanisms.storage.infra.edge.item_cache import ItemCache
from bypass.mechanisms.storage.infra.edge.mechanisms import EdgeMechanisms, EdgeProxies, create_proxies
from bypass.mechanisms.storage.infra.edge.policies.slots import EqualSlots
from bypass.mechanisms.storage.infra.edge.popularity import PopularityTable
from bypass.mechanisms.storage.infra.edge.provisioning import Provisioning, provisions
from bypass.objects.window import ALWAYS, TimeWindow
from bypass.protocol.edge import Item, SubscriptionNeeds, TagNeed
from bypass.protocol.wire import encode
from bypass.transitions import InvalidParameter
from tests.mechanisms.storage.infra.edge_world import EdgeWorld, counted, item

PEER, OTHER = 2, 3


def provisioning(
    *items: Item, suppression: bool = True, popularity: PopularityTable | None = None
) -> Provisioning:
    """That of an edge with these items and two peers."""
    world = EdgeWorld()
    cache = ItemCache(world.workshop, "local", 200)
    cache.put_batch(items)
    mechanism = create_proxies(world.workshop).provisioning
    return Provisioning(cache, popularity or PopularityTable(), mechanism, (PEER, OTHER), 5, suppression)


def needs(total: int, capacity: int, *wanted: TagNeed, window: TimeWindow = ALWAYS) -> SubscriptionNeeds:
    return SubscriptionNeeds(total, capacity, wanted, window)


def names(items: list[Item]) -> list[str]:
    return [each.metadata.key.name for each in items]


@pytest.mark.parametrize(("there", "sent"), [(35, 35), (60, 35), (34, 34)])
def test_the_published_example_of_entries(there: int, sent: int) -> None:
    """50 entries, and 70 of 100 subscriptions: 35, if there are so many."""
    own = provisioning(*[item(number, "a") for number in range(there)])
    own.take_needs(PEER, needs(100, 50, TagNeed("w", "a", 70)))
    assert len(own.provide(PEER)) == sent


def test_the_most_popular_are_sent_and_none_twice() -> None:
    items = [item("new", "a", at=9), item("old", "a", at=1), item("used", "ab", at=0), item("b", "b")]
    popularity = PopularityTable()
    popularity.add("w", counted(items[2], 3), 1)
    own = provisioning(*items, popularity=popularity)
    own.take_needs(PEER, needs(4, 4, TagNeed("w", "a", 2), TagNeed("w", "b", 2)))
    assert names(own.provide(PEER)) == ["used", "new", "b"]
    assert own.provide(OTHER) == []  # it has told of no needs
    own.take_needs(OTHER, needs(1, 9, TagNeed("v", "a", 1)))
    assert own.provide(OTHER) == []  # of another world
    assert not own.take_needs(9, needs(1, 9, TagNeed("w", "a", 1)))
    assert not own.consumed(9, items[0].key)


def test_items_are_within_both_windows() -> None:
    own = provisioning(*[item(at, "ab", at=at) for at in range(10)])
    wanted = TagNeed("w", "a", 5, TimeWindow(2, 8)), TagNeed("w", "b", 5, TimeWindow(8, 9))
    own.take_needs(PEER, needs(10, 40, *wanted, window=TimeWindow(5)))
    assert names(own.provide(PEER)) == ["7", "6", "5", "8"]


def test_what_a_peer_has_used_is_left_out_the_next_times_for_it_alone() -> None:
    own = provisioning(item("x"), item("y"))
    for peer in (PEER, OTHER):
        own.take_needs(peer, needs(1, 10, TagNeed("w", "a", 1)))
    own.consumed(PEER, item("x").key)
    sent = [(names(own.provide(PEER)), names(own.provide(OTHER))) for _ in range(6)]
    assert sent == [(["y"], ["x", "y"])] * 5 + [(["x", "y"], ["x", "y"])]


def test_without_suppression_notices_change_nothing() -> None:
    own = provisioning(item("x"), suppression=False)
    own.take_needs(PEER, needs(1, 10, TagNeed("w", "a", 1)))
    assert own.consumed(PEER, item("x").key)
    assert names(own.provide(PEER)) == ["x"]


def test_peers_join_and_leave() -> None:
    own = provisioning(item("x"))
    own.add_peer(4)
    assert own.take_needs(4, needs(1, 10, TagNeed("w", "a", 1)))
    own.add_peer(4)
    assert names(own.provide(4)) == ["x"]
    own.remove_peer(4)
    assert (own.provide(4) == [], own.peers) == (True, (PEER, OTHER))


tag_needs = st.lists(
    st.builds(
        TagNeed,
        st.sampled_from("wv"),
        st.sampled_from("abc"),
        st.integers(0, 9),
        st.sampled_from((ALWAYS, TimeWindow(2), TimeWindow(None, 5))),
    ),
    max_size=6,
    unique_by=lambda each: (each.world, each.tag),
)
some_items = st.lists(
    st.builds(
        item,
        st.integers(0, 30),
        st.sampled_from(("a", "ab", "bc", "abc")),
        st.sampled_from("wv"),
        st.integers(0, 9),
    ),
    max_size=25,
)


@settings(derandomize=True, deadline=None, max_examples=50)
@given(some_items, tag_needs, st.integers(0, 30), st.integers(0, 40))
def test_no_more_is_sent_than_there_is_room_for(
    items: list[Item], wanted: list[TagNeed], capacity: int, total: int
) -> None:
    """Whatever a peer says of its total."""
    own = provisioning(*items)
    window = TimeWindow(1, 8)
    own.take_needs(PEER, needs(total, capacity, *wanted, window=window))
    sent = own.provide(PEER)
    assert len(sent) == len({each.key for each in sent}) <= capacity
    for each in sent:
        published = each.metadata.published_us
        tags = [need for need in wanted if need.world == each.key.world and need.tag in each.metadata.tags]
        assert window.holds(published)
        assert any(need.window.holds(published) for need in tags)


# ---- by migration, and overflow


class Provider:
    """An edge with room for five items, whose provisioning is `name`."""

    def __init__(self, name: str, migration: float = 0.0, **values: Any) -> None:
        self.world = EdgeWorld()
        self.proxies: EdgeProxies = create_proxies(self.world.workshop, EdgeMechanisms(provisioning=name))
        self.proxies.engine.transition("provisioning", name, set=values)
        self.cache = ItemCache(self.world.workshop, "local", 5, eviction="fifo")
        self.popularity = PopularityTable()
        self.own = Provisioning(
            self.cache,
            self.popularity,
            self.proxies.provisioning,
            (PEER, OTHER),
            migration=lambda peer: migration if peer == PEER else 0.0,
        )

    def provide(self) -> dict[int, list[str]]:
        """The items of one cycle, by peer."""
        return {peer: names(self.own.provide(peer)) for peer in self.own.peers}


def test_clients_that_move_to_a_peer_take_what_is_popular_here_along() -> None:
    """Half of them, and three quarters: of four items as many are not those that are subscribed to there."""
    for migration, most, popular in ((0.0, 1.0, 0), (0.5, 1.0, 2), (0.75, 1.0, 3), (0.75, 0.5, 2)):
        edge = Provider("migrating", migration, most=most)
        items = [item("asked", "a", at=9), *[item(f"b{number}", "b", at=number) for number in range(4)]]
        edge.cache.put_batch(items)
        for number, each in enumerate(items[1:]):
            edge.popularity.add("w", counted(each, number + 1), 1)
        for peer in (PEER, OTHER):
            edge.own.take_needs(peer, needs(1, 4, TagNeed("w", "a", 1)))
        sent = edge.provide()
        assert sent == {PEER: ["asked", "b3", "b2", "b1"][: popular + 1], OTHER: ["asked"]}
        edge.own.consumed(PEER, items[4].key)  # b3
        if popular:
            assert edge.provide()[PEER] == ["asked", "b2", "b1", "b0"][: popular + 1]


def test_items_that_have_no_room_go_to_the_nearest_edge_that_has() -> None:
    edge = Provider("overflow")
    edge.cache.put_batch([item(number, "b") for number in range(5)])
    edge.own.set_distance(PEER, 20.0)
    edge.own.set_distance(OTHER, 10.0)
    edge.own.set_distance(99, 1.0)  # nobody knows it
    assert edge.own.peers == (OTHER, PEER)
    edge.cache.put_batch([item(number, "a") for number in range(10, 14)])  # 0 to 3 have to leave
    assert edge.provide() == {OTHER: [], PEER: []}  # nobody has told of room
    edge.own.take_needs(PEER, needs(1, 9, TagNeed("w", "x", 1)))
    edge.own.take_needs(OTHER, needs(2, 6, TagNeed("w", "a", 1)))
    sent = edge.provide()
    assert sent == {OTHER: ["10", "11", "12", "3", "2", "1"], PEER: ["0"]}  # half of the room is left there
    assert edge.provide() == {OTHER: ["10", "11", "12"], PEER: []}  # once
    holders = [edge.own.holder(item(number, "b").key) for number in range(5)]
    assert holders == [PEER, OTHER, OTHER, OTHER, None]
    for other in ("needs", "migrating", "overflow"):
        edge.proxies.engine.transition("provisioning", other)
        assert [edge.own.holder(item(number, "b").key) for number in range(5)] == holders


def test_an_item_that_came_back_or_was_deleted_is_not_sent_elsewhere() -> None:
    edge = Provider("overflow", waiting=2)
    items = [item(number, "b") for number in range(5)]
    edge.cache.put_batch(items)
    edge.cache.put_batch([item(number, "a") for number in range(10, 13)])  # 0 to 2 leave, 0 is given up
    edge.own.discard(lambda each: each.key == items[1].key)
    edge.cache.put_batch([items[2]])  # 3 leaves
    for peer in (PEER, OTHER):
        edge.own.take_needs(peer, needs(1, 9, TagNeed("w", "x", 1)))
    assert edge.provide() == {PEER: ["3"], OTHER: []}


@settings(derandomize=True, deadline=None, max_examples=30)
@given(
    st.lists(st.lists(st.integers(0, 30), max_size=5, unique=True), max_size=8),
    st.sampled_from(("needs", "migrating", "overflow")),
    st.floats(0.0, 1.0),
    st.integers(0, 8),
)
def test_no_mechanism_sends_more_than_there_is_room_for(
    batches: list[list[int]], name: str, migration: float, capacity: int
) -> None:
    """Nor an item that is neither here nor had to leave; one that had to leave is at one edge at most."""
    edge = Provider(name, migration)
    seen: set[str] = set()
    for number, batch in enumerate(batches):
        edge.cache.put_batch([item(each, "a" if each % 2 else "b") for each in batch])
        seen |= {str(each) for each in batch}
        for peer in (PEER, OTHER):
            wanted = TagNeed("w", "a", number), TagNeed("w", "b", 2)
            edge.own.take_needs(peer, needs(number + 2, capacity, *wanted))
        sent = edge.provide()
        here = {each.metadata.key.name for each in edge.cache}
        for found in sent.values():
            assert len(found) == len(set(found)) <= capacity
            assert {*found} <= seen
            assert name == "overflow" or {*found} <= here
        assert not ({*sent[PEER]} & {*sent[OTHER]}) - here


def test_items_are_divided_into_messages() -> None:
    """Of an object that is longer than a message the metadata alone are sent."""
    small = [item(number) for number in range(65)]
    large = [item("large", data=b"x" * (300 << 10)), item("larger", data=b"x" * (600 << 10))]
    messages = provisions([*small, *large, large[0]])
    assert [len(each.items) for each in messages] == [64, 3, 1]
    assert [len(each.data or b"") for each in messages[1].items] == [4, 300 << 10, 0]
    assert all(encode(each) for each in messages)
    assert provisions([]) == []


# ---- slots

edges = st.sets(st.integers(0, 20), min_size=1, max_size=5)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(edges, st.floats(1.0, 90.0), st.floats(0.0, 1e6), st.data())
def test_two_edges_never_send_at_once(
    members: set[int], length_s: float, now: float, choose: st.DataObject
) -> None:
    """Although each clock is wrong by at most the guard."""
    guard_s = choose.draw(st.floats(0.0, length_s / 2.1))
    errors = choose.draw(st.lists(st.floats(-guard_s, guard_s), min_size=5, max_size=5))
    slots = EqualSlots(length_s=length_s, guard_s=guard_s)
    opened = [
        slots.is_open(now + error * 0.999, each, members)
        for each, error in zip(sorted(members), errors, strict=False)
    ]
    assert sum(opened) <= 1


@settings(derandomize=True, deadline=None, max_examples=60)
@given(edges, st.floats(1.0, 90.0), st.floats(0.0, 1e6))
def test_each_edge_has_its_turn_once_a_cycle(members: set[int], length_s: float, now: float) -> None:
    slots = EqualSlots(length_s=length_s, guard_s=length_s / 4)
    cycle_s = len(members) * length_s
    for each in members:
        start = slots.next_start(now, each, members)
        assert now < start <= now + cycle_s + 1e-5
        assert slots.is_open(start, each, members)
        assert slots.next_start(start, each, members) == pytest.approx(start + cycle_s, abs=1e-5)


def test_slots_are_in_the_order_of_numbers_and_change_with_the_members() -> None:
    slots = EqualSlots(length_s=60.0)
    assert [slots.next_start(0.0, each, (7, 3, 5)) for each in (3, 5, 7)] == [180.0, 60.0, 120.0]
    opened = [
        [slots.is_open(now, each, (3, 5, 7)) for each in (3, 5, 7)].index(True)
        for now in (0.0, 59.9, 60.0, 179.9, 180.0)
    ]
    assert opened == [0, 0, 1, 2, 0]
    assert slots.next_start(0.0, 3, (5,)) == 120.0


def test_guards_leave_something_of_a_slot() -> None:
    slots = EqualSlots(length_s=60.0, guard_s=10.0)
    with pytest.raises(InvalidParameter, match="expected less than half"):
        slots.set_length_s(20.0)
    with pytest.raises(InvalidParameter, match="expected less than half"):
        slots.set_guard_s(30.0)
    assert (slots.length_s, slots.guard_s) == (60.0, 10.0)
