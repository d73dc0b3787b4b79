"""The ends of subscriptions that do not go on for ever."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bypass.protocol.messages import Subscribe


class SubscriptionEnds:
    """Ends subscriptions at a broker when their time is over. Their clients do so themselves, unless they are
    away.

    `end` is called with the numbers of client and handle. `now` and `after` are those of the broker's clock.
    """

    def __init__(
        self, now: Callable[[], float], after: Callable[..., Any], end: Callable[[int, int], object]
    ) -> None:
        self.end = end
        self._now = now
        self._after = after
        self._until: dict[tuple[int, int], float] = {}

    def until(self, message: Subscribe) -> float | None:
        """When a subscription ends that a client asks for now, or that a store has; None: not by itself."""
        return message.until if message.expires is None else self._now() + message.expires

    def set(self, client: int, handle: int, message: Subscribe) -> None:
        """Note when a subscription ends, instead of what was noted before."""
        until = self.until(message)
        if until is None:
            self._until.pop((client, handle), None)
        elif self._until.get((client, handle)) != until:
            self._until[client, handle] = until
            self._after(max(until - self._now(), 0.0), self._over, client, handle, until)

    def forget(self, client: int, handle: int) -> None:
        """A subscription is withdrawn."""
        self._until.pop((client, handle), None)

    def forget_all(self, client: int) -> None:
        """A client has left for good."""
        for key in [key for key in self._until if key[0] == client]:
            del self._until[key]

    def _over(self, client: int, handle: int, until: float) -> None:
        if self._until.get((client, handle)) == until:  # else it has another end, or is another one
            del self._until[client, handle]
            self.end(client, handle)
