"""The file of stored objects: its tables, and how the parts of an object's bytes are numbered."""

from __future__ import annotations

from pathlib import Path

from bypass.live.broker.store.database import DatabaseKind

PART_BYTES = 65_536
"""Bytes of an object that are one row, and travel together."""

_PART_BITS = 16

# A `blob` is the number of an object's bytes. `tagged` has a row for each tag of an object, in the order of
# pages, and one for the namespace itself, whose tag is the empty text. `charge` is what counts for quotas.
# The tags in `objects` are numbers of words, eight bytes each.
_SCHEMA = """
CREATE TABLE objects (arrival INTEGER PRIMARY KEY, owner INTEGER NOT NULL, name TEXT NOT NULL,
    account TEXT NOT NULL, at REAL NOT NULL, published INTEGER NOT NULL, size INTEGER NOT NULL,
    charge INTEGER NOT NULL, blob INTEGER NOT NULL, tags BLOB NOT NULL, metadata BLOB NOT NULL);
CREATE UNIQUE INDEX object_keys ON objects (owner, name);
CREATE TABLE tagged (word INTEGER NOT NULL, published INTEGER NOT NULL, owner INTEGER NOT NULL,
    name TEXT NOT NULL, arrival INTEGER NOT NULL, PRIMARY KEY (word, published, owner, name)) WITHOUT ROWID;
CREATE TABLE words (word INTEGER PRIMARY KEY, namespace TEXT NOT NULL, tag TEXT NOT NULL,
    objects INTEGER NOT NULL);
CREATE UNIQUE INDEX word_texts ON words (namespace, tag);
CREATE TABLE parts (part INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE uploads (blob INTEGER PRIMARY KEY, owner INTEGER NOT NULL, name TEXT NOT NULL,
    account TEXT NOT NULL, at REAL NOT NULL, charge INTEGER NOT NULL, received INTEGER NOT NULL,
    metadata BLOB NOT NULL);
CREATE UNIQUE INDEX upload_keys ON uploads (owner, name);
CREATE TABLE tombstones (number INTEGER PRIMARY KEY, owner INTEGER NOT NULL, name TEXT NOT NULL,
    account TEXT NOT NULL, at REAL NOT NULL, opening BLOB NOT NULL);
CREATE UNIQUE INDEX tombstone_keys ON tombstones (owner, name);
CREATE INDEX tombstone_accounts ON tombstones (account, number);
CREATE TABLE accounts (account TEXT PRIMARY KEY, objects INTEGER NOT NULL, bytes INTEGER NOT NULL,
    tombstones INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE latest (arrival INTEGER NOT NULL, word INTEGER NOT NULL);
INSERT INTO latest VALUES (0, 0);
"""

OBJECTS = DatabaseKind(0x62797074, _SCHEMA, 1, 1, False)


def object_path(store: Path) -> Path:
    """The file of the objects of a broker whose store is this file."""
    return store.with_name(f"{store.name}-objects")


def part_number(blob: int, offset: int) -> int:
    """The number of the row that has the byte at an offset."""
    return (blob << _PART_BITS) + offset // PART_BYTES


def parts_of(blob: int) -> tuple[int, int]:
    """The first and the last number that rows of these bytes can have."""
    return blob << _PART_BITS, ((blob + 1) << _PART_BITS) - 1
