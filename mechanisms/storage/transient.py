"""A baseline: publish/subscribe without a memory."""

from __future__ import annotations

from typing import ClassVar

from bypass.mechanisms.storage.local import Local
from bypass.objects.query import ObjectQuery, PageCursor


class Transient(Local):
    """Notifies of what is inserted while a query is known, and never of anything from before.

    Objects can be retrieved by who was notified. Otherwise it is as `local`.
    """

    flag: ClassVar[int] = 5

    def ask(
        self,
        op: int,
        query: ObjectQuery,
        after: PageCursor | None,
        limit: int,  # noqa: ARG002 - the interface
        since_us: int | None,
        live: bool,
    ) -> None:
        """Flood a query; there is no past to ask for."""
        super().ask(op, query, after, 0, since_us, live)

    def match_all(self, query: ObjectQuery, since_us: int | None = None) -> None:
        """Do nothing: what was inserted before this node learned of the query, or while its subscriber was
        out of reach, is past."""
