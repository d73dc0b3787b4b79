"""Neighbours compare what all nodes are to know, and tell each other the parts in which they differ.

Floods get lost, and networks part and meet again; so whatever one node knows reaches all others in time.
"""

from __future__ import annotations

from collections.abc import Callable

from bypass.mechanisms.storage.shared_state import SharedState
from bypass.ports.host import Host, Timer
from bypass.protocol.storage import NodeState, StateDigest, StorageMessage

SOON_S = 0.5
"""The longest random time before a node tells its digest, or what others lack: so not all speak at once."""

FIRST_WAIT_S, LONGEST_WAIT_S = 2.0, 60.0
"""A node that differs from neighbours tells its digest again after the first of these times, then after twice
as long, up to the last."""


class NeighbourComparison:
    """The comparisons of one node with its neighbours: of `shared`, by a short digest.

    `tell(body)` tells all in reach.

    A node that hears a digest tells all in reach the parts in which its own differs, at a random time within
    `delay_s()` seconds, but nothing that another one has told meanwhile; then its digest, so that it gets
    what it lacks.
    """

    def __init__(
        self,
        host: Host,
        shared: SharedState,
        tell: Callable[[StorageMessage], None],
        delay_s: Callable[[], float] = lambda: SOON_S,
    ) -> None:
        self.shared = shared
        self._host = host
        self._tell = tell
        self._delay_s = delay_s
        self._draw = host.random("repair").random
        self._told_at = float("-inf")
        self._wait = FIRST_WAIT_S
        self._timer: Timer | None = None
        self._due = float("inf")
        self._differing: set[int] = set()  # parts that are to be told
        self._heard: set[int] = set()  # what others have told since the first of them was found

    def tell(self) -> None:
        """Tell all in reach the digest."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._due, self._told_at = None, float("inf"), self._host.now()
        self._tell(self.shared.digest())

    def tell_soon(self) -> None:
        """Tell all in reach the digest soon, once for all that is new until then."""
        self._wait = FIRST_WAIT_S
        self._tell_at(self._host.now())

    def digested(self, digest: StateDigest) -> None:
        """A neighbour has told its digest."""
        differing = self.shared.differing(digest)
        if not differing:
            return
        if not self._differing:
            self._host.after(self._delay_s() * self._draw(), self._tell_parts)
        self._differing.update(differing)
        if self._timer is None:
            self._tell_at(max(self._told_at + self._wait, self._host.now()))
            self._wait = min(2.0 * self._wait, LONGEST_WAIT_S)

    def told(self, state: NodeState) -> None:
        """A neighbour has told a part of what it knows."""
        if self._differing:
            self._heard |= self.shared.hashes(state)

    def _tell_at(self, at: float) -> None:
        if at >= self._due:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._due = at
        self._timer = self._host.after(at - self._host.now() + SOON_S * self._draw(), self.tell)

    def _tell_parts(self) -> None:
        for part in self.shared.parts(self._differing, self._heard):
            if part.queries or part.tombstones or part.withdrawn:
                self._tell(part)
        self._differing.clear()
        self._heard.clear()
