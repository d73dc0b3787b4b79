"""Posts: objects that people publish, in columns; drawn at random like those of a large event, or read from a
CSV file.

Tags have popularities by Zipf's law, and so have authors. Over time there are spikes, after which interest
fades, and voids, in which nobody posts.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from bypass.errors import BypassError, shown
from bypass.support.arrays import Floats, Ints
from bypass.support.counter_rng import Purpose
from bypass.support.units import MICROSECONDS


class InvalidPosts(BypassError):
    """A file of posts cannot be used."""


@dataclass(frozen=True, eq=False)
class Posts:
    """Posts in the order of time. Post i is by `author[i]`, a number from 0 on, has `size[i]` bytes and the
    tags `tags[first_tag[i] : first_tag[i + 1]]`, which are numbers of names in `vocabulary`."""

    at_us: Ints
    author: npt.NDArray[np.int32]
    size: npt.NDArray[np.int32]
    first_tag: Ints
    tags: npt.NDArray[np.int32]
    vocabulary: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.at_us)

    def tags_of(self, post: int) -> npt.NDArray[np.int32]:
        """The tags of a post."""
        return self.tags[self.first_tag[post] : self.first_tag[post + 1]]

    def popularity(self) -> Ints:
        """How many posts have each tag."""
        return np.bincount(self.tags, minlength=len(self.vocabulary)).astype(np.int64)

    @classmethod
    def of_authors(
        cls, columns: Sequence[Iterable[tuple[float, int, list[int]]]], vocabulary: tuple[str, ...]
    ) -> Posts:
        """The posts of authors, numbered as they come: the time (s), size and tags of each."""
        rows = [
            (round(at * MICROSECONDS), i, size, tags)
            for i, own in enumerate(columns)
            for at, size, tags in own
        ]
        rows.sort(key=lambda row: row[:2])
        first = np.concatenate(([0], np.cumsum([len(tags) for *_, tags in rows], dtype=np.int64)))
        return cls(
            np.array([row[0] for row in rows], np.int64),
            np.array([row[1] for row in rows], np.int32),
            np.array([row[2] for row in rows], np.int32),
            first.astype(np.int64),
            np.array([tag for *_, tags in rows for tag in tags], np.int32),
            vocabulary,
        )

    def of_busiest(self, authors: int) -> Posts:
        """The posts of those who post most, numbered from 0 on by how much they do; of equal ones the smaller
        number comes first."""
        counts = np.bincount(self.author)
        busiest = np.argsort(-counts, kind="stable")[:authors]
        number = np.full(len(counts), -1, np.int32)
        number[busiest] = np.arange(len(busiest), dtype=np.int32)
        return self._chosen(np.flatnonzero(number[self.author] >= 0), number)

    def followed_by(self, other: Posts, after_us: int) -> Posts:
        """These posts, and others of the same vocabulary `after_us` microseconds later."""
        return Posts(
            np.concatenate((self.at_us, other.at_us + after_us)),
            np.concatenate((self.author, other.author)),
            np.concatenate((self.size, other.size)),
            np.concatenate((self.first_tag, other.first_tag[1:] + self.first_tag[-1])),
            np.concatenate((self.tags, other.tags)),
            self.vocabulary,
        )

    def _chosen(self, rows: Ints, number: npt.NDArray[np.int32]) -> Posts:
        lengths = np.diff(self.first_tag)[rows]
        first = np.concatenate(([0], np.cumsum(lengths)))
        starts = np.repeat(self.first_tag[rows] - first[:-1], lengths)
        return Posts(
            self.at_us[rows], number[self.author[rows]], self.size[rows], first,
            self.tags[starts + np.arange(first[-1])], self.vocabulary,
        )  # fmt: skip


def stream(seed: int, number: int) -> np.random.Generator:
    """The random numbers of an author, or of a purpose with a number beyond those of authors."""
    return np.random.Generator(np.random.Philox(key=[seed, Purpose.POSTS << 40 | number]))


_EVERYBODY = 1 << 36
"""Beyond the numbers of authors: draws that all have in common."""


class PostModel(BaseModel):
    """Posts of `duration` seconds. An author of mean activity posts `rate` times an hour; the r-th of them
    posts in proportion to 1 / (r + 1) ** `author_exponent`, the r-th of `vocabulary` tags is used in
    proportion to 1 / (r + 1) ** `tag_exponent`.

    A spike multiplies interest by 1 + `spike_height`, which fades over `fading` seconds; in a `void_share` of
    the time, in stretches of `void_length` seconds on average, nobody posts. A post has 1 to 3 tags and 20 to
    140 bytes.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    duration: float = Field(default=10_800.0, gt=0, le=1e7)
    rate: float = Field(default=4.0, gt=0, le=3600)
    vocabulary: int = Field(default=200, ge=1, le=100_000)
    tag_exponent: float = Field(default=1.0, ge=0, le=5)
    author_exponent: float = Field(default=0.6, ge=0, le=5)
    spikes: int = Field(default=6, ge=0, le=1000)
    spike_height: float = Field(default=8.0, ge=0, le=1000)
    fading: float = Field(default=300.0, gt=0)
    void_share: float = Field(default=0.15, ge=0, lt=1)
    void_length: float = Field(default=240.0, gt=0)

    def draw(self, authors: int, seed: int) -> Posts:
        """The posts of so many authors. Same seed, same posts."""
        edges, share = self._interest(stream(seed, _EVERYBODY))
        weights = (np.arange(authors) + 1.0) ** -self.author_exponent
        expected = self.rate * self.duration / 3600 * weights / weights.mean()
        cumulated = np.cumsum((np.arange(self.vocabulary) + 1.0) ** -self.tag_exponent)
        cumulated /= cumulated[-1]
        columns = [
            self._of_author(stream(seed, i), expected[i], edges, share, cumulated) for i in range(authors)
        ]
        return Posts.of_authors(columns, tuple(f"tag{i}" for i in range(self.vocabulary)))

    def _interest(self, draws: np.random.Generator) -> tuple[Floats, Floats]:
        """The beginnings of seconds, and the share of all interest that lies before each."""
        edges = np.linspace(0.0, self.duration, max(2, int(self.duration) + 1))
        middle = (edges[1:] + edges[:-1]) / 2
        interest = np.ones(len(middle))
        for at in draws.random(self.spikes) * self.duration:
            since = middle - at
            interest += np.where(
                since >= 0, self.spike_height * np.exp(-np.maximum(since, 0) / self.fading), 0.0
            )
        if self.void_share > 0:
            for at in draws.random(max(1, round(self.void_share * self.duration / self.void_length))):
                length = -self.void_length * np.log(1 - draws.random())
                begin = at * max(0.0, self.duration - length)
                interest[(middle >= begin) & (middle < begin + length)] = 0.0
        if not interest.any():
            interest[:] = 1.0  # voids have covered all
        share = np.concatenate(([0.0], np.cumsum(interest)))
        return edges, share / share[-1]

    def _of_author(
        self, draws: np.random.Generator, expected: float, edges: Floats, share: Floats, cumulated: Floats
    ) -> list[tuple[float, int, list[int]]]:
        """The times, sizes and tags of an author's posts: a Poisson process that follows interest."""
        found: list[tuple[float, int, list[int]]] = []
        at = 0.0
        while True:
            at += -np.log(1 - draws.random()) / expected
            if at >= 1:
                return found
            when = float(np.interp(at, share, edges))
            count = 1 + int(np.searchsorted((0.6, 0.85), draws.random(), side="right"))
            picked = np.searchsorted(cumulated, draws.random(count), side="right")
            found.append((when, 20 + int(draws.random() * 121), sorted(set(picked.tolist()))))


