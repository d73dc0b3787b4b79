"""The status of a live broker: a picture of this moment, as data."""

from __future__ import annotations

from collections import deque
from importlib.metadata import version
from typing import Any

from bypass.live.broker.operations.outlines import outline, place_entry
from bypass.live.broker.operations.plan_log import PlanLog
from bypass.live.broker.server import BrokerServer
from bypass.mechanisms.families import MATCHING_PROXY
from bypass.places.areas import Area

MOST_POSITIONS = 5000
MOST_AREAS = 300
MOST_TRANSITIONS = 20
QUOTAS = (
    "limited",
    "limited_bytes",
    "unread",
    "overflowed",
    "offended",
    "disconnected",
    "over_sessions",
    "over_connections",
    "over_stored",
    "hello_repeated",
    "kept_untold",
    "kept_withdrawn",
    "subscriptions_over_limit",
)
"""Reasons for which something is over a limit, as they are counted."""

PERIOD_S = 1.0
"""How often a snapshot is taken."""

PLANS_S = 300.0
"""How long the area of a plan is shown."""

RATE_S = 5.0
"""Rates are over so many seconds."""


class Status:
    """Takes a snapshot every second. `snapshot` is replaced, never changed: any thread may read it."""

    def __init__(self, server: BrokerServer, plans: PlanLog) -> None:
        self._server = server
        self._plans = plans
        self._started = server.loop.now()
        self._version = version("bypass-pubsub")  # which reads a file
        self._counts: deque[tuple[float, dict[str, float]]] = deque()
        self.snapshot = self._take()
        server.loop.after(PERIOD_S, self._refresh_again)

    def refresh(self) -> None:
        """Take a new snapshot; in the server's thread."""
        self.snapshot = self._take()

    def _refresh_again(self) -> None:
        self._server.loop.after(PERIOD_S, self._refresh_again)
        self.refresh()

    def _take(self) -> dict[str, Any]:
        server, now = self._server, self._server.loop.now()
        broker, config, deliveries = server.broker, server.config, server.deliveries
        region, authenticator = config.region, server.listener.authenticator
        allow_list, connections = server.listener.allow_list, server.listener.connections
        matching = broker.engine.active(MATCHING_PROXY)
        return {
            "at": now,
            "started": self._started,
            "version": self._version,
            "epoch": broker.rollout.epoch,
            "listen": list(server.endpoints),
            "open": config.open,
            "region": {
                "area": list(region.area),
                "places": [place_entry(place) for place in broker.filter_schemes[0].region.places],
                "origin": None if region.origin is None else list(region.origin),
            },
            "schemes": [
                {"name": each.name, "set": each.settings(), "clients": len(each.clients)}
                for each in broker.filter_schemes
            ],
            "matching": {"name": matching.name, "set": matching.settings()},
            "clients": {"connected": len(server.sessions.by_route), "sessions": len(server.sessions)},
            "subscriptions": len(broker.table),
            "rates": self._rates(now),
            "counters": {
                "publications": 0,
                "malformed": 0,
                "refused": 0,
                "unauthorised": 0,
                "oversized": 0,
                **dict.fromkeys(QUOTAS, 0),
                **server.counters,
                "deliveries": deliveries.deliveries,
                "acknowledged": deliveries.acknowledged,
                "waiting": deliveries.waiting,
                "missed": deliveries.kept.missing.total,
                "stalled": deliveries.sending.stalled,
                "bytes_out": deliveries.sending.bytes_out,
                "not_admitted": authenticator.refused,
                "ungreeted": connections.ungreeted,
                "swollen": connections.swollen,
                "list_not_read": 0 if allow_list is None else allow_list.not_read,
            },
            "borders": broker.borders.figures(),
            "missed_by": dict(deliveries.kept.missing.by_reason),
            "store": self._store(),
            "objects": server.objects.figures(),
            "transitions": self._plans.latest(MOST_TRANSITIONS),
            "positions": self._positions(),
            "areas": self._areas(),
        }

    def _areas(self) -> list[dict[str, Any]]:
        """The distinct areas of subscriptions, as they are now, and those of plans of the last minutes."""
        broker = self._server.broker
        found: dict[Area, None] = {}
        for row in broker.table.interests:
            found.update(dict.fromkeys(broker.areas.now(row)))
            if len(found) >= MOST_AREAS:
                break
        plans = broker.plan_areas.since(self._server.loop.now() - PLANS_S)
        return [
            *({"kind": "subscription", "outline": outline(area)} for area in [*found][:MOST_AREAS]),
            *({"kind": "plan", "outline": outline(area)} for area in plans),
        ]

    def _rates(self, now: float) -> dict[str, float]:
        server = self._server
        counts: dict[str, float] = {
            "publications": server.counters["publications"],
            "deliveries": server.deliveries.deliveries,
            "bytes_in": server.counters["bytes_in"],
            "bytes_out": server.deliveries.sending.bytes_out,
        }
        self._counts.append((now, counts))
        while self._counts[0][0] < now - RATE_S and len(self._counts) > 2:
            self._counts.popleft()
        then, before = self._counts[0]
        elapsed = max(now - then, 1e-3)
        return {name: (value - before[name]) / elapsed for name, value in counts.items()}

    def _store(self) -> dict[str, Any]:
        server = self._server
        path = server.config.store
        commits, seconds = server.turns.commits
        return {
            "path": str(path),
            "bytes": path.stat().st_size if path.exists() else 0,
            "commits": commits,
            "commit_ms": 1000.0 * seconds / commits if commits else 0.0,
            "failing": server.turns.failing,
        }

    def _positions(self) -> list[list[Any]]:
        table, positions = self._server.broker.table, []
        for scheme in self._server.broker.filter_schemes:
            for number in scheme.clients:
                session = self._server.sessions.by_number.get(number)
                place = table.place(number)
                if session is not None and place is not None:
                    x, y, _ = place
                    positions.append([number, session.name, x, y, scheme.name, session.route is not None])
                    if len(positions) >= MOST_POSITIONS:
                        return positions
        return positions
