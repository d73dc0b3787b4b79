"""The members of a group, with changes that are only foreseen."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Set
from itertools import chain

Members = frozenset[Hashable]


class Roster:
    """The members that a mechanism has now, plus and minus some, without a copy of them all.

    Moving one of a hundred thousand members must not cost a hundred thousand steps.
    """

    __slots__ = ("_added", "_now", "_removed")

    def __init__(
        self,
        now: Collection[Hashable] = frozenset(),
        added: Members = frozenset(),
        removed: Members = frozenset(),
    ) -> None:
        self._now = now if isinstance(now, Set | Mapping) else frozenset(now)
        self._added = added
        self._removed = removed

    def plus(self, members: Members) -> Roster:
        return Roster(self._now, self._added | members, self._removed - members)

    def minus(self, members: Members) -> Roster:
        return Roster(self._now, self._added - members, self._removed | members)

    def __contains__(self, member: Hashable) -> bool:
        return member in self._added or (member in self._now and member not in self._removed)

    def __iter__(self) -> Iterator[Hashable]:
        if not self._added and not self._removed:
            return iter(self._now)
        kept = (m for m in self._now if m not in self._removed and m not in self._added)
        return chain(self._added, kept)

    def __bool__(self) -> bool:
        return next(iter(self), self) is not self
