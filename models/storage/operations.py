"""A workload of a store: posts, subscriptions, deletions and withdrawals of nodes, in columns; and its ideal
matches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from bypass.models.storage.posts import Posts, stream
from bypass.support.arrays import Ints
from bypass.support.units import MICROSECONDS

_SUBSCRIBERS, _DELETERS, _WITHDRAWERS = 1 << 33, 1 << 34, 1 << 35
"""Beyond the numbers of authors: other draws of each."""

OperationRow = tuple[int, int, int, int]
"""The time (µs), the node, the kind and the subject of an operation."""
SubscriptionRow = tuple[int, int, int, bool]
"""The time (µs) of a subscription, its node and tag, and whether its window reaches into all time."""


class OperationKind(IntEnum):
    """The kinds of operations that a workload has."""

    INSERT = 0
    SUBSCRIBE = 1
    DELETE = 2
    WITHDRAW = 3


@dataclass(frozen=True, eq=False)
class StorageOperations:
    """Operations in the order of time. `subject` is the number of the post that is inserted or deleted, or of
    the subscription that is made or withdrawn.

    Subscription s is about the tag `tag[s]`, in a window that is open at both ends if `all_time[s]`, else
    from its own time on.
    """

    posts: Posts
    at_us: Ints
    node: npt.NDArray[np.int32]
    kind: npt.NDArray[np.int8]
    subject: Ints
    tag: npt.NDArray[np.int32]
    all_time: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.at_us)

    @classmethod
    def of_rows(
        cls, posts: Posts, operations: Iterable[OperationRow], subscriptions: Iterable[SubscriptionRow]
    ) -> StorageOperations:
        """Operations in any order; subscriptions are in the order of their numbers."""
        rows = sorted(operations, key=lambda row: (row[0], row[2], row[3]))
        columns = np.array(rows, np.int64).reshape(-1, 4).T
        wanted = list(subscriptions)
        return cls(
            posts,
            columns[0],
            columns[1].astype(np.int32),
            columns[2].astype(np.int8),
            columns[3],
            np.array([row[2] for row in wanted], np.int32),
            np.array([row[3] for row in wanted], np.bool_),
        )

    def compressed(self, factor: float) -> StorageOperations:
        """The same operations in a time that is so many times faster."""
        posts = replace(self.posts, at_us=_faster(self.posts.at_us, factor))
        return replace(self, posts=posts, at_us=_faster(self.at_us, factor))

    def followed_by(self, other: StorageOperations, after_us: int) -> StorageOperations:
        """These operations, and others on posts of the same vocabulary `after_us` microseconds later."""
        inserted = np.isin(other.kind, (OperationKind.INSERT, OperationKind.DELETE))
        return StorageOperations(
            self.posts.followed_by(other.posts, after_us),
            np.concatenate((self.at_us, other.at_us + after_us)),
            np.concatenate((self.node, other.node)),
            np.concatenate((self.kind, other.kind)),
            np.concatenate(
                (self.subject, other.subject + np.where(inserted, len(self.posts), len(self.tag)))
            ),
            np.concatenate((self.tag, other.tag)),
            np.concatenate((self.all_time, other.all_time)),
        )

    def ideal_matches(self) -> set[tuple[int, int]]:
        """The pairs (post, subscription) that are told if each operation succeeds at once."""
        live: dict[int, set[int]] = {}  # subscriptions by tag
        present: dict[int, set[int]] = {}  # posts by tag
        found: set[tuple[int, int]] = set()
        for kind, subject in zip(self.kind.tolist(), self.subject.tolist(), strict=True):
            if kind in (OperationKind.SUBSCRIBE, OperationKind.WITHDRAW):
                tag = int(self.tag[subject])
                if kind == OperationKind.WITHDRAW:
                    live[tag].discard(subject)
                    continue
                live.setdefault(tag, set()).add(subject)
                if self.all_time[subject]:
                    found |= {(post, subject) for post in present.get(tag, ())}
                continue
            for tag in self.posts.tags_of(subject).tolist():
                if kind == OperationKind.DELETE:
                    present[tag].discard(subject)
                    continue
                present.setdefault(tag, set()).add(subject)
                found |= {(subject, each) for each in live.get(tag, ())}
        return found


class OperationModel(BaseModel):
    """The operations around posts. Time is `compression` times faster than that of the posts; rates are per
    user and hour of the posts' time, subscriptions in the first half and in the second, deletions and
    withdrawals in the second alone.

    A subscription is about one random tag out of the `popular` share of tags that are used most, over all
    time with probability `all_time`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    compression: float = Field(default=18.0, gt=0)
    first_half: float = Field(default=3.0, ge=0)
    second_half: float = Field(default=1.0, ge=0)
    deletes: float = Field(default=0.5, ge=0)
    withdrawals: float = Field(default=0.2, ge=0)
    popular: float = Field(default=0.6, gt=0, le=1)
    all_time: float = Field(default=0.6, ge=0, le=1)

    def draw(self, posts: Posts, nodes: int, duration: float, seed: int) -> StorageOperations:
        """The operations of so many nodes, who are the busiest authors, for `duration` seconds of the posts'
        time.

        Same seed, same operations. A node deletes a random one of its own posts, and withdraws a random one
        of its own subscriptions; who has none does nothing.
        """
        posts = posts.of_busiest(nodes)
        inserts = np.flatnonzero(posts.at_us < duration * MICROSECONDS)
        rows: list[OperationRow] = [
            (int(posts.at_us[i]), int(posts.author[i]), OperationKind.INSERT, i) for i in inserts.tolist()
        ]
        wanted = self._subscriptions(self._popular(posts), nodes, duration, seed)
        rows += [(at, node, OperationKind.SUBSCRIBE, i) for i, (at, node, _, _) in enumerate(wanted)]
        own: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for at, node, kind, subject in rows:
            own.setdefault((node, kind), []).append((at, subject))
        for node in range(nodes):
            for kind, of, rate, purpose in (
                (OperationKind.DELETE, OperationKind.INSERT, self.deletes, _DELETERS),
                (OperationKind.WITHDRAW, OperationKind.SUBSCRIBE, self.withdrawals, _WITHDRAWERS),
            ):
                draws, mine = stream(seed, purpose + node), own.get((node, of), [])
                rows += [
                    (at, node, kind, subject)
                    for at, subject in ends(draws, rate, mine, duration / 2, duration)
                ]
        return StorageOperations.of_rows(posts, rows, wanted).compressed(self.compression)

    def _popular(self, posts: Posts) -> Ints:
        """The tags that are used most, a share `popular` of all that are used."""
        counts = posts.popularity()
        used = int((counts > 0).sum())
        return np.argsort(-counts, kind="stable")[: max(1, round(self.popular * used))]

    def _subscriptions(self, popular: Ints, nodes: int, duration: float, seed: int) -> list[SubscriptionRow]:
        """All subscriptions, in the order of time."""
        rows: list[SubscriptionRow] = []
        for node in range(nodes):
            draws = stream(seed, _SUBSCRIBERS + node)
            for begin, rate in ((0.0, self.first_half), (duration / 2, self.second_half)):
                for at in arrivals(draws, rate, begin, begin + duration / 2):
                    tag = int(popular[int(draws.random() * len(popular))])
                    rows.append((at, node, tag, bool(draws.random() < self.all_time)))
        return sorted(rows)


def arrivals(draws: np.random.Generator, rate: float, begin: float, end: float) -> list[int]:
    """Times (µs) from `begin` to `end` (s) of a Poisson process with `rate` per hour."""
    found: list[int] = []
    at = begin
    while rate > 0:
        at += -np.log(1 - draws.random()) * 3600 / rate
        if at >= end:
            break
        found.append(int(at * MICROSECONDS))
    return found


def ends(
    draws: np.random.Generator, rate: float, own: list[tuple[int, int]], begin: float, end: float
) -> list[tuple[int, int]]:
    """Pairs of a time from `begin` to `end` (s) and the number of an own post or subscription that ends then.

    `own` has their beginnings (µs) and numbers; each ends once at most, and after it has begun.
    """
    left = sorted(own)
    found: list[tuple[int, int]] = []
    for at in arrivals(draws, rate, begin, end):
        there = sum(begun < at for begun, _ in left)
        pick = draws.random()
        if there:
            found.append((at, left.pop(int(pick * there))[1]))
    return found


def _faster(at_us: Ints, factor: float) -> Ints:
    return np.round(at_us / factor).astype(np.int64)
