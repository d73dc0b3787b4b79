"""One plan on a live broker, and what clients have made of it so far."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter

from bypass.transitions import Plan, Record

ClientVerdict = Literal["pending", "retried", "away", "done", "failed", "obsolete"]
"""What is known of a client: it has to answer; it has failed and will be asked again; it has left before it
answered; or how it ended. Obsolete is what later plans have left nothing of."""

OPEN: frozenset[ClientVerdict] = frozenset({"pending", "retried", "away"})


class KeptExecution(BaseModel):
    """An execution that has not ended, as the store keeps it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    plan: Plan
    at: float
    concerned: int
    counts: dict[ClientVerdict, int] = {}
    isolated: tuple[str, ...] = ()
    shares: tuple[Plan, ...] = ()
    concluded: bool = False

    @classmethod
    def from_json(cls, text: str) -> list[KeptExecution]:
        """Raises pydantic's ValidationError."""
        return TypeAdapter(list[KeptExecution]).validate_json(text)


@dataclass(slots=True, eq=False)
class Execution:
    """One plan: what was done here, and what clients have made of it so far.

    `concerned` are all clients that it is for, `counts` are those by verdict who were connected when they
    were told, `shares` what they were told, by the id that they answer to. `took` is how long it took until
    everybody had answered who was asked and is connected. `acknowledged` is the share of the deliveries made
    meanwhile, to clients that are connected, which these have acknowledged; None as long as that is not
    known, and if there were none. Whether those were all that the events concerned, nobody can tell.
    """

    plan: Plan
    at: float
    records: list[Record]
    first: int  # in the log
    deliveries: int = 0  # before it
    concerned: int = 0
    counts: Counter[ClientVerdict] = field(default_factory=Counter)
    shares: dict[str, Plan] = field(default_factory=dict)
    isolated: list[str] = field(default_factory=list)
    took: float | None = None
    concluded: bool = False
    acknowledged: float | None = None

    @property
    def pending(self) -> int:
        """How many clients that are connected have to answer."""
        return self.counts["pending"] + self.counts["retried"]

    def keep(self) -> KeptExecution:
        return KeptExecution(
            plan=self.plan,
            at=self.at,
            concerned=self.concerned,
            counts={verdict: count for verdict, count in self.counts.items() if count},
            isolated=tuple(self.isolated),
            shares=tuple(self.shares.values()),
            concluded=self.concluded,
        )

    @classmethod
    def of(cls, kept: KeptExecution, first: int) -> Execution:
        """One that goes on after a restart; those who have not answered are to be added."""
        execution = cls(kept.plan, kept.at, [], first, concerned=kept.concerned, concluded=kept.concluded)
        execution.counts.update({v: count for v, count in kept.counts.items() if v not in OPEN})
        execution.isolated += kept.isolated
        execution.shares = {share.id: share for share in kept.shares}
        return execution

    def to_dict(self) -> dict[str, Any]:
        """As data for JSON."""
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
            "acknowledged": self.acknowledged,
        }
