"""Keeps in the store which plans clients were told and may not have done, and how far these have come.

The store has it a little later than the clients: a client that was told more than the store knows is told all
that holds after a restart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pydantic import BaseModel, ConfigDict, TypeAdapter

from bypass.core.plans.pending_plans import PendingPlan
from bypass.core.plans.plan_progress import OPEN, ClientVerdict, PlanProgress
from bypass.core.plans.rollout import Rollout
from bypass.core.plans.rollout_tracker import RolloutTracker
from bypass.live.broker.delivery.turn import Turn
from bypass.live.broker.plans.named_clients import BUCKETS
from bypass.live.broker.sessions.sessions import Sessions
from bypass.transitions import Plan

MOST_PLANS, MOST_BYTES = 100, 1 << 20
"""Of plans that are not concluded, or that clients may have to be told again, the newest are stored."""

Share = tuple[int, str, int, int]
"""A share that a client may not have done: the plan's epoch, the share's id, the epoch under which the client
was told last, attempts that have failed."""

Entry = tuple[int, int, list[Share]]
"""The epoch of the latest plan that a client was told, 0 if it has to be told all that holds, in which of its
lives it was, and the shares that it may not have done."""

_BUCKET = TypeAdapter(dict[int, Entry])


class KeptProgress(BaseModel):
    """The progress of a plan as the store keeps it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    plan: Plan
    at: float
    concerned: int
    counts: dict[ClientVerdict, int] = {}
    isolated: tuple[str, ...] = ()
    shares: tuple[Plan, ...] = ()
    concluded: bool = False

    @classmethod
    def of(cls, progress: PlanProgress) -> KeptProgress:
        """Give what is to be kept of a plan's progress."""
        return cls(
            plan=progress.plan,
            at=progress.at,
            concerned=progress.concerned,
            counts={verdict: count for verdict, count in progress.counts.items() if count},
            isolated=tuple(progress.isolated),
            shares=tuple(progress.shares.values()),
            concluded=progress.concluded,
        )

    def restored(self) -> PlanProgress:
        """Give the progress that goes on after a restart; those who have not answered are to be added."""
        progress = PlanProgress(self.plan, self.at, [], self.concerned, concluded=self.concluded)
        progress.counts.update({v: count for v, count in self.counts.items() if v not in OPEN})
        progress.isolated += self.isolated
        progress.shares = {share.id: share for share in self.shares}
        return progress


_KEPT = TypeAdapter(list[KeptProgress])


class PendingPlanStore:
    """Begins with what is in the store; the rows of clients whose pending plans have changed are written."""

    def __init__(self, stored: Mapping[str, str]) -> None:
        self._buckets = [_BUCKET.validate_json(stored.get(f"told/{n}", "{}")) for n in range(BUCKETS)]
        self._kept = _KEPT.validate_json(stored.get("executions", "[]"))
        self._changed: list[set[int]] = [set() for _ in range(BUCKETS)]

    def restore(self, rollout: Rollout, sessions: Sessions) -> None:
        """Have a roll-out go on where the broker before this one ended, when nobody is connected."""
        progress = {kept.plan.epoch: kept.restored() for kept in self._kept}
        pending: list[tuple[int, PendingPlan]] = []
        for bucket in self._buckets:
            for client, (epoch, life, entries) in bucket.items():
                if client not in sessions.by_number:
                    self.changed(client)
                    continue
                known = [
                    (progress[of], progress[of].shares[share], last, attempts)
                    for of, share, last, attempts in entries
                    if of in progress and share in progress[of].shares
                ]
                pending += [
                    (client, PendingPlan(of, share, last, attempts=attempts, verdict="away"))
                    for of, share, last, attempts in known
                ]
                # It may have been told more than that since; and a process that was started again has done
                # nothing, whatever epoch it says.
                latest = max(1, *(held.epoch for held in rollout.standing.of(client).values()))
                if len(known) == len(entries) and epoch >= latest and life == sessions.by_number[client].life:
                    rollout.told[client] = epoch
        rollout.tracker.restore(progress.values(), pending, away=sessions.by_number.keys())

    def changed(self, client: int) -> None:
        """Have what the store has of a client written anew."""
        self._changed[client % BUCKETS].add(client)

    def note(self, turn: Turn, rollout: Rollout, sessions: Sessions, part: int = 0, parts: int = 1) -> None:
        """Have a turn store what the store does not know yet, of one part of the clients."""
        changed = [n for n in range(part, BUCKETS, parts) if self._changed[n]]
        if not changed:
            return
        tracker = rollout.tracker
        stored = self._note_progress(turn, tracker)
        for n in changed:
            clients, self._changed[n] = self._changed[n], set()
            bucket = self._buckets[n]
            for client in clients:
                session = sessions.by_number.get(client)
                bucket.pop(client, None)
                if session is not None and session.durable:
                    bucket[client] = _entry(
                        tracker, client, rollout.told.get(client, 0), session.life, stored
                    )
            turn.setting(f"told/{n}", _BUCKET.dump_json(bucket).decode())

    def lost(self) -> None:
        """Note everything again: a batch was not stored."""
        for bucket, changed in zip(self._buckets, self._changed, strict=True):
            changed.update(bucket)

    def _note_progress(self, turn: Turn, tracker: RolloutTracker) -> set[int]:
        """Have the progress of plans stored; give the epochs of those plans."""
        texts: dict[int, str] = {}
        for epoch, text in _newest(tracker):
            if sum(map(len, texts.values())) + len(text) > MOST_BYTES:
                break
            texts[epoch] = text
        turn.setting("executions", f"[{','.join(reversed(texts.values()))}]")
        return {*texts}


def _newest(tracker: RolloutTracker) -> Iterator[tuple[int, str]]:
    used = {plan.progress.plan.epoch for client in tracker.pending for plan in tracker.pending.of(client)}
    needed = [
        epoch for epoch, progress in tracker.progress.items() if not progress.concluded or epoch in used
    ]
    for epoch in sorted(needed, reverse=True)[:MOST_PLANS]:
        yield epoch, KeptProgress.of(tracker.progress[epoch]).model_dump_json(exclude_defaults=True)


def _entry(tracker: RolloutTracker, client: int, epoch: int, life: int, stored: set[int]) -> Entry:
    every = tracker.pending.of(client)
    known = [plan for plan in every if plan.progress.plan.epoch in stored]
    shares = [(plan.progress.plan.epoch, plan.plan.id, plan.epoch, plan.attempts) for plan in known]
    certain = len(known) == len(every) and client not in tracker.given_up
    return epoch if certain else 0, life, shares
