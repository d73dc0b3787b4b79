"""The progress of a plan at the clients of a broker."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

from bypass.transitions import Plan, Record

ClientVerdict = Literal["pending", "retried", "away", "done", "failed", "obsolete"]
"""The state of a plan at a client: it has to answer; it has failed and will be asked again; it has left
before it answered; or how it ended. Obsolete is a plan of which later ones have left nothing."""

OPEN: frozenset[ClientVerdict] = frozenset({"pending", "retried", "away"})


@dataclass(slots=True, eq=False, weakref_slot=True)
class PlanProgress:
    """The records that a plan has left at the broker, and the verdicts on its clients so far.

    `concerned` is the number of clients that it is for, `counts` has those of them by verdict who were
    connected when they were told, `shares` the plans that they were told, by the id that they answer to.
    `took` is how long it took until everybody had answered who was asked and is connected. It is `concluded`
    some time after that.
    """

    plan: Plan
    at: float
    records: list[Record]
    concerned: int = 0
    counts: Counter[ClientVerdict] = field(default_factory=Counter)
    shares: dict[str, Plan] = field(default_factory=dict)
    isolated: list[str] = field(default_factory=list)
    took: float | None = None
    concluded: bool = False

    @property
    def pending(self) -> int:
        """Give the number of clients that are connected and have to answer."""
        return self.counts["pending"] + self.counts["retried"]

    def to_dict(self) -> dict[str, Any]:
        """Give all of it as data for JSON."""
        return {
            "id": self.plan.id,
            "plan": self.plan.plan,
            "why": self.plan.why,
            "who": self.plan.who,
            "at": self.at,
            "epoch": self.plan.epoch,
            "actions": [
                {
                    "proxy": record.proxy,
                    "from": record.source,
                    "to": record.target,
                    "set": record.to_dict()["set"],
                    "outcome": record.outcome,
                    "error": record.error,
                }
                for record in self.records
            ]
            or [
                {"proxy": a.proxy, "from": "", "to": a.to or "", "set": a.set, "outcome": "sent", "error": ""}
                for a in self.plan.actions
            ],
            "clients": self.concerned,
            "done": self.counts["done"],
            "failed": self.counts["failed"] + self.counts["retried"],
            "obsolete": self.counts["obsolete"],
            "pending": self.pending,
            "took_ms": None if self.took is None else 1000.0 * self.took,
            "isolated": list(self.isolated),
        }
