"""Subscriptions and withdrawals that a broker is told of again, until it has answered."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Collection, Iterable, Iterator

from bypass.ports.host import Timer
from bypass.ports.subscriptions import SubHandle

log = logging.getLogger(__name__)

MOST_ASKED = 32
"""Requests that wait for the broker's answer at a time; fewer after it has refused some for the moment."""

LONGEST_PAUSE_S = 15.0
UNSAID_PAUSE_S = 2.0
"""How long to wait after refusals: as long as the broker says, or so long if it does not, and twice as long
each time while it takes nothing, up to the longest pause."""


class Resubscriptions:
    """Asks a broker again for what it knew, or may not know, some handles at a time.

    `ask` sends the request about a handle, and gives whether there is one. A handle whose request is refused
    for the moment is asked for again after a pause, for as long as it takes. `after` calls something later.
    """

    def __init__(
        self, after: Callable[[float, Callable[[], None]], Timer], ask: Callable[[int], bool]
    ) -> None:
        self._after = after
        self._ask = ask
        self._waiting: dict[int, None] = {}
        self._asked: set[int] = set()
        self._stale: set[int] = set()  # asked for, and withdrawn before the answer
        self._most = MOST_ASKED
        self._refusals = 0  # pauses since something was taken
        self._pause: Timer | None = None
        self._told = False  # on this connection
        self._connected = False

    def __iter__(self) -> Iterator[int]:
        """The handles that the broker has not confirmed."""
        return iter([*self._asked, *self._waiting])

    @property
    def asked(self) -> bool:
        """Whether an answer is on its way."""
        return bool(self._asked or self._stale)

    def begin(self, handles: Iterable[int]) -> None:
        """There is a connection: ask for these, and for nothing from before."""
        self._forget_all()
        self._waiting = dict.fromkeys(handles)
        self._connected, self._told = True, False
        self._go_on()

    def disconnected(self) -> None:
        """Ask for nothing until there is another connection; what was not answered is not confirmed."""
        if self._asked and self._connected:  # it may be over for having asked for too much
            self._slow_down()
        waiting = dict.fromkeys([*self._asked, *self._waiting])
        self._forget_all()
        self._waiting = waiting

    def forget(self, handle: int) -> None:
        """A handle is withdrawn in another way: an answer on its way is not about that."""
        self._waiting.pop(handle, None)
        if handle in self._asked:
            self._asked.discard(handle)
            self._stale.add(handle)

    def answered(self, handle: int) -> bool:
        """The broker has said something final about a handle: gives whether that is about a request that is
        not of interest any more."""
        stale = handle in self._stale
        self._stale.discard(handle)
        if handle in self._asked:
            self._asked.discard(handle)
            self._most = min(self._most + 1, MOST_ASKED)
            self._refusals = 0
            self._go_on()
        return stale

    def refused(self, handle: int, retry: float, reason: str) -> None:
        """The broker does not take a request for the moment: ask again in `retry` seconds or later."""
        self._stale.discard(handle)
        self._asked.discard(handle)
        self._waiting[handle] = None
        if self._pause is None and self._connected:
            if not self._told:
                self._told = True
                log.warning(
                    "%d subscriptions and withdrawals are not confirmed, and tried again: %s",
                    len([*self]),
                    reason,
                )
            pause = min((retry or UNSAID_PAUSE_S) * 2.0**self._refusals, LONGEST_PAUSE_S)
            self._refusals = min(self._refusals + 1, 10)
            self._slow_down()
            # Sessions of one key, which are refused together, should not all come back in the same moment.
            self._pause = self._after(pause * random.uniform(1.0, 1.5), self._resume)

    def _slow_down(self) -> None:
        self._most = max(self._most // 2, 1)

    def _resume(self) -> None:
        self._pause = None
        self._go_on()

    def _go_on(self) -> None:
        while self._connected and self._pause is None and self._waiting and len(self._asked) < self._most:
            handle = next(iter(self._waiting))
            del self._waiting[handle]
            if self._ask(handle):
                self._asked.add(handle)

    def _forget_all(self) -> None:
        self._connected = False
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None
        self._waiting, self._asked, self._stale = {}, set(), set()


def warn_of_kept(name: str, kept: Collection[SubHandle]) -> None:
    """Log that subscriptions of an earlier life of a session are not claimed, if there are any."""
    if kept:
        log.warning(
            "%s: %d subscriptions of an earlier life are not claimed, events wait for them: %s; "
            "subscribe to them, unsubscribe what is in `kept`, or connect with kept='drop'",
            name or "this session",
            len(kept),
            ", ".join(str(each.subscription) for each in [*kept][:5]),
        )
