"""The parts of an edge together: what is deleted stays deleted, subscribers are told of each item once, and
used items are not sent again."""

from __future__ import annotations

from collections.abc import Collection, Hashable

from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.mechanisms.storage.infra.edge.address_store import AddressStore
from bypass.mechanisms.storage.infra.edge.caches import EdgeCaches
from bypass.mechanisms.storage.infra.edge.contact import CellContact, Sent
from bypass.mechanisms.storage.infra.edge.mechanisms import EdgeMechanisms, create_proxies
from bypass.mechanisms.storage.infra.edge.popularity import PopularityTable
from bypass.mechanisms.storage.infra.edge.provisioning import Provisioning, provisions
from bypass.mechanisms.storage.infra.edge.retrieval_cycle import RetrievalCycle, RetrievalSettings
from bypass.mechanisms.storage.infra.edge.unpublication import EdgeParts, Unpublications
from bypass.objects.metadata import Replica, Tombstone
from bypass.objects.node_store import NodeStore
from bypass.objects.persistence import MemoryPersistence
from bypass.objects.query import ObjectQuery
from bypass.objects.tags import TagFormula
from bypass.protocol.edge import EdgeNotification, Item, ItemKey, StorageChange, SubscriptionNeeds, TagNeed
from bypass.protocol.storage import NodeState, StorageMessage
from tests.mechanisms.storage.infra.edge_world import EdgeWorld, counted, item
from tests.object_strategies import SECRET

QUERY = ObjectQuery(9 << 32, 9, TagFormula.parse("a"), namespace="w")


class EdgeNode:
    """An edge whose clients are those of the test."""

    def __init__(
        self,
        number: int = 1,
        peers: tuple[int, ...] = (2,),
        persistence: MemoryPersistence | None = None,
    ) -> None:
        self.world = EdgeWorld()
        self.store = NodeStore(number, persistence or MemoryPersistence())
        self.caches = EdgeCaches(self.world.workshop, self.store.tombstones.hides)
        self.popularity = PopularityTable()
        proxies = create_proxies(self.world.workshop, EdgeMechanisms(provisioning="overflow"))
        self.retrieval = RetrievalCycle(
            self.world.host,
            self.popularity,
            proxies.ranking,
            proxies.insertion,
            self,
            RetrievalSettings(limit=10),
        )
        self.provisioning = Provisioning(self.caches.local, self.popularity, proxies.provisioning, peers)
        self.addresses = AddressStore(self.world.clock.now)
        self.contact = CellContact(self.addresses, self.send)
        parts = EdgeParts(self.caches, self.popularity, self.retrieval, self.provisioning, self.contact)
        self.deletions = Unpublications(self.store, parts)
        self.asked: list[ItemKey] = []
        self.sent: list[StorageMessage] = []

    def ask(self, key: ItemKey, replica: Replica, cycle: int) -> None:
        self.asked.append(key)

    def is_cached(self, key: ItemKey) -> bool:
        return key in self.caches.local

    def has_room(self) -> bool:
        return len(self.caches.local) < self.caches.local.capacity

    def is_deleted(self, item: Item) -> bool:
        return self.store.tombstones.hides(item.metadata)

    def insert(self, items: Collection[Item], batch: bool) -> None:
        self.caches.insert_local(items, batch)

    def send(self, physical: Hashable, body: StorageMessage, sent: Sent) -> None:
        self.sent.append(body)
        sent(True)

    def told(self) -> list[str]:
        """The names of what a subscriber finds here."""
        return sorted(each.key.name for each in self.caches.page(QUERY, None, 64).items)


def tombstone(of: Item) -> Tombstone:
    return Tombstone(of.metadata.key, SECRET)


def test_a_deleted_item_leaves_all_parts_and_does_not_come_back() -> None:
    node = EdgeNode()
    gone, kept = item("gone"), item("kept")
    node.popularity.add("w", counted(gone, 1, 7), 0)
    node.retrieval.arm()
    node.world.run(60.0)
    assert node.asked == [gone.key]
    node.retrieval.arrived(gone, 2)
    node.caches.insert_local([kept, item("gone", source=None)])
    node.caches.take_provision([item("gone", source=2)])
    node.caches.take_remote(item("gone", source=3))
    node.contact.to_cell("w", 0, EdgeNotification((gone, kept)))
    node.contact.to_cell("w", 0, EdgeNotification((gone,)))
    node.contact.to_cell("w", 0, StorageChange((item("gone", source=None).key, kept.key), True))

    removed = node.deletions.take(tombstone(gone))
    assert removed is not None
    assert {key.source for key in removed} == {None, 2, 3}
    assert list(node.retrieval.staged) == []
    node.addresses.establish("w", 0, "stable")
    bodies = [relay.body for relay in node.sent]  # type: ignore[attr-defined]
    assert bodies == [EdgeNotification((kept,)), StorageChange((kept.key,), True)]

    assert node.deletions.take(tombstone(gone)) is None  # nobody has to be told again
    node.retrieval.arrived(gone, 2)
    node.caches.insert_local([gone])
    node.caches.take_provision([gone])
    assert node.caches.take_remote(gone).item is None
    node.world.run(30.0)
    assert node.told() == ["kept"]
    assert all(each.key.object.name == "kept" for cache in node.caches.all() for each in cache)


