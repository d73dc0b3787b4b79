"""Follows plans at the clients of a broker: who has done them, who is asked again, who is left alone.

A client that fails its part of a plan is asked again, a little later each time, for what later plans have
left of it. One that goes on failing to exchange its filter scheme is served by the scheme that it has, while
all others move on. One that is away is told when it comes back.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol

from bypass.core.plans.isolation import ISOLATE, ClientDirectory, Isolation
from bypass.core.plans.pending_plans import PendingPlan, PendingPlans
from bypass.core.plans.plan_progress import OPEN, ClientVerdict, PlanProgress
from bypass.core.plans.standing_plans import StandingPlans
from bypass.ports.host import Host
from bypass.transitions import Distribution, Outcome, Plan, Record

log = logging.getLogger(__name__)

KEPT = 1000
"""Plans whose progress can be looked at; what clients have to do is known for each client, however many."""

MOST_PENDING = 32
"""Shares of plans that a client may leave without an answer; then it is told all that holds instead."""

ATTEMPTS = 3
ANSWER_S = 10.0
"""How long an answer may take."""

RETRY_S = 1.0
"""How long a client that has failed is left alone, twice as long after each attempt."""

AROUND_S = 1.0
"""A plan is concluded so long after its last answer."""


class RolloutListener(Protocol):
    """Is told how plans come along; it must not execute others meanwhile."""

    def rollout_begun(self, progress: PlanProgress) -> None:
        """A plan was executed here, or holds for a client that has missed it: clients are told next."""

    def plan_settled(self, client: int, plan: PendingPlan) -> None:
        """A client's part of a plan has ended, with the verdict that it has now."""

    def rollout_concluded(self, progress: PlanProgress) -> None:
        """Everybody who is connected has answered, a while ago."""


class Teller(Protocol):
    """Tells clients plans; `told` has the epoch of the latest one by client."""

    told: dict[int, int]
    standing: StandingPlans

    def tell_all(self, client: int, *, new: bool, switch: bool) -> list[Plan]:
        """Tell a client all that holds for it."""

    def renewed(self, client: int, shares: Sequence[Plan]) -> list[Distribution[int]]:
        """Give what holds of these shares, as the newest plans."""

    def send(self, distribution: Distribution[int]) -> None:
        """Send a plan to clients, and report to the tracker whom it cannot be sent to."""


