"""Packets with notifications, put together for all clients of a turn at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bypass.live.broker.sessions.unacknowledged_kernels import CLIENT, CONNECTION, ON, TO, WHICH
from bypass.protocol.wire import preceding, recipient
from bypass.support.arrays import Bytes, Ints
from bypass.support.kernel import kernel

MOST_IN_A_PACKET = 256
MOST_BYTES_IN_A_PACKET = 1 << 18
"""Messages, and bytes of them unless it is a single one."""

HEAD_BYTES = len(recipient(0))
NUMBER_BYTES = 4
"""The head of a notification is the client's: it ends with its number. The rest is the event's."""

MOST_AT_ONCE = 1 << 22
"""Bytes of packets that are put together before they are sent, unless they are for one client."""

MOST_PRECEDING = 5
"""Bytes of what precedes a message in a packet with others."""

SLOT, START, END = range(3)  # columns of a packet

_HEAD: Bytes = np.frombuffer(recipient(0), np.uint8)
_MARK = preceding(0)[0]


class Notifications:
    """The notifications of a turn: the first `count` rows of `to` say whom which of the `rests` is for."""

    __slots__ = ("count", "rests", "to")

    def __init__(self, room: int = 0) -> None:
        self.rests: list[bytes] = []
        self.to: Ints = np.empty((room, 3), np.int64)
        self.count = 0

    def make_room(self, more: int) -> None:
        """Let there be so many more rows."""
        if self.count + more > len(self.to):
            grown = np.empty((max(256, 2 * (self.count + more)), 3), np.int64)
            grown[: self.count] = self.to[: self.count]
            self.to = grown

    def add(self, slots: Ints, slot: int, rest: bytes) -> None:
        """One for one client."""
        self.make_room(1)
        self.to[self.count] = slot, slots[slot, CONNECTION], len(self.rests)
        self.count += 1
        self.rests.append(rest)


@kernel
def compose(
    slots: Ints, mark: int, head: Bytes, rests: Bytes, ends: Ints, to: Ints, most: int, most_bytes: int,
    out: Bytes, packets: Ints,
) -> int:  # fmt: skip
    """Write one packet after the other, and for each the slot that it is for, its start and its end; gives
    how many there are. Rest k ends at `ends[k]`."""
    counts = np.zeros(len(slots), np.int64)
    for i in range(len(to)):
        counts[to[i, TO]] += slots[to[i, TO], CONNECTION] == to[i, ON]
    places = np.full(len(slots), -1, np.int64)
    order = np.empty(len(to), np.int64)
    n = 0
    for i in range(len(to)):
        slot = to[i, TO]
        if slots[slot, CONNECTION] == to[i, ON]:
            if places[slot] < 0:
                places[slot] = n
                n += counts[slot]
            order[places[slot]] = i
            places[slot] += 1
    packed = at = together = 0
    for k in range(n):
        slot, which = to[order[k], TO], to[order[k], WHICH]
        end = ends[which]
        start = ends[which - 1] if which else 0
        size = len(head) + end - start
        if (
            packed == 0
            or packets[packed - 1, SLOT] != slot
            or together == most
            or at - packets[packed - 1, START] + MOST_PRECEDING + size > most_bytes
        ):
            packets[packed, SLOT] = slot
            packets[packed, START] = at
            packed += 1
            together = 0
        together += 1
        if counts[slot] > 1:
            out[at] = mark
            at += 1
            left = size
            while left >= 0x80:
                out[at] = left & 0x7F | 0x80
                at += 1
                left >>= 7
            out[at] = left
            at += 1
        for j in range(len(head) - NUMBER_BYTES):
            out[at + j] = head[j]
        at += len(head) - NUMBER_BYTES
        for j in range(NUMBER_BYTES):
            out[at + j] = slots[slot, CLIENT] >> 8 * j & 0xFF
        at += NUMBER_BYTES
        # Indexes that cannot be negative are not checked: ten times as fast as assigning one to the other.
        source, target = rests[start:end], out[at : at + end - start]
        for j in range(len(target)):
            target[j] = source[j]
        at += end - start
        packets[packed - 1, END] = at
    return packed


class Composer:
    """Puts packets together, in memory that is used again: what it gave is overwritten by the next one."""

    def __init__(self) -> None:
        self._out: Bytes = np.empty(1 << 16, np.uint8)

    def packets(
        self, notifications: Notifications, slots: Ints
    ) -> Iterator[tuple[memoryview, list[list[int]]]]:
        """Some packets after the other: their bytes, and for each the slot that it is for, its start and its
        end.

        A client gets its notifications in their order, together as far as they fit. Those for a connection
        that is gone are left out.
        """
        sizes = np.array([len(rest) for rest in notifications.rests], np.int64)
        rests: Bytes = np.frombuffer(b"".join(notifications.rests), np.uint8)
        ends = np.cumsum(sizes)
        sizes += MOST_PRECEDING + HEAD_BYTES
        for to in _portions(notifications.to[: notifications.count], sizes):
            room = int(sizes[to[:, WHICH]].sum())
            if room > len(self._out):
                self._out = np.empty(room, np.uint8)
            packets = np.empty((len(to), 3), np.int64)
            count = compose(
                slots, _MARK, _HEAD, rests, ends, to, MOST_IN_A_PACKET, MOST_BYTES_IN_A_PACKET,
                self._out, packets,
            )  # fmt: skip
            yield self._out.data, packets[:count].tolist()


def _portions(to: Ints, sizes: Ints) -> Iterator[Ints]:
    """Rows that are put together at once: all that there are for a client in the same portion."""
    total = np.cumsum(sizes[to[:, WHICH]])
    if not len(to) or total[-1] <= MOST_AT_ONCE:
        yield to
        return
    to = to[np.argsort(to[:, TO], kind="stable")]
    total = np.cumsum(sizes[to[:, WHICH]])
    ends = np.append(np.flatnonzero(np.diff(to[:, TO])) + 1, len(to))  # of what is for one client
    start = 0
    while start < len(to):
        before = total[start - 1] if start else 0
        most = int(np.searchsorted(total, before + MOST_AT_ONCE, side="right"))
        fitting = ends[(ends > start) & (ends <= most)]
        end = int(fitting[-1]) if len(fitting) else int(ends[ends > start][0])
        yield to[start:end]
        start = end
