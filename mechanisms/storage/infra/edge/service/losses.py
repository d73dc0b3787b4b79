"""The reasons for which an edge drops something, or gives it up; each is counted."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum


class EdgeLoss(StrEnum):
    """The reason for which an edge did not do, or keep, something."""

    NO_SENDER = "no sender"
    """A message of nobody in particular."""
    NO_WORLD = "no such world"
    OTHER_WORLD = "of another world"
    """A message in one world is about another one."""
    UNEXPECTED = "unexpected message"
    """A message that nobody sends to an edge, or an answer that it has not asked for."""
    INVALID = "invalid message"
    OTHER_MAP = "of another cell map"
    """Cell data of a cell map that is not the present one, or of cells that it does not have."""
    UNREACHED = "answer not delivered"
    SILENT = "no answer in time"
    DAMAGED = "damaged item"
    """The bytes that came are not those of the item."""
    NOT_FOUND = "item not found"
    MANY_FETCHES = "too many fetches"
    MANY_WAITING = "too many wait for an item"
    MANY_WORLDS = "too many worlds"
    MANY_EDGES = "too many edges"
    MANY_PENDING = "too many pending notifications"
    OLD_PENDING = "pending notification too old"
    NO_EDGE = "edge not connected"


LossCounts = Counter[EdgeLoss]
"""How often each reason has occurred."""
