"""The figures of a store: which operations succeed, who is told of what and when, and what it costs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from bypass.models.storage.energy import OPERATIONS, TABLET, DeviceEnergy
from bypass.objects.metadata import ObjectKey
from bypass.places.cell_grid import CellGrid
from bypass.scenarios.figures.measures import EventColumn, Stats
from bypass.scenarios.figures.storage_loads import NodeLoad, energy_figures
from bypass.scenarios.figures.storage_switches import (
    ClientTold,
    StorePhase,
    StoreStage,
    StoreSwitch,
    Told,
    by_name,
    store_phases,
    store_stages,
    store_switches,
)
from bypass.scenarios.figures.usage import ClientExecution

TRAFFIC = (
    "phy_bytes", "phy_frames", "retransmissions", "given_up", "own_bytes", "forwarded_bytes", "control_bytes",
    "messages",
)  # fmt: skip
"""Bytes and frames of clients on the air, all together, over the whole run; and their messages, at every
hop."""


class OperationEnd(NamedTuple):
    """An operation of a node that has ended, and how long (s) it took."""

    node: int
    operation: str
    ok: bool
    seconds: float


@dataclass(slots=True)
class StoredPost:
    """An object that a client has stored: when (s), and when it was deleted; infinity: never. It is told in
    its world and area alone."""

    key: ObjectKey
    owner: int
    tags: frozenset[str]
    at: float
    acknowledged: bool = False
    deleted: float = np.inf
    world: str = ""
    area: int = 0
    is_gone: bool = False  # the deletion was acknowledged


@dataclass(slots=True)
class FollowedTag:
    """A subscription to a tag from `since` (s) on; it was placed and withdrawn at these times (s)."""

    subscriber: int
    tag: str
    since: float
    placed: float
    withdrawn: float = np.inf
    world: str = ""
    area: int = 0


@dataclass(slots=True)
class StoreWatch:
    """A record of all that clients have done with a store, and of all that they were told."""

    posts: dict[int, StoredPost] = field(default_factory=dict)
    follows: dict[int, FollowedTag] = field(default_factory=dict)
    ends: list[OperationEnd] = field(default_factory=list)
    told: dict[tuple[int, ObjectKey], list[float]] = field(default_factory=dict)
    skipped: int = 0  # operations of clients that were away

    def owed(self) -> dict[tuple[int, ObjectKey], float]:
        """The notifications of an ideal store: (subscription, object), and the time (s) at which it is due.

        There, operations succeed at once. An owner is not told of its own objects.
        """
        by_tag: dict[tuple[str, int, str], list[StoredPost]] = {}
        for post in self.posts.values():
            for tag in post.tags:
                by_tag.setdefault((post.world, post.area, tag), []).append(post)
        owed = {}
        for number, follow in self.follows.items():
            for post in by_tag.get((follow.world, follow.area, follow.tag), ()):
                if post.owner == follow.subscriber or post.at < follow.since:
                    continue
                begins = max(post.at, follow.placed)
                if begins < min(post.deleted, follow.withdrawn):
                    owed[number, post.key] = begins
        return owed

    def delays(self) -> list[Told]:
        """When each notification of an ideal store is due (s), and how much later (s) it came, if ever."""
        return [(begins, delay) for _, begins, delay in self.delays_of_clients()]

    def delays_of_clients(self) -> list[ClientTold]:
        """The same, with the client that each notification is for."""
        return [
            (
                self.follows[pair[0]].subscriber,
                begins,
                self.told[pair][0] - begins if pair in self.told else None,
            )
            for pair, begins in self.owed().items()
        ]


class StoreLayout(NamedTuple):
    """The nodes with their loads, the grid of their cells if they have one, how many tags of objects each
    cell is responsible for, the device that all nodes are, and the places (m) of edges."""

    loads: Sequence[NodeLoad] = ()
    grid: CellGrid | None = None
    keyed: Mapping[int, int] = {}
    device: DeviceEnergy = TABLET
    edges: Sequence[tuple[float, float]] = ()


class StoreFigures(NamedTuple):
    """The figures of a run with a store."""

    objects: int
    acknowledged: int
    lost: int
    returned: int
    doubled: int
    owed: int
    recall: float
    success: Mapping[str, float]
    latency_ms: Mapping[str, Stats]
    notification_ms: Stats
    longest_notification_s: float
    traffic: Mapping[str, int]
    design: Mapping[str, float]
    skipped: int
    layout: StoreLayout
    phases: tuple[StorePhase, ...]
    switches: tuple[StoreSwitch, ...]
    stages: tuple[StoreStage, ...]

    def summary(self) -> dict[str, Any]:
        """The figures by the names that the summary has."""
        phy = max(self.traffic["phy_bytes"], 1)
        return {
            "objects": self.objects,
            "acknowledged": self.acknowledged,
            "lost": self.lost,
            "returned": self.returned,
            "doubled": self.doubled,
            "owed": self.owed,
            "notified": self.recall,
            "success": dict(self.success),
            "operation_ms": {name: _milliseconds(stats) for name, stats in self.latency_ms.items()},
            "notification_ms": _milliseconds(self.notification_ms),
            "longest_notification_s": self.longest_notification_s,
            "store_traffic": dict(self.traffic),
            "control_share": self.traffic["control_bytes"] / phy,
            "forwarded_share": self.traffic["forwarded_bytes"] / phy,
            "design": dict(self.design),
            "most_loaded_cell": max(self.layout.keyed.values(), default=0),
            "energy": energy_figures(self.layout.loads, self.layout.device),
            "skipped": self.skipped,
            "store_phases": by_name(self.phases),
            "store_switches": [switch.summary() for switch in self.switches],
            "store_stages": [stage._asdict() for stage in self.stages],
        }


def store_figures(
    watch: StoreWatch,
    found: set[ObjectKey],
    held: set[ObjectKey],
    traffic: Mapping[str, int],
    design: Mapping[str, float],
    layout: StoreLayout,
    phases: Sequence[tuple[str, float]],
    stages: Sequence[float],
    radio: EventColumn,
    executions: Sequence[ClientExecution],
    elsewhere: Collection[ObjectKey],
) -> StoreFigures:
    """Make the figures of a run out of what was watched.

    `found` are the objects that a query for all of them found at the end in the area where they were stored,
    `elsewhere` those found in any, `held` those of which a node of their area has the bytes then. `phases`
    are names and beginnings (s), `stages` the beginnings of those of the workload, `radio` are the bytes that
    radios sent in each second.
    """
    told = watch.delays()
    delays = [delay for _, delay in told if delay is not None]
    stretches = store_phases(phases, told)
    kept = {post.key for post in watch.posts.values() if post.acknowledged and post.deleted == np.inf}
    ends: dict[str, list[OperationEnd]] = {name: [] for name in OPERATIONS}
    for end in watch.ends:
        ends[end.operation].append(end)
    return StoreFigures(
        objects=len(watch.posts),
        acknowledged=sum(post.acknowledged for post in watch.posts.values()),
        lost=len((kept & held) - found),
        returned=sum(post.is_gone and post.key in elsewhere for post in watch.posts.values()),
        doubled=sum(len(times) > 1 for times in watch.told.values()),
        owed=len(told),
        recall=len(delays) / len(told) if told else float("nan"),
        success={name: _share(each.ok for each in own) for name, own in ends.items()},
        latency_ms={
            name: Stats.of(np.array([1000 * each.seconds for each in own if each.ok]))
            for name, own in ends.items()
        },
        notification_ms=Stats.of(1000 * np.array(delays)),
        longest_notification_s=max(delays, default=float("nan")),
        traffic=traffic,
        design=design,
        skipped=watch.skipped,
        layout=layout,
        phases=stretches,
        switches=store_switches(stretches, told, radio, executions),
        stages=store_stages(stages, float(len(radio)), executions),
    )


def no_store_figures(phases: Sequence[tuple[str, float]], stages: Sequence[float]) -> StoreFigures:
    """The figures of a run with these phases (name, beginning in s) and stages of the workload (beginning in
    s) in which nobody did anything."""
    traffic, radio = dict.fromkeys(TRAFFIC, 0), np.zeros(1, np.int64)
    return store_figures(
        StoreWatch(), set(), set(), traffic, {}, StoreLayout(), phases, stages, radio, (), ()
    )


def _share(truths: Iterable[bool]) -> float:
    known = list(truths)
    return sum(known) / len(known) if known else float("nan")


def _milliseconds(stats: Stats) -> dict[str, float]:
    return {"mean": stats.mean, "p50": stats.percentile(50), "p95": stats.percentile(95)}
