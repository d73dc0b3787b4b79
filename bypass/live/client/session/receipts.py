"""Acknowledges the broker's events once they have reached the application, and no others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

MOST_TOGETHER = 64
LATEST_S = 0.5
"""An acknowledgement waits for others, but not for more and not for longer."""


class Receipts:
    """Events on their way to the application. `send` sends the acknowledgement of some.

    An event may wait for the application at several handles; it is acknowledged when it waits at none. One
    that came from a device nearby is only acknowledged if the broker has sent it too.
    """

    def __init__(self, send: Callable[[tuple[int, ...]], None], after: Callable[..., Any]) -> None:
        self.held_bytes = 0  # of the broker's events that wait
        self._send = send
        self._after = after
        self._waiting: dict[int, set[int]] = {}
        self._of_broker: dict[int, int] = {}  # of those that wait: how many bytes each has
        self._together: list[int] = []
        self._scheduled = False

    def unseen(self, event: int, handles: tuple[int, ...]) -> tuple[int, ...]:
        """Those of the handles at which an event does not wait already."""
        waiting = self._waiting.get(event)
        return handles if waiting is None else tuple(each for each in handles if each not in waiting)

    def hold(self, event: int, handle: int) -> None:
        """An event waits for the application at a handle."""
        self._waiting.setdefault(event, set()).add(handle)

    def reopen(self, event: int, handle: int) -> None:
        """It does not wait there any more, but is about to be handed over again."""
        waiting = self._waiting.get(event)
        if waiting is not None:
            waiting.discard(handle)
            if not waiting:
                del self._waiting[event]

    def release(self, event: int, handle: int) -> None:
        """It does not wait there any more: the application has it, or does not want it."""
        self.reopen(event, handle)
        if event in self._of_broker:
            self.handed_over(event)

    def handed_over(self, event: int, size: int = 0) -> None:
        """An event of the broker, of so many bytes, has been handed to all that it is for; some may keep it
        waiting."""
        if event not in self._waiting:
            self.held_bytes -= self._of_broker.pop(event, 0)
            self._acknowledge(event)
        elif event not in self._of_broker:
            self._of_broker[event] = size
            self.held_bytes += size

    @property
    def held(self) -> int:
        """Give the number of events of the broker that wait for the application."""
        return len(self._of_broker)

    def flush(self) -> None:
        """Acknowledge now what can be acknowledged."""
        self._scheduled = False
        if self._together:
            together, self._together = tuple(self._together), []
            self._send(together)

    def disconnected(self) -> None:
        """Forget acknowledgements that were not sent: the broker will ask again."""
        self._together.clear()

    def _acknowledge(self, event: int) -> None:
        self._together.append(event)
        if len(self._together) >= MOST_TOGETHER:
            self.flush()
        elif not self._scheduled:
            self._scheduled = True
            self._after(LATEST_S, self.flush)
