"""The announcer: it tells watchers of border events, by publications of the broker itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from bypass.core.borders.border_events import carried
from bypass.core.downlink import Delivery, Recipients
from bypass.places.borders import BorderEvent
from bypass.protocol.borders import BROKER_NUMBER
from bypass.protocol.messages import Publish


class Announcer:
    """Publishes border events under numbers of the broker's own, from `first` on; `notify` takes them to their
    watchers."""

    def __init__(
        self, notify: Callable[[Iterable[Delivery]], None], now: Callable[[], float], first: int = 1
    ) -> None:
        self.next = first
        self._notify = notify
        self._now = now

    def announce(self, watcher: int, handle: int, event: BorderEvent) -> None:
        """Tell one watcher, under the handle of its watch."""
        number = BROKER_NUMBER << 32 | self.next
        self.next += 1
        publication = Publish(number, carried(event), at_us=round(self._now() * 1e6), client=BROKER_NUMBER)
        group = Recipients(np.array((watcher,)), [(handle,)], False)
        self._notify((Delivery(publication, None, [group]),))
