"""Cursors: places in the sequence of all measurements, from which a reader can go on at any time."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import NamedTuple, Self

import msgspec

from bypass.errors import shown
from bypass.ingest.queries.invalid import InvalidCursor
from bypass.ports.measurements import LAST_TIME

_LONGEST = 2048
_MOST = 1 << 60


class RowKey(NamedTuple):
    """The place of a measurement among those of one version of the table, in the order in which they are
    given: `file`, `row` and `item` tell those apart that are equal otherwise."""

    time: int
    device: str
    metric: str
    file: int
    row: int
    item: int


class QueryCursor(msgspec.Struct, frozen=True, array_like=True):
    """The end of what a reader has got.

    A cursor `in_snapshot` is within the rows that `version` of the table has; any other is behind them, and
    within the rows that the next version adds. `after` is the latest one that was given, None for none yet.
    """

    table: str
    version: int
    in_snapshot: bool = False
    after: RowKey | None = None

    def __str__(self) -> str:
        return urlsafe_b64encode(msgspec.json.encode(self)).decode().rstrip("=")

    @classmethod
    def parse(cls, text: str) -> Self:
        """The cursor that `str` has written. Raises InvalidCursor."""
        try:
            if len(text) > _LONGEST:
                raise ValueError
            cursor = msgspec.json.decode(urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=cls)
            after = cursor.after
            if not -1 <= cursor.version <= _MOST or (
                after is not None
                and not (0 <= after.time <= LAST_TIME and all(0 <= n <= _MOST for n in after[3:]))
            ):
                raise ValueError
            return cursor
        except (ValueError, RecursionError):
            raise InvalidCursor(f"cursor {shown(text)}: expected one that an answer had") from None
