"""The figures of a store: which operations succeed, who is told of what and when, and what it costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from bypass.objects.metadata import ObjectKey
from bypass.scenarios.figures.measures import Stats

OPERATIONS = ("insert", "subscribe", "retrieve", "delete", "unsubscribe", "page")
TRAFFIC = (
    "phy_bytes", "phy_frames", "retransmissions", "given_up", "own_bytes", "forwarded_bytes", "control_bytes",
)  # fmt: skip
"""Bytes and frames on the air, all nodes together, over the whole run."""


class OperationEnd(NamedTuple):
    """An operation that has ended, and how long (s) it took."""

    operation: str
    ok: bool
    seconds: float


@dataclass(slots=True)
class StoredPost:
    """An object that a client has stored: when (s), and when it was deleted; infinity: never."""

    key: ObjectKey
    owner: int
    tags: frozenset[str]
    at: float
    acknowledged: bool = False
    deleted: float = np.inf


@dataclass(slots=True)
class FollowedTag:
    """A subscription to a tag from `since` (s) on; it was placed and withdrawn at these times (s)."""

    subscriber: int
    tag: str
    since: float
    placed: float
    withdrawn: float = np.inf


@dataclass(slots=True)
class StoreWatch:
    """All that clients have done with a store, and were told of it."""

    posts: dict[int, StoredPost] = field(default_factory=dict)
    follows: dict[int, FollowedTag] = field(default_factory=dict)
    ends: list[OperationEnd] = field(default_factory=list)
    told: dict[tuple[int, ObjectKey], list[float]] = field(default_factory=dict)
    skipped: int = 0  # operations of clients that were away

    def owed(self) -> dict[tuple[int, ObjectKey], float]:
        """Give what an ideal store tells: subscription and object, and the time (s) from which on it can.

        In it operations succeed at once. Whose object it is has no need to be told.
        """
        by_tag: dict[str, list[StoredPost]] = {}
        for post in self.posts.values():
            for tag in post.tags:
                by_tag.setdefault(tag, []).append(post)
        owed = {}
        for number, follow in self.follows.items():
            for post in by_tag.get(follow.tag, ()):
                if post.owner == follow.subscriber or post.at < follow.since:
                    continue
                begins = max(post.at, follow.placed)
                if begins < min(post.deleted, follow.withdrawn):
                    owed[number, post.key] = begins
        return owed


class StoreFigures(NamedTuple):
    """The figures of a run with a store."""

    objects: int
    acknowledged: int
    lost: int
    doubled: int
    owed: int
    recall: float
    success: Mapping[str, float]
    latency_ms: Mapping[str, Stats]
    notification_ms: Stats
    longest_notification_s: float
    traffic: Mapping[str, int]
    design: Mapping[str, float]
    cells: Mapping[int, int]
    skipped: int

    def summary(self) -> dict[str, Any]:
        """The figures by the names that the summary has."""
        phy = max(self.traffic["phy_bytes"], 1)
        return {
            "objects": self.objects,
            "acknowledged": self.acknowledged,
            "lost": self.lost,
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
            "most_loaded_cell": max(self.cells.values(), default=0),
            "skipped": self.skipped,
        }


def store_figures(
    watch: StoreWatch,
    found: set[ObjectKey],
    held: set[ObjectKey],
    traffic: Mapping[str, int],
    design: Mapping[str, float],
    cells: Mapping[int, int],
) -> StoreFigures:
    """Make figures of what was watched.

    `found` are the objects that were to be had at the end, `held` those of which somebody has the bytes then.
    """
    owed = watch.owed()
    delays = [watch.told[pair][0] - begins for pair, begins in owed.items() if pair in watch.told]
    kept = {post.key for post in watch.posts.values() if post.acknowledged and post.deleted == np.inf}
    ends: dict[str, list[OperationEnd]] = {name: [] for name in OPERATIONS}
    for end in watch.ends:
        ends[end.operation].append(end)
    return StoreFigures(
        objects=len(watch.posts),
        acknowledged=sum(post.acknowledged for post in watch.posts.values()),
        lost=len((kept & held) - found),
        doubled=sum(len(times) > 1 for times in watch.told.values()),
        owed=len(owed),
        recall=len(delays) / len(owed) if owed else float("nan"),
        success={name: _share(each.ok for each in own) for name, own in ends.items()},
        latency_ms={
            name: Stats.of(np.array([1000 * each.seconds for each in own if each.ok]))
            for name, own in ends.items()
        },
        notification_ms=Stats.of(1000 * np.array(delays)),
        longest_notification_s=max(delays, default=float("nan")),
        traffic=traffic,
        design=design,
        cells=cells,
        skipped=watch.skipped,
    )


def no_store_figures() -> StoreFigures:
    """The figures of a run in which nobody did anything."""
    nothing = dict.fromkeys(TRAFFIC, 0)
    return store_figures(StoreWatch(), set(), set(), nothing, Counter[str](), {})


def _share(truths: Iterable[bool]) -> float:
    known = list(truths)
    return sum(known) / len(known) if known else float("nan")


def _milliseconds(stats: Stats) -> dict[str, float]:
    return {"mean": stats.mean, "p50": stats.percentile(50), "p95": stats.percentile(95)}
