"""What becomes of plans at the clients of a live broker: who did it, who is asked again, who is left alone.

A client that fails its part of a plan is asked again, a little later each time. One that goes on failing to
exchange its filter scheme is served by the scheme that it has, while all others move on. One that is away is
told when it comes back.
"""

from __future__ import annotations

import json
import logging
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from bypass.live.broker.server import BrokerServer
from bypass.live.broker.sessions import Session
from bypass.mechanisms.filters import BROKER_PARTS
from bypass.transitions import Action, Distribution, Outcome, Plan, Record, TransitionError

log = logging.getLogger(__name__)

KEPT = 1000
ATTEMPTS = 3
ANSWER_S = 10.0
"""How long an answer may take, and how long it is waited before a failed client is asked again."""

AROUND_S = 1.0
"""Deliveries are counted from a plan until so long after its last answer."""

SETTLED_S = 1.0
"""By then a client that is connected has acknowledged what it was sent."""

ISOLATE = "isolate"


@dataclass(slots=True)
class Execution:
    """One plan: what was done here, and what clients have made of it so far.

    `took` is how long it took until everybody had answered who was asked and is connected. `acknowledged` is
    the share of the deliveries made meanwhile, to clients that are connected, which these have acknowledged;
    None as long as that is not known, and if there were none. Whether those were all that the events
    concerned, nobody can tell.
    """

    plan: Plan
    at: float
    records: list[Record]
    first: int
    concerned: int = 0
    pending: dict[int, int] = field(default_factory=dict)  # attempts so far, by client
    done: set[int] = field(default_factory=set)
    failed: dict[int, str] = field(default_factory=dict)
    isolated: list[str] = field(default_factory=list)
    took: float | None = None
    deliveries: int = 0
    concluded: bool = False
    acknowledged: float | None = None

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
            "done": len(self.done),
            "failed": len(self.failed),
            "pending": len(self.pending),
            "took_ms": None if self.took is None else 1000.0 * self.took,
            "isolated": list(self.isolated),
            "acknowledged": self.acknowledged,
        }


