"""What becomes of plans at the clients of a live broker: who did it, who is asked again, who is left alone.

A client that fails its part of a plan is asked again, a little later each time, for what later plans have
left of it. One that goes on failing to exchange its filter scheme is served by the scheme that it has, while
all others move on. One that is away is told when it comes back, also after a restart of the broker.
"""

from __future__ import annotations

import json
import logging
from collections import OrderedDict
from typing import Any

from bypass.live.broker.executions import OPEN, Execution, Verdict
from bypass.live.broker.server import BrokerServer
from bypass.live.broker.sessions import Session
from bypass.live.broker.told import MOST_TOLD, Told
from bypass.mechanisms.filters import BROKER_PARTS
from bypass.standing import still_holding
from bypass.transitions import Action, Distribution, Outcome, Plan, Record, TransitionError

log = logging.getLogger(__name__)

KEPT = 1000
"""Executions that can be looked at; what clients have to do is remembered for each client, however many."""

ATTEMPTS = 3
ANSWER_S = 10.0
"""How long an answer may take."""

RETRY_S = 1.0
"""How long a client that has failed is left alone, twice as long after each attempt."""

AROUND_S = 1.0
"""Deliveries are counted from a plan until so long after its last answer."""

SETTLED_S = 1.0
"""By then a client that is connected has acknowledged what it was sent."""

ISOLATE = "isolate"


