"""Has nodes adapt the design of their store by themselves, without a broker: one asks all others what they
have done, compares the designs, and rules decide upon that."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from bypass.core.client import Client
from bypass.core.objects.survey import ANSWER_S
from bypass.mechanisms.families import STORAGE_PROXY
from bypass.models.storage.costs import Design
from bypass.models.storage.layout import NodeLayout
from bypass.models.storage.meter import StorageMeter
from bypass.models.storage.planner import PlannerSettings, StorageAssessment, StoragePlanner
from bypass.transitions import Plan, RuleBook, RuleEngine
from bypass.transitions.coordinator import Summary

STORE_TOPICS = {
    "store": frozenset(
        (
            "node", "design", "cheapest", "saving", "proposed", *(each.value for each in Design),
            "nodes", "neighbours", "population", "churn", "inserts", "retrieves", "subscriptions",
            "notifications", "ratio", "objects", "queries",
        )
    )
}  # fmt: skip
"""The facts of what a node has found out about a store, once in a window.

`design` is what runs, `cheapest` what would need the fewest transmissions, the share `saving` fewer, and
`proposed` the same once it pays to exchange it, else None; `local`, `cells` and `server` are the
transmissions of each in a minute, None where a design is not compared. There are so many `nodes`, each with
`neighbours` in reach and `population` in its cell; `churn` is the share that comes or goes in a minute. The
operations of all nodes are those of a minute, `ratio` is insertions per subscription, None without any. There
are so many `objects` and `queries` now. The plan is made at the node number `node`.
"""

LATE_S = 2.0
"""Answers take so long to arrive at most."""

_log = logging.getLogger(__name__)


class StoreAdaptation:
    """Looks at a store from one of its nodes once in a window, applies rules, and has all nodes follow.

    `latest` is the last assessment, None before two windows have ended; `proposals` are those after which the
    planner has proposed another design, the latest 100. It looks while `client` has a store, until `stop`.
    """

    def __init__(
        self,
        client: Client,
        book: RuleBook,
        layout: NodeLayout,
        settings: PlannerSettings | None = None,
        *,
        window_s: float = 30.0,
        windows: int = 3,
    ) -> None:
        """Raises InvalidRule."""
        meter = StorageMeter(Design.LOCAL, layout, window_s=window_s, windows=windows)
        if window_s <= ANSWER_S + LATE_S:
            raise ValueError(f"windows of {window_s:g} s: expected more than {ANSWER_S + LATE_S:g} s")
        self.planner = StoragePlanner(meter, settings)
        self.rules = RuleEngine(book, self._decide, client.host.now, STORE_TOPICS)
        self.latest: StorageAssessment | None = None
        self.proposals: list[StorageAssessment] = []
        self._client = client
        self._running = True
        client.host.after(window_s, self._ask)

    def stop(self) -> None:
        """Look no more."""
        self._running = False

    def _ask(self) -> None:
        if not self._running:
            return
        host = self._client.host
        host.after(self.planner.meter.window_s, self._ask)
        if self._design() is not None:
            self._client.node.survey.ask()
            host.after(ANSWER_S + LATE_S, self._look)

    def _look(self) -> None:
        design = self._design()
        if design is None or not self._running:
            return
        planner, meter = self.planner, self.planner.meter
        if design is not meter.design:
            planner.switched(design)
        proposal = planner.window_ended(self._client.node.survey.answers)
        if not meter.windows:
            return
        self.latest = planner.assess()
        if proposal is not None:
            self.proposals.append(proposal)
            del self.proposals[:-100]
            _log.info("node %d: %s", self._client.host.id, proposal)
        self.rules.observe("store", self._client.host.id, self._facts(self.latest, proposal))

    def _facts(self, assessment: StorageAssessment, proposal: StorageAssessment | None) -> dict[str, Any]:
        meter, demand = self.planner.meter, assessment.demand
        minute = 60.0 / meter.window_s
        extent = assessment.extents[assessment.present]
        costs = {
            each.value: minute * assessment.transmissions[each] if each in assessment.transmissions else None
            for each in Design
        }
        return costs | {
            "node": self._client.host.id,
            "design": assessment.present.value,
            "cheapest": assessment.cheapest.value,
            "saving": assessment.saving,
            "proposed": None if proposal is None else proposal.cheapest.value,
            "nodes": meter.nodes,
            "neighbours": meter.neighbours,
            "population": extent.population,
            "churn": meter.churn,
            "inserts": minute * demand.inserts,
            "retrieves": minute * demand.retrieves,
            "subscriptions": minute * demand.subscriptions,
            "notifications": minute * demand.notifications,
            "ratio": demand.inserts / demand.subscriptions if demand.subscriptions else None,
            "objects": meter.objects,
            "queries": meter.queries,
        }

    def _decide(self, plan: Plan) -> Sequence[Summary]:
        outcome = self._client.decide(plan)
        design = self._design()
        if outcome.ok and design is not None and design is not self.planner.meter.design:
            self.planner.switched(design)
        return outcome.records

    def _design(self) -> Design | None:
        """The design that runs here, None if it is none of those that are compared."""
        if not self._client.node.running():
            return None
        name = self._client.engine.active(STORAGE_PROXY).name
        return Design(name) if name in [each.value for each in Design] else None
