"""The items that edges send each other: quotas, windows, suppression, slots."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.mechanisms.storage.infra.edge.item_cache import ItemCache
from bypass.mechanisms.storage.infra.edge.popularity import PopularityTable
from bypass.mechanisms.storage.infra.edge.provisioning import Provisioning, provisions
from bypass.mechanisms.storage.infra.edge.slots import ProvisioningSlots
from bypass.objects.window import ALWAYS, TimeWindow
from bypass.protocol.edge import Item, SubscriptionNeeds, TagNeed
from bypass.protocol.wire import encode
from tests.mechanisms.storage.infra.edge_world import EdgeWorld, counted, item

PEER, OTHER = 2, 3


def provisioning(
    *items: Item, suppression: bool = True, popularity: PopularityTable | None = None
) -> Provisioning:
    """That of an edge with these items and two peers."""
    cache = ItemCache(EdgeWorld().workshop, "local", 200)
    cache.put_batch(items)
    return Provisioning(cache, popularity or PopularityTable(), (PEER, OTHER), 5, suppression)


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
    slots = [ProvisioningSlots(each, members, length_s, guard_s) for each in sorted(members)]
    opened = [each.is_open(now + error * 0.999) for each, error in zip(slots, errors, strict=False)]
    assert sum(opened) <= 1


@settings(derandomize=True, deadline=None, max_examples=60)
@given(edges, st.floats(1.0, 90.0), st.floats(0.0, 1e6))
def test_each_edge_has_its_turn_once_a_cycle(members: set[int], length_s: float, now: float) -> None:
    for each in members:
        slots = ProvisioningSlots(each, members, length_s, length_s / 4)
        start = slots.next_start(now)
        assert now < start <= now + slots.cycle_s + 1e-6
        assert slots.is_open(start)
        assert slots.next_start(start) == pytest.approx(start + slots.cycle_s)
    assert slots.cycle_s == pytest.approx(len(members) * length_s, abs=1e-5)


def test_slots_are_in_the_order_of_numbers_and_change_with_the_members() -> None:
    slots = [ProvisioningSlots(each, (7, 3, 5), 60.0) for each in (3, 5, 7)]
    assert [each.next_start(0.0) for each in slots] == [180.0, 60.0, 120.0]
    assert [[each.is_open(now) for each in slots].index(True) for now in (0.0, 59.9, 60.0, 179.9, 180.0)] == [
        0, 0, 1, 2, 0,
    ]  # fmt: skip
    slots[0].set_members([5])
    assert (slots[0].next_start(0.0), slots[0].cycle_s) == (120.0, 120.0)
