"""A watched client as a broker knows it, and a watch as a broker keeps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf, isnan
from typing import TYPE_CHECKING, Any

from bypass.places.borders import BorderTracker, PathPoint
from bypass.protocol.borders import BorderWatch

if TYPE_CHECKING:
    from bypass.places.areas import Area

States = Mapping[str, Sequence[Any]]


class Computes(StrEnum):
    """Says who finds the passages of a client."""

    BROKER = "broker"
    CLIENT = "client"
    RETURNING = "returning"
    """The client still does, until it has said how far it has got."""


@dataclass(slots=True, eq=False)
class KeptWatch:
    """A watch of a watcher's subscription. `areas` are those that it has now, by name, `trackers` by watched
    client; `number` names it to these."""

    number: int
    watcher: int
    handle: int
    terms: BorderWatch
    areas: dict[str, Area]
    trackers: dict[int, BorderTracker] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the watch in a store: numbers are given anew."""
        return f"{self.watcher}/{self.handle}"

    def tracker(self, client: int, name: str) -> BorderTracker:
        """The tracker of a client; a new one for a client without any."""
        tracker = self.trackers.get(client)
        if tracker is None:
            tracker = self.trackers[client] = BorderTracker(self.terms.options, client, name)
        return tracker


@dataclass(slots=True, eq=False)
class WatchedClient:
    """A client that somebody watches. `last` is the latest point of its way, `heard` when the broker knew
    that; `due` is when something happens to it that is no passage. `turn` numbers what it was told of who
    `computes`. `begun` are the numbers of the watches in which its place was known. `reported` is the latest
    of its reports.
    """

    number: int
    name: str
    watches: tuple[KeptWatch, ...] = ()
    last: PathPoint | None = None
    heard: float = 0.0
    due: float = inf
    computes: Computes = Computes.BROKER
    turn: int = 0
    reported: tuple[int, int] = (0, 0)
    begun: set[int] = field(default_factory=set)

    def note_due(self) -> None:
        """Find out when something happens next."""
        number = self.number
        self.due = min(
            (each.trackers[number].due for each in self.watches if number in each.trackers), default=inf
        )

    def dump(self) -> dict[str, Any]:
        """The part that has to outlive the broker, as plain values; watches by watcher and handle."""
        last = None
        if self.last is not None:
            last = [None if isnan(each) else each for each in self.last]
        states = {
            watch.name: watch.trackers[self.number].dump() if self.number in watch.trackers else {}
            for watch in self.watches
            if watch.number in self.begun
        }
        return {
            "turn": self.turn,
            "computes": self.computes.value,
            "last": last,
            "heard": self.heard,
            "states": states,
        }

    def load(self, dumped: Mapping[str, Any]) -> None:
        """Go on as it was dumped. Raises KeyError, TypeError or ValueError for anything else."""
        self.turn, self.computes = int(dumped["turn"]), Computes(dumped["computes"])
        self.heard = float(dumped["heard"])
        if dumped["last"] is not None:
            x, y, at, z = dumped["last"]
            self.last = PathPoint(x, y, at) if z is None else PathPoint(x, y, at, z)
        for watch in self.watches:
            states = dumped["states"].get(watch.name)
            if states is None:
                continue
            self.begun.add(watch.number)
            if states:
                watch.tracker(self.number, self.name).load(
                    {key: state for key, state in states.items() if key in watch.areas}
                )
        self.note_due()
