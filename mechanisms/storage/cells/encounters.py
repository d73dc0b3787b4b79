"""Notices that two parts of the network have met that were apart: both have to compare what they have."""

from __future__ import annotations

from collections.abc import Iterable
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

MOST_TOLD = 64
"""Neighbours that are told to one that is new."""

COMPARE_WITHIN_S = 2.0
"""After parts of the network have met, nodes offer what they have at random times within this."""


class Encounters:
    """The neighbours of a node, when each was there last and since when it is there.

    A node that has long worked for its cell asks a neighbour that is new to it whether that is so the other
    way round, too. If the other one has long worked for its cell as well, neither is a newcomer. Unless both
    have long heard a third one, which has connected them, parts of the network have met: everybody offers its
    objects and queries to their cells again.
    """

    def __init__(self, node: Cells) -> None:
        self.meetings = 0
        self._node = node
        self._seen: dict[int, float] = {}
        self._since: dict[int, float] = {}
        self._steady: dict[int, float] = {}  # since when neighbours have been heard, and not seen moving
        self._compared_at = float("-inf")

    def look(self) -> None:
        """Notice who is there, and ask those who are new."""
        node = self._node
        now = node.host.now()
        new: list[NodeAddress] = []
        before = self._steady
        neighbours = node.host.link.neighbours()
        numbers = [each[0] for each in neighbours]
        seen_at = list(map(self._seen.get, numbers))
        self._seen.update(zip(numbers, [each[3] for each in neighbours], strict=True))
        self._steady = {number: before.get(number, now) for number, _, moving, _ in neighbours if not moving}
        for (number, cell, moving, heard_at), seen in zip(neighbours, seen_at, strict=True):
            if (seen is None or heard_at - seen >= ABSENT_S) and not moving:
                self._since[number] = self._steady[number] = now
                new.append(NodeAddress(number, cell))
        if node.membership.is_member_for(LONG_S):
            one_of_each = {each.cell: each for each in reversed(new)}
            for each in one_of_each.values():
                mate = each.cell == node.cell
                entries = () if mate else self._long_heard()[:MOST_TOLD]
                kind = DigestKind.SUMMARY if mate else DigestKind.NEIGHBOURS
                node.host.link.send(StateDigest(node.cell or 0, entries, kind), (each,))
        if len(self._seen) > 4096:
            self._seen = {number: at for number, at in self._seen.items() if now - at < 60.0}
            self._since = {number: at for number, at in self._since.items() if number in self._seen}

    def _long_heard(self) -> tuple[int, ...]:
        """The neighbours that pass messages on, and have for long, in the order of their numbers."""
        since = self._node.host.now() - LONG_S
        return tuple(sorted(number for number, at in self._steady.items() if at <= since))

    def asked(self, origin: NodeAddress, heard: Iterable[int]) -> None:
        """A neighbour to which this node is new wants to know whether it is new to this one; it has long
        `heard` some others."""
        node = self._node
        now = node.host.now()
        self.look()
        new = origin.node is not None and now - self._since.get(origin.node, 0.0) < NEW_S
        if not new or not set(heard).isdisjoint(self._long_heard()):
            return
        if node.membership.is_member_for(LONG_S) and now - self._compared_at > NEW_S:
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
