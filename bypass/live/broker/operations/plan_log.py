"""The log of plans that operators read: how far each has come, and the share of deliveries acknowledged."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from bypass.core.plans.pending_plans import PendingPlan
from bypass.core.plans.plan_progress import PlanProgress
from bypass.core.plans.rollout_tracker import RolloutTracker
from bypass.live.broker.delivery.deliveries import Deliveries

SETTLED_S = 1.0
"""By then a client that is connected has acknowledged what it was sent."""


@dataclass(slots=True)
class DeliveriesAround:
    """The deliveries around a plan: the first place in the log, the number of deliveries before it.

    `acknowledged` is the share of the deliveries made meanwhile, to clients that are connected, which these
    have acknowledged; None as long as that is not known, and if there were none. Whether those were all that
    the events concerned, nobody can tell.
    """

    first: int
    before: int
    acknowledged: float | None = None


class PlanLog:
    """Counts deliveries from a plan on until it is concluded, and records then how it went."""

    def __init__(self, tracker: RolloutTracker, deliveries: Deliveries, after: Callable[..., object]) -> None:
        self._tracker = tracker
        self._deliveries = deliveries
        self._after = after
        self._around: WeakKeyDictionary[PlanProgress, DeliveriesAround] = WeakKeyDictionary()
        for progress in tracker.progress.values():
            self.rollout_begun(progress)
        tracker.listeners.append(self)

    def latest(self, most: int) -> list[dict[str, Any]]:
        """Give the latest plans, newest first."""
        newest = list(self._tracker.progress.values())[-most:]
        return [self._entry(progress) for progress in reversed(newest)]

    def rollout_begun(self, progress: PlanProgress) -> None:
        """Count deliveries from now on."""
        self._around[progress] = DeliveriesAround(self._deliveries.last + 1, self._deliveries.deliveries)

    def plan_settled(self, client: int, plan: PendingPlan) -> None:
        """Do nothing: it is counted in the progress."""

    def rollout_concluded(self, progress: PlanProgress) -> None:
        """Look a little later whether what was sent until now has arrived."""
        sent = self._deliveries.deliveries - self._around[progress].before
        self._after(SETTLED_S, self._record, progress, self._deliveries.last, sent)

    def _record(self, progress: PlanProgress, last: int, sent: int) -> None:
        around = self._around[progress]
        left, away = self._deliveries.outstanding(around.first, last)
        if sent > away:
            around.acknowledged = 1.0 - left / (sent - away)
        content = json.dumps(self._entry(progress))
        self._deliveries.turn.record(progress.at, "plan", content)

    def _entry(self, progress: PlanProgress) -> dict[str, Any]:
        return {**progress.to_dict(), "acknowledged": self._around[progress].acknowledged}