class RolloutTracker:
    """Is told whom plans are sent to and what they answer; has them told again by `teller`.

    `progress` are the latest plans by epoch, `pending` the shares that clients may not have done, `given_up`
    the clients that have failed something for good and were not told all that holds since. `strays` counts
    answers that nobody waits for, `obsolete` what was not repeated because later plans had left nothing of
    it. `changed` is told of every client whose pending plans have changed.
    """

    def __init__(
        self,
        teller: Teller,
        host: Host,
        clients: ClientDirectory,
        isolation: Isolation,
        changed: Callable[[int], None],
    ) -> None:
        self.retries = 0
        self.isolations = 0
        self.obsolete = 0
        self.strays = 0
        self.listeners: list[RolloutListener] = []
        self.progress: OrderedDict[int, PlanProgress] = OrderedDict()
        self.pending = PendingPlans(changed)
        self.given_up: set[int] = set()
        self._away: set[int] = set()
        self._teller = teller
        self._host = host
        self._clients = clients
        self._isolation = isolation

    def restore(
        self,
        progress: Iterable[PlanProgress],
        pending: Iterable[tuple[int, PendingPlan]],
        away: Collection[int],
    ) -> None:
        """Go on where the broker before this one ended, when all its clients are `away`."""
        self._away.update(away)
        for client, plan in pending:
            self.pending.add(client, plan)
        for each in progress:
            self.progress[each.plan.epoch] = each
            self._host.after(ANSWER_S, self._answered, each)

    # -- plans go out -------------------------------------------------------------------------------------

    def executed(self, plan: Plan, records: list[Record]) -> None:
        """Follow a plan that was executed here; clients are told next."""
        progress = self._begin(plan, records)
        self.progress[plan.epoch] = progress
        while len(self.progress) > KEPT:
            self.progress.popitem(last=False)
        self._host.after(AROUND_S, self._conclude, progress)

    def told(self, share: Plan, clients: Collection[int]) -> None:
        """Wait for answers of those of these clients who are connected: they are sent a share of a plan."""
        progress = self.progress.get(share.epoch)
        if progress is None:  # what somebody had missed
            progress = self._begin(share, [])
        progress.shares[share.id] = share
        progress.concerned += len(clients)
        waiting = frozenset({share.id})
        for client in clients:
            if client in self._away:
                self.pending.changed(client)
                continue
            self.pending.add(client, PendingPlan(progress, share, share.epoch, waiting))
            if len(self.pending.of(client)) > MOST_PENDING:
                self._host.after(0.0, self._relieve, client)
        self._host.after(ANSWER_S, self._look_again, share.id, clients)

    def unreachable(self, client: int, share: Plan, error: str) -> None:
        """Count an attempt as failed: a client could not be sent a share."""
        self._failed(client, self._waiting(client, share.id), error)

    def _begin(self, plan: Plan, records: list[Record]) -> PlanProgress:
        progress = PlanProgress(plan, self._host.now(), records)
        for listener in self.listeners:
            listener.rollout_begun(progress)
        return progress

    def _relieve(self, client: int) -> None:
        """Tell a client that has too much to answer all that holds instead."""
        every = self.pending.of(client)
        if len(every) <= MOST_PENDING or client in self._away:
            return
        log.warning("%s: %d plans without an answer: given up", self._clients.name(client), len(every))
        for pending in every:
            if self._holds(client, pending):
                self._settle(client, pending, "failed")
        self._teller.tell_all(client, new=False, switch=self._isolation.differs(client))

    # -- clients answer, go and come ----------------------------------------------------------------------

    def answered(self, client: int, outcome: Outcome) -> None:
        """Note what a client answers; what nobody waits for is counted."""
        failed, expected = [], False
        for pending in self.pending.of(client):
            latest = outcome.plan in pending.waiting
            if not latest and outcome.plan not in pending.names:
                continue
            expected = True
            if outcome.ok:
                pending.waiting -= {outcome.plan}
                if not pending.waiting or not latest:
                    self._settle(client, pending, "obsolete" if outcome.obsolete else "done")
            elif latest and pending.verdict == "pending":
                failed.append(pending)
        self.strays += not expected
        errors = [record.error for record in outcome.records if record.error]
        self._failed(client, failed, errors[0] if errors else "failed")

    def cut_off(self, client: int) -> None:
        """Wait for nothing of a client that is away: it is told when it comes back."""
        self._away.add(client)
        for pending in self.pending.of(client):
            pending.judge("away")
            self._answered(pending.progress)
        self.pending.changed(client)

    def returned(self, client: int, epoch: int, *, served: bool, switch: bool) -> None:
        """Tell a client that is back, with this epoch, what it may have missed.

        One that is not `served` yet, or that is as it was left, is told nothing. `switch`: it has another
        filter scheme than the one that serves it.
        """
        self._away.discard(client)
        missed = served and (switch or self._teller.told.get(client) != epoch)
        again = None
        if missed or client in self.given_up:
            again = self._teller.tell_all(client, new=False, switch=switch)
        self.given_up.discard(client)
        names = {plan.id for plan in again or ()}
        left = [pending for pending in self.pending.of(client) if not pending.waiting & names]
        for pending in left:  # nothing of an earlier connection is answered any more
            pending.waiting = pending.names = frozenset()
        if again is None:
            for pending in left:
                if pending.epoch == epoch:
                    self._settle(client, pending, "done")
            self._repeat(client, [pending for pending in left if pending.verdict in OPEN])
        else:
            for pending in left:
                if self._holds(client, pending):
                    pending.wait(again)
            self.pending.changed(client)

    def forget(self, client: int) -> None:
        """Count all that a client has not done as failed: it has left for good."""
        self._away.discard(client)
        self.given_up.discard(client)
        for pending in self.pending.of(client):
            pending.reason = "the client has left"
            self._settle(client, pending, "failed")
        self.pending.changed(client)

    # -- clients that fail --------------------------------------------------------------------------------

    def _waiting(self, client: int, share: str) -> list[PendingPlan]:
        """Give a client's plans that wait for an answer to a share."""
        return [p for p in self.pending.of(client) if p.verdict == "pending" and share in p.waiting]

    def _look_again(self, share: str, clients: Iterable[int]) -> None:
        """Count an attempt as failed of everybody who has not answered some time after a plan was sent."""
        for client in clients:
            self._failed(client, self._waiting(client, share), f"no answer for {ANSWER_S:g} s")

    def _failed(self, client: int, failed: Iterable[PendingPlan], reason: str) -> None:
        """Ask a client again that has failed these, or leave it alone."""
        again = []
        for pending in failed:
            pending.reason = reason
            if not self._holds(client, pending):
                continue
            pending.attempts += 1
            log.warning(
                "%s: plan %s: attempt %d of %d failed: %s",
                self._clients.name(client), pending.plan.id, pending.attempts, ATTEMPTS, reason,
            )  # fmt: skip
            if pending.attempts < ATTEMPTS and pending.plan.plan != ISOLATE:
                pending.judge("retried")
                again.append(pending)
            else:
                self._give_up(client, pending)
        if again:
            self.pending.changed(client)
            attempts = max(pending.attempts for pending in again)
            self._host.after(RETRY_S * 2.0 ** (attempts - 1), self._repeat_failed, client, again)

    def _repeat_failed(self, client: int, failed: list[PendingPlan]) -> None:
        self._repeat(client, [pending for pending in failed if pending.verdict == "retried"])

    def _repeat(self, client: int, left: list[PendingPlan]) -> None:
        """Tell a client, once, what holds of all that it may not have done."""
        holding = [pending for pending in left if self._holds(client, pending)]
        if not holding:
            return
        self.retries += 1
        again = self._teller.renewed(client, [pending.plan for pending in holding])
        for pending in holding:
            pending.wait([each.plan for each in again])
        self.pending.changed(client)
        for each in again:
            self._teller.send(each)
            self._host.after(ANSWER_S, self._look_again, each.plan.id, (client,))

    def _holds(self, client: int, pending: PendingPlan) -> bool:
        """Say whether later plans have left anything of a client's plan; settle it as obsolete if not."""
        if self._teller.standing.holds(client, pending.plan):
            return True
        self.obsolete += 1
        log.info("%s: plan %s: obsolete, it was told newer ones", self._clients.name(client), pending.plan.id)
        self._settle(client, pending, "obsolete")
        return False

    def _give_up(self, client: int, pending: PendingPlan) -> None:
        """Leave a client alone until it connects again."""
        self._settle(client, pending, "failed")
        if pending.plan.plan != ISOLATE and self._isolation.isolate(client, pending.plan, pending.reason):
            self.isolations += 1
            pending.progress.isolated.append(self._clients.name(client))
        self.given_up.add(client)

    # -- progress -----------------------------------------------------------------------------------------

    def _settle(self, client: int, pending: PendingPlan, verdict: ClientVerdict) -> None:
        self.pending.settle(client, pending, verdict)
        for listener in self.listeners:
            listener.plan_settled(client, pending)
        self._answered(pending.progress)

    def _answered(self, progress: PlanProgress) -> None:
        if not progress.pending and progress.took is None:
            progress.took = self._host.now() - progress.at
            self._host.after(AROUND_S, self._conclude, progress)

    def _conclude(self, progress: PlanProgress) -> None:
        if progress.pending or progress.concluded:
            return
        progress.concluded = True
        if progress.took is None:
            progress.took = 0.0  # nobody had to be told
        for listener in self.listeners:
            listener.rollout_concluded(progress)
