"""Compiled work for each delivery until it is acknowledged; `Unacknowledged` has the columns.

Each client has a slot, and in it a list of entries in the order in which events came; an entry leads to its
event, which counts the entries that are left. Clients acknowledge in about that order.
"""

from __future__ import annotations

import numpy as np

from bypass.protocol.session import WINDOW_BYTES
from bypass.support.arrays import Ints
from bypass.support.kernel import kernel
from bypass.support.search import count_up_to

NONE = -1
EVENT, AFTER = range(2)  # columns of an entry
NUMBER, SEQ, LEFT, NEXT = range(4)  # columns of an event
ENTRIES, ENTRIES_LEFT, EVENTS, EVENTS_LEFT = range(4)  # in `free`: where the next ones are, and how many
CLIENT, STATE, CONNECTION, FIRST, LAST, COUNT, UNSENT, UNSENT_COUNT, BYTES, RECEIVED, MOVED = range(11)
FRESH, FRESH_COUNT, DONE, TORN = range(11, 15)
"""Columns of a slot. `CONNECTION` changes with each connection and when one is gone. `UNSENT` is the first
entry that was not sent on this connection: all that follow it were not sent either. `FRESH` is the first that
the client was not sent on any connection, in none of its lives: it cannot have it. `BYTES` are on their way,
`RECEIVED` events were acknowledged, `MOVED` is whether some were since that was noted last. Up to the place
`DONE` in the log nothing waits but for entries that are there, and `TORN` is whether these are others than
those that were noted last."""

COLUMNS = 15

OF, SLOT = range(2)  # columns of `where`: slots by the clients' numbers, each at the first place free for it
EMPTY, GONE = -1, -2
"""Instead of a client's number; the slot is NONE then."""
TO, ON, WHICH = range(3)
"""Columns of what is to be sent: the slot, the connection, and which notification."""

OTHER, AWAY, CONNECTED, DIVIDED, LANE = range(5)
"""States: whose session is not durable, or is no one's; whose session is durable. `DIVIDED`: it is connected,
and some of its subscriptions have a lane each, with a slot in the state `LANE`, or need one."""


@kernel
def new_event(events: Ints, free: Ints, number: int, seq: int) -> int:
    event: int = free[EVENTS]
    free[EVENTS] = events[event, NEXT]
    free[EVENTS_LEFT] -= 1
    events[event, NUMBER] = number
    events[event, SEQ] = seq
    events[event, LEFT] = 0
    return event


@kernel
def append(entries: Ints, events: Ints, slots: Ints, free: Ints, event: int, slot: int) -> int:
    entry: int = free[ENTRIES]
    free[ENTRIES] = entries[entry, AFTER]
    free[ENTRIES_LEFT] -= 1
    entries[entry, EVENT] = event
    entries[entry, AFTER] = NONE
    last = slots[slot, LAST]
    if last == NONE:
        slots[slot, FIRST] = entry
    else:
        entries[last, AFTER] = entry
    slots[slot, LAST] = entry
    slots[slot, COUNT] += 1
    events[event, LEFT] += 1
    return entry


@kernel
def freshen(slots: Ints, slot: int, entry: int) -> None:
    """The last entry was not sent to anybody."""
    slots[slot, FRESH_COUNT] += 1
    if slots[slot, FRESH] == NONE:
        slots[slot, FRESH] = entry


@kernel
def unlink(
    entries: Ints, events: Ints, slots: Ints, free: Ints, slot: int, before: int, entry: int, unsent: bool,
    fresh: bool,
) -> int:  # fmt: skip
    """Take out the entry after `before`, which is one of the unsent or not, and of the fresh or not; gives
    the place of its event in the log if nobody else waits for that, else 0."""
    after = entries[entry, AFTER]
    if before == NONE:
        slots[slot, FIRST] = after
    else:
        entries[before, AFTER] = after
    if after == NONE:
        slots[slot, LAST] = before
    slots[slot, COUNT] -= 1
    event = entries[entry, EVENT]
    seq: int = events[event, SEQ]
    if seq <= slots[slot, DONE]:
        slots[slot, TORN] = 1
    else:
        if before != NONE and events[entries[before, EVENT], SEQ] > slots[slot, DONE]:
            slots[slot, TORN] = 1
        slots[slot, DONE] = seq
    if unsent:
        slots[slot, UNSENT_COUNT] -= 1
        if slots[slot, UNSENT] == entry:
            slots[slot, UNSENT] = after
    if fresh:
        slots[slot, FRESH_COUNT] -= 1
        if slots[slot, FRESH] == entry:
            slots[slot, FRESH] = after
    entries[entry, AFTER] = free[ENTRIES]
    free[ENTRIES] = entry
    free[ENTRIES_LEFT] += 1
    events[event, LEFT] -= 1
    if events[event, LEFT]:
        return 0
    events[event, NEXT] = free[EVENTS]
    free[EVENTS] = event
    free[EVENTS_LEFT] += 1
    return seq


