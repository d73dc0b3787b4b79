"""A baseline: request and reply. Nobody is notified; who wants to know asks again and again."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from bypass.mechanisms.storage.local import Local
from bypass.objects.metadata import StoredObject
from bypass.objects.query import MOST_ON_A_PAGE, ObjectQuery, PageCursor
from bypass.protocol.storage import Ask, OperationStatus
from bypass.support.units import MICROSECONDS
from bypass.transitions import MechanismState


class Pull(Local):
    """Asks for what is new every `period_s`, for each query of this node; keeps no queries of others.

    What was published is asked for twice, in case an answer was lost. Otherwise it is as `local`.
    """

    flag: ClassVar[int] = 8

    period_s: Annotated[float, MechanismState("period_s"), Field(gt=0)] = 5.0

    def begin(self) -> None:
        """Ask from now on; there is nothing to join."""
        # At a random time: nodes that began together would speak at once, and nobody would hear.
        self.host.after(self.period_s * self.host.random("polling").random(), self._ask_again)

    def insert(self, op: int, stored: StoredObject, active: bool | None) -> None:  # noqa: ARG002 - no copies
        """Serve an object from here; whoever wants it asks."""
        self.serve(self.served_as(stored.metadata))
        self.host.link.done(op, OperationStatus.OK)

    def ask(
        self,
        op: int,
        query: ObjectQuery,
        after: PageCursor | None,
        limit: int,
        since_us: int | None,
        live: bool,  # noqa: ARG002
    ) -> None:
        """Flood a request for a page; nobody keeps the query."""
        super().ask(op, query, after, limit, since_us, False)

    def _ask_again(self) -> None:
        since_us = self.now_us() - 2 * round(self.period_s * MICROSECONDS)
        for query in self.queries.live():
            request = Ask(0, query, None, None, None, MOST_ON_A_PAGE, since_us, False)
            self.host.link.flood(request)
            self.asked(request)
        self.host.after(self.period_s, self._ask_again)
