"""The figures of edges: where data came from, what caches had and of which worlds, and what outages did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import numpy as np

from bypass.scenarios.experiments.infrastructure import InfrastructureSettings
from bypass.scenarios.figures.measures import Stats
from bypass.scenarios.figures.storage_switches import ClientTold
from bypass.scenarios.figures.usage import ClientExecution

SOURCES = ("edge", "replicas", "forced", "server")
"""Data come from the caches of one's edge, from a client in its area, or from elsewhere through the edge; or
from the server of a store that has one."""
CACHES = ("local", "prefetch-metadata", "prefetch-data", "global-metadata", "global-data")
COUNTS = (
    "cycles", "lost_cycles", "relayed", "requested", "downloads", "served", "provided", "notices", "moved",
    "sent_bytes",
)  # fmt: skip
"""Numbers that edges count: cycles of cell data that they merged, and those of a cell with clients that they
never had; messages that stable clients passed on for them, items they asked clients for, downloads that they
were asked for and those that their caches served, items that they sent to other edges, notices of
consumption, entries that left one world's part of the local cache for another's, and bytes sent."""
UNNAMED = "unnamed"
"""The world without a name, in figures."""


class EdgeSample(NamedTuple):
    """An edge at a time (s): entries of its caches by world, and what it has counted so far; nothing while it
    does not work."""

    at: float
    edge: int
    entries: Mapping[str, Mapping[str, int]] = {}
    counts: Mapping[str, int] = {}


class DataArrival(NamedTuple):
    """The data of an object have come to a client from a source, in so many seconds."""

    source: str
    seconds: float


class ItemsTold(NamedTuple):
    """The items that a subscriber was told of by cells and by its edge, of one subscription at a time (s)."""

    at: float
    by_cells: int
    by_edge: int


@dataclass(slots=True)
class InfrastructureWatch:
    """A record of what edges have done: samples of all of them at the same times, in the order of time."""

    samples: list[EdgeSample] = field(default_factory=list)
    arrivals: list[DataArrival] = field(default_factory=list)
    told: list[ItemsTold] = field(default_factory=list)


class EdgeChange(NamedTuple):
    """A moment (s) at which edges fail or return, and what came of it until the next one: how many clients
    had another design of store, how much later (s) the first and the last of them, and how much later than
    the last one the first notification of one of them came; notifications that were due, their recall, and
    the longest."""

    at_s: float
    failed: int
    returned: int
    clients: int
    first_s: float
    last_s: float
    notified_s: float
    owed: int
    recall: float
    longest_s: float


@dataclass(frozen=True, slots=True)
class InfrastructureFigures:
    """The figures of a run with edges; `watch` has their courses."""

    settings: InfrastructureSettings
    watch: InfrastructureWatch
    changes: tuple[EdgeChange, ...]
    retrieval_s: float
    slots_s: float
    duration: float

    def summary(self) -> dict[str, Any]:
        """The figures by the names that the summary has."""
        arrivals = self.watch.arrivals
        seconds = {name: Stats.of(_seconds(arrivals, name)) for name in SOURCES}
        counts = self.counts()
        requested = self.by_cycle("requested", self.retrieval_s)
        provided = self.by_cycle("provided", self.slots_s)
        return {
            "sources": {name: _share(seconds[name].count, len(arrivals)) for name in SOURCES},
            "source_ms": {
                name: {"mean": 1000 * stats.mean, "p50": 1000 * stats.percentile(50)}
                for name, stats in seconds.items()
            },
            "from_edge": seconds["edge"].mean / seconds["replicas"].mean,
            "from_edge_stated": self.settings.latency.from_edge,
            "counts": counts,
            "hit_ratio": _share(counts["served"], counts["downloads"]),
            "most_requested": int(requested.max(initial=0)),
            "provided_first": float(provided[0]) if len(provided) else float("nan"),
            "provided_later": float(provided[1:].mean()) if len(provided) > 1 else float("nan"),
            "cached": {name: self._entries(name).mean for name in CACHES},
            "cached_end": {name: float(sum(self.at_end(name).values())) for name in CACHES},
            "worlds": self.shares(),
            "told_by_cells": sum(each.by_cells for each in self.watch.told),
            "told_by_edge": sum(each.by_edge for each in self.watch.told),
            "edge_j": self._energy(counts["sent_bytes"]),
            "changes": [change._asdict() for change in self.changes],
        }

    def counts(self) -> dict[str, int]:
        """The counts of all edges together; an edge whose process was started again begins anew."""
        total = Counter[str]()
        for _, steps in self._steps():
            total.update(steps)
        return {name: total[name] for name in COUNTS}

    def by_cycle(self, name: str, length_s: float) -> np.ndarray:
        """A count of one edge in each stretch of so many seconds, from the first one with any on; of
        several edges the mean."""
        cycles: Counter[int] = Counter()
        for at, steps in self._steps():
            cycles[int((at - 1e-9) // length_s)] += steps.get(name, 0)
        used = [cycle for cycle, number in cycles.items() if number]
        if not used:
            return np.empty(0)
        whole = range(min(used), int(self.duration // length_s))
        return np.array([cycles[cycle] for cycle in whole], float) / len(self.settings.places)

    def at_end(self, cache: str) -> Counter[str]:
        """The entries of a cache at the end, by world, of all edges."""
        last = self.watch.samples[-1].at if self.watch.samples else 0.0
        found: Counter[str] = Counter()
        for sample in self.watch.samples:
            if sample.at == last:
                found.update(sample.entries.get(cache, {}))
        return found

    def shares(self) -> dict[str, float]:
        """The worlds' shares of the local caches at the end."""
        entries = self.at_end("local")
        return {world or UNNAMED: _share(entries[world], entries.total()) for world in self.settings.worlds}

    def course(self, cache: str) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """The times of samples (s), and the entries of a cache at each, by world, of all edges."""
        grouped = [
            (at, [each.entries.get(cache, {}) for each in samples])
            for at, samples in groupby(self.watch.samples, lambda sample: sample.at)
        ]
        worlds = dict.fromkeys(world for _, each in grouped for entries in each for world in entries)
        return np.array([at for at, _ in grouped]), {
            world: np.array([sum(entries.get(world, 0) for entries in each) for _, each in grouped])
            for world in worlds
        }

    def _entries(self, cache: str) -> Stats:
        """Of the entries in all caches of a kind, over time."""
        times, by_world = self.course(cache)
        return Stats.of(np.sum([*by_world.values()], axis=0, dtype=float) if by_world else 0.0 * times)

    def _steps(self) -> Iterable[tuple[float, dict[str, int]]]:
        """The counts of each edge from one sample to the next; all of them if one is lower than before."""
        latest: dict[int, Mapping[str, int]] = {}
        for sample in self.watch.samples:
            before = latest.get(sample.edge, {})
            if sample.counts:
                restarted = any(sample.counts.get(name, 0) < number for name, number in before.items())
                earlier = {} if restarted else before
                yield sample.at, {name: n - earlier.get(name, 0) for name, n in sample.counts.items()}
                latest[sample.edge] = sample.counts

    def _energy(self, sent_bytes: int) -> float:
        """The energy of an edge on average (J)."""
        energy, edges = self.settings.energy, len(self.settings.places)
        return energy.idle_w * self.duration + energy.byte_j * sent_bytes / edges


