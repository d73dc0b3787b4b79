"""A live client's ports, which take frames that arrive before any mechanism hears of them.

It means the same as what kernels do in the simulator: tell first copies from further ones, count copies, know
neighbours, and set frames apart whose senders follow another decision.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from bypass.ports.frames import SendingPort
from bypass.ports.local_access import Tuning, Unless
from bypass.protocol.messages import Frame, Publish
from bypass.support.units import MICROSECONDS

MOST_COPIES = 255
MOST_EVENTS = 4096  # that a port remembers, the latest ones
MOST_NEIGHBOURS = 128  # ... a new one takes the place of the one unheard of for longest


class Copies:
    """The copies of one event: `count` copies were heard, `near` of them from senders nearby.

    It is not forgotten while frames with the event are `waiting` to be sent.
    """

    __slots__ = ("count", "near", "waiting")

    def __init__(self) -> None:
        self.count = 0
        self.near = 0
        self.waiting = 0

    def calls_off(self, unless: Unless) -> bool:
        """Say whether a frame that was to be sent `unless` so many copies are heard must not be sent."""
        return 0 < unless.copies <= self.count or 0 < unless.near <= self.near


class LivePort(SendingPort):
    """One port of the client with this number. `clock_us` gives the time in whole microseconds.

    How far a sender is away is known if it says where it is, and if this device knows where it is itself. If
    not, it counts as 0 metres. Not thread-safe.
    """

    __slots__ = ("_clock_us", "_events", "_heard_at", "_near_mm", "_new_after_us", "strange")

    def __init__(self, number: int, client: int, clock_us: Callable[[], int]) -> None:
        super().__init__(number, client)
        self.strange = 0  # frames of mechanisms that do not listen here
        self._clock_us = clock_us
        self._events: dict[int, Copies] = {}  # by the event's number, the latest last
        self._heard_at: dict[int, int] = {}  # by neighbour, whoever said hello last is last
        self._near_mm = 0
        self._new_after_us = 0

    def tune(self, tuning: Tuning) -> None:
        super().tune(tuning)
        self._near_mm = round(1000.0 * tuning.near_m)
        self._new_after_us = round(MICROSECONDS * tuning.new_after_s)

    # -- what mechanisms ask for --------------------------------------------------------------------------

    def copies(self, publication: Publish) -> int:
        known = self._events.get(publication.id)
        return 0 if known is None else known.count

    def near_copies(self, publication: Publish) -> int:
        known = self._events.get(publication.id)
        return 0 if known is None else known.near

    def neighbours(self, max_age: float) -> int:
        since = self._clock_us() - round(max_age * MICROSECONDS)
        return sum(heard_at >= since for heard_at in self._heard_at.values())

    # -- the network's side -------------------------------------------------------------------------------

    def sending(self, publications: Sequence[Publish]) -> list[Copies]:
        """These are about to be sent from here: whoever sends an event has a copy of it."""
        known = [self._known(publication) for publication in publications]
        for copies in known:
            copies.count = max(copies.count, 1)
        return known

    def arrived(self, frame: Frame) -> None:
        """A frame for this port was received: count what is in it, and tell the mechanism what it must hear.

        Raises what the mechanism raises.
        """
        own = self._tuning
        same_area = frame.scope == own.scope
        if own.flag == 0:
            self.strange += 1
        elif frame.scheme == own.flag and not (same_area and frame.epoch != own.counter):
            self._take(frame)
        elif not same_area:  # decisions about another area are no reason to follow
            self.strange += 1
        elif self._strange(frame):
            self._take(frame)

    def forget_neighbours(self) -> None:
        """The radio was turned off: whom it has heard of is of no use any more."""
        self._heard_at.clear()

    # -- internals ----------------------------------------------------------------------------------------

    def _take(self, frame: Frame) -> None:
        if frame.publications:
            millimetres = self._distance_mm(frame)
            near = millimetres <= self._near_mm
            # All are counted before the mechanism hears of the first: it may ask for the others.
            first = [each for each in frame.publications if self._count(each, near)]
            for publication in first:
                self._receiver.heard(publication, frame.client, millimetres / 1000.0)
        elif frame.ids is not None:
            self._receiver.digest_arrived(frame.ids, frame.client)
        elif self._meet(frame.client):
            self._receiver.neighbour_appeared(frame.client)

    def _distance_mm(self, frame: Frame) -> int:
        here = None if frame.place is None else self._place()
        if frame.place is None or here is None:
            return 0
        return int(1000.0 * math.hypot(here[0] - frame.place[0], here[1] - frame.place[1]))

    def _count(self, publication: Publish, near: bool) -> bool:
        """Count a copy; gives whether it is the first one."""
        copies = self._known(publication)
        copies.near = min(copies.near + near, MOST_COPIES)
        copies.count = min(copies.count + 1, MOST_COPIES)
        return copies.count == 1

    def _known(self, publication: Publish) -> Copies:
        """Give the copies of an event, which is remembered from now on."""
        known = self._events.get(publication.id)
        if known is None:
            known = self._events[publication.id] = Copies()
            if len(self._events) > MOST_EVENTS:
                self._forget_oldest()
        return known

    def _forget_oldest(self) -> None:
        """Forget the oldest event of which no frame is waiting: fewer frames may wait than are remembered."""
        while (oldest := self._events.pop(number := next(iter(self._events)))).waiting:
            self._events[number] = oldest

    def _meet(self, neighbour: int) -> bool:
        """Note that a neighbour said hello; gives whether it is new."""
        now = self._clock_us()
        before = self._heard_at.pop(neighbour, None)
        if before is None and len(self._heard_at) == MOST_NEIGHBOURS:
            del self._heard_at[next(iter(self._heard_at))]
        self._heard_at[neighbour] = now
        return before is None or now - before >= self._new_after_us