def test_an_item_that_had_to_leave_is_not_sent_elsewhere_once_it_is_deleted() -> None:
    node = EdgeNode()
    node.caches.change_local(lambda cache: cache.set_capacity(1))
    gone, kept = item("gone"), item("kept")
    for each in (gone, kept, item("last")):
        for _ in range(3):
            node.caches.insert_local([each])
    left = {
        each.metadata.key.name for each in (gone, kept, item("last")) if each.key not in node.caches.local
    }
    assert len(left) == 2
    node.provisioning.take_needs(2, SubscriptionNeeds(1, 9, (TagNeed("w", "other", 1),)))
    for each in (gone, kept, item("last")):
        if each.metadata.key.name == min(left):
            assert node.deletions.take(tombstone(each)) == []  # it is in no cache
    assert [each.key.object.name for each in node.provisioning.provide(2)] == [max(left)]


def test_nobody_deletes_what_somebody_else_owns() -> None:
    node = EdgeNode()
    node.caches.insert_local([item("x")])
    assert node.deletions.take(Tombstone(item("x").metadata.key, b"guessed")) == []
    assert node.told() == ["x"]


def heal(one: EdgeNode, two: EdgeNode) -> None:
    """Both compare, and take what the other one has."""
    for state in two.deletions.lacking(one.deletions.digest()):
        one.deletions.take_state(state)
    for state in one.deletions.lacking(two.deletions.digest()):
        two.deletions.take_state(state)


@settings(derandomize=True, deadline=None, max_examples=15)
@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 9)), max_size=12))
def test_what_one_side_of_a_partition_deletes_is_gone_on_both_once_it_heals(
    deletions: list[tuple[int, int]],
) -> None:
    sides = EdgeNode(1), EdgeNode(2)
    items = [item(number) for number in range(10)]
    for side in sides:
        side.caches.insert_local(items[:5])
        side.caches.take_provision(items[5:])
    for chosen, number in deletions:
        sides[chosen].deletions.take(tombstone(items[number]))
    heal(*sides)
    left = sorted({str(number) for number in range(10)} - {str(number) for _, number in deletions})
    assert [side.told() for side in sides] == [left, left]
    assert sides[0].deletions.lacking(sides[1].deletions.digest()) == []
    for side in sides:  # copies that come later
        side.caches.take_provision(items)
        assert side.told() == left


def test_new_tombstones_are_told_with_what_they_removed() -> None:
    node = EdgeNode()
    node.caches.insert_local([item("x")])
    state = NodeState(tombstones=(tombstone(item("x")), tombstone(item("y"))))
    assert node.deletions.take_state(state) == [
        (tombstone(item("x")), [item("x").key]),
        (tombstone(item("y")), []),
    ]
    assert node.deletions.take_state(state) == []


def test_an_edge_that_was_started_again_knows_its_tombstones() -> None:
    disk = MemoryPersistence()
    EdgeNode(persistence=disk).deletions.take(tombstone(item("x")))
    node = EdgeNode(persistence=disk)
    assert node.caches.take_provision([item("x"), item("y")]) == [item("y")]
    assert node.deletions.take(tombstone(item("x"))) is None


def test_the_curve_of_an_over_used_cell() -> None:
    """100 items, a subscription each second for 300 s, and 5 more items at the edge every 10 s: the cell
    sends 100 - 5 * (t // 10) items, 10,500 instead of 30,000; with the edge all, and none twice."""
    node = EdgeNode()
    items = [item(number) for number in range(100)]
    at_edge: set[ItemKey] = set()  # as the nodes of the cell know it
    by_cell = []
    for second in range(300):
        if second and second % 10 == 0 and len(at_edge) < len(items):
            first = len(at_edge)
            change = node.caches.insert_local(items[first : first + 5])
            at_edge |= set(change.stored)
            assert change.gone == ()
        of_cell = {each.metadata.key.name for each in items if each.key not in at_edge}
        page = node.caches.page(QUERY, None, 64)
        of_edge = {each.key.name for each in page.items}
        if page.more:
            of_edge |= {each.key.name for each in node.caches.page(QUERY, page.next, 64).items}
        assert of_cell | of_edge == {str(number) for number in range(100)}
        assert not of_cell & of_edge
        by_cell.append(len(of_cell))
    assert by_cell == [max(0, 100 - 5 * (second // 10)) for second in range(300)]
    assert (sum(by_cell), 300 * len(items)) == (10_500, 30_000)


def cycle(source: EdgeNode, target: EdgeNode) -> list[Item]:
    """The source provides, and clients of the target use the first half of what is new to them."""
    sent = [each for message in provisions(source.provisioning.provide(2)) for each in message.items]
    target.caches.take_provision(sent)
    for each in sent[: len(sent) // 2]:
        if target.caches.download(each.key).promoted:
            source.provisioning.consumed(2, each.key)
    return sent


def test_notices_of_consumption_save_items_from_the_second_cycle_on() -> None:
    """The source measures about 40 % fewer items a cycle; how many it is depends on how much is used."""
    counts = {}
    for suppression in (True, False):
        source, target = EdgeNode(1), EdgeNode(2, peers=(1,))
        source.provisioning.suppression = suppression
        source.caches.insert_local([item(number) for number in range(40)])
        source.provisioning.take_needs(2, SubscriptionNeeds(1, 40, (TagNeed("w", "a", 1),)))
        counts[suppression] = [len(cycle(source, target)) for _ in range(5)]
    assert counts == {True: [40, 20, 10, 5, 3], False: [40] * 5}
