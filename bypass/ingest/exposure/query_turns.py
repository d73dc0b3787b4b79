"""Turns of queries: few run at a time, and no tenant takes the place of another."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

from bypass.ingest.exposure.answers import ServerBusy
from bypass.ingest.exposure.tenant_limits import ServingLimits

Found = TypeVar("Found")


class QueryTurns:
    """Runs the queries of one server in threads: so many at a time, and so many of each tenant. Those that
    wait have their turn in the order in which they came, of all tenants and of each."""

    def __init__(self, limits: ServingLimits) -> None:
        self._limits = limits
        self._room = asyncio.Semaphore(limits.queries)
        self._shares: dict[str, asyncio.Semaphore] = {}
        self._present: Counter[str] = Counter()  # those that run or wait

    async def call(self, tenant: str, work: Callable[[], Found]) -> Found:
        """Work in a thread when it is the tenant's turn. Raises ServerBusy if too many of its calls wait."""
        most = self._limits.waiting_per_tenant
        if self._present[tenant] >= self._limits.queries_per_tenant + most:
            raise ServerBusy(f"{most} calls of the tenant wait: expected no more")
        return await self.run(tenant, work)

    async def run(self, tenant: str, work: Callable[[], Found]) -> Found:
        """As `call`, however many wait: for those whose number is bounded otherwise."""
        share = self._shares.setdefault(tenant, asyncio.Semaphore(self._limits.queries_per_tenant))
        self._present[tenant] += 1
        try:
            await share.acquire()
            try:
                await self._room.acquire()
            except BaseException:
                share.release()
                raise
        except BaseException:
            self._leave(tenant)
            raise
        # The room is given back when the thread ends, which goes on if the caller has gone.
        working = asyncio.ensure_future(asyncio.to_thread(work))
        working.add_done_callback(lambda done: self._give_back(tenant, share, done))
        return await asyncio.shield(working)

    def _give_back(self, tenant: str, share: asyncio.Semaphore, done: asyncio.Future[Any]) -> None:
        self._room.release()
        share.release()
        self._leave(tenant)
        if not done.cancelled():
            done.exception()  # seen, also if nobody waits for it any more

    def _leave(self, tenant: str) -> None:
        self._present[tenant] -= 1
        if not self._present[tenant]:
            del self._present[tenant], self._shares[tenant]
