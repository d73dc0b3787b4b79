"""The figures of a store by phase, and of its switches from one design to another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from bypass.scenarios.figures.measures import EventColumn
from bypass.scenarios.figures.usage import ClientExecution

SWITCH_S = 30.0
"""A switch lasts so long (s), or until the next one: notifications due meanwhile count as its own."""

DESIGNS = ("local", "cells", "server")

Told = tuple[float, float | None]  # when a notification was due (s), and how much later (s) it came, if ever
ClientTold = tuple[int, float, float | None]  # a client, and the same of a notification for it


class StorePhase(NamedTuple):
    """The notifications that were owed in a phase, after the switch that it began with, and their share that
    was given."""

    name: str
    start_s: float
    owed: int
    recall: float


class StoreSwitch(NamedTuple):
    """A switch: how many clients had the other design, how long (s) the first was ahead of the last, and
    radio bytes of its first half minute, and of as long before; the notifications that were owed in it."""

    at_s: float
    phase: str
    clients: int
    seconds: float
    bytes: int
    bytes_before: int
    owed: int
    recall: float
    recall_margin: float  # beyond the worse one of the phases before and after
    longest_s: float

    def summary(self) -> dict[str, Any]:
        """The figures by their names."""
        return self._asdict()


def store_phases(phases: Sequence[tuple[str, float]], told: Iterable[Told]) -> tuple[StorePhase, ...]:
    """The phases, of which the names and beginnings (s) are given."""
    starts = [start for _, start in phases]
    ends = [*starts[1:], float("inf")]
    pairs = list(told)
    found = []
    for i, (name, start) in enumerate(phases):
        begin = start + SWITCH_S if i else start
        own = [delay for at, delay in pairs if begin <= at < ends[i]]
        found.append(StorePhase(name, start, len(own), _given(own)))
    return tuple(found)


def store_switches(
    phases: Sequence[StorePhase],
    told: Iterable[Told],
    radio: EventColumn,
    executions: Iterable[ClientExecution],
) -> tuple[StoreSwitch, ...]:
    """The switches between phases. `radio` are bytes sent in each second, `executions` all transitions."""
    pairs, switched = list(told), _switched(executions)
    found = []
    nexts = [*(phase.start_s for phase in phases[2:]), float("inf")]
    for (before, after), following in zip(pairwise(phases), nexts, strict=False):
        at, end = after.start_s, min(after.start_s + SWITCH_S, following)
        times = [moment for moment, _ in switched if at <= moment < end]
        own = [delay for begins, delay in pairs if at <= begins < end]
        recall, second = _given(own), int(at)
        found.append(
            StoreSwitch(
                at_s=at,
                phase=after.name,
                clients=len({client for moment, client in switched if at <= moment < end}),
                seconds=max(times) - min(times) if times else float("nan"),
                bytes=int(radio[second : int(end)].sum()),
                bytes_before=int(radio[max(0, second - int(SWITCH_S)) : second].sum()),
                owed=len(own),
                recall=recall,
                recall_margin=recall - min(before.recall, after.recall),
                longest_s=max((delay for delay in own if delay is not None), default=float("nan")),
            )
        )
    return tuple(found)


class StoreStage(NamedTuple):
    """A stage of the workload: its beginning (s), after how many seconds the last client switched to another
    design (0: none did), how often each did on average, and the share of them in each design at its end."""

    at_s: float
    settled_s: float
    switches: float
    designs: Mapping[str, float]


def store_stages(
    starts: Sequence[float], end: float, executions: Iterable[ClientExecution]
) -> tuple[StoreStage, ...]:
    """The stages that begin at `starts`; the last one ends at `end`."""
    moves = [
        (each.record.at, each.client, each.record.target)
        for each in executions
        if each.client is not None and each.switched and each.record.proxy == "storage"
    ]
    found = []
    for at, until in pairwise((*starts, end)):
        last = {client: target for moment, client, target in sorted(moves) if moment < until}
        own = [moment for moment, *_ in moves if at <= moment < until]
        shares = {name: share / len(last) for name, share in Counter(last.values()).items()}
        settled = max(own) - at if own else 0.0
        found.append(
            StoreStage(at, settled, len(own) / max(1, len(last)), dict.fromkeys(DESIGNS, 0.0) | shares)
        )
    return tuple(found)


def by_name(phases: Iterable[StorePhase]) -> Mapping[str, dict[str, float]]:
    """The figures of the first phase of each name."""
    found: dict[str, dict[str, float]] = {}
    for phase in phases:
        found.setdefault(phase.name, {"owed": phase.owed, "recall": phase.recall})
    return found


def _switched(executions: Iterable[ClientExecution]) -> list[tuple[float, int]]:
    return [
        (each.record.at, each.client)
        for each in executions
        if each.client is not None and each.switched and each.record.proxy == "storage"
    ]


def _given(delays: Sequence[float | None]) -> float:
    return sum(delay is not None for delay in delays) / len(delays) if delays else float("nan")
