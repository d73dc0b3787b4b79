"""Assignments: who finds the passages of a watched client, its broker or itself."""

from __future__ import annotations

from collections.abc import Callable

from bypass.core.borders.permissions import WatchPermissions
from bypass.core.borders.watched_client import Computes, WatchedClient
from bypass.protocol.borders import BorderTask, WatchedAreas
from bypass.protocol.messages import Message


class Assignments:
    """Tells clients what they are to do. `has_fixes` says whether the filter scheme that serves a client
    reports its places; `now` is in seconds, `send` reaches one client."""

    def __init__(
        self,
        permissions: WatchPermissions,
        has_fixes: Callable[[int], bool],
        now: Callable[[], float],
        send: Callable[[int, Message], None],
    ) -> None:
        self._permissions = permissions
        self._has_fixes = has_fixes
        self._now = now
        self._send = send
        self._turn = 0

    def fits(self, client: WatchedClient) -> bool:
        """Whether those find the passages of a client who can; if not, others do from now on, unless the
        client's version cannot."""
        fixes = self._has_fixes(client.number)
        if fixes and client.computes is Computes.CLIENT:
            client.computes = Computes.RETURNING
        elif not fixes and client.computes is not Computes.CLIENT and self.can(client):
            client.computes = Computes.CLIENT
        else:
            return True
        return False

    def can(self, client: WatchedClient) -> bool:
        """Whether a client's version knows border tasks."""
        return self._permissions.can_compute(client.number)

    def renew(self, client: WatchedClient) -> None:
        """Tell a client something new."""
        # Later than what any broker before this one has said, which may have forgotten the client meanwhile.
        self._turn = client.turn = max(self._turn + 1, round(self._now() * 1e3))
        self.tell(client)

    def tell(self, client: WatchedClient) -> None:
        """Tell a client what it is to do, maybe again."""
        if not self.can(client):
            return
        watches: list[WatchedAreas] = []
        for kept in client.watches if client.computes is not Computes.BROKER else ():
            tracker = kept.trackers.get(client.number)
            states = None
            if kept.number in client.begun:
                states = {} if tracker is None else tracker.dump()
            watches.append(WatchedAreas(kept.number, kept.terms.options, tuple(kept.areas.items()), states))
        interval = min((kept.terms.options.interval for kept in client.watches), default=0.0)
        computes = client.computes is Computes.CLIENT
        task = BorderTask(client.turn, computes, interval, tuple(watches), client.last)
        self._send(client.number, task)
