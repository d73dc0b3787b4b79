"""Deliveries that clients have not acknowledged."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bypass.live.broker.sessions import unacknowledged_kernels as columns
from bypass.live.broker.sessions.notifications import Notifications
from bypass.live.broker.sessions.unacknowledged_kernels import (
    AFTER,
    AWAY,
    BYTES,
    CLIENT,
    COLUMNS,
    CONNECTED,
    CONNECTION,
    COUNT,
    DIVIDED,
    DONE,
    EMPTY,
    ENTRIES,
    ENTRIES_LEFT,
    EVENT,
    EVENTS,
    EVENTS_LEFT,
    FIRST,
    FRESH,
    FRESH_COUNT,
    GONE,
    LANE,
    LAST,
    MOVED,
    NEXT,
    NONE,
    OF,
    OTHER,
    RECEIVED,
    SEQ,
    STATE,
    TORN,
    UNSENT,
    UNSENT_COUNT,
)
from bypass.live.broker.store.batch import LAST_PLACE, Mark
from bypass.live.broker.store.statements import UNSIGNED, signed
from bypass.protocol.session import WINDOW, WINDOW_BYTES
from bypass.support.arrays import Ints

NO_NUMBERS: Ints = np.empty(0, np.int64)
NO_CLIENT = -3
"""Instead of a client's number, for a slot that is a lane of somebody's."""


class Gone(NamedTuple):
    """Deliveries that a client does not wait for any more: numbers of events, and those places in the log
    that nobody waits for."""

    numbers: list[int]
    done: list[int]


NOTHING = Gone([], [])


class Unacknowledged:
    """All clients with the events that each waits for.

    Numbers of events have 64 bits; their places in the log ascend, and are 0 for events that are not there.
    A `window` of events, and a number of bytes, may be on their way to a slot at a time.
    """

    def __init__(self) -> None:
        self.window = WINDOW
        self.slots: Ints = np.empty((0, COLUMNS), np.int64)
        self._entries: Ints = np.empty((0, 2), np.int64)
        self._events: Ints = np.empty((0, 4), np.int64)
        self._free: Ints = np.array([NONE, 0, NONE, 0], np.int64)
        self._special: Ints = np.empty(64, np.int64)
        self._vacant: list[int] = []
        self._where: Ints = np.full((64, 2), EMPTY, np.int64)
        self._marked = 0  # places in there that are not empty

    # -- slots --------------------------------------------------------------------------------------------

    def occupy(self, client: int, done: int = 0) -> int:
        """A slot for a client, who is away and whose session is not durable until it is said to be; up to the
        place `done` in the log, nothing waits.

        NO_CLIENT has slots, too: events come there by `add` and `divide` alone.
        """
        if not self._vacant:
            size = len(self.slots)
            more = np.zeros((max(64, size), self.slots.shape[1]), np.int64)
            more[:, (FIRST, LAST, UNSENT, FRESH)] = NONE
            self.slots = np.concatenate([self.slots, more])
            self._vacant = list(range(len(self.slots) - 1, size - 1, -1))
        slot = self._vacant.pop()
        self.slots[slot, CLIENT] = client
        self.slots[slot, (STATE, BYTES, RECEIVED, MOVED, TORN)] = 0
        self.slots[slot, DONE] = done
        if client == NO_CLIENT:
            return slot
        if 2 * self._marked >= len(self._where):
            known = self._where[self._where[:, OF] >= 0]
            self._where = np.full((max(64, 1 << (4 * len(known)).bit_length()), 2), EMPTY, np.int64)
            self._marked = 0
            for other in known.tolist():
                self._put(*other)
        self._put(client, slot)
        return slot

    def _put(self, client: int, slot: int) -> None:
        self._where[columns.place_of(self._where, client)] = client, slot
        self._marked += 1

    def vacate(self, slot: int) -> None:
        """The slot of a client that waits for nothing may be another's from now on."""
        self.slots[slot, STATE] = OTHER
        self.slots[slot, CONNECTION] += 1
        if self.slots[slot, CLIENT] != NO_CLIENT:
            self._where[columns.place_of(self._where, int(self.slots[slot, CLIENT]))] = GONE, NONE
        self._vacant.append(slot)

    def connected(self, slot: int, durable: bool) -> None:
        """There is a new connection: whatever was not acknowledged has to be sent again."""
        row = self.slots[slot]
        row[STATE] = CONNECTED if durable else OTHER
        row[CONNECTION] += 1
        row[UNSENT], row[UNSENT_COUNT], row[BYTES] = row[FIRST], row[COUNT], 0

    def divided(self, slot: int, divided: bool) -> None:
        """Say whether events for some subscriptions of a connected client go to lanes, or may have to."""
        if self.slots[slot, STATE] in (CONNECTED, DIVIDED):
            self.slots[slot, STATE] = DIVIDED if divided else CONNECTED

    def connected_lane(self, slot: int) -> None:
        """As `connected`, of a lane."""
        self.connected(slot, True)
        self.slots[slot, STATE] = LANE

    def doubt(self, slot: int, sent: int) -> None:
        """The client may have been sent events up to this place in the log."""
        row = self.slots[slot]
        while row[FRESH] != NONE and self._place(row[FRESH]) <= sent:
            row[FRESH] = self._entries[row[FRESH], AFTER]
            row[FRESH_COUNT] -= 1
        row[MOVED] = 1

    def disconnected(self, slot: int, durable: bool) -> None:
        """There is no connection."""
        self.slots[slot, STATE] = AWAY if durable else OTHER
        self.slots[slot, CONNECTION] += 1

    def count(self, slot: int) -> int:
        """How many events a client waits for."""
        return int(self.slots[slot, COUNT])

    def unsent(self, slot: int) -> int:
        """How many of them were not sent on this connection."""
        return int(self.slots[slot, UNSENT_COUNT])

    def room(self, slot: int) -> int:
        """About how many more events may be on their way to a client, if they are like those that are."""
        in_flight = self.count(slot) - self.unsent(slot)
        on_their_way = int(self.slots[slot, BYTES])
        if in_flight >= self.window or on_their_way >= WINDOW_BYTES:
            return 0
        if in_flight <= 0 or not on_their_way:
            return self.window
        fitting = (WINDOW_BYTES - on_their_way) * in_flight // on_their_way
        return max(1, min(self.window - in_flight, fitting))

    # -- events -------------------------------------------------------------------------------------------

    def deliver(
        self,
        event: int,
        number: int,
        seq: int,
        clients: Ints,
        pending: int,
        size: int,
        again: bool,
        notifications: Notifications,
        which: int = 0,
        own: Ints = NO_NUMBERS,
    ) -> tuple[int, int, list[int]]:
        """An event of `size` bytes for durable sessions; `event` is what was given for it before, or NONE.

        Those who are connected are put down to be sent notification `which`, or each its `own` one. Left out
        are who is special: whose session is not durable or is divided, who has no room for it or `pending`
        events already, for whom others wait to be sent, and who waits for it; if it has come before, not only
        now, `again` has to be said. Gives the event, how many wait for it that did not, and the positions of
        the special.
        """
        count = len(clients)
        self._make_room(count)
        if len(self._special) < count:
            self._special = np.empty(2 * count, np.int64)
        notifications.make_room(count)
        event, notifications.count, special, added = columns.deliver(
            self._entries, self._events, self.slots, self._free, self._where, event, signed(number), seq,
            clients, self.window, pending, size, again,
            which, own, notifications.to, notifications.count, self._special,
        )  # fmt: skip
        return event, added, self._special[:special].tolist() if special else []

    def add(self, event: int, number: int, seq: int, slot: int, size: int | None) -> int:
        """Have one client wait for an event, of which so many bytes are on their way to it, or none yet.

        Gives the event.
        """
        self._make_room(1)
        if event == NONE:
            event = columns.new_event(self._events, self._free, signed(number), seq)
        entry = columns.append(self._entries, self._events, self.slots, self._free, event, slot)
        row = self.slots[slot]
        if size is not None:
            row[BYTES] += size
        else:
            self._unsent(slot, entry, fresh=True)
        return event

    def _unsent(self, slot: int, entry: int, fresh: bool) -> None:
        """The last entry was not sent on this connection; nor, if it is `fresh`, on any."""
        row = self.slots[slot]
        if fresh or row[FRESH] != NONE:  # all that follow a fresh one are
            columns.freshen(self.slots, slot, entry)
        if row[STATE] >= CONNECTED:
            row[UNSENT_COUNT] += 1
            if row[UNSENT] == NONE:
                row[UNSENT] = entry

    def divide(self, slot: int, lane: int) -> None:
        """The first event that was not sent waits in a lane as well; the client may have it from an earlier
        connection there, too."""
        self._make_room(1)
        event = int(self._entries[self.slots[slot, UNSENT], EVENT])
        fresh = self._place(self.slots[slot, UNSENT]) >= self.first_fresh(slot)
        entry = columns.append(self._entries, self._events, self.slots, self._free, event, lane)
        self._unsent(lane, entry, fresh)

    def waits(self, slot: int, number: int, again: bool) -> bool:
        """Whether a client waits for an event; only the latest is looked at unless it has come `again`."""
        return columns.waits_for(self._entries, self._events, self.slots, slot, signed(number), again)

    def fresh(self, slot: int) -> int:
        """How many events a client waits for that it was never sent."""
        return int(self.slots[slot, FRESH_COUNT])

    def is_on_its_way(self, slot: int, number: int) -> bool:
        """Whether an event was sent on this connection and not acknowledged."""
        most = self.count(slot) - self.unsent(slot)
        sent = columns.listed(self._entries, self._events, int(self.slots[slot, FIRST]), most)
        return bool((sent[:, 0] == signed(number)).any())

    def first_unsent(self, slot: int, most: int) -> list[tuple[int, int]]:
        """Numbers and places in the log of events that were not sent yet, the oldest first."""
        return _pairs(columns.listed(self._entries, self._events, int(self.slots[slot, UNSENT]), most))

    def was_sent(self, slot: int, size: int) -> None:
        """The first that was unsent is on its way."""
        row = self.slots[slot]
        entry = row[UNSENT]
        row[UNSENT] = self._entries[entry, AFTER]
        row[UNSENT_COUNT] -= 1
        if row[FRESH] == entry:
            row[FRESH] = row[UNSENT]
            row[FRESH_COUNT] -= 1
        row[BYTES] += size

    def waiting(self, slot: int) -> list[tuple[int, int]]:
        """Numbers and places in the log of all events that a client waits for, in their order."""
        return _pairs(
            columns.listed(self._entries, self._events, int(self.slots[slot, FIRST]), self.count(slot))
        )

    def acknowledge(self, slot: int, numbers: Ints, sent: bool = False) -> Gone:
        """A client has these events, as far as it waited for them. `sent`: others than those that were sent
        on this connection are not meant, and `numbers` ascend."""
        return _gone(
            *columns.acknowledge(self._entries, self._events, self.slots, self._free, slot, numbers, sent)
        )

    def withdraw(self, slot: int, number: int, seq: int = 0) -> Gone:
        """A client does not wait for an event any more, the one at this place in the log if that is not 0; it
        has not got it."""
        done = columns.withdraw(
            self._entries, self._events, self.slots, self._free, slot, signed(number), seq
        )
        return NOTHING if done == NONE else Gone([number], [done] if done > 0 else [])

    def give_up(self, slot: int, last: int = LAST_PLACE, most: int = LAST_PLACE, fresh: bool = False) -> Gone:
        """A client does not wait for the first so many events up to this place in the log any more, only of
        those that it cannot have if `fresh`; as `withdraw`."""
        return _gone(
            *columns.give_up(self._entries, self._events, self.slots, self._free, slot, last, most, fresh)
        )

    def between(self, first: int, last: int) -> tuple[int, int]:
        """How many deliveries of a part of the log are not acknowledged: by those who are connected, by
        others."""
        connected, away = columns.between(self._entries, self._events, self.slots, first, last)
        return connected, away

    # -- places in the log --------------------------------------------------------------------------------

    def done(self, slot: int) -> int:
        """Up to this place in the log, nothing waits in a slot but for what is there."""
        return int(self.slots[slot, DONE])

    def first(self, slot: int) -> int:
        """The place in the log of the first event that a client waits for; LAST_PLACE if there is none."""
        first = self.slots[slot, FIRST]
        return LAST_PLACE if first == NONE else self._place(first)

    def first_fresh(self, slot: int) -> int:
        """The place in the log of the first event that a client was never sent; LAST_PLACE if there is
        none."""
        fresh = self.slots[slot, FRESH]
        return LAST_PLACE if fresh == NONE else self._place(fresh)

    def reached(self, slot: int) -> int:
        """Up to this place in the log, what is for a slot has been there."""
        row = self.slots[slot]
        return max(int(row[DONE]), 0 if row[LAST] == NONE else self._place(row[LAST]))

    def pass_over(self, slot: int, seq: int) -> None:
        """Have a slot wait for nothing more up to this place in the log than it does."""
        row = self.slots[slot]
        if seq > row[DONE]:
            row[TORN] |= row[LAST] != NONE and self._place(row[LAST]) > row[DONE]
            row[DONE], row[MOVED] = seq, 1

    def mark(self, slot: int, closing: bool = False) -> Mark:
        """How far a client has got; that is known from now on. Who is connected may be sent anything, unless
        the broker is `closing`."""
        row = self.slots[slot]
        sent = LAST_PLACE
        if closing or row[STATE] == AWAY:
            sent = min(self.reached(slot), self.first_fresh(slot) - 1)
        torn, row[TORN] = bool(row[TORN]), 0
        behind = columns.behind(self._entries, self._events, self.slots, slot).tolist() if torn else None
        return Mark(int(row[DONE]), sent, behind, self.reached(slot))

    def moved(self, part: int, parts: int) -> list[int]:
        """Slots whose clients have got on since that was asked last, one of so many parts of them."""
        return list(columns.moved(self.slots, part, parts).tolist())

    def all_moved(self) -> None:
        """Give by `moved` and `mark` once more what could not be noted."""
        self.slots[:, (MOVED, TORN)] = 1

    def _place(self, entry: int) -> int:
        return int(self._events[self._entries[entry, EVENT], SEQ])

    def _make_room(self, entries: int) -> None:
        """For so many entries, and an event."""
        if self._free[ENTRIES_LEFT] < entries:
            self._entries = _grown(self._entries, AFTER, entries, self._free, ENTRIES)
        if self._free[EVENTS_LEFT] < 1:
            self._events = _grown(self._events, NEXT, 1, self._free, EVENTS)


def _gone(numbers: Ints, done: Ints) -> Gone:
    return Gone(numbers.view(np.uint64).tolist(), done.tolist())


def _pairs(found: Ints) -> list[tuple[int, int]]:
    return [(number % UNSIGNED, seq) for number, seq in found.tolist()]


def _grown(rows: Ints, after: int, wanted: int, free: Ints, which: int) -> Ints:
    size = len(rows)
    more = np.zeros((max(1024, size, wanted), rows.shape[1]), np.int64)
    more[:, after] = np.arange(size + 1, size + 1 + len(more))
    more[-1, after] = free[which]
    free[which] = size
    free[which + 1] += len(more)
    return np.concatenate([rows, more])
