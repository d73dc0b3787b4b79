"""Notices that two parts of the network have met that were apart: both have to compare what they have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.storage import DigestKind, JoinRequest, StateDigest

if TYPE_CHECKING:
    from bypass.mechanisms.storage.cells.mechanism import Cells

ABSENT_S = 4.0
"""A neighbour that was gone for so long was not lost for a few beacons alone: it may have been elsewhere."""

LONG_S = 8.0
"""A node that has worked for its cell so long is no newcomer: those come alone, and say so."""

NEW_S = 6.0
"""A neighbour counts as new for so long."""

COMPARE_WITHIN_S = 2.0
"""After parts of the network have met, nodes offer what they have at random times within this."""


class Encounters:
    """The neighbours of a node, when each was there last and since when it is there.

    A node that has long worked for its cell asks a neighbour that is new to it whether that is so the other
    way round, too. If the other one has long worked for its cell as well, neither is a newcomer: then parts
    of the network have met, and everybody offers its objects and queries to their cells again.
    """

    def __init__(self, node: Cells) -> None:
        self.meetings = 0
        self._node = node
        self._seen: dict[int, float] = {}
        self._since: dict[int, float] = {}
        self._compared_at = float("-inf")

    def look(self) -> None:
        """Notice who is there, and ask those who are new."""
        node = self._node
        now = node.host.now()
        asked: set[int | None] = set()
        known = self._seen
        for number, cell, moving, heard_at in node.host.link.neighbours():
            seen = known.get(number)
            known[number] = heard_at
            if moving or (seen is not None and heard_at - seen < ABSENT_S):
                continue
            self._since[number] = now
            if node.membership.is_member_for(LONG_S) and cell not in asked:
                asked.add(cell)
                summary = StateDigest(node.cell or 0, (), DigestKind.SUMMARY)
                node.host.link.send(summary, (NodeAddress(number, cell),))
        if len(self._seen) > 4096:
            self._seen = {number: at for number, at in self._seen.items() if now - at < 60.0}
            self._since = {number: at for number, at in self._since.items() if number in self._seen}

    def asked(self, origin: NodeAddress) -> None:
        """A neighbour to which this node is new wants to know whether it is new to this one."""
        node = self._node
        now = node.host.now()
        self.look()
        new = origin.node is not None and now - self._since.get(origin.node, 0.0) < NEW_S
        if new and node.membership.is_member_for(LONG_S) and now - self._compared_at > NEW_S:
            self.meetings += 1
            node.host.link.flood(JoinRequest())
            self.met()

    def met(self) -> None:
        """Parts of the network have met: offer what there is, once."""
        node = self._node
        now = node.host.now()
        if now - self._compared_at > NEW_S:
            self._compared_at = now
            node.host.after(COMPARE_WITHIN_S * node.random.random(), node.repair.offer_own)
            node.host.after(COMPARE_WITHIN_S * (1 + node.random.random()), node.repair.offer_copies)
            node.hand_over.probe_soon()
            node.comparison.tell_soon()