def edge_changes(
    settings: InfrastructureSettings,
    told: Iterable[ClientTold],
    executions: Iterable[ClientExecution],
    duration: float,
) -> tuple[EdgeChange, ...]:
    """The moments at which edges fail or return, of notifications that were due and transitions."""
    notified = list(told)
    moves = sorted(
        (each.record.at, each.client)
        for each in executions
        if each.client is not None and each.switched and each.record.proxy == "storage"
    )
    moments = [(at, [*same]) for at, same in groupby(settings.switches(), lambda switch: switch.at)]
    found = []
    for (at, switches), (end, _) in pairwise([*moments, (duration, [])]):
        own = [moved for moved in moves if at <= moved[0] < end]
        clients = {client for _, client in own}
        due = [delay for _, begins, delay in notified if at <= begins < end]
        first, last = (own[0][0], own[-1][0]) if own else (float("nan"), float("nan"))
        came = [
            begins + delay for client, begins, delay in notified if delay is not None and client in clients
        ]
        after = [moment for moment in came if last <= moment < end]
        found.append(
            EdgeChange(
                at_s=at,
                failed=sum(not switch.works for switch in switches),
                returned=sum(switch.works for switch in switches),
                clients=len(clients),
                first_s=first - at,
                last_s=last - at,
                notified_s=min(after, default=float("nan")) - last,
                owed=len(due),
                recall=_share(sum(delay is not None for delay in due), len(due)),
                longest_s=max((delay for delay in due if delay is not None), default=float("nan")),
            )
        )
    return tuple(found)


def no_infrastructure_figures(settings: InfrastructureSettings, duration: float) -> InfrastructureFigures:
    """The figures of a run in which edges did nothing."""
    changes = edge_changes(settings, (), (), duration)
    return InfrastructureFigures(settings, InfrastructureWatch(), changes, 1.0, 1.0, duration)


def _seconds(arrivals: Sequence[DataArrival], source: str) -> np.ndarray:
    return np.array([each.seconds for each in arrivals if each.source == source], float)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")
