"""A baseline: publications that live for a time that their publisher gives them."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from bypass.mechanisms.storage.local import Local
from bypass.objects.metadata import Metadata
from bypass.support.units import MICROSECONDS
from bypass.transitions import MechanismState


class Ttl(Local):
    """Serves an object for `lifetime_s` after its publication; then no query finds it any more.

    The time belongs to the publication, not to the query. Otherwise it is as `local`.
    """

    flag: ClassVar[int] = 6

    lifetime_s: Annotated[float, MechanismState("lifetime_s"), Field(gt=0)] = 60.0

    def serve(self, metadata: Metadata) -> bool:
        """Serve an object for what is left of its life; false if there is nothing left."""
        left_us = metadata.published_us + round(self.lifetime_s * MICROSECONDS) - self.now_us()
        if left_us <= 0:
            return False
        self.host.after(left_us / MICROSECONDS, self.removed, metadata.key)
        return super().serve(metadata)
