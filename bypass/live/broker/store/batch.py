"""The changes of a broker's store that are written together, and a publication as it is stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from struct import pack, unpack
from typing import NamedTuple

LAST_PLACE = (1 << 63) - 1
"""In a log of any length."""

MAIN = -1
"""Instead of a handle, for all subscriptions of a client that have no lane."""


class Mark(NamedTuple):
    """How far a client has got in the log: what is up to `cursor` is done, but for what is `behind` it (None:
    the same as was said before). Of the rest, its present life may have been sent what is up to `sent`.

    In a lane there is what is up to `reached`; what comes later waits with what has no lane.
    """

    cursor: int
    sent: int
    behind: Sequence[int] | None
    reached: int = 0


@dataclass(slots=True)
class Logged:
    """One publication: `raw` is its body as it came; `publisher`, `scheme` and `epoch` are its stamp.

    `seq` numbers the publications in the order in which the broker took them, `recipients` are packed.
    `owner` is the name of the account that is charged for it.
    """

    seq: int
    at: float
    id: int
    publisher: int
    scheme: int
    epoch: int
    raw: bytes
    recipients: bytes
    owner: str = ""


class Batch:
    """Changes that are written together, or not at all. Later calls win over earlier ones.

    What is said about a client that the store does not know, or that was forgotten, changes nothing: a client
    is known from `client` on, wherever in the batch that is.
    """

    __slots__ = (
        "behind",
        "borders",
        "clients",
        "counts",
        "cursors",
        "departed",
        "history",
        "lanes",
        "log",
        "missed",
        "owed",
        "places",
        "settings",
        "spent",
        "subscriptions",
    )

    def __init__(self) -> None:
        self.clients: dict[int, tuple[str, int, float]] = {}  # name, life, seen
        self.departed: set[int] = set()
        self.subscriptions: dict[int, dict[int, bytes | None]] = {}  # client -> handle; None: withdrawn
        self.places: dict[int, tuple[float, float, float, float, float]] = {}
        self.counts: dict[int, tuple[int, int]] = {}  # published, known
        self.log: list[Logged] = []
        self.cursors: dict[int, tuple[int, int]] = {}  # cursor, sent
        self.lanes: dict[int, dict[int, tuple[int, int, int] | None]] = {}  # client -> handle; None: no lane
        self.behind: dict[int, dict[int, Sequence[int]]] = {}  # client -> handle or MAIN -> places
        self.owed: dict[int, dict[int, bool]] = {}  # client -> number of an event
        self.missed: dict[int, dict[str, int]] = {}  # client -> reason
        self.spent: set[int] = set()
        self.borders: dict[int, str | None] = {}  # watched client; None: not watched any more
        self.settings: dict[str, str] = {}
        self.history: list[tuple[float, str, str]] = []

    def client(self, number: int, name: str, life: int, seen: float) -> None:
        """A client is new, or one of these has changed."""
        self.clients[number] = (name, life, seen)

    def forgotten(self, number: int) -> None:
        """Nothing is kept of this client: subscriptions, place and marks go as well."""
        self.departed.add(number)
        self.clients.pop(number, None)
        self.subscriptions.pop(number, None)
        self.places.pop(number, None)
        self.counts.pop(number, None)
        self.cursors.pop(number, None)
        self.lanes.pop(number, None)
        self.behind.pop(number, None)
        self.owed.pop(number, None)
        self.missed.pop(number, None)

    def subscribed(self, client: int, handle: int, data: bytes) -> None:
        self.subscriptions.setdefault(client, {})[handle] = data

    def unsubscribed(self, client: int, handle: int) -> None:
        self.subscriptions.setdefault(client, {})[handle] = None

    def located(self, client: int, x: float, y: float, vx: float, vy: float, at: float) -> None:
        self.places[client] = (x, y, vx, vy, at)

    def published(self, client: int, count: int, known: int) -> None:
        """The number of the client's latest publication, and up to which number all of them were taken."""
        self.counts[client] = (count, known)

    def logged(self, logged: Logged) -> None:
        """Keep a publication until it is released. It must not change any more."""
        self.log.append(logged)

    def cursor(self, client: int, mark: Mark) -> None:
        """A client has got so far, but for what is in its lanes."""
        self.cursors[client] = mark.cursor, mark.sent
        self._behind(client, MAIN, mark.behind)

    def lane(self, client: int, handle: int, mark: Mark | None) -> None:
        """For one of its subscriptions, what waits apart, a client has got so far; None: nothing does."""
        marks = None if mark is None else (mark.cursor, mark.sent, mark.reached)
        self.lanes.setdefault(client, {})[handle] = marks
        self._behind(client, handle, () if mark is None else mark.behind)

    def _behind(self, client: int, handle: int, places: Sequence[int] | None) -> None:
        if places is not None:
            self.behind.setdefault(client, {})[handle] = places

    def owes(self, client: int, number: int, owed: bool) -> None:
        """An event was given up for some of a client's subscriptions, waits for others, and the client does
        not have it; or that is so no longer."""
        self.owed.setdefault(client, {})[number] = owed

    def misses(self, client: int, reason: str, count: int) -> None:
        """So many events in all were given up for this reason."""
        self.missed.setdefault(client, {})[reason] = count

    def at_borders(self, client: int, data: str | None) -> None:
        """Keep the state of a watched client; None: there is none any more."""
        self.borders[client] = data

    def released(self, seqs: Iterable[int]) -> None:
        """Nobody needs these publications any more."""
        self.spent.update(seqs)

    def setting(self, key: str, value: str) -> None:
        self.settings[key] = value

    def record(self, at: float, kind: str, content: str) -> None:
        """Something that happened, for the history."""
        self.history.append((at, kind, content))

    def retry(self, failed: Batch) -> None:
        """Take over what is still true of an earlier batch that could not be written: who was forgotten,
        who was where, who has lanes and is owed what, and what has happened."""
        self.departed |= failed.departed
        self.places = failed.places | self.places
        for client, lanes in failed.lanes.items():
            self.lanes[client] = lanes | self.lanes.get(client, {})
        for client, behind in failed.behind.items():
            self.behind[client] = behind | self.behind.get(client, {})
        for client, owed in failed.owed.items():
            self.owed[client] = owed | self.owed.get(client, {})
        self.history = failed.history + self.history

    @property
    def pressing(self) -> bool:
        """Whether there is something to write that cannot wait for a later batch.

        Only what is released can: a broker that has forgotten it sends it again, to clients who know it.
        """
        return bool(
            self.log
            or self.cursors
            or self.lanes
            or self.owed
            or self.missed
            or self.counts
            or self.places
            or self.clients
            or self.departed
            or self.subscriptions
            or self.borders
            or self.settings
            or self.history
        )

    def __bool__(self) -> bool:
        """Whether there is something to write."""
        return bool(self.spent) or self.pressing


def pack_places(places: Sequence[int]) -> bytes:
    """Places in the log, eight bytes each."""
    return pack(f"<{len(places)}q", *places)


def unpack_places(data: bytes) -> list[int]:
    """Reverse of `pack_places`. Raises `struct.error` for anything else."""
    return [*unpack(f"<{len(data) // 8}q", data)]
