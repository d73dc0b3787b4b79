"""The caches of an edge: bounds, index, promotion, deletion, and transitions of their mechanisms."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.mechanisms.storage.infra.edge.caches import CacheSizes, EdgeCaches
from bypass.mechanisms.storage.infra.edge.item_cache import ItemCache
from bypass.objects.metadata import Metadata
from bypass.objects.query import ObjectQuery
from bypass.objects.tags import TagFormula
from bypass.objects.window import TimeWindow
from bypass.protocol.edge import Item
from bypass.transitions import TransitionFailed, UnknownMechanism
from tests.mechanisms.storage.infra.edge_world import EdgeWorld, item

few = settings(derandomize=True, deadline=None, max_examples=25)


def edge_caches(sizes: CacheSizes = CacheSizes(), deleted: Iterable[Metadata] = ()) -> EdgeCaches:  # noqa: B008
    return EdgeCaches(EdgeWorld().workshop, lambda metadata: metadata in deleted, sizes)


def check(cache: ItemCache) -> None:
    """Containers are within their sizes, these together within the capacity; the index is the content's."""
    assert sum(cache.sizes().values()) <= cache.capacity
    assert all(count <= cache.sizes()[name] for name, count in cache.counts().items())
    items = list(cache)
    assert len(items) == len(cache)
    for world in {each.key.world for each in items} | {"w"}:
        for tag in "abc":
            found = {each.key for each in cache.tagged(world, tag)}
            assert found == {
                each.key for each in items if each.key.world == world and tag in each.metadata.tags
            }


calls = st.lists(
    st.tuples(
        st.sampled_from(("put", "batch", "remove", "use")),
        st.lists(
            st.builds(
                item, st.integers(0, 12), st.sampled_from(("a", "ab", "bc")), st.sampled_from(("w", "v", "u"))
            ),
            min_size=1,
            max_size=6,
        ),
    ),
    max_size=12,
)


@pytest.mark.parametrize("partition", ["amc", "bounded-amc", "flat"])
def test_bounds_hold_and_the_index_of_tags_is_the_content(partition: str) -> None:
    @few
    @given(calls)
    def holds(drawn: list[tuple[str, list[Item]]]) -> None:
        cache = ItemCache(EdgeWorld().workshop, "test", 7, partition=partition)
        here: set[object] = set()
        cache.add_listener(lambda gone: here.discard(gone.key))
        for call, items in drawn:
            if call == "batch":
                cache.put_batch(items)
                here.update(each.key for each in items if each.key in cache)
            for each in items if call != "batch" else ():
                if call == "put" and cache.put(each):
                    here.add(each.key)
                elif call == "put":
                    assert each.key not in cache
                elif call == "remove":
                    here.discard(each.key)
                    cache.remove(each.key)
                else:
                    cache.use(each.key)
            check(cache)
            assert {each.key for each in cache} == here

    holds()


def test_the_published_example_of_shares() -> None:
    """150 and 50 of 200 entries, and batches of 20 and 80."""
    cache = ItemCache(EdgeWorld().workshop, "test", 200)
    cache.put_batch(
        [item(n, world="gallery") for n in range(150)] + [item(n, world="myapp") for n in range(50)]
    )
    shares = []
    for first in range(1000, 6000, 1000):
        cache.put_batch(
            [item(first + n, world="gallery") for n in range(20)]
            + [item(first + n, world="myapp") for n in range(80)]
        )
        check(cache)
        shares.append((cache.sizes()["gallery"], cache.sizes()["myapp"]))
    assert shares == [(113, 87), (89, 111), (73, 127), (62, 138), (55, 145)]


def test_a_cache_that_fills_one_by_one_is_divided_anew_after_some_puts() -> None:
    """The fourth put into the full container of the full cache counts as a batch of four."""
    cache = ItemCache(EdgeWorld().workshop, "test", 10, partition_values={"limit": 4})
    for number in range(5):
        cache.put(item(number, world="w"))
        cache.put(item(number, world="v"))
    sizes = []
    for number in range(5, 9):
        cache.put(item(number, world="w"))
        sizes.append(cache.sizes()["w"])
    assert sizes == [5, 5, 5, 6]
    check(cache)


def test_mechanisms_of_caches_are_exchanged_and_nothing_is_lost() -> None:
    cache = ItemCache(EdgeWorld().workshop, "test", 12)
    evicted: list[Item] = []
    cache.add_listener(evicted.append)
    cache.put_batch([item(n, "ab", world) for world in ("w", "v") for n in range(6)])
    before = {each.key for each in cache}
    for exchange, to in (
        ("eviction", "lru"),
        ("partition", "flat"),
        ("eviction", "s3-fifo"),
        ("partition", "amc"),
    ):
        (cache.exchange_eviction if exchange == "eviction" else cache.exchange_partition)(to)
        assert {each.key for each in cache} == before
        check(cache)
    assert not evicted
    for bad in (lambda: cache.exchange_eviction("none such"), lambda: cache.exchange_partition("none such")):
        with pytest.raises(UnknownMechanism):
            bad()
    with pytest.raises(TransitionFailed):
        cache.exchange_eviction("w-tiny-lfu", window=7.0)
    assert {each.key for each in cache} == before
    cache.set_capacity(5)
    assert len(cache) == 5
    assert {each.key for each in evicted} == before - {each.key for each in cache}
    check(cache)


