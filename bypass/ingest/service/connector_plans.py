"""Plans for connectors: what was submitted is carried out by the process of the connectors, as tasks of the
stream do with theirs."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Sequence

from bypass.ingest.connectors.balance import Balance
from bypass.ingest.connectors.durability import LogDurability
from bypass.ingest.connectors.intake import LogIntake
from bypass.ingest.folder import IngestFolder
from bypass.ingest.stream.plans import latest_plan, plans_between
from bypass.transitions import Plan, Record, TransitionError

LOOK_S = 1.0
DURABILITY, DISTRIBUTION = "durability", "distribution"

log = logging.getLogger(__name__)


class ConnectorPlans:
    """Carries out plans with a higher number than `after`, in order. What fails is logged, and the next one
    is looked at."""

    def __init__(
        self,
        folder: IngestFolder,
        after: int,
        intake: LogIntake,
        durability: LogDurability | None,
        balances: Sequence[Balance],
    ) -> None:
        self._plans = folder.plans
        self._after = after
        self._intake = intake
        self._durability = durability
        self._balances = balances

    async def run(self) -> None:
        """Look for plans until the task is cancelled."""
        while True:
            try:
                await self.step()
            except sqlite3.Error as error:
                log.warning("%s: %s; trying again", self._plans, error)
            await asyncio.sleep(LOOK_S)

    async def step(self) -> None:
        """Carry out the plans that have come. Raises sqlite3.Error."""
        for number, plan in plans_between(self._plans, self._after, latest_plan(self._plans)):
            self._after = number
            try:
                records = await self._execute(plan)
            except TransitionError as error:
                log.warning("plan %s: %s", plan.plan, error)
                continue
            for record in records:
                if record.error:
                    log.warning("plan %s: %s", plan.plan, record.error)
                else:
                    log.info("plan %s: %s -> %s: %s", plan.plan, record.source, record.target, record.outcome)

    async def _execute(self, plan: Plan) -> list[Record]:
        records: list[Record] = []
        durability = _part(plan, DURABILITY)
        if durability is not None and self._durability is None:
            log.warning("plan %s: this log has one durability, that of its servers", plan.plan)
        elif durability is not None and self._durability is not None:
            exchanged: list[Record] = await asyncio.wrap_future(
                self._durability.execute(self._intake, durability)
            )
            records += exchanged
        distribution = _part(plan, DISTRIBUTION)
        if distribution is not None:
            for balance in self._balances:
                records += balance.execute(distribution)
        return records


def _part(plan: Plan, proxy: str) -> Plan | None:
    """The actions of a plan for one proxy, as a plan of their own; None if there are none."""
    actions = tuple(action for action in plan.actions if action.proxy == proxy)
    return plan.model_copy(update={"actions": actions}) if actions else None
