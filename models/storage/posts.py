"""A workload of posts: users publish tagged texts, follow tags, and take some of it back.

Its statistics are those of posts during a football match, as a study of stores among phones used them: three
hours, played in ten minutes; tags by Zipf's law, posts in spikes with voids between them, a few users who
post most. Numbers that the study does not state are chosen here: of posts, tags and bytes, and exponents.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from bypass.errors import BypassError
from bypass.models.request import check_request
from bypass.support.arrays import Floats
from bypass.support.units import MICROSECONDS

_Share = Annotated[float, Field(ge=0, le=1)]
_Rate = Annotated[float, Field(ge=0, le=1000)]
HOUR_S = 3600.0
SPIKES = 36  # stretches of the time line, each busy in its own way


class InvalidPosts(BypassError):
    """A file of posts that cannot be used."""


class ObjectAction(StrEnum):
    """The things that users do."""

    INSERT = "insert"
    SUBSCRIBE = "subscribe"
    UNSUBSCRIBE = "unsubscribe"
    DELETE = "delete"


class ObjectOperation(NamedTuple):
    """Something that a user does. `item` numbers the posts, or the subscriptions, of all users.

    Of an insertion `tags` are those of the post, which is `size` bytes long; of a subscription the one that
    it is for, and `past` says whether it reaches back to the beginning.
    """

    at_us: int
    user: int
    action: ObjectAction
    item: int
    tags: tuple[str, ...] = ()
    size: int = 0
    past: bool = False


class Posts(BaseModel):
    """Operations in `duration` seconds, which stand for `match` hours: rates are per user and hour of these.

    Users post `posts` times an hour on average. A post has 1 to `most_tags` of `tags` tags, whose popularity
    falls with their rank to the power of `zipf`. Users subscribe to one tag each time, any of the most
    popular ones (`popular`, a share), `subscribe` times an hour in the first half and `subscribe_later` times
    in the second; with probability `past` back to the beginning, otherwise from now on. They delete and
    unsubscribe in the second half alone. Users below `publishers` times their number post, and the others
    subscribe, if it is above 0; otherwise everybody does both. With a `file` the posts are those of a CSV
    (`seconds,user,tags,text`, tags separated by spaces; its first users by number of posts take part).
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    duration: float = Field(default=600.0, gt=0, le=1e6)
    match: float = Field(default=3.0, gt=0, le=1000)
    posts: _Rate = 4.0
    tags: int = Field(default=60, ge=1, le=100_000)
    most_tags: int = Field(default=3, ge=1, le=32)
    zipf: float = Field(default=1.0, ge=0, le=10)
    popular: _Share = 0.6
    subscribe: _Rate = 3.0
    subscribe_later: _Rate = 1.0
    past: _Share = 0.6
    delete: _Rate = 0.5
    unsubscribe: _Rate = 0.2
    size: tuple[int, int] = (40, 280)
    publishers: _Share = 0.0
    file: Path | None = None

    def schedule(self, users: int, seed: int) -> list[ObjectOperation]:
        """All operations in the order of time. Raises InvalidRequest, and InvalidPosts for a file that cannot
        be used.

        The same users, seed and parameters give the same operations. A post is deleted, and a subscription
        withdrawn, by who made it, at most once and later.
        """
        check_request(users, self.duration, seed)
        draw = np.random.Generator(np.random.Philox(key=seed))
        inserted = list(self._read(users) if self.file is not None else self._posts(users, draw))
        subscribed = list(self._subscriptions(users, draw, inserted))
        operations = [
            *inserted,
            *subscribed,
            *self._undone(ObjectAction.DELETE, self.delete, users, inserted, draw),
            *self._undone(ObjectAction.UNSUBSCRIBE, self.unsubscribe, users, subscribed, draw),
        ]
        return sorted(operations, key=lambda each: each.at_us)

    # -- posts --------------------------------------------------------------------------------------------

    def _posts(self, users: int, draw: np.random.Generator) -> Iterator[ObjectOperation]:
        posting = self._posting(users)
        count = int(draw.poisson(self.posts * self.match * len(posting)))
        busy = draw.exponential(size=SPIKES) ** 1.5
        busy[draw.random(SPIKES) < 0.15] = 0.0  # nobody posts while the game is thrilling
        busy[draw.random(SPIKES) < 0.08] += 6.0  # a goal
        stretch = draw.choice(SPIKES, count, p=_shares(busy + 1e-9))
        at = np.sort((stretch + draw.random(count)) * self.duration / SPIKES)
        user = draw.choice(len(posting), count, p=_shares(_zipf(len(posting), 0.5)))
        popularity = _shares(_zipf(self.tags, self.zipf))
        for item in range(count):
            number = min(1 + int(draw.geometric(0.6)) - 1, self.most_tags, self.tags)
            chosen = draw.choice(self.tags, max(number, 1), replace=False, p=popularity)
            yield ObjectOperation(
                int(at[item] * MICROSECONDS),
                posting[int(user[item])],
                ObjectAction.INSERT,
                item,
                tuple(f"tag{tag}" for tag in sorted(chosen.tolist())),
                int(draw.integers(self.size[0], self.size[1] + 1)),
            )

    def _read(self, users: int) -> Iterator[ObjectOperation]:
        assert self.file is not None
        rows = []
        try:
            with self.file.open(newline="", encoding="utf-8") as file:
                for number, row in enumerate(csv.DictReader(file), 2):
                    try:
                        at, tags = float(row["seconds"]), tuple(dict.fromkeys(row["tags"].split()))
                        rows.append((at, row["user"], tags, len((row["text"] or "").encode())))
                    except (KeyError, TypeError, ValueError, AttributeError):
                        raise InvalidPosts(
                            f"{self.file}, line {number}: expected seconds,user,tags,text"
                        ) from None
        except OSError as error:
            raise InvalidPosts(f"{self.file}: {error.strerror}: expected a CSV file of posts") from None
        counts: dict[str, int] = {}
        for _, user, *_ in rows:
            counts[user] = counts.get(user, 0) + 1
        active = sorted(counts, key=lambda user: (-counts[user], user))[: len(self._posting(users))]
        numbers = dict(zip(active, self._posting(users), strict=False))
        used = sorted(row for row in rows if row[1] in numbers and row[2])
        if not used:
            raise InvalidPosts(f"{self.file}: no posts with tags: expected some")
        first, span = used[0][0], max(used[-1][0] - used[0][0], 1e-9)
        for item, (at, user, tags, size) in enumerate(used):
            share = (at - first) / span
            at_us = min(int(share * self.duration * MICROSECONDS), int(self.duration * MICROSECONDS) - 1)
            yield ObjectOperation(at_us, numbers[user], ObjectAction.INSERT, item, tags[:32], size)

    # -- everything else ----------------------------------------------------------------------------------

    def _subscriptions(
        self, users: int, draw: np.random.Generator, inserted: list[ObjectOperation]
    ) -> Iterator[ObjectOperation]:
        popular = _most_popular(inserted, self.popular)
        if not popular:
            return
        half = self.duration / 2
        hours = self.match / 2
        asking = [user for user in range(users) if not self.publishers or user not in self._posting(users)]
        item = 0
        for begin, rate in ((0.0, self.subscribe), (half, self.subscribe_later)):
            for user in asking:
                for _ in range(int(draw.poisson(rate * hours))):
                    at = begin + half * float(draw.random())
                    yield ObjectOperation(
                        int(at * MICROSECONDS),
                        user,
                        ObjectAction.SUBSCRIBE,
                        item,
                        (popular[int(draw.integers(len(popular)))],),
                        past=bool(draw.random() < self.past),
                    )
                    item += 1

    def _undone(
        self,
        action: ObjectAction,
        rate: float,
        users: int,
        done: list[ObjectOperation],
        draw: np.random.Generator,
    ) -> Iterator[ObjectOperation]:
        """Take back some of what users have done before, in the second half."""
        for user in range(users):
            own = [each for each in done if each.user == user]
            for _ in range(int(draw.poisson(rate * self.match / 2))):
                at_us = int((0.5 + 0.5 * float(draw.random())) * self.duration * MICROSECONDS)
                before = [each for each in own if each.at_us < at_us]
                if before:
                    chosen = before[int(draw.integers(len(before)))]
                    own.remove(chosen)
                    yield ObjectOperation(at_us, user, action, chosen.item)

    def _posting(self, users: int) -> range:
        return range(max(1, round(self.publishers * users)) if self.publishers else users)


def _zipf(count: int, exponent: float) -> Floats:
    weights: Floats = np.arange(1, count + 1, dtype=np.float64) ** -exponent
    return weights


def _shares(weights: Floats) -> Floats:
    shares: Floats = weights / weights.sum()
    return shares


def _most_popular(inserted: list[ObjectOperation], share: float) -> list[str]:
    """The most frequent tags, a share of all of them, at least one."""
    counts: dict[str, int] = {}
    for each in inserted:
        for tag in each.tags:
            counts[tag] = counts.get(tag, 0) + 1
    ranked = sorted(counts, key=lambda tag: (-counts[tag], tag))
    return ranked[: max(1, round(share * len(ranked)))] if ranked else []
