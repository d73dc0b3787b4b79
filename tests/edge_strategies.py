"""Messages of infrastructure nodes, as hypothesis draws them."""

from __future__ import annotations

from hypothesis import strategies as st

from bypass.objects.metadata import ObjectKey, Replica
from bypass.objects.window import TimeWindow
from bypass.protocol.datagrams import (
    AreaHello,
    EdgeAnswer,
    EdgeBeacon,
    EdgeProbe,
    NodeAddress,
    RoutingMessage,
    WorldMap,
)
from bypass.protocol.edge import (
    CellCycle,
    CellData,
    CellHello,
    CellNeed,
    CreateWorld,
    Describe,
    Download,
    DownloadCount,
    Downloaded,
    DownloadKind,
    EdgeNotification,
    EdgeRelay,
    Item,
    ItemConsumed,
    ItemKey,
    Provision,
    StorageChange,
    SubscriptionNeeds,
    TagNeed,
    WorldList,
)
from bypass.protocol.storage import JoinRequest, StorageMessage
from tests.object_strategies import objects, tags

u32 = st.integers(0, 2**32 - 1)
u64 = st.integers(0, 2**64 - 1)
worlds = st.sampled_from(("", "gallery", "ä"))
world_maps = st.builds(WorldMap, worlds, worlds, st.integers(1, 4096), u32)
world_lists = st.lists(world_maps, max_size=3).map(tuple)
printable = st.characters(codec="utf-8").filter(str.isprintable)
keys = st.builds(ObjectKey, u32, st.text(printable, min_size=1, max_size=9))
sources = st.none() | u32
item_keys = st.builds(ItemKey, worlds, keys, sources)
items = st.builds(Item, objects, st.none() | st.binary(max_size=40))
windows = st.builds(
    lambda first, length: TimeWindow(first, None if first is None or length is None else first + length),
    st.none() | st.integers(-(2**62), 2**62),
    st.none() | st.integers(1, 2**40),
)
replicas = st.lists(st.builds(Replica, st.none() | u32, st.none() | u32), max_size=2).map(tuple)
downloads = st.builds(DownloadCount, keys, sources, u32, replicas)
cycles = st.builds(CellCycle, u64, st.lists(downloads, max_size=2).map(tuple))
cell_needs = st.builds(CellNeed, tags, u32, windows)
needs = st.builds(TagNeed, worlds, tags, u32, windows)
addresses = st.builds(NodeAddress, st.none() | u32, st.none() | u32)


signatures = st.sampled_from((b"", bytes(range(64))))
few_nodes = st.lists(u32, max_size=4).map(tuple)
edge_routing: st.SearchStrategy[RoutingMessage] = st.one_of(
    st.builds(EdgeProbe, u64),
    st.builds(EdgeAnswer, u64, u32, world_lists, signatures),
    st.builds(EdgeBeacon, u32, u64, world_maps, few_nodes, signatures, few_nodes),
    st.builds(AreaHello, worlds, st.booleans(), st.booleans()),
)


@st.composite
def edge_messages(draw: st.DrawFn, /, **stamp: st.SearchStrategy[int]) -> StorageMessage:
    """Every kind of message of an infrastructure node."""
    return draw(one_of_edge_messages(**stamp))


def one_of_edge_messages(**stamp: st.SearchStrategy[int]) -> st.SearchStrategy[StorageMessage]:
    """The same as one choice, which becomes part of a larger one: each kind is drawn as often as others."""
    kinds, offsets = st.sampled_from(DownloadKind), st.integers(0, 64 << 20)
    some_items = st.lists(items, max_size=2).map(tuple)
    names = st.lists(keys, max_size=3).map(tuple)
    some_keys = st.lists(item_keys, max_size=3).map(tuple)
    confirmed = st.lists(u64, max_size=4).map(tuple)
    return st.one_of(
        st.builds(CellHello, worlds, u32, u32, st.integers(0, 100), confirmed, **stamp),
        st.builds(
            CellData,
            u64,
            worlds,
            u32,
            u32,
            st.lists(cycles, max_size=2).map(tuple),
            st.lists(cell_needs, max_size=2).map(tuple),
            **stamp,
        ),
        st.builds(SubscriptionNeeds, u32, u32, st.lists(needs, max_size=2).map(tuple), windows, **stamp),
        st.builds(Provision, some_items, **stamp),
        st.builds(EdgeNotification, some_items, **stamp),
        st.builds(ItemConsumed, item_keys, **stamp),
        st.builds(StorageChange, some_keys, st.booleans(), **stamp),
        st.builds(
            Download, u64, item_keys, kinds, u64, offsets, st.none() | st.integers(1, 512 << 10), **stamp
        ),
        st.builds(Downloaded, u64, st.none() | items, u64, offsets, **stamp),
        st.builds(CreateWorld, u64, st.sampled_from(("gallery", "ä")), **stamp),
        st.builds(WorldList, u64, world_lists, **stamp),
        st.builds(Describe, u64, u64, st.none() | st.integers(0, 63), names, **stamp),
        st.builds(EdgeRelay, addresses, st.builds(JoinRequest, st.none() | u32), **stamp),
    )
