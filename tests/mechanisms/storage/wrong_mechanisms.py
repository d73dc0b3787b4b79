"""Storage mechanisms with one mistake each, which the suite has to catch."""

from __future__ import annotations

from typing import ClassVar

from bypass.mechanisms.storage.local import Local
from bypass.objects.metadata import Metadata, ObjectKey, StoredObject
from bypass.objects.query import ObjectQuery, PageCursor
from bypass.protocol.storage import OperationStatus


class Repeating(Local):
    """Goes on serving withdrawn queries, and notifies again and again."""

    name: ClassVar[str] = "repeating"
    flag: ClassVar[int] = 101

    def withdraw(self, op: int, query: ObjectQuery) -> None:
        self.host.link.done(op, OperationStatus.OK)

    def insert(self, op: int, stored: StoredObject, active: bool | None) -> None:
        super().insert(op, stored, active)
        self.host.after(1.0, self._again, stored.metadata)

    def _again(self, metadata: Metadata) -> None:
        for query in self._served.concerned(metadata):
            self._notify(query, (metadata,))


class Resurrecting(Local):
    """Serves deleted objects again."""

    name: ClassVar[str] = "resurrecting"
    flag: ClassVar[int] = 102

    def delete(self, op: int, metadata: Metadata, opening: bytes) -> None:
        super().delete(op, metadata, opening)
        self.host.after(1.0, self.serve, metadata)


class Forgetful(Local):
    """Forgets objects after a minute, so that windows in the past miss them."""

    name: ClassVar[str] = "forgetful"
    flag: ClassVar[int] = 103

    def serve(self, metadata: Metadata) -> bool:
        self.host.after(60.0, self._forget, metadata.key)
        return super().serve(metadata)

    def _forget(self, key: ObjectKey) -> None:
        self._served.remove(key)


class Overlapping(Local):
    """Gives pages without looking where the last one ended."""

    name: ClassVar[str] = "overlapping"
    flag: ClassVar[int] = 104

    def ask(
        self,
        op: int,
        query: ObjectQuery,
        after: PageCursor | None,
        limit: int,
        since_us: int | None,
        live: bool,
    ) -> None:
        super().ask(op, query, None, limit, since_us, live)
