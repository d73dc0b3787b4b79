"""Objects for tests of the broker's store: metadata that can be made in one line, kept as pickles."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bypass.live.broker.config import ObjectLimits
from bypass.live.broker.objects.changes import PutObject
from bypass.live.broker.objects.object_store import ObjectStore
from bypass.live.broker.objects.pages import PageScan
from bypass.live.broker.store.database import connect
from bypass.objects.metadata import Metadata, ObjectKey, content_hash
from bypass.objects.query import ObjectQuery, PageCursor
from bypass.objects.tags import TagFormula

SECRET = b"secret"


def described(
    name: str, tags: Iterable[str], published_us: int = 0, owner: int = 1, data: bytes = b"x", **more: Any
) -> Metadata:
    """The metadata of an object."""
    return Metadata(
        ObjectKey(owner, name),
        frozenset(tags),
        published_us,
        len(data),
        content_hash(data),
        content_hash(SECRET),
        **more,
    )


def put(metadata: Metadata, account: str = "a", data: bytes = b"x") -> PutObject:
    """The change that stores an object."""
    return PutObject(account, metadata, pickle.dumps(metadata), data)


def decode(record: bytes) -> Metadata:
    """Metadata out of a record of these tests."""
    found = pickle.loads(record)
    assert isinstance(found, Metadata)
    return found


@contextmanager
def stored(path: Path, now: float = 1000.0, **limits: Any) -> Iterator[ObjectStore]:
    """A store in a file."""
    store = ObjectStore(path, "normal", ObjectLimits(**limits), decode, lambda: now)
    try:
        yield store
    finally:
        store.close()


def asked(formula: str, **more: Any) -> ObjectQuery:
    """A query of subscriber 1."""
    return ObjectQuery((1 << 32) + 1, 1, TagFormula.parse(formula), **more)


def page(
    path: Path,
    query: ObjectQuery,
    after: PageCursor | None = None,
    limit: int = 10,
    since_us: int | None = None,
) -> tuple[list[Metadata], PageCursor | None, bool]:
    """A page, read to its end."""
    connection = connect(path)
    try:
        scan = PageScan(query, after, limit, since_us, decode)
        found = None
        while found is None:
            found = scan.advance(connection.execute)
    finally:
        connection.close()
    return [decode(record) for record in found.records], found.next, found.more
