"""What becomes of plans at the clients of a live broker: who did it, who is asked again, who is left alone.

A client that fails its part of a plan is asked again, a little later each time, for what later plans have
left of it. One that goes on failing to exchange its filter scheme is served by the scheme that it has, while
all others move on. One that is away is told when it comes back, also after a restart of the broker.
"""

from __future__ import annotations

import json
import logging
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from bypass.live.broker.operations.executions import OPEN, ClientVerdict, Execution
from bypass.live.broker.operations.told import MOST_TOLD, Told
from bypass.live.broker.server import BrokerServer
from bypass.live.broker.sessions.sessions import Session
from bypass.mechanisms.families import FILTER_PROXY
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
        self._told.restore(server.broker, server.sessions, server.deliveries.last + 1)
        self._executions = OrderedDict(self._told.executions)  # by epoch
        self._repeating: list[Plan] | None = None  # what is told again, so far
        for execution in self._executions.values():
            execution.deliveries = server.deliveries.deliveries
            server.loop.after(ANSWER_S, self._answered, execution)
        server.broker.rollout.listeners.append(self)
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
        plan = distribution.plan
        clients = [client for client in distribution.pending if isinstance(client, int)]
        if self._repeating is not None:
            self._repeating.append(plan)
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
                self._told.add(client, Told(execution, plan, plan.epoch, waiting))
                if len(self._told.of(client)) > MOST_TOLD:
                    self._server.loop.after(0.0, self._relieve, client)
            else:
                self._told.changed(client)

    def _relieve(self, client: int) -> None:
        """Tell a client that has too much to answer all that holds instead."""
        every, session = [*self._told.of(client)], self._server.sessions.by_number.get(client)
        if len(every) <= MOST_TOLD or session is None or session.route is None:
            return
        log.warning("%s: %d plans without an answer: given up", session.name, len(every))
        for told in every:
            if self._holds(client, told):
                self._settle(client, told, "failed")
        broker = self._server.broker
        broker.rollout.tell_all(
            client, new=False, switch=session.scheme != broker.flag_of(broker.scheme_of(client))
        )

    def client_returned(self, client: int, epoch: int, again: Sequence[Distribution] | None) -> None:
        """What a client left without an answer it has done, or was told again, or is now."""
        if again is None and client in self._told.given_up:
            again = self._server.broker.rollout.tell_all(client, new=False, switch=False)
        self._told.given_up.discard(client)
        plans = [distribution.plan for distribution in again or ()]
        names = {plan.id for plan in plans}
        left = [told for told in self._told.of(client) if not told.waiting & names]
        for told in left:  # nothing of an earlier connection is answered any more
            told.waiting = told.names = frozenset()
        if again is None:
            for told in left:
                if told.epoch == epoch:
                    self._settle(client, told, "done")
            self._repeat(client, [told for told in left if told.verdict in OPEN])
        else:
            for told in left:
                if self._holds(client, told):
                    told.wait(plans)
            self._told.changed(client)

    def _outcome_arrived(self, client: int, data: bytes) -> None:
        outcome = Outcome.from_bytes(data)
        failed = []
        for told in [*self._told.of(client)]:
            latest = outcome.plan in told.waiting
            if outcome.ok and (latest or outcome.plan in told.names):
                told.waiting -= {outcome.plan}
                if not told.waiting or not latest:
                    self._settle(client, told, "obsolete" if outcome.obsolete else "done")
            elif latest and told.verdict == "pending":
                errors = [record.error for record in outcome.records if record.error]
                told.reason = errors[0] if errors else "failed"
                failed.append(told)
        self._failed(client, failed)

    def _departed(self, session: Session) -> None:
        """Who is away is told when it comes back; nobody waits for it."""
        for told in self._told.of(session.number):
            told.judge("away")
            self._answered(told.execution)
        self._told.changed(session.number)

    # -- clients that fail --------------------------------------------------------------------------------

    def _look_again(self, share: str, clients: list[int]) -> None:
        """Some time after a plan was sent: who has not answered?"""
        for client in clients:
            silent = [t for t in self._told.of(client) if t.verdict == "pending" and share in t.waiting]
            for told in silent:
                told.reason = f"no answer for {ANSWER_S:g} s"
            self._failed(client, silent)

    def _failed(self, client: int, failed: list[Told]) -> None:
        """Ask a client again that has failed these, or leave it alone."""
        again = []
        for told in failed:
            if not self._holds(client, told):
                continue
            told.attempts += 1
            log.warning(
                "%s: plan %s: attempt %d of %d failed: %s",
                self._name(client), told.plan.id, told.attempts, ATTEMPTS, told.reason,
            )  # fmt: skip
            if told.attempts < ATTEMPTS and told.plan.plan != ISOLATE:
                told.judge("retried")
                again.append(told)
            else:
                self._give_up(client, told)
        if again:
            self._told.changed(client)
            attempts = max(told.attempts for told in again)
            self._server.loop.after(RETRY_S * 2.0 ** (attempts - 1), self._repeat_failed, client, again)

    def _repeat_failed(self, client: int, failed: list[Told]) -> None:
        self._repeat(client, [told for told in failed if told.verdict == "retried"])

    def _repeat(self, client: int, left: list[Told]) -> None:
        """Tell a client, once, what holds of all that it may not have done."""
        holding = [told for told in left if self._holds(client, told)]
        if not holding:
            return
        self.retries += 1
        broker, self._repeating = self._server.broker, []
        try:
            for plan in broker.rollout.standing.left_of(client, [told.plan for told in holding]):
                broker.rollout.tell_again(client, plan)
            for told in holding:
                told.wait(self._repeating)
        finally:
            self._repeating = None
        self._told.changed(client)

    def _holds(self, client: int, told: Told) -> bool:
        """Whether later plans have left anything of what a client was told; if not, it is obsolete."""
        if self._server.broker.rollout.standing.holds(client, told.plan):
            return True
        self.obsolete += 1
        log.info("%s: plan %s: obsolete, it was told newer ones", self._name(client), told.plan.id)
        self._settle(client, told, "obsolete")
        return False

    def _give_up(self, client: int, told: Told) -> None:
        """Leave a client alone until it connects again."""
        self._settle(client, told, "failed")
        session = self._server.sessions.by_number.get(client)
        if session is not None and told.plan.plan != ISOLATE:
            self._isolate(told, session)
        self._told.given_up.add(client)

    def _isolate(self, told: Told, session: Session) -> None:
        """Serve a client by the scheme that it says it has."""
        broker, plan, reason = self._server.broker, told.plan, told.reason
        serving = broker.scheme_of(session.number)
        own = broker.registry.flags.scheme(session.scheme)
        wanted = any(action.proxy == FILTER_PROXY for action in plan.actions)
        if not wanted or own is None or own == serving.name:
            return
        self.isolations += 1
        told.execution.isolated.append(session.name)
        log.error("%s stays with %s: %s", session.name, own, reason)
        action = Action(proxy=FILTER_PROXY, to=own, members=(session.number,))
        why = f"{session.name} failed {plan.id}: {reason}"[:500]
        try:
            broker.execute(Plan(plan=ISOLATE, why=why, who="broker", actions=(action,)))
        except TransitionError as error:
            log.error("%s cannot be isolated: %s", session.name, error)

    def _name(self, client: int) -> str:
        session = self._server.sessions.by_number.get(client)
        return session.name if session is not None else str(client)

    # -- how it went --------------------------------------------------------------------------------------

    def _settle(self, client: int, told: Told, verdict: ClientVerdict) -> None:
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
        deliveries.turn.record(execution.at, "plan", content)
