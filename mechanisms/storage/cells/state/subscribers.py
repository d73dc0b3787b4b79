"""Subscribers as a cell sees them: where they are, whether they can be reached, and what waits for them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from enum import Enum

from bypass.protocol.storage import FoundObjects

TRY_S = 2.0
"""A message that does not come back within this time has reached its subscriber."""


class Reach(Enum):
    """Whether notifications get to a subscriber."""

    REACHABLE = "reachable"
    SUSPECT = "suspect"
    FAILED = "failed"


@dataclass(slots=True)
class SubscriberEntry:
    """A subscriber: its cell since `at_us` of its own clock, and what waits for its next one.

    `missed` has the queries of which notifications were dropped, each with the time of the oldest object.
    """

    cell: int | None
    at_us: int
    reach: Reach = Reach.REACHABLE
    deadline: float = 0.0
    tried_at: float = 0.0
    trying: bool = False
    pending: deque[FoundObjects] = field(default_factory=deque)
    missed: dict[int, int] = field(default_factory=dict)


# All subscribers are looked at every second: looking a member up in its enumeration takes longer.
_REACHABLE, _SUSPECT, _FAILED = Reach.REACHABLE, Reach.SUSPECT, Reach.FAILED


class Subscribers:
    """The subscribers of the queries that a node keeps.

    A notification that comes back makes its subscriber suspect: from then on, notifications wait, at most
    `bound`, for it to say where it is, and one of them is tried again every `retry_s`. If nothing helps
    within `wait_s`, it has failed, and those that wait are dropped. A failed subscriber is tried again with
    a new match, at most every `retry_s`: it may only have been cut off. Of what was dropped it is known since
    when something was missed (`take_missed`).
    """

    def __init__(self) -> None:
        self.dropped = 0
        self._entries: dict[int, SubscriberEntry] = {}

    def __contains__(self, node: object) -> bool:
        return node in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, node: int) -> SubscriberEntry | None:
        """A subscriber; None if none of its queries is here."""
        return self._entries.get(node)

    def locate(self, node: int, cell: int | None, at_us: int) -> tuple[FoundObjects, ...]:
        """Learn in which cell a subscriber was at a time, and give what has waited for that.

        What is older than what is known changes nothing.
        """
        entry = self._entries.get(node)
        if entry is None:
            self._entries[node] = SubscriberEntry(cell, at_us)
            return ()
        if at_us <= entry.at_us:
            return ()
        entry.cell, entry.at_us = cell, at_us
        return self.heard_of(node)

    def heard_of(self, node: int) -> tuple[FoundObjects, ...]:
        """Take a subscriber for reachable again, and give what has waited for that."""
        entry = self._entries[node]
        waiting = tuple(entry.pending)
        entry.reach, entry.trying, entry.pending = _REACHABLE, False, deque()
        return waiting

    def may_send(self, node: int, found: FoundObjects, now: float, retry_s: float, bound: int) -> bool:
        """Whether a notification should be sent now; if not, it waits, or is dropped."""
        entry = self._entries.get(node)
        if entry is None:
            return False
        if entry.reach is _REACHABLE:
            return True
        if entry.reach is _SUSPECT:
            self._keep(entry, found, bound)
            return False
        if now < entry.tried_at + retry_s:
            self._drop(entry, found)
            return False
        entry.tried_at = now
        return True

    def undelivered(self, node: int, found: FoundObjects, now: float, wait_s: float, bound: int) -> None:
        """A notification has come back."""
        entry = self._entries.get(node)
        if entry is None:
            return
        entry.tried_at, entry.trying = now, False
        if entry.reach is _FAILED:
            self._drop(entry, found)
            return
        if entry.reach is _REACHABLE:
            entry.reach, entry.deadline = _SUSPECT, now + wait_s
        self._keep(entry, found, bound)

    def retry(self, now: float, retry_s: float) -> list[tuple[int, FoundObjects]]:
        """Give what suspect subscribers are to be tried with; one whose last try did not come back gets all
        that waits for it."""
        due: list[tuple[int, FoundObjects]] = []
        for node, entry in self._entries.items():
            if entry.reach is not _SUSPECT:
                continue
            if entry.trying and now >= entry.tried_at + TRY_S:
                due += [(node, found) for found in self.heard_of(node)]
            elif not entry.trying and entry.pending and now >= entry.tried_at + retry_s:
                entry.trying, entry.tried_at = True, now
                due.append((node, entry.pending.popleft()))
        return due

    def expire(self, now: float) -> list[int]:
        """Give up those who have not been heard of in time, and give their numbers."""
        failed = [
            node for node, entry in self._entries.items() if entry.reach is _SUSPECT and now >= entry.deadline
        ]
        for node in failed:
            entry = self._entries[node]
            for found in entry.pending:
                self._drop(entry, found)
            entry.reach, entry.trying = _FAILED, False
            entry.pending.clear()
        return failed

    def come_back(self, now: float, wait_s: float) -> list[int]:
        """Take failed subscribers for reachable that have missed something and were not tried for `wait_s`;
        gives their numbers."""
        due = [
            node
            for node, entry in self._entries.items()
            if entry.missed and entry.reach is _FAILED and now >= entry.tried_at + wait_s
        ]
        for node in due:
            self._entries[node].reach, self._entries[node].tried_at = _REACHABLE, now
        return due

    def take_missed(self, node: int) -> dict[int, int]:
        """Give the queries of a reachable subscriber that have missed something, and since when (microseconds
        of publication); they are to be told, and have missed nothing from now on."""
        entry = self._entries.get(node)
        if entry is None or entry.reach is not _REACHABLE:
            return {}
        missed, entry.missed = entry.missed, {}
        return missed

    def forget(self, node: int) -> None:
        """A subscriber has no queries here any more."""
        entry = self._entries.pop(node, None)
        if entry is not None:
            self.dropped += len(entry.pending)

    def _keep(self, entry: SubscriberEntry, found: FoundObjects, bound: int) -> None:
        if bound:
            if len(entry.pending) >= bound:
                self._drop(entry, entry.pending.popleft())
            entry.pending.append(found)
        else:
            self._drop(entry, found)

    def _drop(self, entry: SubscriberEntry, found: FoundObjects) -> None:
        self.dropped += 1
        times = [each.published_us for each in found.items]
        if times:
            entry.missed[found.query] = min(*times, entry.missed.get(found.query, times[0]))
