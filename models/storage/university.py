"""The trace of a university: students of a class, who publish and ask for what is said in lectures and on the
campus (Vieira 2018, 5.1).

The source names the population, the timeline and rates. It does not name how many topics and tags there are,
how popular each is, how much later regular students contribute, how often objects are deleted, how far back
subscriptions reach, and how times are distributed: ours are parameters, and a Poisson process or a uniform
moment. With those that it begins with 100 students are told of 54,500 objects, and download 38,000 by the
probability of the source, where up to 14,000 are served by an edge, 42 % in another experiment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Self

import numpy as np
from pydantic import Field, model_validator

from bypass.models.storage.operations import (
    OperationKind,
    OperationRow,
    StorageOperations,
    SubscriptionRow,
    arrivals,
    ends,
)
from bypass.models.storage.posts import Posts, stream
from bypass.models.storage.workload import StorageWorkload
from bypass.support.arrays import Floats
from bypass.support.units import MICROSECONDS
from bypass.support.validation import Misfit

_STUDENTS, _GOOD, _DELETERS = 1 << 37, 1 << 38, 1 << 39
"""Beyond the numbers of other draws."""

_Share = Annotated[float, Field(ge=0, le=1)]
_Minutes = Annotated[float, Field(ge=0, le=100_000)]
_Rate = Annotated[float, Field(ge=0, le=3600)]


class UniversityTrace(StorageWorkload):
    """Two lectures of `lecture` minutes, with an `intermission`; time is `compression` times faster.
    Half of the students attend each, a share `good` of whom subscribe to all of its topics within the first
    `warm_up` minutes. Of the others each subscribes to all of them, and contributes, `later` minutes after
    the beginning and on. A lecture has `topics` of its own, the second those of the first if `repeated`.

    Rates are per student and hour. Posts about a topic of the lecture come at `good_posts` or `regular_posts`
    while it lasts; about tags of the university at `posts_in_class` then, and at `posts_outside` at any other
    time. Subscriptions to tags of the university come at `subscriptions`, and a student never has two to the
    same tag. At `deletes` students delete a post of their own, any of those that are there.

    The r-th of the topics, and of `tags`, is chosen in proportion to 1 / (r + 1) ** `exponent`. Subscriptions
    reach into all time with probability `all_time`, and begin when they are made otherwise. A post has one
    tag and `size` bytes.

    Students are of several `areas` by turns, by their numbers; a share `common` of the topics and tags of an
    area, the most popular ones, are those of all areas. By turns again, numbers of posts are those of
    `intensities` times the rates, for worlds that differ in this alone.
    """

    compression: float = Field(default=10.0, gt=0)
    lecture: float = Field(default=45.0, gt=0, le=100_000)
    intermission: _Minutes = 10.0
    warm_up: _Minutes = 10.0
    good: _Share = 0.15
    later: _Minutes = 10.0
    good_posts: _Rate = 30.0
    regular_posts: _Rate = 5.0
    subscriptions: _Rate = 10.0
    posts_outside: _Rate = 10.0
    posts_in_class: _Rate = 2.0
    deletes: _Rate = 0.5
    topics: int = Field(default=10, ge=1, le=10_000)
    repeated: bool = False
    tags: int = Field(default=100, ge=1, le=10_000)
    exponent: float = Field(default=0.5, ge=0, le=5)
    all_time: _Share = 1.0
    size: int = Field(default=64, ge=0, le=2**24)
    areas: int = Field(default=1, ge=1, le=100)
    common: _Share = 0.0
    intensities: tuple[_Rate, ...] = Field(default=(1.0,), min_length=1)

    @model_validator(mode="after")
    def _within_a_lecture(self) -> Self:
        for name in ("warm_up", "later"):
            if getattr(self, name) > self.lecture:
                raise Misfit(
                    (name,),
                    f"is {getattr(self, name):g}: expected at most a lecture, {self.lecture:g} minutes",
                )
        return self

    @property
    def length(self) -> float:
        return self._traced / self.compression

    def stretched(self, factor: float) -> Self:
        names = ("lecture", "intermission", "warm_up", "later")
        return self.model_copy(update={name: getattr(self, name) * factor for name in names})

    def draw(self, nodes: int, seed: int) -> StorageOperations:
        good = self._good(nodes, seed)
        draws = [stream(seed, _STUDENTS + node) for node in range(nodes)]
        posts = Posts.of_authors(
            [self._posts(draws[node], node, node in good) for node in range(nodes)], self._vocabulary()
        )
        wanted = sorted(row for node in range(nodes) for row in self._wanted(draws[node], node, node in good))
        rows: list[OperationRow] = [
            (at, node, OperationKind.INSERT, i)
            for i, (at, node) in enumerate(zip(posts.at_us.tolist(), posts.author.tolist(), strict=True))
        ]
        own: dict[int, list[tuple[int, int]]] = {}
        for at, node, _, number in rows:
            own.setdefault(node, []).append((at, number))
        for node, mine in own.items():
            gone = ends(stream(seed, _DELETERS + node), self.deletes, mine, 0.0, self._traced)
            rows += [(at, node, OperationKind.DELETE, number) for at, number in gone]
        rows += [(at, node, OperationKind.SUBSCRIBE, i) for i, (at, node, _, _) in enumerate(wanted)]
        return StorageOperations.of_rows(posts, rows, wanted).compressed(self.compression)

    # -- who attends what ---------------------------------------------------------------------------------

    @property
    def _traced(self) -> float:
        """The seconds that the trace takes without compression."""
        return 60 * (2 * self.lecture + self.intermission)

    def _attends(self, node: int) -> int:
        """The lecture of a student, 0 or 1."""
        return node // self.areas % 2

    def _attended(self, node: int) -> tuple[float, float]:
        """The beginning and the end (s) of a student's lecture."""
        begin = 60 * self._attends(node) * (self.lecture + self.intermission)
        return begin, begin + 60 * self.lecture

    def _good(self, nodes: int, seed: int) -> set[int]:
        """The good students: chance picks them among the attendants of each lecture in each area."""
        found: set[int] = set()
        for group in range(2 * self.areas):
            area, lecture = divmod(group, 2)
            attendants = [node for node in range(area, nodes, self.areas) if self._attends(node) == lecture]
            order = stream(seed, _GOOD + group).permutation(len(attendants))
            found.update(attendants[i] for i in order[: int(self.good * len(attendants) + 0.5)])
        return found

    # -- what they speak of -------------------------------------------------------------------------------

    def _vocabulary(self) -> tuple[str, ...]:
        """The topics of each lecture and the tags of each area; those in common have the same name, and the
        number of the first area's."""
        return tuple(
            name if rank < round(self.common * count) else f"{name}-of-{area}"
            for area in range(self.areas)
            for kind, count in (("topic", self.topics), ("later-topic", self.topics), ("tag", self.tags))
            for rank in range(count)
            for name in (f"{kind}-{rank}",)
        )

    def _number(self, node: int, rank: int, *, topic: bool) -> int:
        """The number of a topic of a student's lecture, or of a tag of the university, that is so popular."""
        count = self.topics if topic else self.tags
        area = 0 if rank < round(self.common * count) else node % self.areas
        first = 2 * self.topics
        if topic:
            first = 0 if self.repeated else self._attends(node) * self.topics
        return area * (2 * self.topics + self.tags) + first + rank

    def _popularity(self, count: int) -> Floats:
        cumulated: Floats = np.cumsum((np.arange(count) + 1.0) ** -self.exponent)
        cumulated /= cumulated[-1]
        return cumulated

    # -- what they do -------------------------------------------------------------------------------------

    def _posts(
        self, draws: np.random.Generator, node: int, good: bool
    ) -> Sequence[tuple[float, int, list[int]]]:
        """The time (s), size and tag of each of a student's posts."""
        begin, end = self._attended(node)
        of_lecture = self.good_posts if good else self.regular_posts
        from_then = begin if good else min(end, begin + 60 * self.later)
        intensity = self.intensities[node % len(self.intensities)]
        found: list[tuple[float, int, list[int]]] = []
        for rate, start, stop, topic in (
            (of_lecture, from_then, end, True),
            (self.posts_in_class, begin, end, False),
            (self.posts_outside, 0.0, begin, False),
            (self.posts_outside, end, self._traced, False),
        ):
            popularity = self._popularity(self.topics if topic else self.tags)
            for at_us in arrivals(draws, rate * intensity, start, stop):
                rank = int(np.searchsorted(popularity, draws.random(), side="right"))
                found.append((at_us / MICROSECONDS, self.size, [self._number(node, rank, topic=topic)]))
        return found

    def _wanted(self, draws: np.random.Generator, node: int, good: bool) -> Sequence[SubscriptionRow]:
        """A student's subscriptions, to topics and to tags of the university."""
        begin, end = self._attended(node)
        first, last = (0.0, self.warm_up) if good else (self.later, self.lecture)
        found: list[SubscriptionRow] = []

        def subscribe(at_us: int, number: int) -> None:
            found.append((at_us, node, number, bool(draws.random() < self.all_time)))

        for rank in range(self.topics):
            at = begin + 60 * (first + (last - first) * draws.random())
            subscribe(int(min(at, end) * MICROSECONDS), self._number(node, rank, topic=True))
        popularity = np.diff(self._popularity(self.tags), prepend=0.0)
        for at_us in arrivals(draws, self.subscriptions, 0.0, self._traced):
            if not popularity.any():
                break  # this student has subscribed to all of them
            shares = np.cumsum(popularity)
            rank = int(np.searchsorted(shares / shares[-1], draws.random(), side="right"))
            popularity[rank] = 0.0
            subscribe(at_us, self._number(node, rank, topic=False))
        return found
