"""Plans that clients were told and may not have done."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from bypass.core.plans.plan_progress import OPEN, ClientVerdict, PlanProgress
from bypass.transitions import Plan


@dataclass(slots=True, eq=False)
class PendingPlan:
    """A client's share of a plan, which counts in the `progress` of that plan.

    `epoch` is that of the latest message with it, 0 if it took several, `waiting` are the names under which
    it was told then and is not answered yet, `names` others each of which was all of it.
    """

    progress: PlanProgress
    plan: Plan
    epoch: int
    waiting: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    attempts: int = 0
    verdict: ClientVerdict = "pending"
    reason: str = ""

    def __post_init__(self) -> None:
        self.progress.counts[self.verdict] += 1

    def wait(self, plans: Collection[Plan]) -> None:
        """Wait for answers to all of these plans, by which it was told again."""
        if len(self.waiting) == 1:
            self.names |= self.waiting
        self.waiting = frozenset(plan.id for plan in plans)
        self.epoch = next(iter(plans)).epoch if len(plans) == 1 else 0
        self.judge("pending")

    def judge(self, verdict: ClientVerdict) -> None:
        """Count it under another verdict from now on."""
        self.progress.counts[self.verdict] -= 1
        self.progress.counts[verdict] += 1
        self.verdict = verdict


class PendingPlans:
    """Keeps pending plans by client, in the order in which they were told.

    `changed` is called with a client whenever its plans are others, or something about them is: a broker
    that must know them after a restart stores them then.
    """

    def __init__(self, changed: Callable[[int], None]) -> None:
        self.changed = changed
        self._of: dict[int, list[PendingPlan]] = {}

    def __iter__(self) -> Iterator[int]:
        """Go through the clients that have any."""
        return iter(self._of)

    def of(self, client: int) -> list[PendingPlan]:
        """Give a client's pending plans, as they are now."""
        return [*self._of.get(client, ())]

    def add(self, client: int, pending: PendingPlan) -> None:
        """Add a plan that a client is told."""
        self._of.setdefault(client, []).append(pending)
        self.changed(client)

    def settle(self, client: int, pending: PendingPlan, verdict: ClientVerdict) -> None:
        """Remove a plan of a client, with the verdict that it ends with."""
        assert verdict not in OPEN
        pending.judge(verdict)
        every = self._of[client]
        every.remove(pending)
        if not every:
            del self._of[client]
        self.changed(client)
