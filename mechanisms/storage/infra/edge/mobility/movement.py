"""Predictions of how long a client stays at an edge, and to which one it goes next, by its own history."""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

MOST_CLIENTS = 4096
MOST_VISITS = 32
"""Visits of one client that are known."""


class Visit(NamedTuple):
    """A stay of a client at an edge: where it came from, None if that is not known, how long it stayed (s),
    and where it went."""

    came_from: int | None
    edge: int
    stay_s: float
    next_edge: int


class ArrivalPrediction(NamedTuple):
    """The edge at which a client is expected, in so many seconds."""

    edge: int
    in_s: float


@dataclass(slots=True)
class _Whereabouts:
    """The edge at which a client is, or was last, the one before that, and its visits so far, latest last."""

    edge: int
    since: float
    came_from: int | None = None
    left_at: float | None = None
    visits: deque[Visit] = field(default_factory=deque)
    left_here_for: int | None = None


class ClientMovement:
    """Keeps the visits of clients to edges, as one of these edges, `own`, hears of them, and predicts from a
    client's own visits alone where it goes next, and when it leaves.

    The next edge is the one that the client went to most often when it was where it is now and had come from
    where it came from now, of equally many the latest; if it never was, the same without where it came from.
    It is expected to stay for the median of those stays. At most `most_clients` are known, of which the one
    that was heard the longest time ago goes first, each with its latest `most_visits`. `now` gives seconds.
    """

    def __init__(
        self,
        own: int,
        now: Callable[[], float],
        most_clients: int = MOST_CLIENTS,
        most_visits: int = MOST_VISITS,
    ) -> None:
        self._own = own
        self._now = now
        self._most_clients = most_clients
        self._most_visits = most_visits
        self._clients: OrderedDict[int, _Whereabouts] = OrderedDict()

    def __len__(self) -> int:
        return len(self._clients)

    def heard(self, client: int, at: int) -> None:
        """Learn that a client is at an edge, this one or another."""
        known = self._clients.pop(client, None)
        if known is None:
            known = _Whereabouts(at, self._now())
        elif known.edge == at:
            known.left_at = None  # it was away for a moment
        else:
            self._moved(known, at)
        self._clients[client] = known
        if len(self._clients) > self._most_clients:
            self._clients.popitem(last=False)

    def left(self, client: int, at: int) -> None:
        """Learn that a client is not at an edge any more; harmless if it was not known to be there."""
        known = self._clients.get(client)
        if known is not None and known.edge == at and known.left_at is None:
            known.left_at = self._now()

    def place(self, client: int) -> tuple[int, float] | None:
        """The edge at which a client is, or was last, and the time when it came there (s); None if it is not
        known."""
        known = self._clients.get(client)
        return None if known is None else (known.edge, known.since)

    def visits(self, client: int) -> tuple[Visit, ...]:
        """The visits of a client that have ended, the latest last."""
        known = self._clients.get(client)
        return () if known is None else tuple(known.visits)

    def predicted(self, client: int) -> ArrivalPrediction | None:
        """The edge that a client goes to next, and when it leaves for it: in 0 s if it has left, or has
        stayed for longer than usual. None if it is not known to have been here before."""
        known = self._clients.get(client)
        if known is None:
            return None
        here = [visit for visit in known.visits if visit.edge == known.edge]
        alike = [visit for visit in here if visit.came_from == known.came_from] or here
        if not alike:
            return None
        times = Counter(visit.next_edge for visit in alike)
        most = max(times.values())
        going = next(visit.next_edge for visit in reversed(alike) if times[visit.next_edge] == most)
        if known.left_at is not None:
            return ArrivalPrediction(going, 0.0)
        stay_s = median(visit.stay_s for visit in alike if visit.next_edge == going)
        return ArrivalPrediction(going, max(0.0, known.since + stay_s - self._now()))

    def migration(self, edge: int) -> float:
        """The share of the clients that were at the own edge whose last stay there ended by going to another
        one, 0 to 1."""
        were_here = [
            known
            for known in self._clients.values()
            if known.edge == self._own or known.left_here_for is not None
        ]
        went = sum(known.left_here_for == edge for known in were_here)
        return went / len(were_here) if were_here else 0.0

    def _moved(self, known: _Whereabouts, to: int) -> None:
        now = self._now()
        left_at = now if known.left_at is None else known.left_at
        known.visits.append(Visit(known.came_from, known.edge, left_at - known.since, to))
        if len(known.visits) > self._most_visits:
            known.visits.popleft()
        if known.edge == self._own:
            known.left_here_for = to
        known.came_from, known.edge, known.since, known.left_at = known.edge, to, now, None
