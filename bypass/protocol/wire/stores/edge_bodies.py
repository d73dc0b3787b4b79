"""The bodies of messages of infrastructure nodes; as in `bodies`."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from bypass.errors import shown
from bypass.objects.formula_text import check_tag
from bypass.objects.metadata import MOST_REPLICAS, Replica, check_namespace
from bypass.objects.window import TimeWindow
from bypass.protocol.datagrams import WorldMap
from bypass.protocol.edge import (
    MOST_CELLS,
    MOST_CONFIRMED,
    MOST_STABLE,
    MOST_WORLDS,
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
    Item,
    ItemConsumed,
    ItemKey,
    Provision,
    StorageChange,
    SubscriptionNeeds,
    TagNeed,
    WorldList,
)
from bypass.protocol.storage import MOST_NAMED, StorageMessage
from bypass.protocol.wire import bypass_pb2 as pb
from bypass.protocol.wire.fields import extend, required
from bypass.protocol.wire.object_fields import (
    at_most,
    checked_conjunction,
    checked_length,
    checked_offset,
    few,
    key_of,
    many,
    object_data,
    optional_number,
    read_key,
    read_metadata,
    read_place,
    write_key,
    write_metadata,
    write_place,
)
from bypass.protocol.wire.stores.state_bodies import Form
from bypass.protocol.wire.values import ValueTypes


def _write_item_key(body: pb.ItemKey, item: ItemKey) -> None:
    body.world = _world(item.world)
    write_key(body.key, item.object)
    if item.source is not None:
        body.source = item.source


def _read_item_key(body: pb.ItemKey) -> ItemKey:
    return ItemKey(_world(body.world), key_of(body), optional_number(body, "source"))


def _write_item(body: pb.Item, item: Item, values: ValueTypes) -> None:
    write_metadata(body.metadata, item.metadata, values)
    if item.data is not None:
        body.data = object_data(item.data)


def _read_item(body: pb.Item, values: ValueTypes) -> Item:
    data = object_data(body.data) if body.HasField("data") else None
    return Item(read_metadata(required(body, "metadata"), values), data)


def _write_items(body: Any, items: Iterable[Item], values: ValueTypes) -> None:
    for item in items:
        _write_item(body.items.add(), item, values)


def _read_items(body: Any, values: ValueTypes) -> tuple[Item, ...]:
    return tuple([_read_item(each, values) for each in few("items", body.items)])


def _write_window(body: pb.TimeWindow, window: TimeWindow) -> None:
    if window.start_us is not None:
        body.start_us = window.start_us
    if window.end_us is not None:
        body.end_us = window.end_us


def _read_window(body: pb.TimeWindow) -> TimeWindow:
    return TimeWindow(optional_number(body, "start_us"), optional_number(body, "end_us"))


def _write_cell_hello(body: pb.CellHello, message: CellHello, _: ValueTypes) -> None:
    body.world, body.map_epoch, body.cell = _world(message.world), message.map_epoch, message.cell
    body.stability = at_most("stability", message.stability, MOST_STABLE)
    at_most("confirmed cycles", len(message.confirmed), MOST_CONFIRMED)
    extend("confirmed", body.confirmed, message.confirmed)


def _read_cell_hello(body: pb.CellHello, _: ValueTypes) -> CellHello:
    at_most("confirmed cycles", len(body.confirmed), MOST_CONFIRMED)
    stability = at_most("stability", body.stability, MOST_STABLE)
    return CellHello(_world(body.world), body.map_epoch, body.cell, stability, tuple(body.confirmed))


def _write_cell_data(body: pb.CellData, message: CellData, _: ValueTypes) -> None:
    body.op, body.world = message.op, _world(message.world)
    body.map_epoch, body.cell = message.map_epoch, message.cell
    _check_cycles(message.cycles)
    for cycle, downloads in message.cycles:
        each = body.cycles.add()
        each.cycle = cycle
        for download in downloads:
            _write_download_count(each.downloads.add(), download)
    for need in many("needs", message.needs):
        entry = body.needs.add()
        check_tag(need.tag)
        entry.tag, entry.count = need.tag, need.subscriptions
        _write_window(entry.window, need.window)


def _write_download_count(body: pb.DownloadCount, download: DownloadCount) -> None:
    write_key(body.key, download.object)
    if download.source is not None:
        body.source = download.source
    body.count = download.downloads
    at_most("replicas", len(download.replicas), MOST_REPLICAS)
    for replica in download.replicas:
        write_place(body.replicas.add(), *replica)


def _read_cell_data(body: pb.CellData, _: ValueTypes) -> CellData:
    _check_cycles(body.cycles)
    cycles = [
        CellCycle(each.cycle, tuple([_read_download_count(download) for download in each.downloads]))
        for each in body.cycles
    ]
    needs = [_read_cell_need(each) for each in many("needs", body.needs)]
    world = _world(body.world)
    return CellData(required(body, "op"), world, body.map_epoch, body.cell, tuple(cycles), tuple(needs))


def _read_download_count(body: pb.DownloadCount) -> DownloadCount:
    at_most("replicas", len(body.replicas), MOST_REPLICAS)
    replicas = tuple([Replica(*read_place(each)) for each in body.replicas])
    return DownloadCount(key_of(body), optional_number(body, "source"), body.count, replicas)


def _read_cell_need(body: pb.CellNeed) -> CellNeed:
    check_tag(body.tag)
    return CellNeed(body.tag, body.count, _read_window(body.window))


def _check_cycles(cycles: Any) -> None:
    few("cycles", cycles)
    at_most("downloads", sum(len(each.downloads) for each in cycles), MOST_NAMED)


def _write_needs(body: pb.SubscriptionNeeds, message: SubscriptionNeeds, _: ValueTypes) -> None:
    body.total, body.capacity = message.total, message.capacity
    for need in many("needs", message.needs):
        entry = body.needs.add()
        check_tag(need.tag)
        entry.world, entry.tag, entry.count = _world(need.world), need.tag, need.subscriptions
        _write_window(entry.window, need.window)
    _write_window(body.window, message.window)


def _read_needs(body: pb.SubscriptionNeeds, _: ValueTypes) -> SubscriptionNeeds:
    needs = [_read_need(each) for each in many("needs", body.needs)]
    return SubscriptionNeeds(body.total, body.capacity, tuple(needs), _read_window(body.window))


def _read_need(body: pb.TagNeed) -> TagNeed:
    check_tag(body.tag)
    return TagNeed(_world(body.world), body.tag, body.count, _read_window(body.window))


def _write_provision(
    body: pb.Provision | pb.EdgeNotification, message: Provision | EdgeNotification, values: ValueTypes
) -> None:
    _write_items(body, few("items", message.items), values)


def _read_provision(body: pb.Provision, values: ValueTypes) -> Provision:
    return Provision(_read_items(body, values))


def _read_notification(body: pb.EdgeNotification, values: ValueTypes) -> EdgeNotification:
    return EdgeNotification(_read_items(body, values))


def _write_consumed(body: pb.ItemConsumed, message: ItemConsumed, _: ValueTypes) -> None:
    _write_item_key(body.item, message.item)


def _read_consumed(body: pb.ItemConsumed, _: ValueTypes) -> ItemConsumed:
    return ItemConsumed(_read_item_key(required(body, "item")))


def _write_storage_change(body: pb.StorageChange, message: StorageChange, _: ValueTypes) -> None:
    for item in many("items", message.items):
        _write_item_key(body.items.add(), item)
    body.stored = message.stored


def _read_storage_change(body: pb.StorageChange, _: ValueTypes) -> StorageChange:
    return StorageChange(tuple([_read_item_key(each) for each in many("items", body.items)]), body.stored)


def _write_download(body: pb.Download, message: Download, _: ValueTypes) -> None:
    body.op, body.kind, body.cycle = message.op, message.kind, message.cycle
    _write_item_key(body.item, message.item)
    body.offset = checked_offset(message.offset)
    if message.length is not None:
        body.length = checked_length(message.length)


def _read_download(body: pb.Download, _: ValueTypes) -> Download:
    return Download(
        required(body, "op"),
        _read_item_key(required(body, "item")),
        DownloadKind(body.kind),
        body.cycle,
        checked_offset(body.offset),
        checked_length(body.length) if body.HasField("length") else None,
    )


def _write_downloaded(body: pb.Downloaded, message: Downloaded, values: ValueTypes) -> None:
    body.op, body.cycle, body.offset = message.op, message.cycle, checked_offset(message.offset)
    if message.item is not None:
        _write_item(body.item, message.item, values)


def _read_downloaded(body: pb.Downloaded, values: ValueTypes) -> Downloaded:
    item = _read_item(body.item, values) if body.HasField("item") else None
    return Downloaded(required(body, "op"), item, body.cycle, checked_offset(body.offset))


def _write_create_world(body: pb.CreateWorld, message: CreateWorld, _: ValueTypes) -> None:
    body.op, body.name = message.op, _world_name(message.name)


def _read_create_world(body: pb.CreateWorld, _: ValueTypes) -> CreateWorld:
    return CreateWorld(required(body, "op"), _world_name(body.name))


def _write_world_list(body: pb.WorldList, message: WorldList, _: ValueTypes) -> None:
    body.op = message.op
    write_worlds(body.worlds, message.worlds)


def _read_world_list(body: pb.WorldList, _: ValueTypes) -> WorldList:
    return WorldList(required(body, "op"), read_worlds(body.worlds))


def write_worlds(body: Any, worlds: Collection[WorldMap]) -> None:
    at_most("worlds", len(worlds), MOST_WORLDS)
    for each in worlds:
        write_world(body.add(), each)


def read_worlds(body: Any) -> tuple[WorldMap, ...]:
    at_most("worlds", len(body), MOST_WORLDS)
    return tuple([read_world(each) for each in body])


def write_world(body: pb.WorldMap, world: WorldMap) -> None:
    body.world, body.name = _world(world.world), _world(world.name)
    body.cells, body.epoch = _cells(world.cells), world.epoch


def read_world(body: pb.WorldMap) -> WorldMap:
    return WorldMap(_world(body.world), _world(body.name), _cells(body.cells), body.epoch)


def _write_describe(body: pb.Describe, message: Describe, _: ValueTypes) -> None:
    body.op, body.query = message.op, message.query
    if message.conjunction is not None:
        body.conjunction = checked_conjunction(message.conjunction)
    for key in many("keys", message.keys):
        write_key(body.keys.add(), key)


def _read_describe(body: pb.Describe, _: ValueTypes) -> Describe:
    return Describe(
        required(body, "op"),
        required(body, "query"),
        checked_conjunction(body.conjunction) if body.HasField("conjunction") else None,
        tuple([read_key(each) for each in many("keys", body.keys)]),
    )


def _cells(cells: int) -> int:
    if not 0 < cells <= MOST_CELLS:
        raise ValueError(f"{shown(cells)} cells: expected 1 to {MOST_CELLS}")
    return cells


def _world_name(name: str) -> str:
    if not name:
        raise ValueError("world without a name: expected one")
    return _world(name)


def _world(world: str) -> str:
    check_namespace(world)
    return world


EDGE_FORMS: dict[type[StorageMessage], Form] = {
    CellHello: ("cell_hello", _write_cell_hello, _read_cell_hello),
    CellData: ("cell_data", _write_cell_data, _read_cell_data),
    SubscriptionNeeds: ("needs", _write_needs, _read_needs),
    Provision: ("provision", _write_provision, _read_provision),
    EdgeNotification: ("edge_notification", _write_provision, _read_notification),
    ItemConsumed: ("consumed", _write_consumed, _read_consumed),
    StorageChange: ("storage_change", _write_storage_change, _read_storage_change),
    Download: ("download", _write_download, _read_download),
    Downloaded: ("downloaded", _write_downloaded, _read_downloaded),
    CreateWorld: ("create_world", _write_create_world, _read_create_world),
    WorldList: ("world_list", _write_world_list, _read_world_list),
    Describe: ("describe", _write_describe, _read_describe),
}
"""By class."""
