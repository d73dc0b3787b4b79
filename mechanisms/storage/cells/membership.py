"""Whether a node works for its cell: it listens, joins with the state of another node, serves, and leaves."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from bypass.mechanisms.storage.cells.state.state_parts import divided, numbered
from bypass.objects.metadata import StoredObject
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.storage import MOST_NAMED, JoinRequest, NodeState

if TYPE_CHECKING:
    from bypass.mechanisms.storage.cells.mechanism import Cells


class JoinPhase(Enum):
    """How far a node is with working for its cell."""

    LISTENING = "listening"
    JOINING = "joining"
    MEMBER = "member"
    AWAY = "away"


class CellMembership:
    """The membership of a node in its cell.

    A node listens for a while, then asks another one of its cell for the state, part by part. After several
    attempts, or if there is nobody, it is alone: then its cell was empty, and it collects the cell's keys.
    """

    def __init__(self, node: Cells) -> None:
        self.phase = JoinPhase.LISTENING
        self.joins = 0
        self._since = 0.0
        self._came: float | None = None  # when it began to listen, or to join
        self._node = node
        self._cell: int | None = None  # of which it is a member, or tries to be
        self._attempt = 0
        self._asked: int | None = None
        self._parts: set[int] = set()

    @property
    def is_member(self) -> bool:
        """Whether the node works for its cell."""
        return self.phase is JoinPhase.MEMBER

    def is_member_for(self, seconds: float) -> bool:
        """Whether the node has worked for its cell at least so long."""
        return self.is_member and self._node.host.now() - self._since >= seconds

    @property
    def came(self) -> float | None:
        """When the node came to its cell, if it has not worked for it long enough to have met the others."""
        return None if self.is_member_for(self._node.fresh_s) else self._came

    def begin(self) -> None:
        """Listen for those who are in the cell, whatever it was a member of before."""
        self._came = self._node.host.now()
        self.phase, self._asked = JoinPhase.LISTENING, None
        self._node.host.after(self._node.listen_s, self._heard_enough)

    def review(self) -> None:
        """Notice whether the node has left its cell, or has come to rest in one."""
        node = self._node
        if self.phase is JoinPhase.LISTENING:
            return
        serving = node.cell is not None and node.host.link.serving()
        if not serving:
            if self.phase is not JoinPhase.AWAY:
                self._leave()
        elif self.phase is JoinPhase.AWAY or node.cell != self._cell:
            if self.phase is not JoinPhase.AWAY:
                self._leave()
            self._join()

    def _heard_enough(self) -> None:
        self.phase = JoinPhase.AWAY
        self.review()

    def _leave(self) -> None:
        """Work for no cell: what it was kept for has to go to those who stay, or who are nearest."""
        node = self._node
        self.phase, self._asked, self._came = JoinPhase.AWAY, None, None
        for cell in list(node.service.states):
            if node.as_published:
                node.service.drop(cell)
            else:
                node.hand_over.misplace(cell)

    # -- joining ------------------------------------------------------------------------------------------

    def _join(self) -> None:
        self.phase, self._cell, self._attempt = JoinPhase.JOINING, self._node.cell, 0
        self.joins += 1
        if self._came is None:
            self._came = self._node.host.now()
        self._ask()

    def _ask(self) -> None:
        node = self._node
        mates = [each for each in node.mates() if each != self._asked] or node.mates()
        if not mates or self._attempt >= node.join_retries:
            self._become_member(alone=True)
            return
        self._attempt += 1
        self._asked = node.random.choice(mates)
        self._parts.clear()
        request = JoinRequest(self._cell)
        node.host.link.send(request, (NodeAddress(self._asked, self._cell),))
        node.host.after(node.join_wait_s, self._waited, self._asked, self._attempt, self._cell)

    def _waited(self, asked: int, attempt: int, cell: int | None) -> None:
        if self.phase is JoinPhase.JOINING and (asked, attempt, cell) == (
            self._asked,
            self._attempt,
            self._cell,
        ):
            self._ask()

    def is_joining_with(self, node: int | None) -> bool:
        """Whether this is the node whose state is awaited."""
        return self.phase is JoinPhase.JOINING and node is not None and node == self._asked

    def part_arrived(self, part: NodeState) -> None:
        """A part of the awaited state has been taken."""
        self._parts.add(part.part)
        if part.cell is not None:
            self._node.hand_over.settle((part.cell,))
        if len(self._parts) >= part.parts:
            self._become_member(alone=False)

    def _become_member(self, *, alone: bool) -> None:
        node = self._node
        self.phase, self._asked, self._since = JoinPhase.MEMBER, None, node.host.now()
        cell = self._cell
        if cell is None:
            return
        node.hand_over.misplaced.pop(cell, None)
        node.hand_over.populated = frozenset()
        if not alone:
            node.hand_over.settle((cell,))
        elif not node.as_published:
            node.hand_over.collect(cell, (cell,))
        node.hand_over.review()
        node.hand_over.joined()
        node.joined()

    # -- others who join ----------------------------------------------------------------------------------

    def requested(self, origin: NodeAddress) -> None:
        """Send another node of the cell all that this one has."""
        node = self._node
        parts: list[NodeState] = []
        for cell, state in node.service.states.items():
            if len(state) or node.hand_over.is_settled(cell):
                objects = (
                    StoredObject(metadata, stored.data)
                    for key, metadata in state.held.items()
                    if (stored := node.store.get(key)) is not None
                )
                parts += divided(cell, state.catalogue, state.records.values(), objects, state.tombstones)
        for part in numbered(parts[:MOST_NAMED] or [NodeState(self._cell)]):
            node.host.link.send(part, (origin,))
