"""The state of a node between two clients of it: a node that was away goes on with what it had."""

from __future__ import annotations

from dataclasses import dataclass, field

from bypass.core.objects.own_queries import OwnQuery
from bypass.objects.metadata import Metadata, ObjectKey
from bypass.objects.node_store import NodeStore

Undeleted = dict[ObjectKey, tuple[Metadata, bytes]]
"""Deletions without an answer: what is to be deleted, and the secret that opens its commitment."""


@dataclass(slots=True)
class KeptObjects:
    """All that a node has of objects and queries while its client is gone; the next client goes on with it.

    `undeleted` are its deletions that were not answered, and `left_us` is when it was last there, None: never
    before.
    """

    store: NodeStore
    queries: list[OwnQuery] = field(default_factory=list)
    operations: int = 0
    placed: int = 0
    left_us: int | None = None
    undeleted: Undeleted = field(default_factory=dict)
