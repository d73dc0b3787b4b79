"""Tells the other nodes of a cell what one of them has done, and makes sure that one of them knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bypass.ports.host import Timer
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.storage import CellUpdate, NodeState, StorageMessage

if TYPE_CHECKING:
    from bypass.mechanisms.storage.cells.mechanism import Cells

MOST_ATTEMPTS = 3
"""Nodes of the cell that are asked to confirm something, one after the other."""

MOST_WAITING = 4096
"""Operations that wait to be confirmed; more are not waited for."""


@dataclass(slots=True)
class _Waiting:
    """Something that no other node has confirmed yet."""

    part: NodeState
    answer: Callable[[], None]
    asked: set[int] = field(default_factory=set)
    timer: Timer | None = None


class CellSpreading:
    """The one-hop broadcasts of a node to its cell.

    A broadcast may be lost. So one node of the cell is asked to confirm it; if it does not, another one gets
    the same by itself, and so on. `unconfirmed` counts what none of several has confirmed.
    """

    def __init__(self, node: Cells) -> None:
        self.unconfirmed = 0
        self._node = node
        self._waiting: dict[tuple[int, int], _Waiting] = {}

    def tell(self, body: StorageMessage) -> None:
        """Tell the cell, if somebody else is in it."""
        if self._node.mates():
            self._node.host.link.tell_cell(CellUpdate(body))

    def spread(self, part: NodeState, op: int, answer: Callable[[], None]) -> None:
        """Tell the cell, and call `answer` when another node has confirmed it; at once if there is none."""
        mates = self._node.mates()
        key = (op, part.cell or 0)
        if not mates:
            answer()
        elif self._node.as_published or not op or len(self._waiting) >= MOST_WAITING:
            self._node.host.link.tell_cell(CellUpdate(part))
            answer()
        else:
            self._forget(key)
            waiting = self._waiting[key] = _Waiting(part, answer)
            confirmer = self._node.random.choice(mates)
            waiting.asked.add(confirmer)
            self._node.host.link.tell_cell(CellUpdate(part, op, confirmer))
            waiting.timer = self._node.host.after(self._node.confirm_s, self._ask_another, key, waiting)

    def confirmed(self, op: int, cells: tuple[int, ...]) -> bool:
        """Another node has what was spread. Whether that was waited for."""
        found = [self._forget((op, cell)) for cell in cells]
        for waiting in found:
            if waiting is not None:
                waiting.answer()
        return any(found)

    def _ask_another(self, key: tuple[int, int], waiting: _Waiting) -> None:
        if self._waiting.get(key) is not waiting:
            return
        mates = self._node.mates()
        others = [each for each in mates if each not in waiting.asked] or mates
        if not others or len(waiting.asked) >= MOST_ATTEMPTS:
            self.unconfirmed += bool(mates)
            self._forget(key)
            waiting.answer()
            return
        confirmer = self._node.random.choice(others)
        waiting.asked.add(confirmer)
        target = NodeAddress(confirmer, self._node.host.link.own_cell())
        self._node.host.link.send(CellUpdate(waiting.part, key[0], confirmer), (target,))
        waiting.timer = self._node.host.after(self._node.confirm_s, self._ask_another, key, waiting)

    def _forget(self, key: tuple[int, int]) -> _Waiting | None:
        waiting = self._waiting.pop(key, None)
        if waiting is not None and waiting.timer is not None:
            waiting.timer.cancel()
        return waiting
