"""Divides what is handed over into messages that are not too long."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from bypass.objects.metadata import Metadata, StoredObject, Tombstone
from bypass.protocol.storage import LONGEST_DATA, MOST_ITEMS, MOST_NAMED, NodeState, QueryRecord

T = TypeVar("T")

PART_BYTES = 32 << 10
"""Bytes of metadata and objects in one part, about; a larger object has a part of its own."""

_RECORD_BYTES = 128  # a query, or metadata without its summary, about


def divided(
    cell: int,
    metadata: Iterable[Metadata] = (),
    queries: Iterable[QueryRecord] = (),
    objects: Iterable[StoredObject] = (),
    tombstones: Iterable[Tombstone] = (),
) -> list[NodeState]:
    """Parts with all of this, at least one. Objects that no message can hold are left out."""
    parts = [
        *(NodeState(cell, tombstones=tuple(each)) for each in _groups(tombstones, lambda _: _RECORD_BYTES)),
        *(NodeState(cell, metadata=tuple(each)) for each in _groups(metadata, _metadata_size)),
        *(NodeState(cell, queries=tuple(each)) for each in _groups(queries, lambda _: _RECORD_BYTES)),
        *(NodeState(cell, objects=tuple(each)) for each in _groups(objects, _object_size)),
    ]
    return numbered(parts or [NodeState(cell)])


def numbered(parts: list[NodeState]) -> list[NodeState]:
    """The same parts, each with its number and how many there are."""
    return [replace(each, part=number, parts=len(parts)) for number, each in enumerate(parts)]


def chunks(entries: Iterable[int]) -> Iterator[tuple[int, ...]]:
    """The entries in tuples that one digest can hold, at least one."""
    ordered = sorted(entries)
    yield tuple(ordered[:MOST_NAMED])
    for start in range(MOST_NAMED, len(ordered), MOST_NAMED):
        yield tuple(ordered[start : start + MOST_NAMED])


def _metadata_size(metadata: Metadata) -> int:
    return _RECORD_BYTES + len(metadata.summary)


def _object_size(stored: StoredObject) -> int:
    return _metadata_size(stored.metadata) + len(stored.data)


def _groups(items: Iterable[T], size: Callable[[T], int]) -> Iterator[list[T]]:
    group: list[T] = []
    total = 0
    for each in items:
        length = size(each)
        if length > LONGEST_DATA:
            continue
        if group and (len(group) == MOST_ITEMS or total + length > PART_BYTES):
            yield group
            group, total = [], 0
        group.append(each)
        total += length
    if group:
        yield group
