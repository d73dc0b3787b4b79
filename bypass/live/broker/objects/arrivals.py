"""Objects in the order of their arrival, for queries that go on: what has come since a number."""

from __future__ import annotations

from collections.abc import Callable
from struct import unpack
from typing import NamedTuple

from bypass.live.broker.objects.changes import ArrivedObject
from bypass.live.broker.objects.pages import Query
from bypass.live.broker.objects.tag_numbers import Word, count_words
from bypass.objects.metadata import Metadata
from bypass.objects.query import ObjectQuery

SCANNED = 1024
"""Objects that are looked at by one statement."""


class FoundArrivals(NamedTuple):
    """Matches in the order of their arrival. All up to the number `reached` were looked at; `ended`: there
    were no others then."""

    matches: list[ArrivedObject]
    reached: int
    ended: bool


def arrivals_since(
    query: Query,
    asked: ObjectQuery,
    since: int,
    limit: int,
    decode: Callable[[bytes], Metadata],
) -> FoundArrivals:
    """Look at some of the objects that arrived after the number `since`: at most `limit` that match."""
    (latest,) = query("SELECT arrival FROM latest").fetchone()  # first: none of these can be overlooked then
    rows = query(
        "SELECT arrival, published, tags, metadata FROM objects WHERE arrival > ? ORDER BY arrival LIMIT ?",
        (since, SCANNED),
    ).fetchall()
    conjunctions = asked.formula.conjunctions()
    tags = {tag for each in conjunctions for tag in each.positive | each.negative}
    words: dict[Word, tuple[int, int]] = count_words(query, [(asked.namespace, tag) for tag in (*tags, "")])
    numbers = {tag: words.get((asked.namespace, tag), (-1, 0))[0] for tag in (*tags, "")}
    tests = [
        (
            {numbers[tag] for tag in (*each.positive, "")},
            {numbers[tag] for tag in each.negative},
        )
        for each in conjunctions
    ]
    matches: list[ArrivedObject] = []
    reached = since
    for arrival, published, packed, record in rows:
        if len(matches) == limit:
            return FoundArrivals(matches, reached, False)
        reached = arrival
        if not asked.window.holds(published):
            continue
        own = {*unpack(f"<{len(packed) // 8}q", packed)}
        if any(present <= own and absent.isdisjoint(own) for present, absent in tests):
            metadata = decode(record)
            if asked.matches(metadata):
                matches.append(ArrivedObject(arrival, metadata, record))
    ended = len(rows) < SCANNED
    return FoundArrivals(matches, max(reached, latest) if ended else reached, ended)
