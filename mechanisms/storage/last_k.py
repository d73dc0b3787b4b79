"""A baseline: publishers that keep a buffer of their latest publications."""

from __future__ import annotations

from collections import deque
from typing import Annotated, ClassVar

from pydantic import Field

from bypass.mechanisms.storage.local import Local
from bypass.objects.metadata import Metadata, ObjectKey
from bypass.transitions import MechanismState


class LastK(Local):
    """Serves the `k` objects that this node began to serve last; older ones no query finds any more.

    Otherwise it is as `local`.
    """

    flag: ClassVar[int] = 7

    k: Annotated[int, MechanismState("k"), Field(ge=1)] = 10

    def start(self) -> None:
        self._buffer: deque[ObjectKey] = deque()
        super().start()

    def serve(self, metadata: Metadata) -> bool:
        """Serve an object, instead of the one that is served for the longest time."""
        if not super().serve(metadata):
            return False
        self._buffer.append(metadata.key)
        while len(self._buffer) > self.k:
            self.removed(self._buffer.popleft())
        return True
