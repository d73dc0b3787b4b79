"""Hashes of what a cell keeps, by which nodes compare what they have."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from bypass.objects.metadata import Metadata, ObjectKey, Tombstone, content_hash


def metadata_entry(metadata: Metadata) -> int:
    """The hash of an object's metadata; the list of its copies is not part of it."""
    return _object_entry(b"metadata", metadata.key, metadata.commitment)


def bytes_entry(metadata: Metadata) -> int:
    """The hash that stands for an object's bytes."""
    return _object_entry(b"bytes", metadata.key, metadata.commitment)


def tombstone_entry(tombstone: Tombstone) -> int:
    """The hash of the mark that an object was deleted."""
    return _object_entry(b"tombstone", tombstone.key, content_hash(tombstone.opening))


def query_entry(query: int, conjunction: int, at_us: int) -> int:
    """The hash of a conjunction that a cell keeps, and of when its subscriber said where it is."""
    return _hash(b"query", b"%d %d %d" % (query, conjunction, at_us))


def fold(cell: int, entries: Iterable[int]) -> int:
    """One number for all entries of a cell, in any order. Equal states have equal numbers."""
    folded = _hash(b"cell", b"%d" % cell)
    for each in entries:
        folded ^= each
    return folded


def _object_entry(kind: bytes, key: ObjectKey, commitment: bytes) -> int:
    return _hash(kind, b"%d %s" % (key.owner, commitment) + key.name.encode())


def _hash(kind: bytes, text: bytes) -> int:
    return int.from_bytes(blake2b(text, digest_size=8, person=kind).digest())