class Followup:
    """Follows the plans of a server's broker."""

    def __init__(self, server: BrokerServer) -> None:
        self.retries = 0
        self.isolations = 0
        self._server = server
        self._executions: OrderedDict[int, Execution] = OrderedDict()  # by epoch
        self._shares: OrderedDict[str, tuple[Execution, Plan]] = OrderedDict()  # by what clients answer to
        server.broker.plan_listeners.append(self)
        server.reception.on_outcome = self._outcome_arrived
        server.attendance.on_departure = self._departed

    def latest(self, most: int) -> list[dict[str, Any]]:
        """The latest executions, newest first."""
        newest = list(self._executions.values())[-most:]
        return [execution.to_dict() for execution in reversed(newest)]

    # -- what the broker tells ----------------------------------------------------------------------------

    def plan_executed(self, plan: Plan, records: list[Record]) -> None:
        """A new execution; clients are told next."""
        execution = Execution(plan, self._server.loop.now(), records, self._server.deliveries.last + 1)
        execution.deliveries = self._server.deliveries.deliveries
        self._executions[plan.epoch] = execution
        while len(self._executions) > KEPT:
            self._executions.popitem(last=False)
        self._server.loop.after(AROUND_S, self._conclude, execution)

    def plan_distributed(self, distribution: Distribution) -> None:
        """Clients were told: those who are connected have to answer."""
        plan = distribution.plan
        execution = self._executions.get(plan.epoch)
        if execution is None:  # what somebody had missed
            execution = Execution(plan, self._server.loop.now(), [], self._server.deliveries.last + 1)
        self._shares[plan.id] = (execution, plan)
        while len(self._shares) > KEPT:
            self._shares.popitem(last=False)
        sessions = self._server.sessions.by_number
        for client in list(distribution.pending):
            assert isinstance(client, int)
            session = sessions.get(client)
            if client not in execution.failed and client not in execution.pending:
                execution.concerned += 1
            if session is not None and session.route is not None:
                execution.pending.setdefault(client, 0)
        self._server.loop.after(ANSWER_S, self._look_again, plan.id)

    def _outcome_arrived(self, client: int, data: bytes) -> None:
        outcome = Outcome.from_bytes(data)
        if outcome.plan not in self._shares:
            return
        execution, plan = self._shares[outcome.plan]
        if outcome.ok:
            execution.failed.pop(client, None)
            execution.done.add(client)
            if execution.pending.pop(client, None) is not None:
                self._answered(execution)
            return
        errors = [record.error for record in outcome.records if record.error]
        execution.failed[client] = errors[0] if errors else "failed"
        self._failed(execution, plan, client)

    def _departed(self, session: Session) -> None:
        """Who is away is told when it comes back; nobody waits for it."""
        for execution in self._executions.values():
            if execution.pending.pop(session.number, None) is not None:
                self._answered(execution)

    # -- clients that fail --------------------------------------------------------------------------------

    def _look_again(self, share: str) -> None:
        """Some time after a plan was sent: who has not answered?"""
        if share not in self._shares:
            return
        execution, plan = self._shares[share]
        for client in [client for client in execution.pending if client not in execution.failed]:
            execution.failed[client] = f"no answer for {ANSWER_S:g} s"
            self._failed(execution, plan, client)

    def _failed(self, execution: Execution, plan: Plan, client: int) -> None:
        session = self._server.sessions.by_number.get(client)
        name = session.name if session is not None else str(client)
        attempts = execution.pending.get(client, 0) + 1
        reason = execution.failed[client]
        log.warning("%s: plan %s: attempt %d of %d failed: %s", name, plan.id, attempts, ATTEMPTS, reason)
        if client in execution.pending and attempts < ATTEMPTS and plan.plan != ISOLATE:
            execution.pending[client] = attempts
            self._server.loop.after(2.0 ** (attempts - 1), self._repeat, execution, plan, client)
            return
        if execution.pending.pop(client, None) is not None:
            self._answered(execution)
            if session is not None and plan.plan != ISOLATE:
                self._isolate(execution, plan, session, reason)

    def _repeat(self, execution: Execution, plan: Plan, client: int) -> None:
        attempts = execution.pending.get(client)
        session = self._server.sessions.by_number.get(client)
        if attempts is None or session is None or session.route is None:
            return
        self.retries += 1
        execution.failed.pop(client, None)
        base = plan.id.partition("~")[0]
        self._server.broker.repeat(plan, client, f"{base[:100]}~{client}.{attempts}")

    def _isolate(self, execution: Execution, plan: Plan, session: Session, reason: str) -> None:
        """Serve a client by the scheme that it says it has."""
        broker = self._server.broker
        serving = broker.scheme_of(session.number)
        own = [kind for kind in BROKER_PARTS if kind.flag == session.scheme]
        wanted = any(action.proxy == "filter" for action in plan.actions)
        if not wanted or not own or serving.flag == session.scheme:
            return
        self.isolations += 1
        execution.isolated.append(session.name)
        log.error("%s stays with %s: %s", session.name, own[0].name, reason)
        action = Action(proxy="filter", to=own[0].name, members=(session.number,))
        why = f"{session.name} failed {plan.id}: {reason}"[:500]
        try:
            broker.execute(Plan(plan=ISOLATE, why=why, who="broker", actions=(action,)))
        except TransitionError as error:
            log.error("%s cannot be isolated: %s", session.name, error)

    # -- how it went --------------------------------------------------------------------------------------

    def _answered(self, execution: Execution) -> None:
        if not execution.pending and execution.took is None:
            execution.took = self._server.loop.now() - execution.at
            self._server.loop.after(AROUND_S, self._conclude, execution)

    def _conclude(self, execution: Execution) -> None:
        """Some time after the last answer: what was sent until now has to arrive."""
        if execution.pending or execution.concluded:
            return
        execution.concluded = True
        if execution.took is None:
            execution.took = 0.0  # nobody had to be told
        deliveries = self._server.deliveries
        sent = deliveries.deliveries - execution.deliveries
        self._server.loop.after(SETTLED_S, self._judge, execution, deliveries.last, sent)

    def _judge(self, execution: Execution, last: int, sent: int) -> None:
        """Was everything acknowledged? Note how it went."""
        deliveries = self._server.deliveries
        left, away = deliveries.outstanding(execution.first, last)
        if sent > away:
            execution.acknowledged = 1.0 - left / (sent - away)
        content = json.dumps(execution.to_dict())
        deliveries.turn.batch.record(execution.at, "plan", content)
