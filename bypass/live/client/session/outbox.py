"""Publications that the broker has not acknowledged yet."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator

from bypass.live.client.errors import OutboxFull, PublicationRefused
from bypass.protocol.messages import Publish

MOST_UNACKNOWLEDGED = 10_000


class Outbox:
    """Keeps every publication until the broker says what became of it, in the order of their numbers.

    A publication needs a place here: `wait_for_place` or `take_place`, then `add`. It stays until it is
    acknowledged or refused, even if nobody waits for that any more.
    """

    def __init__(self) -> None:
        self._unsettled: dict[int, tuple[Publish, asyncio.Future[int]]] = {}
        self._free = MOST_UNACKNOWLEDGED
        self._queue: deque[asyncio.Future[None]] = deque()

    def __len__(self) -> int:
        return len(self._unsettled)

    def __iter__(self) -> Iterator[Publish]:
        return iter([publication for publication, _ in self._unsettled.values()])

    def __contains__(self, number: int) -> bool:
        return number in self._unsettled

    # -- places -------------------------------------------------------------------------------------------

    async def wait_for_place(self) -> None:
        """Take a place when there is one; who asked first gets it first."""
        if self._free > 0:
            self._free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give_back()  # it was given one in the same moment
            raise

    def take_place(self) -> None:
        """Take a place now. Raises OutboxFull."""
        if self._free <= 0:
            raise OutboxFull(
                f"{MOST_UNACKNOWLEDGED} events are not acknowledged yet: expected no more at a time"
            )
        self._free -= 1

    def take_extra_place(self) -> None:
        """Take a place now, whether there is one or not: what is published next has to wait longer."""
        self._free -= 1

    def give_back(self) -> None:
        """A place is free again."""
        while self._queue and self._free >= 0:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1

    # -- publications -------------------------------------------------------------------------------------

    def add(self, publication: Publish) -> asyncio.Future[int]:
        """Keep a publication that has a place; gives what will have its number once it is safe."""
        settled = asyncio.get_running_loop().create_future()
        self._unsettled[publication.id] = publication, settled
        return settled

    def settled(self, number: int) -> asyncio.Future[int] | None:
        """Give what will have the number of a publication once it is safe; None if it is not here."""
        _, settled = self._unsettled.get(number, (None, None))
        return settled

    def acknowledged(self, number: int) -> None:
        """The broker has a publication; that it says so again changes nothing."""
        settled = self._settle(number)
        if settled is not None:
            settled.set_result(number)

    def known_up_to(self, number: int) -> None:
        """The broker has all publications up to this one."""
        for each in [each for each in self._unsettled if each <= number]:
            self.acknowledged(each)

    def refused(self, number: int, reason: str, retry: float = 0.0) -> None:
        """The broker does not want a publication, or not before so many seconds have passed."""
        settled = self._settle(number)
        if settled is not None:
            error = PublicationRefused(f"event {number}: {reason}")
            error.retry = retry
            settled.set_exception(error)

    def renumber(self, number: Callable[[], int]) -> None:
        """Give all publications new numbers, in their order."""
        kept = list(self._unsettled.values())
        self._unsettled.clear()
        for publication, settled in kept:
            publication.id = number()
            self._unsettled[publication.id] = publication, settled

    def fail(self, error: Exception) -> None:
        """Nobody will say what became of anything here: whoever waits gets an error."""
        for _, settled in self._unsettled.values():
            if not settled.done():
                settled.set_exception(error)
                settled.exception()  # who does not look at it does not have to
        self._unsettled.clear()
        queue, self._queue = self._queue, deque()
        for turn in queue:
            if not turn.done():
                turn.set_exception(error)

    def _settle(self, number: int) -> asyncio.Future[int] | None:
        """Let go of a publication; gives who waits for that."""
        _, settled = self._unsettled.pop(number, (None, None))
        if settled is None:
            return None
        self.give_back()
        return None if settled.done() else settled