@kernel
def waits_for(entries: Ints, events: Ints, slots: Ints, slot: int, number: int, everywhere: bool) -> bool:
    """Whether a client waits for an event; unless `everywhere`, only the latest one is looked at."""
    last = slots[slot, LAST]
    if last == NONE:
        return False
    if events[entries[last, EVENT], NUMBER] == number:
        return True
    entry = slots[slot, FIRST] if everywhere else NONE
    while entry != NONE:
        if events[entries[entry, EVENT], NUMBER] == number:
            return True
        entry = entries[entry, AFTER]
    return False


@kernel
def place_of(where: Ints, client: int) -> int:
    """Where a client is in `where`, or would be."""
    i = client & (len(where) - 1)
    while where[i, OF] != client and where[i, OF] != EMPTY:
        i = (i + 1) & (len(where) - 1)
    return i


@kernel
def deliver(
    entries: Ints, events: Ints, slots: Ints, free: Ints, where: Ints, event: int, number: int, seq: int,
    clients: Ints, window: int, pending: int, size: int, again: bool,
    which: int, own: Ints, to: Ints, n: int, special: Ints,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Have clients with durable sessions wait for an event, as long as they have room and nothing is special.

    From `to[n]` on, those are put who are to be sent it: notification `which`, or `own[i]` if there are such.
    Positions of those who are special go to `special`. Gives the event, how many there are in `to` and in
    `special`, and how many wait for the event now that did not.
    """
    m = added = 0
    for i in range(len(clients)):
        slot = where[place_of(where, clients[i]), SLOT]
        if slot == NONE:
            continue
        connected = slots[slot, STATE] == CONNECTED
        if (
            slots[slot, STATE] == OTHER
            or slots[slot, STATE] == DIVIDED
            or (slots[slot, COUNT] >= window if connected else slots[slot, FRESH_COUNT] >= pending)
            or (connected and (slots[slot, UNSENT_COUNT] > 0 or slots[slot, BYTES] >= WINDOW_BYTES))
            or waits_for(entries, events, slots, slot, number, again)
        ):
            special[m] = i
            m += 1
            continue
        if event == NONE:
            event = new_event(events, free, number, seq)
        entry = append(entries, events, slots, free, event, slot)
        added += 1
        if not connected:
            freshen(slots, slot, entry)
        else:
            slots[slot, BYTES] += size
            to[n, TO] = slot
            to[n, ON] = slots[slot, CONNECTION]
            to[n, WHICH] = own[i] if len(own) else which
            n += 1
    return event, n, m, added


@kernel
def in_flight(slots: Ints, slot: int) -> int:
    """How many events are on their way to a client."""
    count: int = slots[slot, COUNT] - slots[slot, UNSENT_COUNT]
    return count


@kernel
def shrink(slots: Ints, slot: int, before: int) -> None:
    """Fewer events are on their way than before. Sizes are not kept for each of them: those that are gone
    count as so many average ones."""
    left = in_flight(slots, slot)
    slots[slot, BYTES] = slots[slot, BYTES] * left // before if left > 0 else 0


@kernel
def acknowledge(
    entries: Ints, events: Ints, slots: Ints, free: Ints, slot: int, numbers: Ints, sent: bool
) -> tuple[Ints, Ints]:
    """Take out what a client has; of what was `sent` on this connection alone if that is said: `numbers` then
    ascend. Gives the numbers that were there, and places in the log that nobody waits for."""
    gone = np.empty(slots[slot, COUNT], np.int64)
    done = np.empty(slots[slot, COUNT], np.int64)
    n = count = 0
    before_it = in_flight(slots, slot)
    for number in numbers:  # nearly always those that come next
        entry = slots[slot, FIRST]
        if entry == NONE or events[entries[entry, EVENT], NUMBER] != number:
            break
        if sent and entry == slots[slot, UNSENT]:
            break
        seq = unlink(
            entries, events, slots, free, slot, NONE, entry,
            entry == slots[slot, UNSENT], entry == slots[slot, FRESH],
        )  # fmt: skip
        gone[count] = number
        count += 1
        if seq:
            done[n] = seq
            n += 1
    nothing = slots[slot, FIRST] == NONE or (sent and slots[slot, FIRST] == slots[slot, UNSENT])
    if count < len(numbers) and not nothing:
        others = numbers[count:]
        if not sent:
            others = np.sort(others)
        before, entry, unsent, fresh = NONE, slots[slot, FIRST], False, False
        while entry != NONE:
            after = entries[entry, AFTER]
            unsent = unsent or entry == slots[slot, UNSENT]
            fresh = fresh or entry == slots[slot, FRESH]
            if sent and unsent:
                break
            number = events[entries[entry, EVENT], NUMBER]
            i = count_up_to(others, number)
            if i > 0 and others[i - 1] == number:
                seq = unlink(entries, events, slots, free, slot, before, entry, unsent, fresh)
                gone[count] = number
                count += 1
                if seq:
                    done[n] = seq
                    n += 1
            else:
                before = entry
            entry = after
    if count:
        shrink(slots, slot, before_it)
        slots[slot, RECEIVED] += count
        slots[slot, MOVED] = 1
    return gone[:count], done[:n]


@kernel
def withdraw(entries: Ints, events: Ints, slots: Ints, free: Ints, slot: int, number: int, seq: int) -> int:
    """Take out one event, at that place in the log if it is not 0.

    Gives that place if nobody waits for the event any more, 0 if somebody does, and NONE if it was not there.
    """
    before_it = in_flight(slots, slot)
    before, entry, unsent, fresh = NONE, slots[slot, FIRST], False, False
    while entry != NONE:
        unsent = unsent or entry == slots[slot, UNSENT]
        fresh = fresh or entry == slots[slot, FRESH]
        event = entries[entry, EVENT]
        if events[event, NUMBER] == number and (seq == 0 or events[event, SEQ] == seq):
            done = unlink(entries, events, slots, free, slot, before, entry, unsent, fresh)
            shrink(slots, slot, before_it)
            slots[slot, MOVED] = 1
            return done
        before, entry = entry, entries[entry, AFTER]
    return NONE


@kernel
def give_up(
    entries: Ints, events: Ints, slots: Ints, free: Ints, slot: int, last: int, most: int, only_fresh: bool
) -> tuple[Ints, Ints]:
    """Take out all up to a place in the log, from the first or from the first fresh one on, and so many at
    most; gives their numbers, and places that nobody waits for any more."""
    gone = np.empty(min(slots[slot, COUNT], most), np.int64)
    done = np.empty(min(slots[slot, COUNT], most), np.int64)
    n = count = 0
    before_it = in_flight(slots, slot)
    before, entry, unsent = NONE, slots[slot, FIRST], False
    if only_fresh:
        fresh = slots[slot, FRESH]
        while entry != fresh:
            unsent = unsent or entry == slots[slot, UNSENT]
            before, entry = entry, entries[entry, AFTER]
    while entry != NONE and count < most and events[entries[entry, EVENT], SEQ] <= last:
        after = entries[entry, AFTER]
        unsent = unsent or entry == slots[slot, UNSENT]
        is_fresh = only_fresh or entry == slots[slot, FRESH]
        gone[count] = events[entries[entry, EVENT], NUMBER]
        seq = unlink(entries, events, slots, free, slot, before, entry, unsent, is_fresh)
        count += 1
        if seq:
            done[n] = seq
            n += 1
        entry = after
    if count:
        shrink(slots, slot, before_it)
        slots[slot, MOVED] = 1
    return gone[:count], done[:n]


@kernel
def between(entries: Ints, events: Ints, slots: Ints, first: int, last: int) -> tuple[int, int]:
    """How many deliveries of a part of the log are not acknowledged: connected ones, away ones."""
    connected = away = 0
    for slot in range(len(slots)):
        count = 0
        entry = slots[slot, FIRST]
        while entry != NONE:
            seq = events[entries[entry, EVENT], SEQ]
            if seq > last:
                break
            count += seq >= first
            entry = entries[entry, AFTER]
        if slots[slot, STATE] == CONNECTED or slots[slot, STATE] == DIVIDED:
            connected += count
        elif slots[slot, STATE] != OTHER:
            away += count
    return connected, away


@kernel
def listed(entries: Ints, events: Ints, entry: int, most: int) -> Ints:
    """Numbers and places in the log of the events from an entry on."""
    found = np.empty((most, 2), np.int64)
    n = 0
    while entry != NONE and n < most:
        event = entries[entry, EVENT]
        found[n, 0], found[n, 1] = events[event, NUMBER], events[event, SEQ]
        n += 1
        entry = entries[entry, AFTER]
    return found[:n]


@kernel
def moved(slots: Ints, part: int, parts: int) -> Ints:
    """Slots whose clients have got on, one of so many parts of them; they are marked as noted."""
    found = np.empty(len(slots), np.int64)
    n = 0
    for slot in range(part, len(slots), parts):
        if slots[slot, MOVED] and slots[slot, STATE] != OTHER:
            slots[slot, MOVED] = 0
            found[n] = slot
            n += 1
    return found[:n].copy()


@kernel
def behind(entries: Ints, events: Ints, slots: Ints, slot: int) -> Ints:
    """Places in the log of what waits in a slot though all around it is done."""
    found = np.empty(slots[slot, COUNT], np.int64)
    n = 0
    entry = slots[slot, FIRST]
    while entry != NONE and events[entries[entry, EVENT], SEQ] <= slots[slot, DONE]:
        found[n] = events[entries[entry, EVENT], SEQ]
        n += 1
        entry = entries[entry, AFTER]
    return found[:n].copy()
