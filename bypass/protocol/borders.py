"""Messages about borders: a watch rides on a subscription; a watched client is told whether it has to find
out itself when it passes a border."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bypass.errors import InvalidWatch, shown
from bypass.places.areas import Area
from bypass.places.borders import BorderOptions, PathPoint
from bypass.protocol.messages import ContextMessage

BROKER_NUMBER = (1 << 31) - 1
"""The client number under which a broker publishes border events: no client has it."""

MOST_FENCES = 10_000
"""Areas of one watch."""

MOST_NAMES = 1_000
"""Clients that one watch names."""

LONGEST_KEY = 200
"""Characters of the name of an area in a watch."""


@dataclass(frozen=True, slots=True)
class BorderWatch:
    """A watch. `areas` are named; those that stand for a named place, and all places of the region with
    `every_place`, a broker resolves. `whom` are names of clients; none: the watcher itself; None: everybody.
    It ends at the time `until` (s), None: not by itself.

    Raises InvalidWatch for too many areas or names, none at all, and names that are none or not distinct.
    """

    options: BorderOptions
    areas: tuple[tuple[str, Area], ...] = ()
    every_place: bool = False
    whom: tuple[str, ...] | None = ()
    until: float | None = None

    @property
    def names_places(self) -> bool:
        """Whether a broker has to look places up."""
        return self.every_place or any(area.place for _, area in self.areas)

    def __post_init__(self) -> None:
        if len(self.areas) > MOST_FENCES:
            raise InvalidWatch(f"{len(self.areas)} areas: expected at most {MOST_FENCES} in a watch")
        if not self.areas and not self.every_place:
            raise InvalidWatch("no areas: expected at least one, or all places")
        keys = [key for key, _ in self.areas]
        for key in keys:
            if not isinstance(key, str) or not 0 < len(key) <= LONGEST_KEY or not key.isprintable():
                raise InvalidWatch(
                    f"area {shown(key)}: expected a name of 1 to {LONGEST_KEY} printable characters"
                )
        if len({*keys}) < len(keys):
            raise InvalidWatch(f"areas {shown(sorted(keys))}: expected each name once")
        if self.whom is not None and len(self.whom) > MOST_NAMES:
            raise InvalidWatch(f"{len(self.whom)} clients: expected at most {MOST_NAMES} in a watch")


@dataclass(frozen=True, slots=True)
class WatchedAreas:
    """The part of a watch that a watched client has to know, under the broker's number for the watch.

    `states` are those of the client's tracker, None if the watch has just begun.
    """

    number: int
    options: BorderOptions
    areas: tuple[tuple[str, Area], ...]
    states: Mapping[str, Sequence[Any]] | None = None


@dataclass(slots=True)
class BorderTask(ContextMessage):
    """Broker to client: it is watched, and its place is wanted every `interval` seconds; 0: it is not any
    more.

    With `computes` it tells its passages of borders, from the point `start` on that the broker knows last.
    Without it, it reports its places as its filter scheme does; one with `watches` says first how far it has
    got. `turn` numbers the tasks of one client.
    """

    turn: int
    computes: bool
    interval: float
    watches: tuple[WatchedAreas, ...] = ()
    start: PathPoint | None = None
