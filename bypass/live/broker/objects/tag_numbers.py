"""The numbers of tags of stored objects, each with its namespace, and how many objects have it."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable

from bypass.live.broker.store.statements import Change

Word = tuple[str, str]
"""A namespace and a tag in it; the empty tag stands for all objects of the namespace."""

MOST_KNOWN = 100_000
"""Words that are kept in memory; at one more all are forgotten, and read again when they are needed."""

_ADD = Change(4, "INSERT INTO words @")
_COUNT = Change(2, "UPDATE words SET objects = objects + column2 FROM (@) WHERE word = column1")
_READ = (
    "SELECT namespace, tag, word, objects FROM words WHERE (namespace, tag) IN "
    "(SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?))"
)


class WordNumbers:
    """Numbers words for the thread that writes. A number is never used for another word."""

    def __init__(self) -> None:
        self._numbers: dict[Word, int] = {}
        self._latest = 0
        self._new: dict[Word, int] = {}
        self._counts: Counter[int] = Counter()

    def load(self, latest: int) -> None:
        """Forget what is in memory; `latest` is the last number that the store has given."""
        self._latest = latest
        self._numbers.clear()
        self._new.clear()
        self._counts.clear()

    @property
    def latest(self) -> int:
        """The last number that was given."""
        return self._latest

    def find(self, connection: sqlite3.Connection, words: Iterable[Word]) -> None:
        """Read the numbers of words that `number` will be called with."""
        unknown = {*words} - self._numbers.keys()
        if len(self._numbers) + len(unknown) > MOST_KNOWN and not self._new and not self._counts:
            self._numbers.clear()
        if unknown:
            rows = connection.execute(_READ, (json.dumps([*unknown]),))
            self._numbers.update({(namespace, tag): word for namespace, tag, word, _ in rows})

    def number(self, word: Word) -> int:
        """Count one more object that has a word. The word's number, a new one if no object had it."""
        number = self._numbers.get(word)
        if number is None:
            self._latest = number = self._numbers[word] = self._new[word] = self._latest + 1
        self._counts[number] += 1
        return number

    def release(self, numbers: Iterable[int]) -> None:
        """Count one object less for each of these words."""
        self._counts.subtract(numbers)

    def write(self, connection: sqlite3.Connection) -> None:
        """Write what has changed; words that no object has are forgotten."""
        for word, number in [*self._new.items()]:
            if not self._counts[number]:  # it came and went
                del self._new[word], self._numbers[word]
        _ADD.apply(connection, [(number, *word, 0) for word, number in self._new.items()])
        changed = [(number, count) for number, count in self._counts.items() if count]
        _COUNT.apply(connection, changed)
        if any(count < 0 for _, count in changed):
            numbers = json.dumps([number for number, count in changed if count < 0])
            gone = connection.execute(
                "DELETE FROM words WHERE objects <= 0 AND word IN (SELECT value FROM json_each(?)) "
                "RETURNING namespace, tag",
                (numbers,),
            ).fetchall()
            for word in gone:
                self._numbers.pop(word, None)
        self._new.clear()
        self._counts.clear()


def count_words(query: Callable[..., sqlite3.Cursor], words: Iterable[Word]) -> dict[Word, tuple[int, int]]:
    """Read the number of each of these words, and how many objects have it, without those that none has."""
    rows = query(_READ, (json.dumps([*{*words}]),))
    return {(namespace, tag): (word, objects) for namespace, tag, word, objects in rows}
