"""Plans go out to a few clients at a time.

All who are told answer at once, and say where they are: events would wait behind hundreds of such messages.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any

from bypass.live.broker.sessions.sessions import Session
from bypass.protocol.messages import Message, PlanMessage

STEP_S = 0.01
AT_ONCE = 25
"""Clients that are told a plan in each step, if there are no more of them than can be told in time."""

LONGEST_S = 0.5


class Pacing:
    """Sends messages to clients, in order for each of them. `after` calls something some seconds later.

    Plans may wait, for half a second at most and never for more than a third of the grace period, in which
    what they replace goes on; other messages only wait behind a plan for the same client. What waits for a
    connection that is gone is dropped: who connects again is told what it has missed.
    """

    def __init__(
        self, send: Callable[[bytes, Message], None], after: Callable[..., Any], grace: float
    ) -> None:
        self._send = send
        self._after = after
        self._steps = min(LONGEST_S, grace / 3.0) / STEP_S
        self._held: dict[Session, tuple[bytes, list[Message]]] = {}  # the route that it is for
        self._portion = AT_ONCE
        self._told = 0  # clients, in this step
        self._stepping = False

    def send(self, session: Session, message: Message) -> None:
        """A message for a client; nothing happens if it is not connected."""
        route = session.route
        if route is None:
            return
        held = self._held.get(session)
        if held is not None and held[0] == route:
            held[1].append(message)
        elif not isinstance(message, PlanMessage):
            self._send(route, message)
        elif self._steps < 1.0 or self._told < AT_ONCE:
            self._told += 1
            self._step_later()
            self._send(route, message)
        else:
            self._held[session] = (route, [message])
            self._portion = max(self._portion, ceil(len(self._held) / self._steps))

    def _step_later(self) -> None:
        if not self._stepping:
            self._stepping = True
            self._after(STEP_S, self._step)

    def _step(self) -> None:
        self._stepping = False
        self._told = 0
        try:
            while self._held and self._told < self._portion:
                session = next(iter(self._held))
                route, messages = self._held.pop(session)
                if session.route == route:
                    self._told += 1
                    for message in messages:
                        self._send(route, message)
        finally:  # what cannot be sent to one must not keep the others waiting
            if not self._held:
                self._portion = AT_ONCE
            if self._held or self._told:
                self._step_later()
