"""The announcer: it tells watchers of border events, by publications of the broker itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from bypass.core.borders.border_events import carried
from bypass.core.downlink import Delivery, Recipients
from bypass.places.borders import BorderEvent
from bypass.protocol.borders import BROKER_NUMBER
from bypass.protocol.messages import Publish


class ToldEvent(NamedTuple):
    """A border event that one watcher is told."""

    watcher: int
    handle: int
    event: BorderEvent
    is_reported: bool


class Announcer:
    """Publishes border events under numbers of the broker's own, from `next` on; `notify` takes them to their
    watchers. Where bytes travel, `body_of` gives those of a publication, and `told` collects what was told.
    """

    def __init__(
        self, notify: Callable[[Iterable[Delivery]], None], now: Callable[[], float], first: int = 1
    ) -> None:
        self.next = first
        self.told: list[ToldEvent] = []
        self.body_of: Callable[[Publish], bytes] | None = None
        self._notify = notify
        self._now = now

    def announce(self, watcher: int, handle: int, event: BorderEvent, is_reported: bool = False) -> None:
        """Tell one watcher, under the handle of its watch; `is_reported`: a client has found it."""
        if self.body_of is not None:
            self.told.append(ToldEvent(watcher, handle, event, is_reported))
        number = BROKER_NUMBER << 32 | self.next
        self.next += 1
        publication = Publish(number, carried(event), at_us=round(self._now() * 1e6), client=BROKER_NUMBER)
        if self.body_of is not None:
            publication.raw = self.body_of(publication)
        group = Recipients(np.array((watcher,)), [(handle,)], False)
        self._notify((Delivery(publication, None, [group]),))
