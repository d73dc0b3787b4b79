"""Keeps in the store what holds for single clients of a live broker because plans have named them."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import TypeAdapter

from bypass.core.plans.standing_plans import Held, StandingPlans
from bypass.live.broker.delivery.turn import Turn
from bypass.live.broker.sessions.sessions import Sessions

BUCKETS = 256
"""Clients are stored in so many rows: to write one takes little time, and so does reading all."""

_BUCKET = TypeAdapter(dict[int, dict[str, Held]])


class NamedClients:
    """Begins with what is in the store; the rows of clients for which something else holds are written again.

    They are written together with the plan's epoch, before anybody is told.
    """

    def __init__(self, stored: Mapping[str, str]) -> None:
        self._buckets = [_BUCKET.validate_json(stored.get(f"named/{n}", "{}")) for n in range(BUCKETS)]
        self._lost: set[int] = set()

    def restore(self, standing: StandingPlans, sessions: Sessions) -> None:
        """Have hold for clients what did so before; who is gone is forgotten."""
        for bucket in self._buckets:
            for client, own in bucket.items():
                if client in sessions.by_number:
                    for proxy in own.keys() & standing.all.keys():
                        standing.put(client, proxy, own[proxy])
                else:
                    standing.changed.add(client)

    def note(self, turn: Turn, standing: StandingPlans, sessions: Sessions) -> None:
        """Have a turn store what the store does not know yet."""
        rows, self._lost = self._lost, set()
        for client in standing.changed:
            session, bucket = sessions.by_number.get(client), self._buckets[client % BUCKETS]
            bucket.pop(client, None)
            if session is not None and session.durable and client in standing.own:
                bucket[client] = standing.own[client]
            rows.add(client % BUCKETS)
        standing.changed.clear()
        for n in rows:
            turn.setting(f"named/{n}", _BUCKET.dump_json(self._buckets[n]).decode())

    def lost(self) -> None:
        """Note everything again: a batch was not stored."""
        self._lost = {*range(BUCKETS)}
