"""The mechanisms that each client used over time, and how fast transitions reached clients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bypass.mechanisms.modes import AdHoc
from bypass.scenarios.experiments.schema import Step
from bypass.transitions import Record

Course = list[tuple[float, str]]
"""From when on (s) a client used which mechanism, in the order of time."""

GONE = "nothing"  # what a client uses that does not take part


@dataclass(frozen=True, slots=True)
class ClientExecution:
    """A transition as one host executed it, and where that host was (m; NaN for the broker)."""

    record: Record
    x: float
    y: float

    @property
    def client(self) -> int | None:
        """The number of the client that executed it; None for the broker."""
        kind, _, number = self.record.host.partition("-")
        return int(number) if kind == "client" else None

    @property
    def switched(self) -> bool:
        """Whether another mechanism was active afterwards."""
        return self.record.outcome == "done" and self.record.source != self.record.target


@dataclass(frozen=True, slots=True)
class JoinOrLeave:
    """A client joins, or leaves, at a time (s)."""

    at: float
    client: int
    joins: bool


def courses(
    proxy: str,
    first: str,
    clients: int,
    executions: Iterable[ClientExecution],
    attendance: Sequence[JoinOrLeave],
) -> list[Course]:
    """The mechanisms that each client used behind a proxy; all begin with `first` whenever they join."""
    changes: list[tuple[float, int, str]] = [
        (each.record.at, each.client, each.record.target)
        for each in executions
        if each.client is not None and each.switched and each.record.proxy == proxy
    ]
    changes += [(each.at, each.client, first if each.joins else GONE) for each in attendance]
    found: list[Course] = [[] if attendance else [(0.0, first)] for _ in range(clients)]
    for at, client, mechanism in sorted(changes, key=lambda change: change[0]):
        found[client].append((at, mechanism))
    return found


def time_shares(found: Sequence[Course], duration: float) -> dict[str, float]:
    """The share of all clients' time in which each mechanism was used."""
    seconds: dict[str, float] = {}
    for course in found:
        begun = course if course and course[0][0] <= 0.0 else [(0.0, GONE), *course]  # before it joins
        ends = [*(at for at, _ in begun[1:]), duration]
        for (at, mechanism), end in zip(begun, ends, strict=True):
            used = min(end, duration) - at  # what comes after the end does not count
            if used > 0.0:
                seconds[mechanism] = seconds.get(mechanism, 0.0) + used
    whole = duration * len(found)
    return {mechanism: time / whole for mechanism, time in sorted(seconds.items())}


@dataclass(frozen=True)
class StepSpread:
    """How one step of the timeline reached clients: when after it (s), and where (m), each executed it."""

    at: float
    phase: str
    clients: int
    delay: NDArray[np.float64]
    x: NDArray[np.float64]
    y: NDArray[np.float64]

    def summary(self) -> dict[str, Any]:
        """Figures of the delays; none if it reached nobody."""
        some = len(self.delay) > 0
        return {
            "at_s": self.at,
            "phase": self.phase,
            "reached": len(self.delay) / self.clients,
            "first_s": float(self.delay.min()) if some else None,
            "mean_s": float(self.delay.mean()) if some else None,
            "p10_s": float(np.percentile(self.delay, 10)) if some else None,
            "p50_s": float(np.percentile(self.delay, 50)) if some else None,
            "p75_s": float(np.percentile(self.delay, 75)) if some else None,
            "p90_s": float(np.percentile(self.delay, 90)) if some else None,
            "p95_s": float(np.percentile(self.delay, 95)) if some else None,
            "last_s": float(self.delay.max()) if some else None,
            "first_to_last_s": float(np.ptp(self.delay)) if some else None,
            "within_5_s": float(np.sum(self.delay <= 5.0) / self.clients),
            "within_30_s": float(np.sum(self.delay <= 30.0) / self.clients),
        }


def spread_of(
    step: Step, phase: str, until: float, clients: int, executions: Iterable[ClientExecution]
) -> StepSpread:
    """How a step reached clients until the next one: each client's first switch to what the plan says."""
    targets: Mapping[str, str] = {a.proxy: a.to for a in step.plan.actions if a.to is not None}
    first: dict[int, ClientExecution] = {}
    for each in executions:
        record = each.record
        in_time = step.at <= record.at < until
        if (
            in_time
            and each.client is not None
            and each.switched
            and targets.get(record.proxy) == record.target
        ):
            first.setdefault(each.client, each)
    found = list(first.values())
    return StepSpread(
        step.at,
        phase,
        clients,
        np.array([each.record.at - step.at for each in found]),
        np.array([each.x for each in found]),
        np.array([each.y for each in found]),
    )


def main_mechanism(mechanisms: Mapping[str, Mapping[str, Any]]) -> str:
    """The name of a phase without one: the store, the scheme or, without a broker, the dissemination."""
    alone = mechanisms.get("mode", {}).get("name") == AdHoc.name and "direct" in mechanisms
    proxy = "storage" if "storage" in mechanisms else "direct" if alone else "filter"
    return str(mechanisms[proxy]["name"])