COLUMNS = ("at", "author", "tags", "text")


def read_posts(path: Path) -> Posts:
    """Read real posts from a CSV file with the columns at (seconds, or ISO 8601), author, tags (separated by
    spaces) and text. Posts without tags are left out; time begins with the first one.

    Raises InvalidPosts, which names the line.
    """
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = csv.DictReader(file)
            if missing := [name for name in COLUMNS if name not in (rows.fieldnames or ())]:
                raise InvalidPosts(f"{path}: column {missing[0]} is missing: expected {', '.join(COLUMNS)}")
            read = [_row(path, rows.line_num, row) for row in rows]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidPosts(f"{path}: {error}: expected a CSV file of posts") from error
    tagged = sorted((row for row in read if row[2]), key=lambda row: row[0])
    if not tagged:
        raise InvalidPosts(f"{path}: no post has tags: expected some")
    return _numbered(tagged)


def _row(path: Path, line: int, row: dict[str, str | None]) -> tuple[float, str, list[str], int]:
    at, author, tags, text = [row[name] for name in COLUMNS]
    if at is None or not author or tags is None or text is None:
        raise InvalidPosts(f"{path}, line {line}: expected values for {', '.join(COLUMNS)}")
    try:
        seconds = float(at) if at.replace(".", "", 1).isdigit() else datetime.fromisoformat(at).timestamp()
    except ValueError:
        raise InvalidPosts(f"{path}, line {line}: at {shown(at)}: expected seconds, or ISO 8601") from None
    return seconds, author, sorted(set(tags.split())), len(text.encode())


def _numbered(rows: list[tuple[float, str, list[str], int]]) -> Posts:
    vocabulary = _ranked(tag for _, _, tags, _ in rows for tag in tags)
    authors = _ranked(author for _, author, _, _ in rows)
    begin = rows[0][0]
    columns: list[list[tuple[float, int, list[int]]]] = [[] for _ in authors]
    for at, author, tags, size in rows:
        columns[authors[author]].append((at - begin, size, sorted(vocabulary[tag] for tag in tags)))
    return Posts.of_authors(columns, tuple(vocabulary))


def _ranked(names: Iterable[str]) -> dict[str, int]:
    """Names and their numbers: the most frequent has 0, of equal ones the smaller name."""
    counts = Counter(names)
    return {name: i for i, name in enumerate(sorted(counts, key=lambda name: (-counts[name], name)))}
