"""A cell that is used too much: objects of one tag, and a node that asks for all of them again and again
(Vieira 2018, 5.4.2)."""

from __future__ import annotations

from typing import Self

from pydantic import Field

from bypass.models.storage.operations import OperationKind, OperationRow, StorageOperations, SubscriptionRow
from bypass.models.storage.posts import Posts
from bypass.models.storage.workload import StorageWorkload
from bypass.support.units import MICROSECONDS

TAG = "goal"


class OverUsedCell(StorageWorkload):
    """The first node publishes `items` objects of one tag with `size` bytes each at once; the last one
    subscribes to the tag, all time, every `interval` seconds, so many `subscriptions`, from `begins` on. So
    many `readers`, the nodes behind the first one, are told of the objects when they are published."""

    items: int = Field(default=100, ge=0, le=10_000)
    size: int = Field(default=64, ge=0, le=2**24)
    subscriptions: int = Field(default=300, ge=0, le=100_000)
    interval: float = Field(default=1.0, gt=0, le=3600)
    begins: float = Field(default=0.0, ge=0, le=3600)
    readers: int = Field(default=0, ge=0, le=1000)

    @property
    def length(self) -> float:
        return self.begins + self.subscriptions * self.interval

    def stretched(self, factor: float) -> Self:
        return self.model_copy(
            update={
                "subscriptions": round(self.subscriptions * factor),
                "begins": self.begins * factor,
            }
        )

    def draw(self, nodes: int, seed: int) -> StorageOperations:  # noqa: ARG002 # nothing is left to chance
        published = 1.0 if self.readers else 0.0
        posts = Posts.of_authors([[(published, self.size, [0])] * self.items], (TAG,))
        at_us = round(published * MICROSECONDS)
        rows: list[OperationRow] = [(at_us, 0, OperationKind.INSERT, i) for i in range(self.items)]
        wanted: list[SubscriptionRow] = [
            (round((self.begins + i * self.interval) * MICROSECONDS), nodes - 1, 0, True)
            for i in range(self.subscriptions)
        ]
        wanted += [(0, reader, 0, False) for reader in range(1, min(self.readers, nodes - 2) + 1)]
        rows += [(at, node, OperationKind.SUBSCRIBE, i) for i, (at, node, _, _) in enumerate(wanted)]
        return StorageOperations.of_rows(posts, rows, wanted)

    def returned(self, offloaded: int = 0, every_s: float = 10.0) -> list[int]:
        """The number of items that the cell returns to each subscription if an edge takes over so many
        further ones every so many seconds from the first subscription on; the first ones after that time."""
        return [
            max(0, self.items - offloaded * int(i * self.interval / every_s + 1e-9))
            for i in range(self.subscriptions)
        ]