class Followup:
    """Follows the plans of a server's broker, and those that the broker before a restart had not ended."""

    def __init__(self, server: BrokerServer) -> None:
        self.retries = 0
        self.isolations = 0
        self.obsolete = 0  # what was not repeated, because later plans had left nothing of it
        self._server = server
        self._told = server.settings.told
        self._told.restore(server.broker.told, server.sessions, server.deliveries.last + 1)
        self._executions = OrderedDict(self._told.executions)  # by epoch
        self._repeating: Told | None = None  # what is being told again
        for execution in self._executions.values():
            execution.deliveries = server.deliveries.deliveries
            server.loop.after(ANSWER_S, self._answered, execution)
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
        self._executions[plan.epoch] = self._told.executions[plan.epoch] = execution
        while len(self._executions) > KEPT:
            self._executions.popitem(last=False)
        self._server.loop.after(AROUND_S, self._conclude, execution)

    def plan_distributed(self, distribution: Distribution) -> None:
        """Clients were told: those who are connected have to answer."""
        plan, again = distribution.plan, self._repeating
        clients = [client for client in distribution.pending if isinstance(client, int)]
        if again is not None:
            again.epoch, again.waiting = plan.epoch, again.waiting | {plan.id}
            self._told.changed(clients[0])
        else:
            self._new_share(plan, clients)
        self._server.loop.after(ANSWER_S, self._look_again, plan.id, clients)

    def _new_share(self, plan: Plan, clients: list[int]) -> None:
        execution = self._executions.get(plan.epoch)
        if execution is None:  # what somebody had missed
            execution = Execution(plan, self._server.loop.now(), [], self._server.deliveries.last + 1)
        execution.shares[plan.id] = plan
        execution.concerned += len(clients)
        sessions, waiting = self._server.sessions.by_number, frozenset({plan.id})
        for client in clients:
            session = sessions.get(client)
            if session is not None and session.route is not None:
                begin = self._begin(client, plan)
                self._told.add(client, Told(execution, plan, plan.epoch, begin, waiting))
                self._bound(client)
            else:
                self._told.changed(client)

    def _bound(self, client: int) -> None:
        every = self._told.of(client)
        if len(every) > MOST_TOLD:
            every[0].reason = f"{MOST_TOLD} plans have come after it"
            log.warning("%s: plan %s: given up: %s", self._name(client), every[0].plan.id, every[0].reason)
            self._settle(client, every[0], "failed")

    def _begin(self, client: int, share: Plan) -> dict[str, str]:
        """The mechanisms of a client whose parameters a share is about, by proxy."""
        broker = self._server.broker
        return {
            action.proxy: broker.scheme_of(client).name
            if action.proxy == "filter"
            else broker.standing.mechanism(action.proxy) or ""
            for action in share.actions
            if action.to is None
        }

    def client_returned(self, client: int, epoch: int, missed: bool) -> None:
        """What a client left without an answer it has done, or is told again."""
        for told in [each for each in self._told.of(client) if each.verdict in OPEN]:
            if missed:  # it is told next all that holds
                self._obsolete(client, told)
            elif told.epoch == epoch:
                self._settle(client, told, "done")
            else:
                told.judge("retried")
                self._repeat(client, told)

    def _outcome_arrived(self, client: int, data: bytes) -> None:
        outcome = Outcome.from_bytes(data)
        for told in self._told.of(client):
            if told.verdict in OPEN and outcome.plan in told.waiting | told.names:
                self._answer_arrived(client, told, outcome)
                return

    def _answer_arrived(self, client: int, told: Told, outcome: Outcome) -> None:
        latest = outcome.plan in told.waiting
        if outcome.ok:
            told.waiting -= {outcome.plan}
            if not told.waiting or not latest:
                self._settle(client, told, "obsolete" if outcome.obsolete else "done")
        elif latest and told.verdict == "pending":
            errors = [record.error for record in outcome.records if record.error]
            told.reason = errors[0] if errors else "failed"
            self._failed(client, told)

    def _departed(self, session: Session) -> None:
        """Who is away is told when it comes back; nobody waits for it."""
        for told in self._told.of(session.number):
            if told.verdict in OPEN:
                told.judge("away")
                self._answered(told.execution)
        self._told.changed(session.number)

    # -- clients that fail --------------------------------------------------------------------------------

    def _look_again(self, share: str, clients: list[int]) -> None:
        """Some time after a plan was sent: who has not answered?"""
        for client in clients:
            for told in self._told.of(client):
                if told.verdict == "pending" and share in told.waiting:
                    told.reason = f"no answer for {ANSWER_S:g} s"
                    self._failed(client, told)
                    break

    def _failed(self, client: int, told: Told) -> None:
        if not self._holding(client, told):
            self._obsolete(client, told)
            return
        session = self._server.sessions.by_number.get(client)
        told.attempts += 1
        log.warning(
            "%s: plan %s: attempt %d of %d failed: %s",
            self._name(client), told.plan.id, told.attempts, ATTEMPTS, told.reason,
        )  # fmt: skip
        if told.attempts < ATTEMPTS and told.plan.plan != ISOLATE:
            told.judge("retried")
            self._told.changed(client)
            self._server.loop.after(RETRY_S * 2.0 ** (told.attempts - 1), self._repeat, client, told)
            return
        self._settle(client, told, "failed")
        if session is not None and told.plan.plan != ISOLATE:
            self._isolate(told, session)

    def _repeat(self, client: int, told: Told) -> None:
        """Tell a client again what later plans have left of what it was told."""
        if told.verdict != "retried":
            return
        plans = self._holding(client, told)
        if not plans:
            self._obsolete(client, told)
            return
        self.retries += 1
        told.names, told.waiting = told.names | told.waiting, frozenset()
        told.judge("pending")
        base = told.plan.id.partition("~")[0]
        self._repeating = told
        try:
            for n, plan in enumerate(plans):
                name = f"{base[:90]}~{client}.{told.attempts}" + (f".{n}" if n else "")
                self._server.broker.tell_again(client, plan, name)
        finally:
            self._repeating = None

    def _holding(self, client: int, told: Told) -> list[Plan]:
        every = self._told.of(client)
        later = [each.plan for each in every[every.index(told) + 1 :]]
        return still_holding(told.plan, later, told.begin)

    def _obsolete(self, client: int, told: Told) -> None:
        self.obsolete += 1
        log.info("%s: plan %s: obsolete, it was told newer ones", self._name(client), told.plan.id)
        self._settle(client, told, "obsolete")

    def _isolate(self, told: Told, session: Session) -> None:
        """Serve a client by the scheme that it says it has."""
        broker, plan, reason = self._server.broker, told.plan, told.reason
        serving = broker.scheme_of(session.number)
        own = [kind for kind in BROKER_PARTS if kind.flag == session.scheme]
        wanted = any(action.proxy == "filter" for action in plan.actions)
        if not wanted or not own or serving.flag == session.scheme:
            return
        self.isolations += 1
        told.execution.isolated.append(session.name)
        log.error("%s stays with %s: %s", session.name, own[0].name, reason)
        action = Action(proxy="filter", to=own[0].name, members=(session.number,))
        why = f"{session.name} failed {plan.id}: {reason}"[:500]
        try:
            broker.execute(Plan(plan=ISOLATE, why=why, who="broker", actions=(action,)))
        except TransitionError as error:
            log.error("%s cannot be isolated: %s", session.name, error)

    def _name(self, client: int) -> str:
        session = self._server.sessions.by_number.get(client)
        return session.name if session is not None else str(client)

    # -- how it went --------------------------------------------------------------------------------------

    def _settle(self, client: int, told: Told, verdict: Verdict) -> None:
        self._told.judge(client, told, verdict)
        self._answered(told.execution)

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