@pytest.mark.parametrize("partitions", [("flat", "amc"), ("amc", "flat")])
def test_what_does_not_fit_a_smaller_partition_is_told(partitions: tuple[str, str]) -> None:
    first, second = partitions
    cache = ItemCache(EdgeWorld().workshop, "test", 12, partition=first)
    evicted: list[Item] = []
    cache.add_listener(evicted.append)
    cache.put_batch([item(n, "ab", world) for world in ("w", "w", "v", "u") for n in range(4)])
    before = {each.key for each in cache}
    cache.exchange_partition(second, capacity=2)
    assert (cache.capacity, len(cache)) == (2, 2)
    assert {each.key for each in evicted} == before - {each.key for each in cache}
    cache.exchange_eviction("lru", capacity=99)
    check(cache)


def test_a_batch_tells_what_came_in_and_what_went() -> None:
    caches = edge_caches(CacheSizes(local=4))
    change = caches.insert_local([item(n) for n in range(3)])
    assert (len(change.stored), change.gone) == (3, ())
    assert caches.insert_local([item(0)]) == ((), ())  # it was there
    known = {each.key for each in caches.local}
    change = caches.insert_local([item(n) for n in range(3, 9)])
    now = {each.key for each in caches.local}
    assert (set(change.stored), set(change.gone)) == (now - known, known - now)
    change = caches.change_local(lambda local: local.set_capacity(2))
    left = {each.key for each in caches.local}
    assert set(change.gone) == now - left
    assert caches.change_local(lambda local: local.exchange_eviction("fifo")) == ((), ())
    change = caches.change_local(lambda local: local.exchange_partition("flat", capacity=1))
    assert set(change.gone) == left - {each.key for each in caches.local}


def test_an_item_that_was_sent_ahead_is_promoted_when_it_is_used() -> None:
    caches, sent = edge_caches(), item("x", source=2)
    assert caches.take_provision([sent]) == [sent]
    assert caches.download(sent.key) == (sent, True)
    assert (sent.key in caches.prefetch, sent.key in caches.global_) == (False, True)
    assert caches.download(sent.key) == (sent, False)
    caches.take_provision([sent])
    assert sent.key not in caches.prefetch  # it is here already
    caches.global_.data.remove(sent.key)
    caches.take_provision([sent])
    assert caches.download(sent.key) == (sent, True)


def test_an_item_of_the_own_area_is_used_from_its_cache() -> None:
    caches, own = edge_caches(), item("x", source=1)
    assert caches.download(own.key) == (None, False)
    caches.insert_local([own])
    assert caches.download(own.key) == (own, False)


def test_an_item_that_was_fetched_from_elsewhere_is_here_the_next_time() -> None:
    caches, fetched = edge_caches(), item("x", source=2)
    assert caches.take_remote(fetched) == (fetched, False)
    assert caches.download(fetched.key) == (fetched, False)


def test_metadata_outlive_data() -> None:
    caches = edge_caches(CacheSizes(prefetch_metadata=10, prefetch_data=2))
    sent = [item(n, source=2) for n in range(6)]
    caches.take_provision(sent)
    assert (len(caches.prefetch.metadata), len(caches.prefetch.data)) == (6, 2)
    without = next(each for each in sent if each.key not in caches.prefetch.data)
    assert caches.download(without.key) == (None, False)
    assert without.key in caches.prefetch.metadata
    assert caches.find(without.key) == without._replace(data=None)
    assert caches.take_remote(without) == (without, True)  # fetched from where it comes
    assert (without.key in caches.prefetch, caches.download(without.key)) == (False, (without, False))


def query(text: str, window: TimeWindow = TimeWindow()) -> ObjectQuery:  # noqa: B008
    return ObjectQuery(1 << 32, 1, TagFormula.parse(text), window, namespace="w")


def test_a_subscriber_is_told_what_all_caches_have_once() -> None:
    caches = edge_caches()
    own, ahead, used = item(1, "ab", at=1), item(2, "a", at=2, source=2), item(3, "bc", at=3, source=2)
    caches.insert_local([own, item(4, "ab", world="v")])
    caches.take_provision([ahead])
    caches.take_remote(used)
    told = {
        text: [each.key.name for each in caches.page(query(text), None, 10).items]
        for text in ("a", "b & ~c", "a | b", "~c", "z")
    }
    assert told == {"a": ["2", "1"], "b & ~c": ["1"], "a | b": ["3", "2", "1"], "~c": ["2", "1"], "z": []}
    assert [each.key.name for each in caches.page(query("a | b", TimeWindow(2, 3)), None, 10).items] == ["2"]
    first = caches.page(query("a | b"), None, 2)
    assert first.more
    assert [each.key.name for each in caches.page(query("a | b"), first.next, 2).items] == ["1"]


def test_nothing_that_was_deleted_comes_in() -> None:
    gone = item("x", source=2)
    caches = edge_caches(deleted=[gone.metadata])
    assert caches.insert_local([gone]) == ((), ())
    assert caches.take_provision([gone]) == []
    assert caches.take_remote(gone) == (None, False)
    assert all(len(cache) == 0 for cache in caches.all())
