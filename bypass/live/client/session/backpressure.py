"""Events that the application does not take, and the others of its connection that wait because of them."""

from __future__ import annotations

import logging
from collections.abc import Callable

from bypass.live.host import Clock
from bypass.protocol.session import WINDOW, WINDOW_BYTES

log = logging.getLogger(__name__)

HELD_UP_S = 1.0
"""How long events that are not taken may stop others before that is counted."""

MOST_NAMED = 5

NEARLY_BYTES = WINDOW_BYTES * 15 // 16
"""The broker's count of bytes on their way is somewhat larger than what arrives."""

HeldUp = Callable[[], tuple[list[tuple[int, str]], int]]


class Backpressure:
    """Counts how often events that were not taken have `held_up` other subscriptions of the session `name`.

    `waiting` says how many events wait for which subscriptions, and how many subscriptions have none: only
    these are held up.
    """

    def __init__(self, name: str, clock: Clock, waiting: HeldUp) -> None:
        self.held_up = 0
        self._name = name or "this session"
        self._clock = clock
        self._waiting = waiting
        self._stopped = 0  # changes whenever events begin to stop others, and cease to; odd: they do

    def look(self, full: bool, held: int, held_bytes: int) -> None:
        """A subscription is `full`, or none is; so many events of the broker are not acknowledged."""
        stopped = full or held >= WINDOW or held_bytes >= NEARLY_BYTES
        if stopped != bool(self._stopped % 2):
            self._stopped += 1
            if stopped:
                self._clock.after(HELD_UP_S, self._look_again, self._stopped)

    def _look_again(self, stopped: int) -> None:
        if stopped != self._stopped:
            return
        waiting, others = self._waiting()
        if not others:
            self._clock.after(HELD_UP_S, self._look_again, stopped)
            return
        self.held_up += 1
        if self.held_up & (self.held_up - 1) == 0:  # ever more rarely
            most = sorted(waiting, reverse=True)[:MOST_NAMED]
            log.warning(
                "%s: %d subscriptions get no events because those of others are not taken (%d times so far); "
                "there wait %s: iterate over it, withdraw it, or give it a connection of its own",
                self._name,
                others,
                self.held_up,
                ", ".join(f"{count} of {which}" for count, which in most),
            )
