"""The nodes in reach, by their cells, as beacons tell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bypass.ports.routing import Neighbour

MOST_FAILURES = 2
"""Unicasts to a node that may fail, with no sign of life in between, before it counts as gone."""

MOST_MEMBERS = 1024
"""Neighbours that a node keeps; for a further one, the one that it has heard longest ago is dropped."""


@dataclass(slots=True)
class Member:
    """A node in reach: its cell, whether it moves between cells, when it was heard, what failed since; the
    bits of the populated cells around it, its island if it has told one, and how near it is to a gap."""

    cell: int | None
    moving: bool
    heard_at: float
    failures: int = 0
    around: int = 0
    island: int | None = None
    gap: int = 0


class CellMembers:
    """The nodes in reach. `cells` has those that serve, by cell, in the order of their numbers; `changes`
    counts how often who is where, or what is around, was another.

    `forgotten` is told of each that is dropped.
    """

    def __init__(self, forgotten: Callable[[int], None] | None = None) -> None:
        self._forgotten = forgotten
        self.changes = 0
        self._members: dict[int, Member] = {}
        self._cells: dict[int, list[int]] | None = {}
        self._around: dict[int, int] | None = {}

    def __iter__(self) -> Iterator[int]:
        return iter([*self._members])

    @property
    def cells(self) -> Mapping[int, Sequence[int]]:
        """The nodes that serve, by their cells."""
        if self._cells is None:
            cells: dict[int, list[int]] = {}
            for node in sorted(self._members):
                member = self._members[node]
                if member.cell is not None and not member.moving:
                    cells.setdefault(member.cell, []).append(node)
            self._cells = cells
        return self._cells

    def get(self, node: int) -> Member | None:
        """A node in reach, None if it was not heard."""
        return self._members.get(node)

    @property
    def around(self) -> Mapping[int, int]:
        """The bits of the populated cells around those of `cells`, as far as their nodes have said."""
        if self._around is None:
            found: dict[int, int] = {}
            for _, member in self.serving():
                if member.cell is not None:
                    found[member.cell] = found.get(member.cell, 0) | member.around
            self._around = found
        return self._around

    def islands(self, cell: int) -> set[int | None]:
        """The islands that the nodes of one of `cells` have told."""
        return {self._members[node].island for node in self.cells[cell]}

    def gap(self) -> int:
        """How near a gap is, as the nodes say that serve; 0: none of them knows one."""
        return max((member.gap for _, member in self.serving()), default=0)

    def serving(self) -> Iterator[tuple[int, Member]]:
        """The nodes that serve."""
        return (each for each in self._members.items() if each[1].cell is not None and not each[1].moving)

    def told(
        self, node: int, cell: int | None, moving: bool, now: float, around: int = 0,
        island: int | None = None, gap: int = 0,
    ) -> bool:  # fmt: skip
        """A node has said where it is; returns whether that is new."""
        member = self._members.get(node)
        if member is not None:
            member.heard_at, member.failures, member.gap, member.island = now, 0, gap, island
            if member.around != around:
                member.around = around
                self._changed()
            if member.cell == cell and member.moving == moving:
                return False
            member.cell, member.moving = cell, moving
        else:
            if len(self._members) >= MOST_MEMBERS:
                self.forget(min(self._members, key=lambda each: self._members[each].heard_at))
            self._members[node] = Member(cell, moving, now, 0, around, island, gap)
        self._changed()
        return True

    def heard(self, node: int, now: float) -> bool:
        """A node has sent something; returns whether it is known. One that never said where it is is not."""
        member = self._members.get(node)
        if member is None:
            return False
        member.heard_at, member.failures = now, 0
        return True

    def failed(self, node: int) -> bool:
        """A unicast to a node has failed; returns whether it counts as gone from now on."""
        member = self._members.get(node)
        if member is None:
            return False
        member.failures += 1
        return member.failures >= MOST_FAILURES and self.forget(node)

    def forget(self, node: int) -> bool:
        """Drop a node; returns whether it was known."""
        self._changed()
        if self._members.pop(node, None) is None:
            return False
        if self._forgotten is not None:
            self._forgotten(node)
        return True

    def expire(self, heard_before: float) -> bool:
        """Drop the nodes that were heard before a time only; returns whether there were any."""
        gone = [node for node, member in self._members.items() if member.heard_at < heard_before]
        for node in gone:
            self.forget(node)
        return bool(gone)

    def clear(self) -> None:
        """Drop all nodes."""
        self._members.clear()
        self._changed()

    def neighbours(self) -> list[Neighbour]:
        """All nodes in reach, in the order of their numbers."""
        return [
            Neighbour(node, member.cell, member.moving, member.heard_at)
            for node, member in sorted(self._members.items())
        ]

    def _changed(self) -> None:
        self.changes += 1
        self._cells = self._around = None

    def likeliest(self, cell: int) -> list[int]:
        """Those of one of `cells` to which the fewest unicasts have failed; at least one."""
        nodes = self.cells[cell]
        failures = [self._members[node].failures for node in nodes]
        fewest = min(failures)
        return [node for node, failed in zip(nodes, failures, strict=True) if failed == fewest]
