"""Limits of each tenant: calls in a time, and subscribers at a time."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bypass.root_error import BypassError


class TooManyCalls(BypassError):
    """A tenant that has called too often, or has too many subscribers."""


@dataclass(frozen=True, slots=True)
class ServingLimits:
    """Bounds of what is served: calls of a tenant in a second, and at once after a pause; subscribers of a
    tenant and of all; devices of a tenant, bytes of all their metadata, which a query by metadata reads, and
    policies with different parameters that it may register;
    queries at a time, of all and of a tenant, a tenant's calls that wait, and seconds of a query; bytes of a
    request; rows of an answer; seconds that a subscriber may take for one message."""

    calls_per_s: float = 50.0
    burst: int = 100
    subscribers_per_tenant: int = 16
    subscribers: int = 256
    devices_per_tenant: int = 100_000
    metadata_per_tenant: int = 64 << 20
    policies_per_tenant: int = 8
    queries: int = 4
    queries_per_tenant: int = 2
    waiting_per_tenant: int = 32
    query_s: float = 60.0
    request_bytes: int = 1 << 20
    rows: int = 10_000
    slow_s: float = 10.0


class TenantLimits:
    """Counts the calls and the subscribers of each tenant."""

    def __init__(self, limits: ServingLimits) -> None:
        self._limits = limits
        self._left: dict[str, tuple[float, float]] = {}  # tenant -> calls that it may make, as of when
        self._subscribers: Counter[str] = Counter()

    def call(self, tenant: str) -> None:
        """Count a call. Raises TooManyCalls."""
        limits, now = self._limits, time.monotonic()
        left, at = self._left.get(tenant, (float(limits.burst), now))
        left = min(float(limits.burst), left + (now - at) * limits.calls_per_s)
        if left < 1:
            raise TooManyCalls(f"calls of the tenant: expected {limits.calls_per_s:g} a second at most")
        self._left[tenant] = left - 1, now

    @contextmanager
    def subscriber(self, tenant: str) -> Iterator[None]:
        """Count a subscriber while the context lasts. Raises TooManyCalls."""
        limits = self._limits
        if self._subscribers[tenant] >= limits.subscribers_per_tenant:
            raise TooManyCalls(
                f"subscribers of the tenant: expected {limits.subscribers_per_tenant} at most at a time"
            )
        if self._subscribers.total() >= limits.subscribers:
            raise TooManyCalls(f"subscribers: expected {limits.subscribers} at most at a time")
        self._subscribers[tenant] += 1
        try:
            yield
        finally:
            self._subscribers[tenant] -= 1
            self._subscribers += Counter()  # leaves out those that are 0

    def subscribers(self) -> int:
        """How many subscribers there are."""
        return self._subscribers.total()
