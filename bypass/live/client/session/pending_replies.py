"""Requests that are not answered yet."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator


class PendingReplies:
    """Futures by the number of the question. Who does not wait for an answer any more does not disturb."""

    def __init__(self) -> None:
        self._open: dict[int, asyncio.Future[None]] = {}

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[int]:
        return iter([*self._open])

    def __contains__(self, number: int) -> bool:
        return number in self._open

    def ask(self, number: int) -> asyncio.Future[None]:
        """Give the future that will have the answer."""
        answer = self._open[number] = asyncio.get_running_loop().create_future()
        return answer

    def answer(self, number: int) -> asyncio.Future[None] | None:
        """Give the future that will have an answer; None if none is awaited."""
        return self._open.get(number)

    def give(self, number: int) -> bool:
        """The answer has come, and it is yes: gives whether it was asked for."""
        answer = self._open.pop(number, None)
        if answer is not None and not answer.done():
            answer.set_result(None)
        return answer is not None

    def refuse(self, number: int, error: Exception) -> bool:
        """The answer is an error: gives whether somebody waits for it."""
        answer = self._open.pop(number, None)
        if answer is None or answer.done():
            return False
        answer.set_exception(error)
        answer.exception()  # who does not look at it does not have to
        return True

    def refuse_all(self, error: Exception) -> None:
        for number in self:
            self.refuse(number, error)
