"""The clients of one world in an edge's area, by the cells to which they belong."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass

from bypass.places.logical_cells import cell_of_node, logical_grid

MOST_FAILURES = 2
"""Unicasts to a client that may fail, with no sign of life in between, before it counts as gone."""


@dataclass(slots=True)
class _Member:
    heard_at: float
    failures: int = 0


class AreaMembers:
    """The clients that were heard lately. They belong to `cells` cells, but visitors to none."""

    def __init__(self, cells: int) -> None:
        self._members: dict[int, _Member] = {}
        self._visitors: set[int] = set()
        self._nodes: tuple[int, ...] | None = ()
        self.use(cells)

    def __contains__(self, node: object) -> bool:
        return node in self._members

    def __len__(self) -> int:
        return len(self._members)

    @property
    def nodes(self) -> tuple[int, ...]:
        """All clients, in the order of their numbers."""
        if self._nodes is None:
            self._nodes = tuple(sorted(self._members))
        return self._nodes

    @property
    def visitors(self) -> tuple[int, ...]:
        """Those of them that are soon gone, in the order of their numbers."""
        return tuple(sorted(self._visitors))

    def use(self, cells: int) -> None:
        """Have the clients belong to so many cells."""
        self._count = cells
        self._cells: dict[int, list[int]] = {}
        for node in sorted(self._members.keys() - self._visitors):
            self._cells.setdefault(cell_of_node(node, cells), []).append(node)

    def heard(self, node: int, now: float) -> bool:
        """A client was heard; returns whether it is new."""
        member = self._members.get(node)
        if member is not None:
            member.heard_at, member.failures = now, 0
            return False
        self._members[node] = _Member(now)
        self._nodes = None
        insort(self._cells.setdefault(cell_of_node(node, self._count), []), node)
        return True

    def note(self, node: int, visiting: bool) -> None:
        """A client that is known said whether it is a visitor."""
        if visiting and node not in self._visitors:
            self._leave_cell(node)
            self._visitors.add(node)
        elif not visiting and node in self._visitors:
            self._visitors.remove(node)
            insort(self._cells.setdefault(cell_of_node(node, self._count), []), node)

    def failed(self, node: int) -> bool:
        """A unicast to a client has failed; returns whether it counts as gone from now on."""
        member = self._members.get(node)
        if member is None:
            return False
        member.failures += 1
        return member.failures >= MOST_FAILURES and self.forget(node)

    def forget(self, node: int) -> bool:
        """Drop a client; returns whether it was known."""
        if self._members.pop(node, None) is None:
            return False
        self._nodes = None
        if node in self._visitors:
            self._visitors.remove(node)
        else:
            self._leave_cell(node)
        return True

    def _leave_cell(self, node: int) -> None:
        cell = cell_of_node(node, self._count)
        self._cells[cell].remove(node)
        if not self._cells[cell]:
            del self._cells[cell]

    def silent(self, heard_before: float) -> list[int]:
        """The clients that were heard before a time only, in the order of their numbers."""
        return sorted(node for node, member in self._members.items() if member.heard_at < heard_before)

    def serving(self, cell: int) -> list[int]:
        """The clients of a cell or, if it is empty, of the populated cell nearest to it, of two with the
        smaller number: of them those to which the fewest unicasts have failed. None if there is no client."""
        if not self._cells:
            return []
        nodes = self._cells.get(cell)
        if nodes is None:
            grid = logical_grid(self._count)
            nodes = self._cells[min(self._cells, key=lambda each: (grid.steps_squared(each, cell), each))]
        failures = [self._members[node].failures for node in nodes]
        fewest = min(failures)
        return [node for node, failed in zip(nodes, failures, strict=True) if failed == fewest]
